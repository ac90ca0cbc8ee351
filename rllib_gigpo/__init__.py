"""GiGPO for multi-turn LLM agents, native to Ray RLlib."""
