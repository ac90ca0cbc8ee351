"""One test per rule of the household domain, on a house made by hand."""

from __future__ import annotations

import pytest

from environments.alfworld.pddl import problem_of
from environments.alfworld.simulator import Simulator
from environments.alfworld.wording import NOTHING_HAPPENS
from tests.environments.hand_made_house import GRAMMAR, problem_text


def game(
    *commands: str,
    task: tuple[str, str, str] = ("pick_and_place_simple", "Book", "Shelf"),
) -> Simulator:
    """The house after some commands, each of which must have been admissible."""
    simulator = Simulator(
        problem_of(problem_text(*task), GRAMMAR.format(sentence="do it."))
    )
    for command in commands:
        assert command in simulator.admissible_commands(), command
        assert simulator.step(command) != NOTHING_HAPPENS
    return simulator


def refused(simulator: Simulator, command: str) -> bool:
    """Whether a command is neither listed nor does anything."""
    is_listed = command in simulator.admissible_commands()
    before = simulator.state_key()
    feedback = simulator.step(command)
    assert is_listed == (feedback != NOTHING_HAPPENS), command
    assert is_listed or simulator.state_key() == before
    return not is_listed


def test_the_first_observation_lists_all_receptacles_and_the_task() -> None:
    assert game().reset() == (
        "-= Welcome to TextWorld, ALFRED! =-\n\n"
        "You are in the middle of a room. Looking quickly around you, you see "
        "a cabinet 2, a cabinet 1, a countertop 1, a desk 1, a drawer 1, a fridge 1, "
        "a microwave 1, a shelf 1, a sinkbasin 1, a stoveburner 2, and "
        "a stoveburner 1.\n\n"
        "Your task is to: do it."
    )


def test_at_the_start_one_can_go_anywhere_and_look_sees_nothing() -> None:
    start = game()
    goable = [c for c in start.admissible_commands() if c.startswith("go to ")]
    assert len(goable) == 11
    rest = sorted(set(start.admissible_commands()) - set(goable))
    assert rest == ["help", "inventory", "look"]
    assert start.step("look") == (
        "You are in the middle of a room. Looking quickly around you, you see nothing."
    )


def test_of_the_ids_of_a_class_the_first_in_order_has_the_highest_number() -> None:
    simulator = game("go to cabinet 2")
    assert simulator.step("open cabinet 2") == (
        "You open the cabinet 2. The cabinet 2 is open. In it, you see a mug 2."
    )


def test_two_things_are_joined_by_comma_and_and_always_with_the_article_a() -> None:
    assert game().step("go to countertop 1") == (
        "You arrive at countertop 1. On the countertop 1, you see "
        "a apple 2, and a knife 1."
    )


def test_one_cannot_go_to_a_neighbour_but_can_use_it() -> None:
    simulator = game("go to cabinet 1")
    for neighbour in ("cabinet 1", "cabinet 2", "shelf 1"):
        assert refused(simulator, f"go to {neighbour}")
    assert not refused(simulator, "examine cabinet 2")
    assert not refused(simulator, "open cabinet 2")
    assert not refused(simulator, "take mug 2 from cabinet 2")
    assert not refused(simulator, "move mug 2 to shelf 1")


def test_a_closed_receptacle_answers_arrival_and_examination_alike() -> None:
    simulator = game()
    arrival = simulator.step("go to fridge 1")
    assert arrival == "You arrive at fridge 1. The fridge 1 is closed."
    assert simulator.step("examine fridge 1") == "The fridge 1 is closed."
    assert simulator.step("open fridge 1") == (
        "You open the fridge 1. The fridge 1 is open. In it, you see a apple 1."
    )
    assert simulator.step("close fridge 1") == "You close the fridge 1."


def test_nothing_can_be_taken_from_or_put_into_a_closed_receptacle() -> None:
    simulator = game("go to fridge 1")
    assert refused(simulator, "take apple 1 from fridge 1")
    simulator = game(
        "go to fridge 1",
        "open fridge 1",
        "take apple 1 from fridge 1",
        "close fridge 1",
    )
    assert refused(simulator, "move apple 1 to fridge 1")


