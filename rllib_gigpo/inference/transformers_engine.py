"""An engine in the caller's own process, on any Hugging Face decoder.

What enters: requests, from coroutines of one event loop. What leaves: completions.
A driver task decodes one token for all running requests, then lets the other
coroutines run, so that episodes step their environments between tokens and their next
requests join the batch without waiting for anyone. Needs neither Ray nor vLLM.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Self

import torch
from transformers import AutoModelForCausalLM, PreTrainedModel

from rllib_gigpo.errors import EngineError, WeightSyncError
from rllib_gigpo.inference.engine import (
    Completion,
    GenerationRequest,
    check_request,
)
from rllib_gigpo.inference.slot_decoder import SlotDecoder
from rllib_gigpo.weight_sync.base import load_into_model

logger = logging.getLogger(__name__)


class TransformersEngine:
    """Continuous batching in process; see :class:`~.engine.Engine` for the contract.

    Example::

        engine = TransformersEngine(model, max_model_len=1024, max_batch_size=64)
        engine = TransformersEngine.from_folder("model/", max_model_len=1024)
        completion = await engine.generate(request)
        engine.load_weights(weights, policy_version=1)
        engine.close()

    Args:
        model: The engine's own: it is put in eval mode, and its weights are
            overwritten by :meth:`load_weights`. Every layer must attend to the whole
            context.
        max_model_len: Most tokens of a sequence, prompt included; by default what the
            model was made for.
        max_batch_size: Most requests decoded together; more wait their turn. Memory
            for keys and values grows with this times the longest sequence seen.
        device: Where to run; by default where the model is.
        policy_version: Of the model's present weights.

    Raises:
        ConfigError: The model has layers that do not attend to the whole context.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        *,
        max_model_len: int | None = None,
        max_batch_size: int = 64,
        device: torch.device | str | None = None,
        policy_version: int = 0,
    ) -> None:
        self._device = torch.device(device if device is not None else model.device)
        self._model = model.to(self._device).eval().requires_grad_(False)
        model_limit = model.config.get_text_config().max_position_embeddings
        self.max_model_len = max_model_len or model_limit
        self._decoder = SlotDecoder(
            self._model,
            max_batch_size=max_batch_size,
            max_model_len=self.max_model_len,
            device=self._device,
        )
        self._policy_version = policy_version
        self._waiting: list[GenerationRequest] = []
        self._futures: dict[str, asyncio.Future[Completion]] = {}
        self._driver: asyncio.Task[None] | None = None
        self._is_closed = False

    @classmethod
    def from_folder(
        cls,
        folder: str | Path,
        *,
        dtype: torch.dtype = torch.float32,
        **settings: object,
    ) -> Self:
        """An engine on a saved Hugging Face model.

        Args:
            folder: Path of the model.
            dtype: To compute in.
            settings: As of the class.
        """
        model = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype)
        return cls(model, **settings)

    @property
    def policy_version(self) -> int:
        """The version of the weights that the next request will be sampled with."""
        return self._policy_version

    @property
    def num_running(self) -> int:
        """Requests submitted and not yet completed."""
        return len(self._futures)

    async def generate(self, request: GenerationRequest) -> Completion:
        """Complete one prompt; cancelling the caller gives the request up.

        Raises:
            ValueError: The prompt leaves no room for a token, or the id is in use.
            EngineError: The engine is closed, or failed while it ran.
        """
        if self._is_closed:
            raise EngineError("the engine is closed; start another one")
        check_request(request, self.max_model_len, self._futures)
        future = asyncio.get_running_loop().create_future()
        self._futures[request.request_id] = future
        self._waiting.append(request)
        if self._driver is None:
            self._start_driver()
        try:
            return await future
        finally:
            # Still there only if the caller was cancelled.
            if self._futures.pop(request.request_id, None) is not None:
                self._abort(request)

    def load_weights(
        self, weights: Mapping[str, torch.Tensor], policy_version: int
    ) -> None:
        """Take over a full set of weights; nothing computed from the old ones stays.

        Raises:
            WeightSyncError: Names or shapes do not cover the model exactly, or requests
                are in flight. The old weights are then still in place.
        """
        if self._futures:
            raise WeightSyncError(
                f"{len(self._futures)} requests are in flight (first: "
                f"{next(iter(self._futures))!r}); await them before load_weights"
            )
        load_into_model(self._model, weights)
        self._decoder.reset()
        self._policy_version = policy_version

    def close(self) -> None:
        """Fail what is in flight and free the cache. Idempotent."""
        self._is_closed = True
        if self._driver is not None:
            self._driver.cancel()
            self._driver = None
        self._fail_all(EngineError("the engine was closed"))
        self._decoder.reset()

    def _start_driver(self) -> None:
        self._driver = asyncio.get_running_loop().create_task(self._drive())
        self._driver.add_done_callback(self._on_driver_done)

    async def _drive(self) -> None:
        """Decode until nothing is left; the task ends then, so loops can close."""
        while self._futures:
            # First of all: requests submitted in the same tick arrive together.
            await asyncio.sleep(0)
            self._admit_waiting()
            if self._decoder.table.num_live:
                for completion in self._decoder.decode(self._policy_version):
                    future = self._futures.pop(completion.request_id)
                    # Done if the caller was cancelled and has not run since.
                    if not future.done():
                        future.set_result(completion)

    def _admit_waiting(self) -> None:
        if self._waiting and (num_free := self._decoder.table.num_free):
            # Order of arrival within a tick is chance; order by id is repeatable.
            self._waiting.sort(key=lambda request: request.request_id)
            admitted = self._waiting[:num_free]
            del self._waiting[:num_free]
            self._decoder.admit(admitted)

    def _abort(self, request: GenerationRequest) -> None:
        if request in self._waiting:
            self._waiting.remove(request)
        slot = self._decoder.table.slot_of(request.request_id)
        if slot is not None:
            self._decoder.table.release(slot)

    def _on_driver_done(self, driver: asyncio.Task[None]) -> None:
        if driver is not self._driver:
            return  # Closed meanwhile.
        self._driver = None
        if driver.cancelled():
            error = EngineError("the event loop stopped while requests were in flight")
        elif (cause := driver.exception()) is not None:
            error = EngineError(
                f"decoding failed with {type(cause).__name__}: {cause}; "
                f"{len(self._futures)} requests were in flight"
            )
            error.__cause__ = cause
            logger.error("%s", error, exc_info=cause)
        elif self._futures:
            self._start_driver()  # Submitted between the last tick and this call.
            return
        else:
            return
        self._fail_all(error)
        self._decoder.reset()

    def _fail_all(self, error: EngineError) -> None:
        futures, self._futures = self._futures, {}
        self._waiting.clear()
        for future in futures.values():
            if not future.done():
                future.set_exception(error)
