"""Calling an environment from the event loop, inline or in a thread with a deadline."""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future as _Future
from typing import Any, TypeVar

from environments.text_env import StepInfo, TextEnv

T = TypeVar("T")

logger = logging.getLogger(__name__)


class EnvTimeoutError(TimeoutError):
    """An environment took longer than its time limit; it is abandoned."""


class EnvHandle:
    """One environment instance, its calls timed.

    An environment that does not run inline gets a thread of its own for life, since
    many simulators must always be called from one thread. After a time-out the
    thread cannot be stopped; the handle is then broken and must not be used again.
    """

    def __init__(self, env: TextEnv, timeout_s: float) -> None:
        self.env = env
        self.seconds = 0.0
        self.is_broken = False
        self._timeout_s = timeout_s
        self._thread = None if env.runs_inline else _CallThread()

    async def reset(self, seed: int, task_id: str) -> tuple[str, StepInfo]:
        """``env.reset`` on a task."""
        return await self._call(
            lambda: self.env.reset(seed=seed, options={"task": task_id})
        )

    async def step(self, action: str) -> tuple[str, float, bool, bool, StepInfo]:
        """``env.step``."""
        return await self._call(lambda: self.env.step(action))

    def close(self) -> None:
        """Close the environment, unless it hangs, and end its thread."""
        try:
            if not self.is_broken:
                self.env.close()
        except Exception:
            # It is thrown away in any case; its episode has been accounted for.
            logger.warning("closing %r failed", self.env, exc_info=True)
        finally:
            if self._thread is not None:
                self._thread.stop()

    async def _call(self, function: Callable[[], T]) -> T:
        start = time.perf_counter()
        try:
            if self._thread is None:
                return _as_plain_failure(function)
            future = asyncio.wrap_future(self._thread.submit(function))
            # Not wait_for: its TimeoutError could be one that the environment raised.
            done, _ = await asyncio.wait({future}, timeout=self._timeout_s)
            if done:
                return future.result()
            future.cancel()
            self.is_broken = True
            raise EnvTimeoutError(
                f"{type(self.env).__name__} did not answer within "
                f"{self._timeout_s:g} s; raise env_timeout_s if that is normal"
            )
        finally:
            self.seconds += time.perf_counter() - start


def _as_plain_failure(function: Callable[[], T]) -> T:
    """Call it; what would end a thread or the event loop becomes a RuntimeError.

    ``sys.exit`` in a simulator is the failure of one episode and of nothing else.
    """
    try:
        return function()
    except BaseException as error:
        if isinstance(error, Exception) and not isinstance(error, StopIteration):
            raise
        raise RuntimeError(f"the environment raised {error!r}") from error


class _CallThread:
    """A daemon thread that runs one callable after another."""

    def __init__(self) -> None:
        self._calls: queue.SimpleQueue[Any] = queue.SimpleQueue()
        threading.Thread(target=self._run, name="environment", daemon=True).start()

    def submit(self, function: Callable[[], T]) -> _Future[T]:
        future: _Future[T] = _Future()
        self._calls.put((function, future))
        return future

    def stop(self) -> None:
        self._calls.put(None)

    def _run(self) -> None:
        while (call := self._calls.get()) is not None:
            function, future = call
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(_as_plain_failure(function))
            except Exception as error:  # Handed to the caller, whatever it is.
                future.set_exception(error)
