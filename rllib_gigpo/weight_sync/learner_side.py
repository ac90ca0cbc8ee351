"""What a learner does in a transfer from GPU to GPU: connect once, then send.

What enters: the learner, and the engines that stand ready. What leaves: nothing, or why
it failed. Runs inside the learner's process, on every learner.
"""

from __future__ import annotations

import threading
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import torch
from ray.actor import ActorHandle
from ray.exceptions import RayActorError
from ray.rllib.core import DEFAULT_MODULE_ID
from torch import nn

from rllib_gigpo.learning.learner import GiGPOLearner
from rllib_gigpo.weight_sync.base import checkpoint_weights
from rllib_gigpo.weight_sync.transfer_client import TransferClient


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorMeta:
    """Name, dtype and shape of one tensor on its way."""

    name: str
    dtype: torch.dtype
    shape: tuple[int, ...]


class LearnerWeights:
    """A model's weights as vLLM's trainer side wants to read them (``WeightSource``).

    Args:
        model: The Hugging Face model itself, so that names are those of a checkpoint.
        dtype: Of the engines. Tensors are cast one at a time while they are sent, so
            that no second copy of the model is made.
    """

    def __init__(self, model: nn.Module, dtype: torch.dtype) -> None:
        self._model = model
        self._dtype = dtype

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return next(self._model.parameters()).device

    def metadata(self) -> list[TensorMeta]:
        """What iteration yields, in the same order."""
        return [
            TensorMeta(name=name, dtype=self._sent(tensor), shape=tuple(tensor.shape))
            for name, tensor in checkpoint_weights(self._model).items()
        ]

    def __iter__(self) -> Iterator[tuple[str, torch.Tensor]]:
        for name, tensor in checkpoint_weights(self._model).items():
            yield name, tensor.to(self._sent(tensor))

    def _sent(self, tensor: torch.Tensor) -> torch.dtype:
        return self._dtype if tensor.is_floating_point() else tensor.dtype


class WeightSender(Protocol):
    """An open connection from a learner to the engines, as vLLM's trainer side has."""

    def send_weights(self) -> None:
        """Send all weights; returns when the engines have loaded them."""
        ...

    def shutdown(self) -> None:
        """Close the connection."""
        ...


class OpenSender(Protocol):
    """How a transport connects a learner; see :mod:`.ipc` and :mod:`.nccl`."""

    def __call__(
        self,
        client: TransferClient,
        source: LearnerWeights,
        *,
        rank: int,
        num_workers: int,
    ) -> WeightSender:
        """Connect; called on all learners at the same time."""
        ...


@dataclass(slots=True, kw_only=True)
class Connection:
    """What a learner keeps between syncs."""

    client: TransferClient
    sender: WeightSender


@dataclass(frozen=True, slots=True, kw_only=True)
class SendFailure:
    """Why weights did not arrive.

    Attributes:
        reason: With the traceback where there is one.
        is_engine_dead: Whether an engine's process died, and no more.
    """

    reason: str
    is_engine_dead: bool = False


def send_from_learner(
    learner: GiGPOLearner,
    *,
    actors: tuple[ActorHandle, ...],
    workers_per_engine: int,
    open_sender: OpenSender,
    is_new: bool,
    policy_version: int,
    timeout_s: float,
) -> SendFailure | None:
    """Send this learner's weights; every learner calls it at the same time.

    Args:
        learner: Holds the weights, and the connection between syncs.
        actors: All engines.
        workers_per_engine: GPUs of each.
        open_sender: Connects, if need be.
        is_new: Whether engines were replaced since the last call.
        policy_version: What engines stamp completions with afterwards.
        timeout_s: A collective that lacks a partner never returns; after so long it is
            given up, and this process with it.

    Returns:
        None, or why it failed.
    """
    outcome: list[SendFailure | None] = []

    def send() -> None:
        try:
            connection = _connect(
                learner, actors, workers_per_engine, open_sender, is_new=is_new
            )
            connection.client.policy_version = policy_version
            connection.sender.send_weights()
        except RayActorError as error:
            outcome.append(SendFailure(reason=str(error), is_engine_dead=True))
        except Exception:
            outcome.append(SendFailure(reason=traceback.format_exc()))
        else:
            outcome.append(None)

    # Daemonic: this process must be able to exit while a broadcast hangs.
    thread = threading.Thread(target=send, name="weight-transfer", daemon=True)
    thread.start()
    thread.join(timeout_s)
    if not outcome:
        return SendFailure(reason=f"the transfer did not end within {timeout_s:g} s")
    return outcome[0]


def free_gpu_memory(learner: GiGPOLearner) -> None:
    """Give up what the learner does not need between updates, for an engine to use."""
    learner.module.zero_grad(set_to_none=True)
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def _connect(
    learner: GiGPOLearner,
    actors: tuple[ActorHandle, ...],
    workers_per_engine: int,
    open_sender: OpenSender,
    *,
    is_new: bool,
) -> Connection:
    module = learner.module[DEFAULT_MODULE_ID].unwrapped()
    source = LearnerWeights(module.model, module.llm_config.torch_dtype)
    if source.device.type == "cuda":
        # A new thread starts on the first GPU, and sees the last optimizer step only
        # once that has ended.
        torch.cuda.set_device(source.device)
        torch.cuda.synchronize(source.device)
    connection = learner.weight_connection
    if connection is not None and not is_new:
        return connection
    if connection is not None:
        learner.weight_connection = None
        connection.sender.shutdown()
    client = TransferClient(actors, workers_per_engine=workers_per_engine)
    rank = torch.distributed.get_rank() if torch.distributed.is_initialized() else 0
    learner.weight_connection = Connection(
        client=client,
        sender=open_sender(
            client, source, rank=rank, num_workers=len(actors) * workers_per_engine
        ),
    )
    return learner.weight_connection
