"""vLLM's own trainer side of a transfer, up to where it needs a GPU.

Its classes run as they are; only what touches CUDA or NCCL is replaced.
"""

from types import SimpleNamespace

import pytest
import ray
import torch
from torch import nn

from rllib_gigpo.inference.vllm_settings import VLLMSettings
from rllib_gigpo.weight_sync.ipc import open_ipc
from rllib_gigpo.weight_sync.learner_side import LearnerWeights
from rllib_gigpo.weight_sync.nccl import open_nccl
from rllib_gigpo.weight_sync.transfer_client import TransferClient
from tests.inference.vllm_fixtures import needs_vllm
from tests.weight_sync.test_native import FakeActor

pytestmark = [pytest.mark.vllm, needs_vllm]


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> list[tuple]:
    monkeypatch.setattr(ray, "get", lambda results: results)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    return []


@pytest.fixture
def client(log: list[tuple]) -> TransferClient:
    client = TransferClient(
        [FakeActor("a", log), FakeActor("b", log)], workers_per_engine=2
    )
    client.policy_version = 5
    return client


@pytest.fixture
def source() -> LearnerWeights:
    return LearnerWeights(nn.Linear(2, 3), torch.bfloat16)


def calls(log: list[tuple], name: str) -> list[str]:
    return [call[1] for call in log if call[0] == name]


ORDER = [
    "shutdown_weight_transfer_engine",
    "init_weight_transfer_engine",
    "start_weight_update",
    "update_weights",
    "finish_weight_update",
    "accept_weights",
]


def test_nccl_gives_every_worker_a_rank_and_announces_all_tensors(
    client: TransferClient,
    source: LearnerWeights,
    log: list[tuple],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from vllm.distributed.weight_transfer import nccl_engine

    endpoints, sent = [], []
    monkeypatch.setattr(nccl_engine, "open_trainer_endpoint", endpoints.append)
    monkeypatch.setattr(
        nccl_engine,
        "packed_nccl_broadcast_producer",
        lambda iterator, **_: sent.extend(iterator),
    )
    sender = open_nccl(client, source, rank=0, num_workers=4)
    sender.model_update_group = SimpleNamespace(destroy=lambda: None)
    sender.send_weights()
    assert calls(log, "a") == calls(log, "b") == ORDER
    (endpoint,) = endpoints
    infos = {
        call[0]: nccl_engine.NCCLWeightTransferInitInfo(**call[2])
        for call in log
        if call[1] == "init_weight_transfer_engine"
    }
    for info in infos.values():
        assert info.world_size == endpoint.world_size == 5
        assert info.master_port == endpoint.master_port
        assert info.packed
    # vLLM's worker adds its rank within the engine, 0 or 1.
    assert {infos[name].rank_offset + own for name in "ab" for own in (0, 1)} == {
        *range(1, 5)
    }
    (update,) = {str(c[2]): c[2] for c in log if c[1] == "update_weights"}.values()
    announced = nccl_engine.NCCLWeightTransferUpdateInfo(**update)
    assert announced.names == [name for name, _ in sent] == ["weight", "bias"]
    assert announced.dtype_names == ["bfloat16", "bfloat16"]
    assert log[-1] == ("b", "accept_weights", 5)
    sender.shutdown()


def test_a_learner_that_is_not_the_first_leaves_engines_alone(
    client: TransferClient, source: LearnerWeights, log: list[tuple]
) -> None:
    open_nccl(client, source, rank=1, num_workers=4).send_weights()
    assert log == []


def test_ipc_sends_handles_of_one_small_buffer(
    client: TransferClient,
    source: LearnerWeights,
    log: list[tuple],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from vllm.distributed.weight_transfer import ipc_engine

    def produce(iterator, *, gpu_uuid, post_iter_func, buffer_size_bytes):
        names = [name for name, _ in iterator]
        yield SimpleNamespace(
            names=names,
            dtype_names=["bfloat16"] * len(names),
            shapes=[[1]] * len(names),
            ipc_handle={gpu_uuid: ("a handle",)},
            tensor_sizes=[2] * len(names),
        )

    monkeypatch.setattr(ipc_engine, "packed_ipc_producer", produce)
    monkeypatch.setattr(torch.accelerator, "current_device_index", lambda: 0)
    monkeypatch.setattr(
        torch.cuda,
        "get_device_properties",
        lambda index: SimpleNamespace(uuid=f"GPU-{index}"),
    )
    monkeypatch.setattr(torch.cuda, "ipc_collect", lambda: None)
    open_ipc(client, source, rank=0, num_workers=1).send_weights()
    assert calls(log, "a") == ORDER
    init, update, _ = (call[2] for call in log if call[0] == "a" and len(call) == 3)
    assert ipc_engine.IPCWeightTransferInitInfo(**init).packed
    received = ipc_engine.IPCWeightTransferUpdateInfo(**update)
    assert received.names == ["weight", "bias"]
    assert received.ipc_handles == {"GPU-0": ("a handle",)}


@pytest.mark.parametrize("backend", ["ipc", "nccl"])
def test_vllm_takes_the_settings_of_a_shared_gpu(backend: str) -> None:
    from vllm.distributed.weight_transfer.factory import WeightTransferEngineFactory
    from vllm.engine.arg_utils import EngineArgs

    settings = VLLMSettings(
        model="model", max_model_len=64, sleep_mode=True, weight_transfer=backend
    )
    arguments = EngineArgs(**settings.engine_args(has_gpu=True))
    assert arguments.enable_sleep_mode
    assert arguments.weight_transfer_config.backend == backend
    assert backend in WeightTransferEngineFactory._registry
    # Without a GPU neither exists.
    assert "weight_transfer_config" not in settings.engine_args(has_gpu=False)
    assert "enable_sleep_mode" not in settings.engine_args(has_gpu=False)
