"""Which game is meant, where it is kept, and making it.

TextWorld is imported only when a game is made, which workers do.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from textworld import Game, GameOptions

CACHE_VARIABLE = "RLLIB_GIGPO_CACHE"
_DEFAULT_CACHE = Path("~/.cache/rllib-gigpo")
# Some seeds admit no quest of the wanted length; the next attempt takes another map.
_MAX_ATTEMPTS = 20

GAME_KINDS: dict[str, dict[str, int | bool]] = {
    "coin_collector": {"level": 5},
    "treasure_hunter": {"level": 5},
    "cooking": {
        "recipe": 1,
        "take": 1,
        "go": 6,
        "open": True,
        "cook": True,
        "cut": True,
        "drop": False,
    },
    "custom": {"world_size": 4, "nb_objects": 8, "quest_length": 4},
}
"""The kinds of games with their settings and the default of each, as in ``tw-make``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GameSpec:
    """Says everything about a game.

    Attributes:
        kind: A key of ``GAME_KINDS``.
        settings: All settings of that kind.
        is_hinted: Whether the objective tells every step of the way, as is TextWorld's
            way, or only the last.
        seed: Of all chances.
    """

    kind: str
    settings: tuple[tuple[str, int | bool], ...]
    is_hinted: bool
    seed: int

    def game_file(self) -> Path:
        """Where the game lies, or will lie, on this machine."""
        described = json.dumps(
            [self.kind, self.settings, self.is_hinted, version("textworld")]
        )
        digest = hashlib.blake2b(described.encode(), digest_size=6).hexdigest()
        return cache_folder() / f"{self.kind}-{digest}" / f"{self.seed}.z8"


def complete_settings(
    kind: str, settings: Mapping[str, int | bool]
) -> tuple[tuple[str, int | bool], ...]:
    """The settings of a kind with the defaults of those not given.

    Raises:
        ValueError: The kind or a setting is unknown.
    """
    if kind not in GAME_KINDS:
        raise ValueError(f"kind={kind!r}: choose one of {list(GAME_KINDS)}")
    unknown = sorted(set(settings) - set(GAME_KINDS[kind]))
    if unknown:
        raise ValueError(
            f"settings {unknown} of {kind!r}: choose from {sorted(GAME_KINDS[kind])}"
        )
    return tuple({**GAME_KINDS[kind], **settings}.items())


def cache_folder() -> Path:
    """``$RLLIB_GIGPO_CACHE/textworld``, by default under ``~/.cache/rllib-gigpo``."""
    base = Path(os.environ.get(CACHE_VARIABLE) or _DEFAULT_CACHE)
    return base.expanduser() / "textworld"


def make_game_file(spec: GameSpec, file: Path) -> None:
    """Make a game if its file is not there yet; that takes some seconds.

    Raises:
        ValueError: TextWorld can make no game of these settings.
    """
    if file.is_file():
        return
    from textworld.generator import compile_game

    file.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=file.parent) as aside:
        game, options = _make(spec)
        options.path = os.path.join(aside, file.name)
        compile_game(game, options)
        # The game last: whoever sees it finds its description beside it.
        for made in (Path(options.path).with_suffix(".json"), Path(options.path)):
            os.replace(made, file.with_name(made.name))


def _make(spec: GameSpec) -> tuple[Game, GameOptions]:
    from textworld import GameOptions
    from textworld.generator import QuestGenerationError

    for attempt in range(_MAX_ATTEMPTS):
        options = GameOptions()
        # Danger: the numbers of attempts are part of a seed's meaning.
        (state,) = np.random.SeedSequence([spec.seed, attempt]).generate_state(1)
        options.seeds = int(state)
        options.grammar.only_last_action = not spec.is_hinted
        try:
            return _game(spec, options), options
        except QuestGenerationError:
            continue
    raise ValueError(f"no game came of {_MAX_ATTEMPTS} attempts at {spec}")


def _game(spec: GameSpec, options: GameOptions) -> Game:
    import textworld
    from textworld.challenges import CHALLENGES

    settings: dict[str, int | bool | None] = dict(spec.settings)
    if spec.kind == "custom":
        options.nb_rooms = settings["world_size"]
        options.nb_objects = settings["nb_objects"]
        options.quest_length = settings["quest_length"]
        return textworld.generator.make_game(options)
    if spec.kind == "cooking":
        settings |= {"recipe_seed": 0, "split": None}
    _, make, _ = CHALLENGES[f"tw-{spec.kind}"]
    return make(settings, options)
