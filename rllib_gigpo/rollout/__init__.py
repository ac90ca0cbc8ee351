"""Sampling: groups of episodes, played without lock step, as records."""
