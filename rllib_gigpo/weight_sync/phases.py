"""The order in which engines and learner take turns. Pure: no Ray, no vLLM.

On one GPU: sleep, (learn), wake the weights, send, wake the KV cache, generate. Waking
all at once would hold the old weights, the cache and the new weights together. On GPUs
of their own: pause, send, resume.
"""

from __future__ import annotations

from enum import StrEnum

from rllib_gigpo.errors import WeightSyncError


class SyncStep(StrEnum):
    """What is done to all engines at once."""

    SLEEP = "sleep"
    """Free the GPU; weights and KV cache are gone."""
    WAKE_WEIGHTS = "wake_weights"
    """Take memory for weights, whose contents are then undefined."""
    PAUSE = "pause"
    """Start no request until resumed."""
    SEND = "send"
    """Take over the learner's weights."""
    WAKE_KV_CACHE = "wake_kv_cache"
    """Take memory for the KV cache and generate again."""
    RESUME = "resume"
    """Generate again."""


COLOCATED = (
    SyncStep.SLEEP,
    SyncStep.WAKE_WEIGHTS,
    SyncStep.SEND,
    SyncStep.WAKE_KV_CACHE,
)
APART = (SyncStep.PAUSE, SyncStep.SEND, SyncStep.RESUME)


class SyncPhases:
    """Refuses a step out of turn: it would compute with undefined weights.

    Args:
        order: The steps from generating to generating again.
    """

    def __init__(self, order: tuple[SyncStep, ...]) -> None:
        self._order = order
        self._num_done = 0

    @property
    def is_generating(self) -> bool:
        """Whether engines take requests."""
        return self._num_done == 0

    @property
    def expected(self) -> SyncStep:
        """The only step that may come now."""
        return self._order[self._num_done]

    def check(self, step: SyncStep) -> None:
        """Check that it is a step's turn.

        Raises:
            WeightSyncError: It is not.
        """
        if step is not self.expected:
            raise WeightSyncError(
                f"engines cannot {step} now; the order is "
                f"{' -> '.join(self._order)}, and {self.expected} comes next"
            )

    def done(self, step: SyncStep) -> None:
        """Note that a step has succeeded.

        Raises:
            WeightSyncError: It was not its turn.
        """
        self.check(step)
        self._num_done = (self._num_done + 1) % len(self._order)
