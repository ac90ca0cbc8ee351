"""What a single setting may be: its least value, or the names it is chosen from."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from numbers import Integral, Real
from typing import TYPE_CHECKING

from rllib_gigpo.learning.schedule import LR_SCHEDULES

if TYPE_CHECKING:
    from rllib_gigpo.algorithms.config import GiGPOConfig

_LEAST_COUNT = {
    "group_size": 1,
    "groups_per_iteration": 1,
    "max_dynamic_sampling_rounds": 0,
    "num_epochs": 1,
    "num_minibatches": 1,
    "max_tokens_per_micro_batch": 1,
    "lr_warmup_steps": 0,
    "max_prompt_tokens": 1,
    "max_response_tokens": 1,
    "max_batch_size": 1,
    "num_envs_per_env_runner": 1,
    "evaluation_episodes_per_task": 1,
    "evaluation_seed": 0,
}

_LEAST_COUNT_OR_NONE = {
    "lr_total_steps": 1,
    "max_episode_steps": 1,
    "evaluation_num_tasks": 1,
    "seed": 0,
}

_NOT_NEGATIVE = (
    "lr",
    "weight_decay",
    "adam_epsilon",
    "entropy_coeff",
    "evaluation_temperature",
)

_CHOICES: dict[str, Collection[str]] = {
    "engine": ("auto", "transformers", "vllm"),
    "old_logprobs": ("auto", "engine", "recompute"),
    "lr_schedule": tuple(LR_SCHEDULES),
}


def range_problems(c: GiGPOConfig) -> Iterator[str]:
    """What is wrong with settings taken one by one."""
    for name, least in _LEAST_COUNT.items():
        if not _is_count(getattr(c, name), least):
            yield f"{name}={getattr(c, name)!r} must be an integer of at least {least}"
    for name, least in _LEAST_COUNT_OR_NONE.items():
        value = getattr(c, name)
        if value is not None and not _is_count(value, least):
            yield f"{name}={value!r} must be None or an integer of at least {least}"
    for name in _NOT_NEGATIVE:
        value = getattr(c, name)
        if not (_is_finite(value) and value >= 0):
            yield f"{name}={value!r} must be a finite number >= 0"
    if not (_is_finite(c.env_timeout_s) and c.env_timeout_s > 0):
        yield f"env_timeout_s={c.env_timeout_s!r} must be a finite number > 0"
    for name, choices in _CHOICES.items():
        if getattr(c, name) not in choices:
            yield f"{name}={getattr(c, name)!r} must be one of {sorted(choices)}"


def _is_count(value: int, least: int) -> bool:
    is_integer = isinstance(value, Integral) and not isinstance(value, bool)
    return is_integer and value >= least


def _is_finite(value: float) -> bool:
    return isinstance(value, Real) and math.isfinite(value)
