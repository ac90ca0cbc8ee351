"""An engine actor as it is, around an engine that answers, dies, stalls or freezes.

What goes wrong, and how often still, is written in the folder that stands for the
model: replacements read it too.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch

from rllib_gigpo.errors import EngineError
from rllib_gigpo.inference import engine_actor
from rllib_gigpo.inference.engine import Completion, FinishReason, GenerationRequest
from rllib_gigpo.inference.engine_actor import EngineActor
from rllib_gigpo.inference.vllm_settings import VLLMSettings
from tests import fakes


def plan_faults(folder: Path, kind: str, times: int) -> None:
    """Let the next ``times`` requests make their engine ``die``, ``stall``, ..."""
    (folder / "faults").write_text(f"{kind} {times}")


def _take_fault(folder: Path) -> str:
    """The fault of this request, or nothing."""
    file = folder / "faults"
    if not file.exists():
        return ""
    kind, times = file.read_text().split()
    if int(times) == 0:
        return ""
    plan_faults(folder, kind, int(times) - 1)
    return kind


class FakeEngine:
    """See ``VLLMEngine``; says ``right`` at once."""

    is_asleep = False

    def __init__(self, settings: VLLMSettings, *, policy_version: int = 0) -> None:
        self._folder = Path(settings.model)
        self.policy_version = policy_version
        self._stalled_at: float | None = None
        self._broken: EngineError | None = None

    @property
    def seconds_without_progress(self) -> float:
        return time.monotonic() - self._stalled_at if self._stalled_at else 0.0

    def check(self) -> None:
        if self._broken is not None:
            raise self._broken

    async def generate(self, request: GenerationRequest) -> Completion:
        match _take_fault(self._folder):
            case "die":
                os.kill(os.getpid(), signal.SIGKILL)
            case "freeze":
                os.kill(os.getpid(), signal.SIGSTOP)
            case "stall":
                self._stalled_at = time.monotonic()
                await asyncio.Event().wait()
            case "break":
                self._broken = EngineError("vLLM failed with RuntimeError: CUDA")
                raise self._broken
        return Completion(
            request_id=request.request_id,
            token_ids=np.array([fakes.WORDS.index("right"), fakes.EOS], np.int32),
            logprobs=np.full(2, -0.5, np.float32),
            finish_reason=FinishReason.STOP,
            policy_version=self.policy_version,
        )

    def load_weights(
        self, weights: Mapping[str, torch.Tensor], policy_version: int
    ) -> None:
        self.policy_version = policy_version

    def close(self) -> None:
        pass


class FakeEngineActor(EngineActor):
    """Batches, outboxes, pauses and heartbeats are those of the real actor."""

    def __init__(self, *args: object) -> None:
        engine_actor.VLLMEngine = FakeEngine
        super().__init__(*args)
