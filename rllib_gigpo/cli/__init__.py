"""The commands ``rllib`` and ``rllib-gigpo``."""
