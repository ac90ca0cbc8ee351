"""What a problem must keep, whoever makes it; and how ids become names."""

from __future__ import annotations

from dataclasses import replace

import pytest

from environments.alfworld.pddl import numbered_names, problem_of
from environments.alfworld.problem import (
    Ability,
    Goal,
    Item,
    Problem,
    Receptacle,
    TaskType,
)
from tests.environments.hand_made_house import GRAMMAR, problem_text

_GOOD = Problem(
    instruction="put a mug in shelf.",
    goal=Goal(task_type=TaskType.PLACE, item_kind="mug", target_kind="shelf"),
    receptacles=(
        Receptacle(name="desk 1", kind="desk", location=0, contents=(0, 1)),
        Receptacle(name="shelf 2", kind="shelf", location=1),
        Receptacle(name="shelf 1", kind="shelf", location=1),
    ),
    items=(
        Item(name="mug 2", kind="mug", abilities=Ability.PICKUPABLE, locations=(0,)),
        Item(name="mug 1", kind="mug", abilities=Ability.PICKUPABLE, locations=(0,)),
    ),
    fits=frozenset({("shelf", "mug")}),
)
_DESK, _SHELF_2, _SHELF_1 = _GOOD.receptacles
_MUG_2, _MUG_1 = _GOOD.items


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"items": (_MUG_1, _MUG_2)}, "'mug 2' comes after a lower"),
        ({"items": (_MUG_1, _MUG_1)}, "'mug 1' comes after a lower or equal"),
        ({"items": (replace(_MUG_2, name="mug"), _MUG_1)}, "not a class and a number"),
        ({"items": (replace(_MUG_2, name="Mug 2"), _MUG_1)}, "not a class and a num"),
        ({"items": (replace(_MUG_2, name="desk 1"), _MUG_1)}, "both a receptacle and"),
        ({"items": (replace(_MUG_2, contents=(1,)), _MUG_1)}, "is no container"),
        ({"receptacles": (replace(_DESK, contents=(2,)), _SHELF_1)}, "outside 0..1"),
        ({"receptacles": (replace(_DESK, contents=(1, 0)), _SHELF_1)}, "not ascend"),
        ({"receptacles": (replace(_DESK, location=-1), _SHELF_1)}, "is at -1"),
        ({"receptacles": (_DESK,)}, "needs a 'shelf'"),
        ({"goal": replace(_GOOD.goal, item_kind="pen")}, "asks for a 'pen'"),
        ({"goal": replace(_GOOD.goal, task_type=TaskType.LOOK)}, "needs a 'shelf'"),
    ],
)
def test_a_problem_that_does_not_hold_together_is_refused(
    change: dict[str, object], complaint: str
) -> None:
    with pytest.raises(ValueError, match=complaint):
        replace(_GOOD, **change)  # type: ignore[arg-type]


def test_numbers_count_every_id_of_a_class_seen_or_not() -> None:
    ids = {"mug_bar_c", "mug_bar_a", "mug_bar_b", "cup_bar_a"}
    assert numbered_names(ids) == {
        "mug_bar_a": "mug 3",
        "mug_bar_b": "mug 2",
        "mug_bar_c": "mug 1",
        "cup_bar_a": "cup 1",
    }


def test_a_basin_is_a_class_of_its_own_beside_the_sink() -> None:
    names = numbered_names({"sink_bar_a", "sink_bar_a_bar_sinkbasin"})
    assert set(names.values()) == {"sink 1", "sinkbasin 1"}


def test_a_bathtub_that_counts_as_a_sink_cleans_and_keeps_its_name() -> None:
    text = problem_text("pick_clean_then_place_in_recep", "Mug", "SinkBasin")
    text = text.replace("Sink_bar_a_bar_SinkBasin", "Bathtub_bar_a_bar_BathtubBasin")
    problem = problem_of(text, GRAMMAR.format(sentence="clean it."))
    basins = [r for r in problem.receptacles if r.kind == "sinkbasin"]
    assert [r.name for r in basins] == ["bathtubbasin 1"]


def test_only_places_with_a_receptacle_are_locations() -> None:
    text = problem_text("pick_and_place_simple", "Book", "Shelf")
    problem = problem_of(text, GRAMMAR.format(sentence="do it."))
    window = next(item for item in problem.items if item.kind == "window")
    assert window.locations == ()
    assert {r.location for r in problem.receptacles} == set(range(7))
