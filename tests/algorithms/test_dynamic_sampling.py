"""Dynamic sampling on scripted outcomes."""

from collections.abc import Callable

import pytest

from rllib_gigpo.algorithms.dynamic_sampling import sample_groups
from rllib_gigpo.algorithms.sampling import check_failures
from rllib_gigpo.errors import RolloutError
from rllib_gigpo.rollout.group_scheduler import Rollout
from rllib_gigpo.rollout.records import (
    EpisodeFailure,
    EpisodeRecord,
    GroupSpec,
    StopReason,
)


def fake_play(returns_of: Callable[[int], list[float]]) -> Callable:
    def play(specs: list[GroupSpec]) -> Rollout:
        episodes = [
            _Episode(spec.group_id, value)
            for spec in specs
            for value in returns_of(int(spec.group_id))
        ]
        return Rollout(episodes=episodes, failures=[])

    return play


class _Episode(EpisodeRecord):
    def __init__(self, group_id: str, episode_return: float) -> None:
        super().__init__(
            episode_id=f"{group_id}/0",
            group_id=group_id,
            task_id="t",
            task_kind="",
            steps=(),
            final_observation="",
            stop_reason=StopReason.TERMINATED,
            success=False,
        )
        object.__setattr__(self, "_return", episode_return)

    @property
    def episode_return(self) -> float:
        return self._return


class Draw:
    def __init__(self) -> None:
        self.counts: list[int] = []

    def __call__(self, count: int) -> list[GroupSpec]:
        first = sum(self.counts)
        self.counts.append(count)
        return [
            GroupSpec(
                group_id=str(index),
                task_id="t",
                task_kind="",
                env_seed=0,
                sampling_seed=0,
                group_size=2,
                temperature=1.0,
            )
            for index in range(first, first + count)
        ]


def groups_of(rollout: Rollout) -> list[str]:
    return sorted({episode.group_id for episode in rollout.episodes}, key=int)


def test_without_it_every_group_of_one_round_is_kept() -> None:
    draw = Draw()
    rollout, rounds = sample_groups(
        draw=draw, play=fake_play(lambda g: [0, 0]), num_groups=4, max_rounds=0
    )
    assert groups_of(rollout) == ["0", "1", "2", "3"]
    assert (rounds, draw.counts) == (1, [4])


def test_only_as_many_as_are_missing_are_drawn_again() -> None:
    draw = Draw()
    rollout, rounds = sample_groups(
        draw=draw,
        play=fake_play(lambda g: [0, g % 2]),  # Odd groups teach.
        num_groups=4,
        max_rounds=10,
    )
    assert groups_of(rollout) == ["1", "3", "5", "7"]
    assert draw.counts == [4, 2, 1, 1]
    assert rounds == 4


def test_the_last_round_keeps_everything_and_the_loop_ends() -> None:
    draw = Draw()
    rollout, rounds = sample_groups(
        draw=draw, play=fake_play(lambda g: [1, 1]), num_groups=3, max_rounds=2
    )
    assert rounds == 3 and draw.counts == [3, 3, 3]
    assert groups_of(rollout) == ["6", "7", "8"]


def test_failures_are_a_share_of_all_that_was_played() -> None:
    """One episode in ten fails, whether its group is kept or replaced."""

    def play(specs: list[GroupSpec]) -> Rollout:
        rollout = fake_play(lambda g: [0.0] * 9)(specs)
        rollout.failures.extend(
            EpisodeFailure(
                episode_id=f"{spec.group_id}/9",
                task_id="t",
                error_type="RuntimeError",
                message="",
                traceback="",
            )
            for spec in specs
        )
        return rollout

    rollout, _ = sample_groups(draw=Draw(), play=play, num_groups=4, max_rounds=10)
    assert (len(rollout.failures), len(rollout.episodes)) == (44, 36)
    check_failures(rollout, max_failed_fraction=0.1)
    with pytest.raises(RolloutError, match="44 of 440 episodes failed"):
        check_failures(rollout, max_failed_fraction=0.09)


def test_float_noise_is_no_signal() -> None:
    _, rounds = sample_groups(
        draw=Draw(),
        play=fake_play(lambda g: [10.0, 10.0 + 1e-6]),
        num_groups=1,
        max_rounds=1,
    )
    assert rounds == 2