def test_only_an_openable_receptacle_opens_and_only_once() -> None:
    simulator = game("go to shelf 1")
    assert refused(simulator, "open shelf 1")
    assert refused(simulator, "close cabinet 1")
    assert not refused(simulator, "open cabinet 1")
    assert refused(simulator, "open cabinet 1")
    assert not refused(simulator, "close cabinet 1")
    assert refused(simulator, "open fridge 1"), "it is elsewhere"


def test_full_hands_take_nothing() -> None:
    simulator = game("go to desk 1", "take book 1 from desk 1")
    assert refused(simulator, "take book 2 from desk 1")
    assert simulator.step("inventory") == "You are carrying: a book 1."


def test_an_item_goes_only_where_its_kind_fits() -> None:
    simulator = game("go to desk 1", "take book 1 from desk 1", "go to countertop 1")
    assert refused(simulator, "move book 1 to countertop 1")


@pytest.mark.parametrize(
    ("verb", "appliance"),
    [("clean", "sinkbasin 1"), ("heat", "microwave 1"), ("cool", "fridge 1")],
)
def test_an_appliance_works_closed_and_again_and_leaves_the_item_in_hand(
    verb: str, appliance: str
) -> None:
    treat = f"{verb} apple 2 with {appliance}"
    simulator = game(
        "go to countertop 1", "take apple 2 from countertop 1", f"go to {appliance}"
    )
    for _ in range(2):
        assert treat in simulator.admissible_commands()
        feedback = simulator.step(treat)
        assert feedback == f"You {verb} the apple 2 using the {appliance}."
    assert simulator.step("inventory") == "You are carrying: a apple 2."


def test_an_appliance_treats_only_what_its_verb_allows() -> None:
    simulator = game("go to countertop 1", "take knife 1 from countertop 1")
    assert refused(simulator, "clean knife 1 with countertop 1")
    simulator.step("go to microwave 1")
    assert refused(simulator, "heat knife 1 with microwave 1")
    assert refused(simulator, "clean knife 1 with microwave 1")
    simulator.step("go to sinkbasin 1")
    assert not refused(simulator, "clean knife 1 with sinkbasin 1")


def test_hot_and_cool_exclude_each_other_and_clean_stays() -> None:
    simulator = game(
        "go to countertop 1",
        "take apple 2 from countertop 1",
        "go to sinkbasin 1",
        "clean apple 2 with sinkbasin 1",
    )
    states = []
    for command in (
        "go to microwave 1",
        "heat apple 2 with microwave 1",
        "go to fridge 1",
        "cool apple 2 with fridge 1",
        "go to microwave 1",
        "heat apple 2 with microwave 1",
    ):
        simulator.step(command)
        states.append(simulator.step("examine apple 2"))
    assert states == [
        "This is a clean apple 2.",
        "This is a hot and clean apple 2.",
        "This is a hot and clean apple 2.",
        "This is a cool and clean apple 2.",
        "This is a cool and clean apple 2.",
        "This is a hot and clean apple 2.",
    ]


def test_what_is_cool_from_the_start_counts_as_cooled() -> None:
    take = ("go to fridge 1", "open fridge 1", "take apple 1 from fridge 1")
    task = ("pick_cool_then_place_in_recep", "Apple", "CounterTop")
    simulator = game(*take, "go to countertop 1", task=task)
    assert simulator.step("examine apple 1") == "This is a cold apple 1."
    simulator.step("move apple 1 to countertop 1")
    assert simulator.won


def test_an_item_taken_from_one_of_two_receptacles_is_still_in_the_other() -> None:
    task = ("pick_and_place_simple", "Pot", "StoveBurner")
    simulator = game("go to stoveburner 2", "take pot 1 from stoveburner 2", task=task)
    assert simulator.won, "the pot in hand still counts on the other burner"
    assert simulator.step("examine stoveburner 2") == (
        "On the stoveburner 2, you see a potato 1."
    )
    assert simulator.step("go to stoveburner 1") == (
        "You arrive at stoveburner 1. On the stoveburner 1, you see a pot 1."
    )


def test_a_lamp_works_in_a_closed_drawer_and_never_goes_off() -> None:
    simulator = game("go to drawer 1")
    for _ in range(3):
        assert "use desklamp 1" in simulator.admissible_commands()
        assert simulator.step("use desklamp 1") == "You turn on the desklamp 1."


