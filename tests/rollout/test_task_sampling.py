"""Which groups are played: draws by seed, and panels that never change."""

from collections import Counter

import pytest

from environments.tasks import Task, TaskSet
from rllib_gigpo.rollout.task_sampling import TaskSampler, evaluation_panel

TASKS = TaskSet("train", 10, lambda i: Task(id=f"t{i}"))


def sampler(seed: int = 0) -> TaskSampler:
    return TaskSampler(TASKS, seed=seed, group_size=4)


def test_an_epoch_plays_every_task_once() -> None:
    drawn = sampler().draw(20, prefix="p", temperature=1.0)
    assert set(Counter(spec.task_id for spec in drawn[:10]).values()) == {1}
    assert set(Counter(spec.task_id for spec in drawn[10:]).values()) == {1}
    assert [s.task_id for s in drawn[:10]] != [s.task_id for s in drawn[10:]]


def test_draws_do_not_depend_on_how_many_are_taken_at_once() -> None:
    one, many = sampler(), sampler()
    assert many.draw(25, prefix="p", temperature=1.0) == [
        spec for _ in range(25) for spec in one.draw(1, prefix="p", temperature=1.0)
    ]


def test_a_restored_position_continues_the_sequence() -> None:
    whole = sampler().draw(17, prefix="p", temperature=1.0)
    resumed = sampler()
    resumed.num_drawn = 13
    assert resumed.draw(4, prefix="p", temperature=1.0) == whole[13:]


def test_seeds_and_ids_are_unique_and_change_with_the_seed() -> None:
    drawn = sampler().draw(200, prefix="p", temperature=1.0)
    assert len({spec.group_id for spec in drawn}) == 200
    assert len({spec.sampling_seed for spec in drawn}) == 200
    other = sampler(seed=1).draw(200, prefix="p", temperature=1.0)
    assert not {s.sampling_seed for s in drawn} & {s.sampling_seed for s in other}


def test_a_huge_task_set_is_never_shuffled() -> None:
    huge = TaskSet("train", 2**40, lambda i: Task(id=str(i)))
    drawn = TaskSampler(huge, seed=0, group_size=2).draw(5, prefix="p", temperature=1.0)
    assert len({spec.task_id for spec in drawn}) == 5


def test_the_evaluation_panel_is_complete_and_the_same_every_time() -> None:
    def panel(num_tasks: int | None) -> list[str]:
        specs = evaluation_panel(
            TASKS, seed=0, num_tasks=num_tasks, episodes_per_task=1, temperature=0.4
        )
        return [f"{s.task_id} {s.env_seed} {s.sampling_seed}" for s in specs]

    assert panel(None) == panel(None)
    assert [line.split()[0] for line in panel(None)] == [f"t{i}" for i in range(10)]
    assert panel(4) == panel(None)[:4]


def test_no_tasks_is_an_error() -> None:
    with pytest.raises(ValueError, match="no training tasks"):
        TaskSampler(TaskSet.of("train", []), seed=0, group_size=2)
