"""The order of a weight sync: what may follow what, and that engines obey it."""

from collections.abc import Callable

import pytest

from rllib_gigpo.errors import WeightSyncError
from rllib_gigpo.weight_sync.engine_sync import EngineSync
from rllib_gigpo.weight_sync.phases import APART, COLOCATED, SyncPhases, SyncStep


@pytest.mark.parametrize("order", [COLOCATED, APART])
def test_only_the_next_step_of_the_order_is_allowed(
    order: tuple[SyncStep, ...],
) -> None:
    phases = SyncPhases(order)
    for _ in range(2):
        assert phases.is_generating
        for expected in order:
            for step in SyncStep:
                if step is not expected:
                    with pytest.raises(WeightSyncError, match=f"{expected} comes next"):
                        phases.done(step)
            assert phases.expected is expected
            phases.done(expected)
            assert phases.is_generating == (expected is order[-1])


def test_weights_are_never_sent_to_engines_that_sleep_or_generate() -> None:
    phases = SyncPhases(COLOCATED)
    with pytest.raises(WeightSyncError, match="cannot send now"):
        phases.check(SyncStep.SEND)
    phases.done(SyncStep.SLEEP)
    with pytest.raises(WeightSyncError, match="wake_weights comes next"):
        phases.check(SyncStep.SEND)
    # The cache may be woken only when new weights are in place.
    phases.done(SyncStep.WAKE_WEIGHTS)
    with pytest.raises(WeightSyncError, match="send comes next"):
        phases.check(SyncStep.WAKE_KV_CACHE)


class Recorder:
    """Engines, learners and transport that remember what was asked of them."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.error: Exception | None = None

    def sleep(self) -> None:
        self.calls.append("sleep")

    def wake_weights(self) -> None:
        self.calls.append("wake_weights")

    def wake_kv_cache(self) -> None:
        self.calls.append("wake_kv_cache")

    def call_all(self, method: str) -> None:
        self.calls.append(method)

    def foreach_learner(self, function: Callable[..., object]) -> None:
        self.calls.append(function.__name__)

    def send(self, learner_group: object, policy_version: int) -> None:
        self.calls.append(f"send {policy_version}")
        if self.error is not None:
            raise self.error


def test_on_one_gpu_engines_sleep_while_the_learner_works() -> None:
    engines = Recorder()
    sync = EngineSync(engines, engines, shares_gpu=True)
    sync.send(engines, 0)  # At the start nothing is learned; the order is the same.
    sync.before_learning()
    sync.before_learning()  # Once is enough.
    assert engines.calls[-1] == "sleep"
    engines.calls.append("learn")
    sync.send(engines, 1)
    assert engines.calls == [
        *("sleep", "free_gpu_memory", "wake_weights", "send 0", "wake_kv_cache"),
        *("sleep", "learn"),
        *("free_gpu_memory", "wake_weights", "send 1", "wake_kv_cache"),
    ]


def test_apart_engines_go_on_until_weights_are_sent() -> None:
    engines = Recorder()
    sync = EngineSync(engines, engines, shares_gpu=False)
    sync.before_learning()
    assert engines.calls == []
    sync.send(engines, 3)
    assert engines.calls == ["pause", "send 3", "resume"]


@pytest.mark.parametrize("shares_gpu", [True, False])
def test_after_a_failed_transfer_nothing_is_woken_or_resumed(shares_gpu: bool) -> None:
    engines = Recorder()
    engines.error = WeightSyncError("lost on the way")
    sync = EngineSync(engines, engines, shares_gpu=shares_gpu)
    with pytest.raises(WeightSyncError, match="lost on the way"):
        sync.send(engines, 1)
    assert engines.calls[-1] == "send 1"
    with pytest.raises(WeightSyncError, match="send comes next"):
        sync.send(engines, 2)
    assert engines.calls[-1] == "send 1"