@pytest.mark.parametrize("num_uses", [1, 2])
def test_however_often_the_lamp_is_used_before_taking_the_item_the_look_is_won(
    num_uses: int,
) -> None:
    uses = ["use desklamp 1"] * num_uses
    task = ("look_at_obj_in_light", "Book", "DeskLamp")
    simulator = game("go to desk 1", *uses, task=task)
    assert not simulator.won
    simulator.step("take book 2 from desk 1")
    assert simulator.won
    simulator.step("go to shelf 1")
    assert not simulator.won, "the lamp is elsewhere"


def test_a_lamp_cannot_be_taken_and_nothing_else_can_be_used() -> None:
    simulator = game("go to drawer 1", "open drawer 1")
    assert refused(simulator, "take desklamp 1 from drawer 1")
    assert refused(simulator, "use book 1")
    simulator.step("go to shelf 1")
    assert refused(simulator, "use desklamp 1")


def test_an_item_is_examined_only_in_hand() -> None:
    simulator = game("go to desk 1")
    assert refused(simulator, "examine book 1")
    simulator.step("take book 1 from desk 1")
    assert simulator.step("examine book 1") == ("There's nothing special about book 1.")


def test_a_container_tells_its_first_contents_for_ever_and_no_state() -> None:
    potato = (
        "go to stoveburner 2",
        "take potato 1 from stoveburner 2",
        "move potato 1 to countertop 1",
    )
    pot = (
        "take pot 1 from stoveburner 2",
        "go to fridge 1",
        "cool pot 1 with fridge 1",
    )
    assert game(*potato, *pot).step("examine pot 1") == (
        "This is a normal pot 1. In it, you see a potato 1."
    )
    mug = game("go to shelf 1", "take mug 1 from shelf 1")
    assert (
        mug.step("examine mug 1") == "This is a normal mug 1. In it, you see nothing."
    )


def test_look_names_the_receptacles_here_without_articles() -> None:
    assert game("go to shelf 1").step("look") == (
        "You are facing the cabinet 2, cabinet 1, and shelf 1. "
        "Next to it, you see nothing."
    )
    assert game("go to sinkbasin 1").step("look") == (
        "You are facing the sinkbasin 1. Next to it, you see nothing."
    )


def test_look_lists_what_was_moved_between_neighbours_once_per_former_place() -> None:
    moves = (
        "go to shelf 1",
        "open cabinet 1",
        "open cabinet 2",
        "take mug 1 from shelf 1",
        "move mug 1 to cabinet 1",
        "take mug 1 from cabinet 1",
        "move mug 1 to cabinet 2",
    )
    simulator = game(*moves)
    assert simulator.step("look").endswith("Next to it, you see a mug 1, and a mug 1.")
    simulator = game(*moves, "take mug 1 from cabinet 2")
    assert simulator.step("look").endswith("Next to it, you see nothing.")
    simulator = game(*moves, "take mug 1 from cabinet 2", "move mug 1 to shelf 1")
    assert simulator.step("look").endswith("Next to it, you see a mug 1, and a mug 1.")


def test_slicing_needs_a_knife_in_hand_and_the_item_lying_here_even_shut_in() -> None:
    simulator = game("go to countertop 1")
    assert refused(simulator, "slice apple 2 with knife 1"), "the knife is not held"
    simulator.step("take knife 1 from countertop 1")
    assert refused(simulator, "slice bread 1 with knife 1"), "the bread is elsewhere"
    assert not refused(simulator, "slice apple 2 with knife 1")
    simulator.step("go to microwave 1")
    for _ in range(2):
        assert simulator.step("slice bread 1 with knife 1") == (
            "You sliced the bread 1 with the knife 1."
        )


def test_slicing_goes_by_where_an_item_lies_not_by_its_receptacle() -> None:
    simulator = game("go to countertop 1", "take knife 1 from countertop 1")
    assert not refused(simulator, "slice tomato 1 with knife 1"), "it is on the desk"
    simulator.step("go to desk 1")
    assert refused(simulator, "slice tomato 1 with knife 1")


