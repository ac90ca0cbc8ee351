"""The learning rate as a function of the optimizer step."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from rllib_gigpo.learning.losses.registry import look_up


def _constant(progress: float) -> float:
    return 1.0


def _linear(progress: float) -> float:
    return 1.0 - progress


def _cosine(progress: float) -> float:
    return 0.5 * (1.0 + math.cos(math.pi * progress))


LR_SCHEDULES: dict[str, Callable[[float], float]] = {
    "constant": _constant,
    "linear": _linear,
    "cosine": _cosine,
}
"""Name -> factor of the peak rate, by progress in [0, 1] after the warm-up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningRate:
    """Linear warm-up, then a schedule.

    Attributes:
        peak: The rate after the warm-up.
        schedule: A name in ``LR_SCHEDULES``.
        num_warmup_steps: Optimizer steps of warm-up; step 0 takes 1/num of the peak.
        num_total_steps: Optimizer step at which linear and cosine reach 0.
    """

    peak: float
    schedule: str = "constant"
    num_warmup_steps: int = 0
    num_total_steps: int | None = None

    def at(self, step: int) -> float:
        """The rate of optimizer step ``step``, counted from 0.

        Raises:
            ConfigError: The schedule is unknown.
        """
        shape = look_up(LR_SCHEDULES, self.schedule, "lr_schedule")
        if step < self.num_warmup_steps:
            return self.peak * (step + 1) / self.num_warmup_steps
        if self.num_total_steps is None:
            return self.peak * shape(0.0)
        span = max(self.num_total_steps - self.num_warmup_steps, 1)
        return self.peak * shape(min((step - self.num_warmup_steps) / span, 1.0))
