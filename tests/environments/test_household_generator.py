"""Generated houses: what every one of them holds, and that they never change."""

import hashlib
import time
from itertools import pairwise

import pytest

from environments.alfworld.problem import Ability, TaskType
from environments.household.catalogue import ROOMS
from environments.household.generator import SIZES, generate_problem
from environments.household.tasks import (
    TASK_TYPES,
    house_tasks,
    problem_of_task,
)

CASES = [(size, task_type) for size in SIZES for task_type in TaskType]
APPLIANCES = {
    TaskType.CLEAN: ("sinkbasin", Ability.CLEANABLE),
    TaskType.HEAT: ("microwave", Ability.HEATABLE),
    TaskType.COOL: ("fridge", Ability.COOLABLE),
}


def houses(size, task_type, count=60):
    return [generate_problem(task_type, size, (0, n)) for n in range(count)]


@pytest.mark.parametrize(("size", "task_type"), CASES)
def test_every_house_holds_what_its_task_needs(size, task_type):
    for house in houses(size, task_type):
        goal = house.goal
        kinds = {receptacle.kind for receptacle in house.receptacles}
        holders = [
            receptacle
            for receptacle in house.receptacles
            for item in receptacle.contents
            if house.items[item].kind == goal.item_kind
        ]
        assert len(holders) >= (2 if task_type is TaskType.PLACE_TWO else 1)
        members = [item for item in house.items if item.kind == goal.item_kind]
        assert all(Ability.PICKUPABLE in item.abilities for item in members)
        if task_type is TaskType.LOOK:
            (lamp,) = (item for item in house.items if item.kind == goal.target_kind)
            assert lamp.abilities is Ability.TOGGLEABLE
            continue
        assert (goal.target_kind, goal.item_kind) in house.fits
        assert all(receptacle.kind != goal.target_kind for receptacle in holders)
        if task_type in APPLIANCES:
            appliance, ability = APPLIANCES[task_type]
            assert appliance in kinds
            assert all(ability in item.abilities for item in members)


@pytest.mark.parametrize(("size", "task_type"), CASES)
def test_sizes_keep_their_bounds_and_every_item_lies_where_it_belongs(size, task_type):
    low, high = SIZES[size].num_receptacles
    most = {
        (room.name, kind): most
        for room in ROOMS.values()
        for kind, _, most in room.furniture
    }
    for house in houses(size, task_type):
        assert low <= len(house.receptacles) <= high
        kinds = [receptacle.kind for receptacle in house.receptacles]
        assert any(
            all(kinds.count(kind) <= most.get((room, kind), 0) for kind in kinds)
            for room in ROOMS
        )
        lies_in = [i for r in house.receptacles for i in r.contents]
        assert sorted(lies_in) == list(range(len(house.items)))
        for receptacle in house.receptacles:
            for number in receptacle.contents:
                item = house.items[number]
                assert item.locations == (receptacle.location,)
                if Ability.PICKUPABLE in item.abilities:
                    assert (receptacle.kind, item.kind) in house.fits


def test_only_neighbours_of_one_kind_that_opens_share_a_place():
    shared = 0
    for house in houses("full", TaskType.PLACE, 100):
        places = [receptacle.location for receptacle in house.receptacles]
        assert sorted(set(places)) == list(range(max(places) + 1))
        for first, second in pairwise(house.receptacles):
            if first.location == second.location:
                assert first.kind == second.kind and first.is_openable
                shared += 1
    assert shared > 50


def test_the_same_seed_gives_the_same_house_and_another_one_another():
    first = generate_problem(TaskType.HEAT, "small", (0, 5))
    assert first == generate_problem(TaskType.HEAT, "small", (0, 5))
    assert first != generate_problem(TaskType.HEAT, "small", (0, 6))
    assert first != generate_problem(TaskType.HEAT, "small", (1, 5))


PANEL_DIGESTS = {
    "tiny": "33502883e8f6fa9c",
    "small": "5764acabb0d74257",
    "full": "aa0dd80f43cbbe9f",
}


@pytest.mark.parametrize("size", SIZES)
def test_the_evaluation_panel_is_the_same_for_ever(size):
    """A new digest here means that old evaluation figures no longer compare."""
    digest = hashlib.sha256()
    for task in house_tasks("eval", size=size):
        house = problem_of_task(task.id)
        told = (
            task,
            house.instruction,
            house.receptacles,
            house.items,
            sorted(house.fits),
        )
        digest.update(repr(told).encode())
    assert digest.hexdigest()[:16] == PANEL_DIGESTS[size]


@pytest.mark.parametrize("size", SIZES)
def test_no_evaluation_house_is_among_the_first_training_houses(size):
    panel = {repr(problem_of_task(t.id)) for t in house_tasks("eval", size=size)}
    assert len(panel) == 128
    train = house_tasks("train", size=size)[:1000]
    assert panel.isdisjoint(repr(problem_of_task(task.id)) for task in train)


def test_the_evaluation_panel_is_balanced_and_training_goes_through_all_types():
    panel = house_tasks("eval", size="tiny")
    counts = [sum(task.kind == kind for task in panel) for kind in TASK_TYPES]
    assert len(panel) == 128 and set(counts) == {21, 22}
    train = house_tasks("train", size="tiny")
    assert len(train) == 1_000_000
    assert [task.kind for task in train[:6]] == list(TASK_TYPES)
    assert train[999_999].id.startswith("train/tiny/")


def test_a_choice_of_task_types_keeps_the_ids_of_its_tasks():
    chosen = house_tasks(
        "eval", size="tiny", task_types=["pick_heat_then_place_in_recep"]
    )
    everything = {task.id for task in house_tasks("eval", size="tiny", num_tasks=1000)}
    assert {task.id for task in chosen} <= everything


@pytest.mark.parametrize(
    "task_id",
    [
        "",
        "train/tiny/pick_and_place_simple",
        "test/tiny/pick_and_place_simple/0",
        "train/huge/pick_and_place_simple/0",
        "train/tiny/pick/0",
        "train/tiny/pick_and_place_simple/-1",
        "train/tiny/pick_and_place_simple/01",
        "train/tiny/pick_and_place_simple/1/2",
        "train/tiny/pick_and_place_simple/" + "9" * 5000,
        "train/tiny/pick_and_place_simple/\u0661",
    ],
)
def test_an_id_that_names_no_house_is_refused_with_an_example(task_id):
    with pytest.raises(ValueError, match="ids look like"):
        problem_of_task(task_id)


def test_an_unknown_split_is_answered_with_the_known_ones():
    with pytest.raises(ValueError, match="eval"):
        house_tasks("test", size="tiny")


def test_a_tiny_house_takes_less_than_two_milliseconds():
    for task_type in TaskType:
        generate_problem(task_type, "tiny", (0, 0))
    seconds = []
    for n in range(120):
        start = time.perf_counter()
        generate_problem(list(TaskType)[n % 6], "tiny", (0, n))
        seconds.append(time.perf_counter() - start)
    assert sorted(seconds)[len(seconds) // 2] < 0.002
