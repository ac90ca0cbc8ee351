"""A small model for a CPU: tokenizer, model, expert demonstrations, fine-tuning."""

from __future__ import annotations

from rllib_gigpo.warm_start.settings import WarmStartSettings
from rllib_gigpo.warm_start.warm_start import WarmStartReport, warm_start

__all__ = ["WarmStartReport", "WarmStartSettings", "warm_start"]
