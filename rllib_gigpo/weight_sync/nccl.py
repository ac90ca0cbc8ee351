"""NCCL: the first learner broadcasts to all engines' workers, on GPUs of their own."""

from __future__ import annotations

from typing import cast

from rllib_gigpo.weight_sync.learner_side import LearnerWeights, WeightSender
from rllib_gigpo.weight_sync.transfer_client import TransferClient


def open_nccl(
    client: TransferClient, source: LearnerWeights, *, rank: int, num_workers: int
) -> WeightSender:
    """Make one group of the first learner, as rank 0, and all workers.

    Danger: a broadcast that lacks a partner never returns, on either side. Whoever
    sends sets a time limit and ends the engines after it.

    Args:
        client: Reaches the engines; gives each its own ranks.
        source: What to send.
        rank: Of this learner; the others only gather with it.
        num_workers: Of all engines together.

    Source: ``vllm.distributed.weight_transfer.nccl_engine`` of vLLM 0.32.
    """
    from vllm.distributed.weight_transfer.factory import WeightTransferTrainerFactory
    from vllm.distributed.weight_transfer.nccl_engine import NCCLTrainerInitInfo
    from vllm.utils.network_utils import get_ip, get_open_port

    return cast(
        WeightSender,
        WeightTransferTrainerFactory.trainer_init(
            NCCLTrainerInitInfo(
                rank=rank,
                master_address=get_ip(),
                master_port=get_open_port(),
                world_size=1 + num_workers,
                packed=True,
            ),
            client=client,
            source=source,
        ),
    )
