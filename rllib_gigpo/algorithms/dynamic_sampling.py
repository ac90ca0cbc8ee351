"""Sampling until there are enough groups that teach something.

Source: dynamic sampling of DAPO, Yu et al., arXiv 2503.14476, Section 3.2. Works on
whole groups, draws new tasks in each round, and its last round keeps everything.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby

from rllib_gigpo.rollout.group_scheduler import Rollout
from rllib_gigpo.rollout.records import EpisodeFailure, EpisodeRecord, GroupSpec


def sample_groups(
    *,
    draw: Callable[[int], list[GroupSpec]],
    play: Callable[[list[GroupSpec]], Rollout],
    num_groups: int,
    max_rounds: int,
) -> tuple[Rollout, int]:
    """Play ``num_groups`` groups, replacing those whose returns are all equal.

    Args:
        draw: Number of groups to new group specs.
        play: Group specs to their rollout.
        num_groups: Groups wanted.
        max_rounds: Rounds of replacement; 0 keeps whatever the first round gives.

    Returns:
        The rollout, with the failures of all rounds, and the number of rounds played.
    """
    episodes: list[EpisodeRecord] = []
    failures: list[EpisodeFailure] = []
    num_kept = num_replaced = 0
    for num_rounds in range(1, max_rounds + 2):
        is_last = num_rounds == max_rounds + 1
        rollout = play(draw(num_groups - num_kept))
        failures += rollout.failures
        for _, members in groupby(rollout.episodes, key=lambda e: e.group_id):
            group = list(members)
            if is_last or has_signal(group):
                episodes += group
                num_kept += 1
            else:
                num_replaced += len(group)
        if num_kept >= num_groups:
            break
    rollout = Rollout(episodes=episodes, failures=failures, num_replaced=num_replaced)
    return rollout, num_rounds


def has_signal(group: Sequence[EpisodeRecord]) -> bool:
    """Whether the episodes' returns differ, so that some advantage is not 0."""
    returns = [episode.episode_return for episode in group]
    return max(returns) - min(returns) > 1e-5 * max(1.0, abs(max(returns)))