@pytest.mark.parametrize(
    ("treatments", "text"),
    [
        ((), "This is a sliced apple 2."),
        (("clean",), "This is a clean sliced apple 2."),
        (("heat",), "This is a hot sliced apple 2."),
        (("cool",), "This is a cool sliced apple 2."),
        (("clean", "heat"), "This is a hot and clean sliced apple 2."),
        (("clean", "cool"), "This is a cool and clean sliced apple 2."),
    ],
)
def test_a_sliced_item_tells_its_other_states_too(
    treatments: tuple[str, ...], text: str
) -> None:
    simulator = game(
        "go to countertop 1",
        "take knife 1 from countertop 1",
        "slice apple 2 with knife 1",
        "move knife 1 to countertop 1",
        "take apple 2 from countertop 1",
    )
    appliances = {"clean": "sinkbasin 1", "heat": "microwave 1", "cool": "fridge 1"}
    for verb in treatments:
        simulator.step(f"go to {appliances[verb]}")
        simulator.step(f"{verb} apple 2 with {appliances[verb]}")
    assert simulator.step("examine apple 2") == text


def test_help_has_no_blank_line_before_and_one_line_end_after() -> None:
    lines = game().step("help").split("\n")
    assert lines[0] == "Available commands:"
    assert lines[-1] == ""
    assert len(lines) == 15
    assert lines[1] == f"  look:{' ' * 29}look around your current location"
    assert (
        lines[7]
        == "  move (object) to (receptacle):  place an object in or on a receptacle"
    )


@pytest.mark.parametrize("command", ["  look", "look \n", "\tlook  "])
def test_outer_blanks_are_stripped(command: str) -> None:
    assert game().step(command) != NOTHING_HAPPENS


@pytest.mark.parametrize(
    "command",
    [
        *("", " ", "LOOK", "look around", "inventory now", "help me", "go", "go to"),
        *("go desk 1", "go to  desk 1", "go to desk", "go to desk 9", "go to book 1"),
        *("goto desk 1", "open", "take", "take book 1", "take book 1 from", "dance"),
        *("take from desk 1", "move book 1 to desk 1", "put book 1 in/on desk 1"),
        *(
            "examine desk 1",
            "examine book 1",
            "use",
            "slice apple 2 with",
            "go to desk 1.",
        ),
        *(
            "clean mug 1 with sinkbasin 1",
            "go to window 1",
            "take window 1 from desk 1",
        ),
    ],
)
def test_anything_else_changes_nothing(command: str) -> None:
    assert refused(game(), command)


def test_a_win_is_undone_by_taking_the_item_back() -> None:
    simulator = game(
        "go to desk 1",
        "take book 1 from desk 1",
        "go to shelf 1",
        "move book 1 to shelf 1",
    )
    assert simulator.won
    simulator.step("take book 1 from shelf 1")
    assert not simulator.won


def test_two_items_count_only_in_one_and_the_same_receptacle() -> None:
    task = ("pick_two_obj_and_place", "Mug", "Cabinet")
    simulator = game(
        "go to shelf 1",
        "open cabinet 1",
        "open cabinet 2",
        "take mug 1 from shelf 1",
        "move mug 1 to cabinet 1",
        task=task,
    )
    assert not simulator.won, "one mug in each of two cabinets"
    simulator.step("take mug 2 from cabinet 2")
    simulator.step("move mug 2 to cabinet 1")
    assert simulator.won


@pytest.mark.parametrize(
    ("task_type", "verb", "appliance"),
    [
        ("pick_clean_then_place_in_recep", "clean", "sinkbasin 1"),
        ("pick_heat_then_place_in_recep", "heat", "microwave 1"),
        ("pick_cool_then_place_in_recep", "cool", "fridge 1"),
    ],
)
def test_a_treated_item_must_be_treated_and_placed(
    task_type: str, verb: str, appliance: str
) -> None:
    simulator = game(
        "go to countertop 1",
        "take apple 2 from countertop 1",
        "move apple 2 to countertop 1",
        task=(task_type, "Apple", "CounterTop"),
    )
    assert not simulator.won, "placed, not treated"
    simulator.step("take apple 2 from countertop 1")
    simulator.step(f"go to {appliance}")
    simulator.step(f"{verb} apple 2 with {appliance}")
    assert not simulator.won, "treated, not placed"
    simulator.step("go to countertop 1")
    simulator.step("move apple 2 to countertop 1")
    assert simulator.won


def test_a_copy_goes_its_own_way() -> None:
    simulator = game("go to desk 1")
    twin = simulator.copy()
    key = simulator.state_key()
    assert twin.state_key() == key
    twin.step("take book 1 from desk 1")
    assert simulator.state_key() == key
    assert simulator.step("inventory") == "You are not carrying anything."
