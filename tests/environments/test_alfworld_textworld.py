"""The engine against TextWorld itself, live, on games that no transcript covers."""

from __future__ import annotations

import json
import lzma
import random
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

from environments.alfworld.env import AlfworldEnv
from environments.alfworld.games import GAME_FILE, house_of_game
from environments.alfworld.problem import TaskType
from environments.alfworld.simulator import Simulator
from environments.alfworld.textworld_game import TextWorldGame
from environments.tasks import Task
from tests.environments.hand_made_house import game_text, write_game
from tests.shared_data import shared_file

pytestmark = pytest.mark.slow

_ODD_COMMANDS = ("", "dance", "LOOK", " look ", "go to window 1", "slice apple 1")
_HAND_MADE = (
    ("pick_and_place_simple", "Book", "Shelf"),
    ("pick_two_obj_and_place", "Mug", "Cabinet"),
    ("pick_clean_then_place_in_recep", "Apple", "CounterTop"),
    ("pick_heat_then_place_in_recep", "Apple", "Fridge"),
    ("pick_cool_then_place_in_recep", "Apple", "CounterTop"),
    ("look_at_obj_in_light", "Book", "DeskLamp"),
)
_RARE = (
    "go to countertop 1",
    "take knife 1 from countertop 1",
    "slice apple 2 with knife 1",
    "slice apple 2 with knife 1",
    "slice tomato 1 with knife 1",
    "go to microwave 1",
    "slice bread 1 with knife 1",
    "go to desk 1",
    "slice tomato 1 with knife 1",
    "use desklamp 1",
    "use desklamp 1",
    "use desklamp 1",
    "go to countertop 1",
    "move knife 1 to countertop 1",
    "take apple 2 from countertop 1",
    "examine apple 2",
    "go to sinkbasin 1",
    "clean apple 2 with sinkbasin 1",
    "examine apple 2",
    "go to fridge 1",
    "cool apple 2 with fridge 1",
    "cool apple 2 with fridge 1",
    "examine apple 2",
    "go to microwave 1",
    "heat apple 2 with microwave 1",
    "examine apple 2",
    "open microwave 1",
    "move apple 2 to microwave 1",
    "look",
    "go to shelf 1",
    "open cabinet 1",
    "open cabinet 2",
    "take mug 1 from shelf 1",
    "move mug 1 to cabinet 1",
    "look",
    "take mug 1 from cabinet 1",
    "move mug 1 to cabinet 2",
    "look",
    "take mug 1 from cabinet 2",
    "look",
    "move mug 1 to shelf 1",
    "look",
    "go to stoveburner 2",
    "take pot 1 from stoveburner 2",
    "examine pot 1",
    "go to stoveburner 1",
    "move pot 1 to stoveburner 1",
    "take pot 1 from stoveburner 1",
    "go to countertop 1",
    "look",
)


class Duel:
    """Our simulator and TextWorld on one game, every answer compared as it comes."""

    def __init__(self) -> None:
        pytest.importorskip("fast_downward", reason="needs the extra 'alfworld'")
        pytest.importorskip("alfworld", reason="needs the extra 'alfworld'")
        self._theirs = TextWorldGame()

    def start(self, path: Path) -> None:
        self._path = path
        self._ours = Simulator(house_of_game(path))
        self._theirs.load(path, self._ours.copy())
        assert self._ours.reset() == self._theirs.reset(), path
        self._compare_state("reset")

    def play(self, command: str) -> str:
        feedback = self._ours.step(command)
        assert feedback == self._theirs.step(command), (self._path, command)
        self._compare_state(command)
        return feedback

    def _compare_state(self, command: str) -> None:
        self.admissible = self._ours.admissible_commands()
        assert self.admissible == self._theirs.admissible_commands(), command
        assert self._ours.won == self._theirs.won, (self._path, command)

    def play_at_random(self, num_steps: int, chance: random.Random) -> Counter[str]:
        """Verbs drawn first, the odd command among them; how often each was played."""
        verbs: Counter[str] = Counter()
        for _ in range(num_steps):
            by_verb: dict[str, list[str]] = {"": list(_ODD_COMMANDS)}
            for command in self.admissible:
                by_verb.setdefault(command.partition(" ")[0], []).append(command)
            command = chance.choice(by_verb[chance.choice(sorted(by_verb))])
            self.play(command)
            verbs[command.partition(" ")[0]] += 1
        return verbs


