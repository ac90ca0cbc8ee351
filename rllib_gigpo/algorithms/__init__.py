"""GiGPO and its siblings as RLlib Algorithms."""
