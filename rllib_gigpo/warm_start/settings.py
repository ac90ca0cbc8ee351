"""What a warm start depends on; its digest names the folder that a run finds it by."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rllib_gigpo.errors import ConfigError
from rllib_gigpo.warm_start.model import MODEL_SIZES

CACHE_VARIABLE = "RLLIB_GIGPO_CACHE"


@dataclass(frozen=True, slots=True, kw_only=True)
class WarmStartSettings:
    """How to make a small model that plays an environment imperfectly.

    Attributes:
        env: A registered environment with an expert, e.g. ``"Household-v0"``.
        env_config: Its keyword arguments.
        model_size: A name in ``MODEL_SIZES``.
        vocabulary_size: Most tokens of the tokenizer.
        max_prompt_tokens: As in the training that follows.
        max_response_tokens: Likewise.
        num_episodes: Training tasks that the expert plays, one episode each.
        noise: Probability of a random action at each of the expert's steps that is not
            imitated, so that the way back from mistakes is learnt.
        carelessness: Probability of a random action that is imitated. A model that is
            half taught gets stuck, and learns slowly from rewards; one that was taught
            by a careless expert knows what can be done, and learns to be careful.
        target_success: Fine-tuning ends at this share of solved training tasks,
            sampled at temperature 1.
        num_check_tasks: Training tasks, other than those demonstrated where there are
            enough, that each check plays.
        check_every: Optimizer steps between checks.
        max_steps: Optimizer steps after which fine-tuning ends in any case.
        tokens_per_step: Prompt and response tokens per optimizer step, about.
        lr: Highest learning rate of embeddings and norms (AdamW).
        matrix_lr: Highest learning rate of the blocks' matrices (Muon).
        seed: Of everything random.
    """

    env: str
    env_config: Mapping[str, Any] = field(default_factory=dict)
    model_size: str = "1m"
    vocabulary_size: int = 1024
    max_prompt_tokens: int = 384
    max_response_tokens: int = 32
    num_episodes: int = 3000
    noise: float = 0.2
    carelessness: float = 0.0
    target_success: float = 0.4
    num_check_tasks: int = 64
    check_every: int = 200
    max_steps: int = 2500
    tokens_per_step: int = 1024
    lr: float = 4e-3
    matrix_lr: float = 0.02
    seed: int = 0

    def __post_init__(self) -> None:
        if self.model_size not in MODEL_SIZES:
            raise ConfigError(
                f"model_size={self.model_size!r} is not one of {', '.join(MODEL_SIZES)}"
            )
        for name in ("noise", "carelessness"):
            if not 0.0 <= getattr(self, name) < 1.0:
                raise ConfigError(f"{name}={getattr(self, name)} must lie in [0, 1)")
        if not 0.0 < self.target_success <= 1.0:
            raise ConfigError(f"target_success={self.target_success} must be in (0, 1]")
        for name in ("num_episodes", "num_check_tasks", "check_every", "max_steps"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name}={getattr(self, name)} must be at least 1")

    def digest(self) -> str:
        """Twelve hexadecimal digits that differ when any setting does."""
        text = json.dumps(dataclasses.asdict(self), sort_keys=True, default=repr)
        return hashlib.blake2b(text.encode(), digest_size=6).hexdigest()

    def folder(self) -> Path:
        """Where the model of these settings lies, or will lie, on this machine."""
        return cache_folder() / f"{self.env.lower()}-{self.digest()}"


def cache_folder() -> Path:
    """``$RLLIB_GIGPO_CACHE/warm_start``, by default under ``~/.cache/rllib-gigpo``."""
    root = os.environ.get(CACHE_VARIABLE)
    base = Path(root) if root else Path("~/.cache/rllib-gigpo").expanduser()
    return base / "warm_start"
