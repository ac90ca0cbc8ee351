"""Weights from GPU to GPU, with actors and a sender in place of vLLM and CUDA."""

import threading
from collections.abc import Callable
from types import SimpleNamespace

import pytest
import ray
import torch
from ray.exceptions import RayActorError
from torch import nn

from rllib_gigpo.errors import WeightSyncError
from rllib_gigpo.weight_sync import learner_side
from rllib_gigpo.weight_sync.learner_side import LearnerWeights
from rllib_gigpo.weight_sync.native import NativeTransport
from rllib_gigpo.weight_sync.transfer_client import TransferClient


class FakeActor:
    """An engine actor's methods; each call is written down, in order."""

    def __init__(self, name: str, log: list[tuple]) -> None:
        self.name, self._log = name, log
        self.transfer = SimpleNamespace(remote=self._transfer)
        self.accept_weights = SimpleNamespace(remote=self._accept)

    def _transfer(self, method: str, *payload: dict) -> None:
        self._log.append((self.name, method, *payload))

    def _accept(self, policy_version: int) -> None:
        self._log.append((self.name, "accept_weights", policy_version))


class FakeSender:
    """Sends as vLLM's trainer side does: opens, start, update, finish."""

    def __init__(
        self,
        client: TransferClient,
        source: LearnerWeights,
        *,
        rank: int,
        num_workers: int,
    ) -> None:
        self.client, self.source, self.rank = client, source, rank
        self.error: Exception | None = None
        self.is_hanging = False
        self.is_shut_down = False
        client.init_weight_transfer_engine(
            {"rank_offset": 1, "world_size": 1 + num_workers}
        )

    def send_weights(self) -> None:
        self.client.start_weight_update()
        if self.is_hanging:
            threading.Event().wait(20)
        if self.error is not None:
            raise self.error
        self.client.update_weights({"names": [m.name for m in self.source.metadata()]})
        self.client.finish_weight_update()

    def shutdown(self) -> None:
        self.is_shut_down = True


class FakeEngines:
    """An engine group: who is there, what was asked of it."""

    def __init__(self, actors: list[FakeActor]) -> None:
        self.actors = actors
        self.expected: list[tuple[Callable[[], object], int]] = []
        self.calls: list[str] = []

    def expect_weights(self, fetch: Callable[[], object], policy_version: int) -> None:
        self.expected.append((fetch, policy_version))

    def replace_all(self, reason: str) -> None:
        self.calls.append("replace_all")

    def shutdown(self) -> None:
        self.calls.append("shutdown")


class FakeLearners:
    """One learner in this process, as a local learner group has it."""

    is_local = True

    def __init__(self) -> None:
        model = nn.Linear(2, 3, bias=False)
        module = SimpleNamespace(
            model=model, llm_config=SimpleNamespace(torch_dtype=torch.bfloat16)
        )
        self.learner = SimpleNamespace(
            module={"default_policy": SimpleNamespace(unwrapped=lambda: module)},
            weight_connection=None,
            export_weights=lambda: dict(model.state_dict()),
        )

    def foreach_learner(
        self, function: Callable[..., object], remote_actor_ids: object = None
    ) -> list[SimpleNamespace]:
        result = function(self.learner)
        return [SimpleNamespace(get=lambda: result)]

    @property
    def sender(self) -> FakeSender:
        return self.learner.weight_connection.sender


@pytest.fixture(autouse=True)
def calls_return_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray, "get", lambda results: results)
    monkeypatch.setattr(ray, "put", lambda weights: ("stored", weights))


@pytest.fixture
def log() -> list[tuple]:
    return []


@pytest.fixture
def engines(log: list[tuple]) -> FakeEngines:
    return FakeEngines([FakeActor("a", log), FakeActor("b", log)])


def make_transport(engines: FakeEngines, **settings: object) -> NativeTransport:
    defaults = {"workers_per_engine": 2, "timeout_s": 10.0, "keeps_copy": False}
    return NativeTransport(engines, FakeSender, **defaults | settings)


def test_order_of_calls_and_the_version_and_cache_come_last(
    engines: FakeEngines, log: list[tuple]
) -> None:
    transport, learners = make_transport(engines), FakeLearners()
    transport.send(learners, 7)
    assert [call[:2] for call in log] == [
        (name, method)
        for method in (
            "shutdown_weight_transfer_engine",
            "init_weight_transfer_engine",
            "start_weight_update",
            "update_weights",
            "finish_weight_update",
            "accept_weights",
        )
        for name in "ab"
    ]
    assert [call[2] for call in log if call[1] == "accept_weights"] == [7, 7]
    log.clear()
    transport.send(learners, 8)  # Connected already.
    assert log[0] == ("a", "start_weight_update")
    assert log[-1] == ("b", "accept_weights", 8)


