"""The official games: where they are found, what is listed, and that they are won."""

from __future__ import annotations

import json
import time
from collections import Counter
from pathlib import Path

import pytest

from environments.alfworld import games
from environments.alfworld.env import AlfworldEnv
from environments.alfworld.pddl import read_game
from environments.alfworld.problem import TaskType
from environments.alfworld.simulator import Simulator
from environments.errors import GameFileError, MissingDataError
from tests.environments.hand_made_house import game_text, write_game

_BOOK = game_text("pick_and_place_simple", "Book", "Shelf")


def _win_by_walkthrough(path: Path) -> None:
    simulator = Simulator(read_game(path))
    walkthrough = json.loads(path.read_text(encoding="utf-8"))["walkthrough"]
    simulator.reset()
    for command in walkthrough:
        assert not simulator.won, path
        assert command in simulator.admissible_commands(), (path, command)
        simulator.step(command)
    assert simulator.won, path


def test_walkthroughs_of_a_sample_win_and_not_before_their_end(
    official_games: Path,
) -> None:
    for path in sorted(official_games.rglob(games.GAME_FILE))[::30]:
        _win_by_walkthrough(path)


@pytest.mark.slow
def test_the_walkthrough_of_every_game_wins_and_not_before_its_end(
    official_games: Path,
) -> None:
    paths = sorted(official_games.rglob(games.GAME_FILE))
    assert len(paths) == 3553 + 140
    for path in paths:
        _win_by_walkthrough(path)


def test_the_goal_read_from_a_file_is_the_one_its_folder_names(
    official_games: Path,
) -> None:
    for path in sorted(official_games.rglob(games.GAME_FILE))[::30]:
        task_type, item, _, target, _ = path.parts[-3].split("-")
        goal = read_game(path).goal
        assert goal.task_type == task_type
        assert (goal.item_kind, goal.target_kind) == (item.lower(), target.lower())


def test_a_game_loads_in_less_than_20_ms(official_games: Path) -> None:
    paths = sorted(official_games.rglob(games.GAME_FILE))[::100]
    start = time.process_time()
    for path in paths:
        Simulator(read_game(path)).reset()
    assert (time.process_time() - start) / len(paths) < 0.020


def test_the_splits_hold_the_official_numbers_of_games_per_type(
    official_games: Path,
) -> None:
    env = AlfworldEnv(data=official_games)
    assert Counter(task.kind for task in env.tasks("train")) == {
        TaskType.PLACE: 790,
        TaskType.LOOK: 308,
        TaskType.CLEAN: 650,
        TaskType.HEAT: 459,
        TaskType.COOL: 533,
        TaskType.PLACE_TWO: 813,
    }
    assert len(env.tasks("valid_seen")) == 140
    ids = [task.id for task in env.tasks("train")]
    assert ids == sorted(set(ids))


def _make_split(root: Path) -> Path:
    """One playable game beside everything that is to be passed over."""
    for name in (
        "pick_and_place_simple-Book-None-Shelf-1/trial_b",
        "pick_and_place_simple-Book-None-Shelf-1/trial_a",
        "pick_and_place_simple-BookSliced-None-Shelf-1/trial_a",
        "pick_and_place_with_movable_recep-Book-Box-Shelf-1/trial_a",
    ):
        write_game(root / "train" / name, _BOOK)
    (root / "train" / "pick_and_place_simple-Pen-None-Shelf-2" / "trial_a").mkdir(
        parents=True
    )
    return root


def test_only_playable_games_are_listed_and_in_order(tmp_path: Path) -> None:
    listed = games.list_games(_make_split(tmp_path), "train")
    folder = "train/pick_and_place_simple-Book-None-Shelf-1"
    assert [t.id for t in listed] == [f"{folder}/trial_a", f"{folder}/trial_b"]
    assert {t.kind for t in listed} == {"pick_and_place_simple"}


def test_listing_opens_no_game(
    official_games: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path) -> None:
        raise AssertionError(f"{path} was read")

    monkeypatch.setattr(games, "read_game", refuse)
    games.list_games.cache_clear()
    assert len(AlfworldEnv(data=official_games).tasks("train")) == 3553


def test_a_game_is_read_once_for_all_its_episodes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads = []
    monkeypatch.setattr(games, "read_game", lambda p: reads.append(p) or read_game(p))
    path = write_game(tmp_path / "a" / "b" / "c", _BOOK)
    for _ in range(3):
        env = AlfworldEnv(game=path)
        env.reset()
        env.reset()
    assert len(reads) == 1


@pytest.mark.parametrize("below", ["", "json_2.1.1", "alfworld/json_2.1.1"])
@pytest.mark.parametrize("variable", ["RLLIB_GIGPO_DATA", "ALFWORLD_DATA"])
def test_the_data_folder_is_found_by_argument_or_variable(
    below: str, variable: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("RLLIB_GIGPO_DATA", "ALFWORLD_DATA"):
        monkeypatch.delenv(name, raising=False)
    root = _make_split(tmp_path / below)
    assert games.data_folder(tmp_path) == root
    monkeypatch.setenv(variable, str(tmp_path))
    assert games.data_folder() == root


def test_a_data_variable_without_games_does_not_hide_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = _make_split(tmp_path / "alfworld_data")
    (tmp_path / "other").mkdir()
    monkeypatch.setenv("RLLIB_GIGPO_DATA", str(tmp_path / "other"))
    monkeypatch.setenv("ALFWORLD_DATA", str(root))
    assert games.data_folder() == root


def test_missing_data_is_an_error_that_names_the_command_to_get_it(
    tmp_path: Path,
) -> None:
    command = "rllib-gigpo data get alfworld"
    with pytest.raises(MissingDataError, match=command):
        AlfworldEnv(data=tmp_path)
    with pytest.raises(MissingDataError, match=command):
        AlfworldEnv(data=_make_split(tmp_path)).tasks("valid_unseen")
    with pytest.raises(MissingDataError, match=command):
        AlfworldEnv(game=tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("no json", "no ALFWorld game file"),
        ("[]", "no ALFWorld game file"),
        ("{}", "no ALFWorld game file"),
        (_BOOK.replace("(:goal", "(:aim"), "there is no goal"),
        (_BOOK.replace("objectType ?o BookType", "objectType ?o PenType"), "'pen'"),
        (_BOOK.replace("move {o} to {r}", "put {o} in/on {r}"), "older release"),
        (
            _BOOK.replace(
                "atLocation agent1 loc_bar_start", "atLocation agent1 loc_bar_wall"
            ),
            "where there is a receptacle",
        ),
    ],
)
def test_a_broken_game_file_is_named_with_what_is_wrong(
    text: str, complaint: str, tmp_path: Path
) -> None:
    path = write_game(tmp_path, text)
    with pytest.raises(GameFileError, match=complaint) as raised:
        read_game(path)
    assert str(path) in str(raised.value)


@pytest.mark.parametrize(
    "task_id",
    ["train/none/trial", "train", "", "../train/x/y", "valid_seen/../train/x", "x/y/z"],
)
def test_an_unknown_task_is_refused_with_the_form_of_ids(
    task_id: str, tmp_path: Path
) -> None:
    env = AlfworldEnv(data=_make_split(tmp_path))
    with pytest.raises(ValueError, match="<split>/<task>/<trial>"):
        env.reset(options={"task": task_id})
