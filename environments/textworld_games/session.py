"""Playing games with TextWorld, inside a worker process."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from environments.textworld_games.game_files import GameSpec, make_game_file

_STATUS_LINE = re.compile(r"\n> +-= [^\n]* =-[0-9]+/[0-9]+\s*\Z")
_AFTER_THE_END = re.compile(r"\s*Would you like to RESTART,.*\Z", re.DOTALL)
_EMPTY_LINES = re.compile(r"\n\s*\n\s*")


@dataclass(frozen=True, slots=True, kw_only=True)
class GameView:
    """What there is to know after a reset or a command.

    Attributes:
        text: What the game says.
        objective: The task in the game's words.
        admissible_commands: Sorted.
        state_key: Digest of all facts and of how far each quest is.
        score: Points so far.
        max_score: Points at most.
        won: Whether the game is won.
        lost: Whether it is lost for good.
        policy_command: The next command of a winning way; empty if there is none.
    """

    text: str
    objective: str
    admissible_commands: tuple[str, ...]
    state_key: str
    score: int
    max_score: int
    won: bool
    lost: bool
    policy_command: str


class Session:
    """One game at a time, as many one after the other as wanted.

    Danger: each session's interpreter keeps its own copy of a library in memory for
    good, so start game after game in one session.
    """

    def __init__(self) -> None:
        self._env: Any = None
        self._file = ""

    def start(self, spec: GameSpec, file: str) -> GameView:
        """Make the game if its file is not there yet, and go to its start."""
        make_game_file(spec, Path(file))
        if self._env is None:
            self._env = _opened(file)
        elif file != self._file:
            self._env.load(file)
        self._file = file
        self._env.seed(0)
        state = self._env.reset()
        # The room's description: the first text of all is a banner and the objective.
        return _view(state, state["description"])

    def step(self, command: str) -> GameView:
        """Play an admissible command.

        Raises:
            ValueError: No game was started.
        """
        if self._env is None:
            raise ValueError("the game went down with its process; start it again")
        state, _, _ = self._env.step(command)
        return _view(state, state["feedback"])


def _opened(file: str) -> Any:
    import textworld

    infos = textworld.EnvInfos(
        admissible_commands=True,
        description=True,
        facts=True,
        lost=True,
        max_score=True,
        objective=True,
        policy_commands=True,
        score=True,
        won=True,
    )
    return textworld.start(file, infos)


def _view(state: Any, text: str) -> GameView:
    policy = state["policy_commands"]
    return GameView(
        text=_tidied(text),
        objective=_tidied(state["objective"]),
        admissible_commands=tuple(state["admissible_commands"]),
        state_key=_state_key(state),
        score=int(state["score"] or 0),
        max_score=int(state["max_score"]),
        won=bool(state["won"]),
        lost=bool(state["lost"]),
        policy_command=policy[0] if policy else "",
    )


def _tidied(text: str) -> str:
    """A text without the interpreter's trimmings and without empty lines."""
    text = _AFTER_THE_END.sub("", _STATUS_LINE.sub("", text))
    return _EMPTY_LINES.sub("\n", text).strip()


def _state_key(state: Any) -> str:
    facts = sorted(
        f"{fact.name}({', '.join(f'{v.name}: {v.type}' for v in fact.arguments)})"
        for fact in state["_facts"]
    )
    # Facts alone do not tell which points were already given.
    quests = [
        (
            quest.nb_completions,
            [bool(event.triggered) for event in quest.win_events],
            [bool(event.triggered) for event in quest.fail_events],
        )
        for quest in state["_game_progression"].quest_progressions
    ]
    told = repr((facts, quests, state["score"]))
    return hashlib.blake2b(told.encode(), digest_size=16).hexdigest()
