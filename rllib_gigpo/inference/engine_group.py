"""The engine actors of a run: started, given weights, watched, replaced, stopped.

What enters: settings, then weights at each sync. What leaves: the actors' names, under
which runners find them. Invariant: an actor that answers holds the weights of the last
``load_weights``, also one that replaced another.

This is the boundary at which an actor's death becomes a record of it.
"""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import ray
from ray.actor import ActorHandle
from ray.exceptions import GetTimeoutError, RayActorError, RayError

from rllib_gigpo.errors import EngineError, WeightSyncError
from rllib_gigpo.inference.engine_actor import EngineActor
from rllib_gigpo.inference.placement import EnginePlacement, place_engines
from rllib_gigpo.inference.vllm_settings import VLLMSettings

logger = logging.getLogger(__name__)

_SECONDS_BETWEEN_HEARTBEATS = 0.5
_SECONDS_TO_DIE = 30.0
_MOST_CALLS_AT_ONCE = 10_000
_DROP_WEIGHTS = 2
"""Level of vLLM's sleep that keeps no copy of the weights: new ones come anyway."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineFailure:
    """An engine that died or stopped answering.

    Attributes:
        name: Of the actor.
        reason: What Ray or the engine said.
    """

    name: str
    reason: str


@dataclass(slots=True)
class _Engine:
    """One place: the actor that fills it now, and its outstanding sign of life."""

    name: str
    actor: ActorHandle
    heartbeat: ray.ObjectRef
    asked_at: float
    has_answered: bool = False


class EngineGroup:
    """Starts the engines and returns when all are ready.

    Args:
        settings: Of each engine.
        num_engines: How many.
        resources: What each reserves, e.g. ``{"CPU": 1.0}`` or ``{"GPU": 1.0}``.
        max_num_restarts: Replacements over the whole run before it is given up.
        start_timeout_s: Longest time an engine may take to start.
        stall_timeout_s: Longest time it may take to answer, or to decode one token.

    Raises:
        EngineError: An engine did not start; nothing is left behind then.
    """

    def __init__(
        self,
        settings: VLLMSettings,
        *,
        num_engines: int,
        resources: Mapping[str, float],
        max_num_restarts: int = 10,
        start_timeout_s: float = 600.0,
        stall_timeout_s: float = 300.0,
    ) -> None:
        self._settings = settings
        self._max_num_restarts = max_num_restarts
        self._start_timeout_s = start_timeout_s
        self._stall_timeout_s = stall_timeout_s
        self._fetch_weights: Callable[[], ray.ObjectRef] | None = None
        self._policy_version = 0
        self._is_asleep = False
        self._gave_up = False
        self.failures: list[EngineFailure] = []
        self._lock = threading.RLock()
        self._is_stopping = threading.Event()
        self._placement: EnginePlacement = place_engines(num_engines, resources)
        run = uuid.uuid4().hex[:8]
        names = [f"engine-{run}-{i}" for i in range(num_engines)]
        self._engines = [self._start(i, name) for i, name in enumerate(names)]
        self._watcher = threading.Thread(
            target=self._watch, name="engine-watcher", daemon=True
        )
        try:
            self._wait_until_ready()
        except BaseException:
            self.shutdown()
            raise
        self._watcher.start()

    @property
    def actor_names(self) -> tuple[str, ...]:
        """Under which ``ray.get_actor`` finds the engines."""
        return tuple(engine.name for engine in self._engines)

    @property
    def actors(self) -> list[ActorHandle]:
        """The actors that fill the places now."""
        with self._lock:
            return [engine.actor for engine in self._engines]

    def load_weights(self, weights: ray.ObjectRef, policy_version: int) -> None:
        """Give all engines new weights; returns when all have them.

        Args:
            weights: A full set in the object store: one copy a node, for all engines.
            policy_version: To stamp completions with from now on.

        Raises:
            WeightSyncError: An engine refused them.
            EngineError: Engines die faster than they can be replaced.
        """
        with self._lock:
            self.expect_weights(lambda: weights, policy_version)
            waiting = [
                (engine, engine.actor.load_weights.remote(weights, policy_version))
                for engine in self._engines
            ]
        for engine, taken in waiting:
            try:
                ray.get(taken, timeout=self._start_timeout_s)
            except WeightSyncError:
                raise
            except RayError as error:
                self._await_replacement(engine, error)

    def expect_weights(
        self, fetch: Callable[[], ray.ObjectRef], policy_version: int
    ) -> None:
        """Say what an engine has to start with that replaces another from now on.

        Args:
            fetch: Returns a full set of weights in the object store; called when one is
                needed, from another thread.
            policy_version: Of these weights.
        """
        with self._lock:
            self._fetch_weights, self._policy_version = fetch, policy_version

    def replace_all(self, reason: str) -> None:
        """Start all engines anew, with the weights that are to be expected.

        Raises:
            EngineError: They do not start, or that was once too often.
        """
        with self._lock:
            old = list(self._engines)
            for place, engine in enumerate(old):
                self._replace(place, engine, reason)
        for engine in old:
            self._await_replacement(engine, EngineError(reason))

    def sleep(self) -> None:
        """Free the GPU; an engine that dies meanwhile is replaced after waking."""
        self.call_all("sleep", _DROP_WEIGHTS)
        self._is_asleep = True

    def wake_weights(self) -> None:
        """Take memory for weights, which are then undefined until some are sent."""
        self._is_asleep = False
        self.call_all("wake_up", "weights")

    def wake_kv_cache(self) -> None:
        """Take memory for the KV cache, and generate."""
        self.call_all("wake_up", "kv_cache")

    def call_all(self, method: str, *args: object) -> list[Any]:
        """Call a method of every engine; one that dies is replaced and asked again.

        Args:
            method: Of :class:`~.engine_actor.EngineActor`.
            args: Its arguments.

        Returns:
            The results in the order of ``actor_names``.

        Raises:
            EngineError: Engines die faster than they can be replaced.
        """
        with self._lock:
            engines = list(self._engines)
        waiting = [getattr(e.actor, method).remote(*args) for e in engines]
        results = []
        for engine, result in zip(engines, waiting, strict=True):
            while True:
                try:
                    results.append(ray.get(result, timeout=self._start_timeout_s))
                    break
                except RayActorError as error:
                    engine = self._await_replacement(engine, error)
                    result = getattr(engine.actor, method).remote(*args)
        return results

    def check(self) -> None:
        """Check that the run can go on.

        Raises:
            EngineError: Engines died more often than ``max_num_restarts``, or could not
                be replaced.
        """
        if self._gave_up:
            last = self.failures[-1]
            raise EngineError(f"{last.name} could not be replaced: {last.reason}")
        if len(self.failures) > self._max_num_restarts:
            last = self.failures[-1]
            raise EngineError(
                f"engines failed {len(self.failures)} times, more than "
                f"max_num_engine_restarts={self._max_num_restarts} allows. The last, "
                f"{last.name}: {last.reason}"
            )

    def metrics(self) -> dict[str, int]:
        """Figures of the engines."""
        return {
            "num_engines": len(self._engines),
            "num_restarts_lifetime": len(self.failures),
        }

    def shutdown(self) -> None:
        """Stop all engines and give their bundles back. Idempotent."""
        self._is_stopping.set()
        if self._watcher.is_alive():
            # Not for ever: it may be waiting for a learner that hangs.
            self._watcher.join(_SECONDS_TO_DIE)
        _stop_all(self._engines)
        self._engines.clear()
        self._placement.remove()

    def _start(self, place: int, name: str) -> _Engine:
        resources = dict(self._placement.resources)
        has_gpu = "GPU" in resources
        num_cpus = resources.pop("CPU", 0.0)
        environment = self._settings.environment(has_gpu=has_gpu)
        if not has_gpu:
            environment["OMP_NUM_THREADS"] = str(max(1, int(num_cpus)))
        actor = (
            ray.remote(EngineActor)
            .options(
                name=name,
                num_cpus=num_cpus,
                num_gpus=resources.pop("GPU", 0.0),
                resources=resources,
                scheduling_strategy=self._placement.strategy(place),
                runtime_env={"env_vars": environment},
                max_concurrency=_MOST_CALLS_AT_ONCE,
            )
            .remote(
                self._settings,
                self._fetch_weights() if self._fetch_weights is not None else None,
                self._policy_version,
                self._stall_timeout_s,
            )
        )
        return _Engine(
            name=name,
            actor=actor,
            heartbeat=actor.heartbeat.remote(),
            asked_at=time.monotonic(),
        )

    def _wait_until_ready(self) -> None:
        for engine in self._engines:
            try:
                ray.get(engine.heartbeat, timeout=self._start_timeout_s)
            except GetTimeoutError as error:
                raise EngineError(
                    f"{engine.name} did not start within {self._start_timeout_s:g} s"
                ) from error
            except RayError as error:
                raise EngineError(f"{engine.name} did not start: {error}") from error

    def _watch(self) -> None:
        while not self._is_stopping.wait(_SECONDS_BETWEEN_HEARTBEATS):
            if self._is_asleep:  # The GPU is the learner's now.
                continue
            for place, engine in enumerate(list(self._engines)):
                if (reason := self._find_failure(engine)) is None:
                    continue
                try:
                    self._replace(place, engine, reason)
                except Exception as error:  # What fetches weights may raise anything.
                    logger.exception("engine %s could not be replaced", engine.name)
                    self.failures.append(
                        EngineFailure(name=engine.name, reason=repr(error))
                    )
                    self._gave_up = True
                    return

    def _find_failure(self, engine: _Engine) -> str | None:
        """Why an engine must be replaced, or None."""
        answered, _ = ray.wait([engine.heartbeat], timeout=0)
        if answered:
            try:
                ray.get(engine.heartbeat)
            except (RayError, EngineError) as error:
                return str(error)
            engine.has_answered = True
            engine.heartbeat = engine.actor.heartbeat.remote()
            engine.asked_at = time.monotonic()
            return None
        limit = self._stall_timeout_s if engine.has_answered else self._start_timeout_s
        if time.monotonic() - engine.asked_at > limit:
            return f"no answer for {limit:g} s"
        return None

    def _replace(self, place: int, old: _Engine, reason: str) -> None:
        """Fill a place again, with the present weights, if nobody did so already."""
        with self._lock:
            if self._engines[place] is not old:
                return
            self.failures.append(EngineFailure(name=old.name, reason=reason))
            logger.warning("engine %s is replaced: %s", old.name, reason)
            ray.kill(old.actor)
            _await_name_free(old.name)
            if len(self.failures) > self._max_num_restarts:
                self._is_stopping.set()
                return
            self._engines[place] = self._start(place, old.name)

    def _await_replacement(self, dead: _Engine, error: Exception) -> _Engine:
        """Wait until the place of a dead engine is filled and has the weights."""
        deadline = time.monotonic() + self._start_timeout_s
        while time.monotonic() < deadline:
            self.check()
            with self._lock:
                (engine,) = [e for e in self._engines if e.name == dead.name]
            if engine is not dead:
                try:
                    if ray.get(engine.actor.heartbeat.remote()) == self._policy_version:
                        return engine
                except RayError:
                    dead = engine  # This one died too; the watcher sees it as well.
            time.sleep(_SECONDS_BETWEEN_HEARTBEATS)
        raise EngineError(f"{dead.name} could not be replaced: {error}") from error


def _await_name_free(name: str) -> None:
    """Wait until Ray has noticed that an actor is gone."""
    deadline = time.monotonic() + _SECONDS_TO_DIE
    while time.monotonic() < deadline:
        try:
            ray.get_actor(name)
        except ValueError:
            return
        time.sleep(0.05)
    raise EngineError(f"{name} was killed {_SECONDS_TO_DIE:g} s ago and still there")


def _stop_all(engines: Sequence[_Engine]) -> None:
    """Let vLLM stop its own processes, then end the actors."""
    closing = [engine.actor.close.remote() for engine in engines]
    if closing:
        # One that is dead or stuck is ended all the same.
        ray.wait(closing, num_returns=len(closing), timeout=_SECONDS_TO_DIE)
    for engine in engines:
        ray.kill(engine.actor)
    for engine in engines:
        _await_name_free(engine.name)