def _hand_made_game(folder: Path, task: tuple[str, str, str]) -> Path:
    info = pytest.importorskip("alfworld.info", reason="needs the extra 'alfworld'")
    grammar = Path(info.ALFRED_TWL2_PATH).read_text(encoding="utf-8")
    domain = Path(info.ALFRED_PDDL_PATH).read_text(encoding="utf-8")
    sentence = "do what is to be done"
    text = game_text(
        *task, domain=domain, grammar=grammar.replace("UNKNOWN GOAL", sentence)
    )
    return write_game(folder, text)


@pytest.mark.parametrize("task", _HAND_MADE, ids=lambda task: task[0])
def test_the_rare_actions_are_answered_as_by_textworld(
    task: tuple[str, str, str], tmp_path: Path
) -> None:
    duel = Duel()
    duel.start(_hand_made_game(tmp_path, task))
    for command in _RARE:
        duel.play(command)


@pytest.mark.parametrize("task", _HAND_MADE, ids=lambda task: task[0])
def test_random_play_in_an_odd_house_is_answered_as_by_textworld(
    task: tuple[str, str, str], tmp_path: Path
) -> None:
    duel = Duel()
    duel.start(_hand_made_game(tmp_path, task))
    duel.play_at_random(80, random.Random(task[0]))


def test_random_play_in_official_games_is_answered_as_by_textworld(
    official_games: Path,
) -> None:
    duel = Duel()
    chance = random.Random(1)
    verbs: Counter[str] = Counter()
    for task_type in TaskType:
        for task in _sample(official_games, chance, num_tasks=2, name=task_type):
            duel.start(official_games / task.id / GAME_FILE)
            verbs += duel.play_at_random(30, chance)
    assert {"take", "move", "open", "close", "examine"} <= set(verbs)


def test_whatever_a_knife_can_slice_is_sliced_as_by_textworld(
    official_games: Path,
) -> None:
    duel = Duel()
    num_sliced = 0
    for task in _sample(official_games, random.Random(2), num_tasks=4, name="-Knife-"):
        path = official_games / task.id / GAME_FILE
        duel.start(path)
        num_sliced += _slice_everything(duel, path)
    assert num_sliced > 4


def test_both_backends_give_the_same_episode(official_games: Path) -> None:
    pytest.importorskip("fast_downward", reason="needs the extra 'alfworld'")
    pytest.importorskip("alfworld", reason="needs the extra 'alfworld'")
    native = AlfworldEnv(data=official_games)
    original = AlfworldEnv(data=official_games, backend="textworld")
    for task in _sample(official_games, random.Random(3), num_tasks=2):
        path = official_games / task.id / GAME_FILE
        options = {"task": task}
        assert native.reset(options=options) == original.reset(options=options)
        for command in ["dance", *_walkthrough(path)]:
            step = native.step(command)
            assert step == original.step(command)
        assert step[1:3] == (10.0, True)


def _walkthrough(path: Path) -> list[str]:
    return list(json.loads(path.read_text(encoding="utf-8"))["walkthrough"])


def _slice_everything(duel: Duel, path: Path) -> int:
    """Fetch the knife as the walkthrough does, then slice wherever that is possible."""
    for command in _walkthrough(path):
        duel.play(command)
        if command.startswith("take knife"):
            break
    num_sliced = 0
    for walk in [c for c in duel.admissible if c.startswith("go to ")]:
        if walk not in duel.admissible:
            continue
        duel.play(walk)
        for command in [c for c in duel.admissible if c.startswith("slice ")]:
            assert duel.play(command).startswith("You sliced the ")
            num_sliced += 1
    return num_sliced


def _sample(
    folder: Path, chance: random.Random, *, num_tasks: int, name: str = ""
) -> list[Task]:
    """Games of the training split that no transcript was recorded from."""
    recorded = set(_recorded_games())
    tasks = [
        task
        for task in AlfworldEnv(data=folder).tasks("train")
        if name in task.id and task.id not in recorded
    ]
    return chance.sample(tasks, num_tasks)


def _recorded_games() -> Iterable[str]:
    for name in ("alfworld_transcripts", "alfworld_transcripts_verbs"):
        path = shared_file(f"vectors/{name}.jsonl.xz")
        with lzma.open(path, "rt", encoding="utf-8") as lines:
            yield from (json.loads(line)["game"] for line in lines)
