"""Many episodes at once, none waiting for another: a place that is freed is taken.

This is the boundary at which an episode's exception becomes a record of its failure, so
that it costs its own episode only.
"""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from environments.text_env import TextEnv
from rllib_gigpo.errors import EngineError, RolloutError
from rllib_gigpo.inference.engine import Engine
from rllib_gigpo.rollout.env_calls import EnvHandle
from rllib_gigpo.rollout.episode_loop import play_episode
from rllib_gigpo.rollout.prompts import PromptRenderer
from rllib_gigpo.rollout.records import EpisodeFailure, EpisodeRecord, GroupSpec
from rllib_gigpo.rollout.settings import RolloutSettings

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollout:
    """What became of the groups that were asked for.

    Attributes:
        episodes: The finished episodes, by group and member in the order asked for.
        failures: The episodes that could not be finished.
        num_replaced: Finished episodes that are not in ``episodes``, as dynamic
            sampling has played other groups instead.
    """

    episodes: list[EpisodeRecord]
    failures: list[EpisodeFailure]
    num_replaced: int = 0


class EnvPool:
    """Environments for up to ``size`` episodes at once, made when first needed."""

    def __init__(
        self, make_env: Callable[[], TextEnv], size: int, timeout_s: float
    ) -> None:
        self.size = size
        self._make_env = make_env
        self._timeout_s = timeout_s
        self._free: list[EnvHandle] = []

    def take(self) -> EnvHandle:
        """A free environment; the caller must :meth:`give_back` it."""
        if self._free:
            return self._free.pop()
        return EnvHandle(self._make_env(), self._timeout_s)

    def give_back(self, handle: EnvHandle, *, is_reusable: bool) -> None:
        """Return an environment. One that failed is closed and never used again."""
        if is_reusable:
            self._free.append(handle)
        else:
            handle.close()

    def close(self) -> None:
        """Close all free environments."""
        while self._free:
            self._free.pop().close()


async def play_groups(
    specs: Sequence[GroupSpec],
    *,
    envs: EnvPool,
    engine: Engine,
    renderer: PromptRenderer,
    settings: RolloutSettings,
) -> Rollout:
    """Play whole groups, at most ``envs.size`` episodes at a time."""
    # First come, first served: a group's members start together, in the order asked
    # for, which is what prefix caches like.
    places = asyncio.Semaphore(envs.size)

    async def play(spec: GroupSpec, member: int) -> EpisodeRecord | EpisodeFailure:
        async with places:
            return await _play_or_fail(spec, member, envs, engine, renderer, settings)

    outcomes = await asyncio.gather(
        *(play(spec, member) for spec in specs for member in range(spec.group_size))
    )
    return Rollout(
        episodes=[o for o in outcomes if isinstance(o, EpisodeRecord)],
        failures=[o for o in outcomes if isinstance(o, EpisodeFailure)],
    )


async def _play_or_fail(
    spec: GroupSpec,
    member: int,
    envs: EnvPool,
    engine: Engine,
    renderer: PromptRenderer,
    settings: RolloutSettings,
) -> EpisodeRecord | EpisodeFailure:
    handle = None
    is_reusable = False
    try:
        handle = envs.take()
        episode = await play_episode(
            spec,
            member,
            env=handle,
            engine=engine,
            renderer=renderer,
            settings=settings,
        )
        is_reusable = True
        return episode
    except Exception as error:
        logger.warning("episode %s/%d failed: %r", spec.group_id, member, error)
        return EpisodeFailure(
            episode_id=f"{spec.group_id}/{member}",
            task_id=spec.task_id,
            error_type=type(error).__name__,
            message=str(error),
            traceback=traceback.format_exc(),
            is_engine_failure=isinstance(error, EngineError),
        )
    finally:
        if handle is not None:
            envs.give_back(handle, is_reusable=is_reusable)


def check_groups_start_alike(episodes: Sequence[EpisodeRecord]) -> None:
    """Advantages compare within a group, so its members must start in one state.

    Raises:
        RolloutError: Members of a group did not.
    """
    first: dict[str, EpisodeRecord] = {}
    for episode in episodes:
        other = first.setdefault(episode.group_id, episode)
        if not (episode.steps and other.steps):
            continue
        a, b = episode.steps[0], other.steps[0]
        if (a.observation, a.state_key) != (b.observation, b.state_key):
            raise RolloutError(
                f"episodes {other.episode_id} and {episode.episode_id} of task "
                f"{episode.task_id!r} start in different states although they were "
                "reset with the same seed; the environment's reset must depend on "
                "(seed, task) only. Run environments.checker.check_text_env on it."
            )