def test_each_engine_gets_ranks_of_its_own(
    engines: FakeEngines, log: list[tuple]
) -> None:
    make_transport(engines).send(FakeLearners(), 0)
    infos = {call[0]: call[2] for call in log if call[1].startswith("init_")}
    # Rank 0 sends; two workers an engine.
    assert infos["a"] == {"rank_offset": 1, "world_size": 5}
    assert infos["b"] == {"rank_offset": 3, "world_size": 5}


def test_a_replaced_engine_makes_for_a_new_connection(
    engines: FakeEngines, log: list[tuple]
) -> None:
    transport, learners = make_transport(engines), FakeLearners()
    transport.send(learners, 0)
    first = learners.sender
    engines.actors = [engines.actors[0], FakeActor("c", log)]
    log.clear()
    transport.send(learners, 1)
    assert first.is_shut_down
    assert learners.sender is not first
    assert ("c", "accept_weights", 1) in log
    assert not any(call[0] == "b" for call in log)


def test_who_replaces_a_dead_engine_starts_with_the_weights_being_sent(
    engines: FakeEngines,
) -> None:
    learners = FakeLearners()
    make_transport(engines).send(learners, 4)
    ((fetch, version),) = engines.expected
    assert version == 4
    stored, weights = fetch()
    assert stored == "stored"
    assert list(weights) == ["weight"]


def test_a_copy_is_kept_where_the_learner_learns_on(engines: FakeEngines) -> None:
    learners = FakeLearners()
    make_transport(engines, keeps_copy=True).send(learners, 4)
    learners.learner.export_weights = lambda: pytest.fail("the learner was asked")
    assert engines.expected[-1][0]()[0] == "stored"


def test_when_an_engine_dies_all_are_replaced_and_the_run_goes_on(
    engines: FakeEngines, log: list[tuple]
) -> None:
    transport, learners = make_transport(engines), FakeLearners()
    transport.send(learners, 0)
    learners.sender.error = RayActorError()
    transport.send(learners, 1)
    assert engines.calls == ["replace_all"]
    assert ("a", "accept_weights", 1) not in log
    log.clear()
    transport.send(learners, 2)  # On a new connection, also to the same names.
    assert log[0] == ("a", "shutdown_weight_transfer_engine")


def test_any_other_failure_ends_the_engines_and_the_run(engines: FakeEngines) -> None:
    transport, learners = make_transport(engines), FakeLearners()
    transport.send(learners, 0)
    learners.sender.error = ValueError("IPC handle not found for GPU")
    with pytest.raises(WeightSyncError, match="IPC handle not found") as caught:
        transport.send(learners, 1)
    assert "weight_transport='object_store'" in str(caught.value)
    assert engines.calls == ["shutdown"]


def test_a_transfer_without_end_is_given_up(engines: FakeEngines) -> None:
    transport, learners = make_transport(engines, timeout_s=0.2), FakeLearners()
    transport.send(learners, 0)
    learners.sender.is_hanging = True
    with pytest.raises(WeightSyncError, match=r"did not end within 0\.2 s"):
        transport.send(learners, 1)
    assert engines.calls == ["shutdown"]


def test_a_dead_learner_is_not_taken_for_a_dead_engine(engines: FakeEngines) -> None:
    learners = FakeLearners()
    # RLlib hands the error out instead of raising it.
    learners.foreach_learner = lambda function: [
        SimpleNamespace(get=lambda: RayActorError())
    ]
    with pytest.raises(WeightSyncError, match="a learner failed"):
        make_transport(engines).send(learners, 0)


def test_what_is_announced_is_what_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Receivers size their buffers by the one and read the other."""
    model = nn.Module()
    model.embedding = nn.Embedding(4, 2)
    model.head = nn.Linear(2, 4, bias=False)
    model.head.weight = model.embedding.weight
    model.register_buffer("steps", torch.arange(3))
    source = LearnerWeights(model, torch.bfloat16)
    sent = list(source)
    assert [(m.name, m.dtype, m.shape) for m in source.metadata()] == [
        (name, tensor.dtype, tuple(tensor.shape)) for name, tensor in sent
    ]
    assert [name for name, _ in sent] == ["steps", "embedding.weight"]
    assert [tensor.dtype for _, tensor in sent] == [torch.int64, torch.bfloat16]
    with torch.no_grad():
        model.embedding.weight.fill_(2.0)
    assert dict(source)["embedding.weight"].eq(2).all()  # A fresh pass each time.


def test_the_connection_survives_between_syncs(engines: FakeEngines) -> None:
    learners = FakeLearners()
    transport = make_transport(engines)
    transport.send(learners, 0)
    connection = learners.learner.weight_connection
    assert isinstance(connection, learner_side.Connection)
    transport.send(learners, 1)
    assert learners.learner.weight_connection is connection
