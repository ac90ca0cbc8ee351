"""CUDA IPC: an engine reads the learner's memory on the GPU they share."""

from __future__ import annotations

from typing import cast

from rllib_gigpo.weight_sync.learner_side import LearnerWeights, WeightSender
from rllib_gigpo.weight_sync.transfer_client import TransferClient


def open_ipc(
    client: TransferClient, source: LearnerWeights, *, rank: int, num_workers: int
) -> WeightSender:
    """Connect a learner with the engine on its GPU.

    Danger: handles work on one and the same physical GPU only, and are gathered over
    the default process group, which must be exactly the learners.

    Args:
        client: Reaches the engines.
        source: What to send.
        rank: Of this learner; the first one talks to the engines.
        num_workers: Of all engines together; not needed here.

    Source: ``vllm.distributed.weight_transfer.ipc_engine`` of vLLM 0.32.
    """
    from vllm.distributed.weight_transfer.factory import WeightTransferTrainerFactory
    from vllm.distributed.weight_transfer.ipc_engine import IPCTrainerInitInfo

    # Packed: through one small buffer, instead of a second copy of all weights.
    return cast(
        WeightSender,
        WeightTransferTrainerFactory.trainer_init(
            IPCTrainerInitInfo(rank=rank, packed=True), client=client, source=source
        ),
    )
