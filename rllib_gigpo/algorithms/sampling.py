"""Playing groups on the env runners: each whole group on one runner, none lost."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from ray.rllib.env.env_runner_group import EnvRunnerGroup

from rllib_gigpo.errors import RolloutError
from rllib_gigpo.rollout.env_runner import PlayedGroups
from rllib_gigpo.rollout.episodes import from_rllib_episode
from rllib_gigpo.rollout.group_scheduler import Rollout, check_groups_start_alike
from rllib_gigpo.rollout.records import EpisodeFailure, GroupSpec

logger = logging.getLogger(__name__)


def play_on_runners(
    runners: EnvRunnerGroup, specs: Sequence[GroupSpec], *, timeout_s: float
) -> Rollout:
    """Play all groups; those of a runner that died are played again by the others.

    Args:
        runners: Local or remote runners.
        specs: The groups.
        timeout_s: Longest wait for the remote runners.

    Returns:
        Episodes in the order of ``specs``, whichever runner played them. Groups that
        no runner finished are counted as failures, member by member.

    Raises:
        RolloutError: Members of a group did not start from the same state, or no runner
            is alive.
    """
    if not runners.num_remote_env_runners():
        return _merge(specs, [runners.local_env_runner.play(specs)])
    played = _play_remotely(runners, specs, timeout_s)
    if missing := _missing(specs, played):
        logger.warning("%d groups were lost with their runner; again", len(missing))
        played += _play_remotely(runners, missing, timeout_s)
    return _merge(specs, played)


def check_failures(rollout: Rollout, max_failed_fraction: float) -> None:
    """Stop the run when too many episodes failed.

    Raises:
        RolloutError: With the first failure's traceback.
    """
    num_failed = len(rollout.failures)
    num_all = num_failed + len(rollout.episodes) + rollout.num_replaced
    if num_failed and num_failed > max_failed_fraction * num_all:
        first = rollout.failures[0]
        raise RolloutError(
            f"{num_failed} of {num_all} episodes failed, more than "
            f"max_failed_episode_fraction={max_failed_fraction:g} allows. The first, "
            f"{first.episode_id} of task {first.task_id!r}: {first.error_type}: "
            f"{first.message}\n{first.traceback}"
        )


def _play_remotely(
    runners: EnvRunnerGroup, specs: Sequence[GroupSpec], timeout_s: float
) -> list[PlayedGroups]:
    ids = runners.healthy_env_runner_ids()
    if not ids:
        raise RolloutError("no env runner is alive; see the log for why they died")
    shares = [list(specs[index :: len(ids)]) for index in range(len(ids))]
    busy = [(i, share) for i, share in zip(ids, shares, strict=True) if share]
    return runners.foreach_env_runner(
        "play",
        kwargs=[{"specs": share} for _, share in busy],
        remote_worker_ids=[i for i, _ in busy],
        local_env_runner=False,
        timeout_seconds=timeout_s,
    )


def _missing(
    specs: Sequence[GroupSpec], played: Sequence[PlayedGroups]
) -> list[GroupSpec]:
    known = {e.custom_data["group_id"] for p in played for e in p.episodes} | {
        f.episode_id.rpartition("/")[0] for p in played for f in p.failures
    }
    return [spec for spec in specs if spec.group_id not in known]


def _merge(specs: Sequence[GroupSpec], played: Sequence[PlayedGroups]) -> Rollout:
    """In the order asked for, so that nothing downstream depends on the runners."""
    place = {spec.group_id: index for index, spec in enumerate(specs)}
    episodes = [from_rllib_episode(e) for p in played for e in p.episodes]
    failures = [f for p in played for f in p.failures]
    failures += [
        EpisodeFailure(
            episode_id=f"{spec.group_id}/{member}",
            task_id=spec.task_id,
            error_type="EnvRunnerLost",
            message=(
                "the env runner died, raised an error (see the log) or did not answer "
                "in time"
            ),
            traceback="",
        )
        for spec in _missing(specs, played)
        for member in range(spec.group_size)
    ]
    # Stable: a runner returns a group's members in order.
    episodes.sort(key=lambda episode: place[episode.group_id])
    # Here and not in the runners, whose exceptions RLlib takes for their death.
    check_groups_start_alike(episodes)
    return Rollout(episodes=episodes, failures=failures)
