"""A corridor that takes its time, so that there is a middle of a rollout."""

from __future__ import annotations

import time
from typing import ClassVar

from environments.text_env import StepInfo
from tests.fakes import CorridorEnv


class SlowCorridorEnv(CorridorEnv):
    """Each step sleeps; not inline, so that episodes sleep side by side."""

    runs_inline: ClassVar[bool] = False

    def step(self, action: str) -> tuple[str, float, bool, bool, StepInfo]:
        time.sleep(0.25)
        return super().step(action)
