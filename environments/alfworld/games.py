"""Where the official games lie, which of them form a split, and reading each once."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from environments.alfworld.house import House
from environments.alfworld.pddl import read_game
from environments.alfworld.problem import TaskType
from environments.errors import MissingDataError
from environments.tasks import Task

SPLITS = ("train", "valid_seen", "valid_unseen")
NUM_OFFICIAL_GAMES = {"train": 3553, "valid_seen": 140, "valid_unseen": 134}
DATA_FOLDER = "json_2.1.1"
GAME_FILE = "game.tw-pddl"
_DATA_VARIABLES = ("RLLIB_GIGPO_DATA", "ALFWORLD_DATA")
_DEFAULT_DATA = Path("~/.cache/alfworld")
_GET_DATA = "get it by `rllib-gigpo data get alfworld`"
_TASK_TYPES = frozenset(TaskType)


def data_folder(data: str | os.PathLike[str] | None = None) -> Path:
    """The folder that holds the splits.

    Args:
        data: That folder, or one that holds it as ``json_2.1.1`` or as
            ``alfworld/json_2.1.1``. By default the first that holds it of
            ``RLLIB_GIGPO_DATA``, ``ALFWORLD_DATA`` and ``~/.cache/alfworld``.

    Raises:
        MissingDataError: There is none; the message names the command that gets it.
    """
    bases = [Path(data).expanduser()] if data is not None else list(_default_bases())
    for base in bases:
        for folder in (base, base / DATA_FOLDER, base / "alfworld" / DATA_FOLDER):
            if any((folder / split).is_dir() for split in SPLITS):
                return folder
    places = ", ".join(map(str, bases))
    raise MissingDataError(f"no ALFWorld games under {places}: {_GET_DATA}")


def _default_bases() -> Iterator[Path]:
    for variable in _DATA_VARIABLES:
        if os.environ.get(variable):
            yield Path(os.environ[variable]).expanduser()
    yield _DEFAULT_DATA.expanduser()


def folder_for_download() -> Path:
    """Where :func:`data_folder` will find games that are fetched: it may not be there.

    Below the first of ``RLLIB_GIGPO_DATA`` and ``ALFWORLD_DATA`` that is set, else
    below ``~/.cache/alfworld``.
    """
    variable = next((name for name in _DATA_VARIABLES if os.environ.get(name)), "")
    base = next(_default_bases())
    if variable == "RLLIB_GIGPO_DATA":
        base = base / "alfworld"
    return base / DATA_FOLDER


@lru_cache(maxsize=16)
def list_games(folder: Path, split: str) -> tuple[Task, ...]:
    """The games of a split, sorted by id; no file is opened.

    As officially, tasks with a movable receptacle or a sliced object are left out.

    Raises:
        MissingDataError: The folder holds no game of that split.
    """
    tasks = tuple(
        Task(id=f"{split}/{name}/{trial}", kind=kind)
        for name, kind in _task_folders(folder / split)
        for trial in sorted(os.listdir(folder / split / name))
        if (folder / split / name / trial / GAME_FILE).is_file()
    )
    if not tasks:
        raise MissingDataError(f"no game of split {split!r} in {folder}: {_GET_DATA}")
    return tasks


def _task_folders(split_folder: Path) -> list[tuple[str, str]]:
    """The names of the playable task folders, sorted, each with its task type."""
    names = sorted(os.listdir(split_folder)) if split_folder.is_dir() else []
    kinds = [(name, name.partition("-")[0]) for name in names]
    return [(n, kind) for n, kind in kinds if kind in _TASK_TYPES and "Sliced" not in n]


def game_file(game: str | os.PathLike[str]) -> Path:
    """The file of a game, given itself or its folder.

    Raises:
        MissingDataError: There is no such file.
    """
    path = Path(game).expanduser()
    path = path / GAME_FILE if path.is_dir() else path
    if not path.is_file():
        raise MissingDataError(
            f"there is no game file {path}; official ones: {_GET_DATA}"
        )
    return path


def game_of_task(folder: Path, task_id: str) -> Path:
    """The file of a task of an official split.

    Raises:
        ValueError: The id is not of the form ``<split>/<task>/<trial>``, or there is no
            such game.
    """
    parts = task_id.split("/")
    is_safe = all(part and not part.startswith(".") for part in parts)
    path = folder.joinpath(*parts, GAME_FILE)
    if len(parts) != 3 or parts[0] not in SPLITS or not is_safe or not path.is_file():
        raise ValueError(
            f"no game {task_id!r} in {folder}; ids are '<split>/<task>/<trial>' with a "
            f"split of {list(SPLITS)}, as env.tasks(split) lists them"
        )
    return path


@lru_cache(maxsize=512)
def house_of_game(path: Path) -> House:
    """The house of a game file, read once and shared by all episodes there.

    Raises:
        GameFileError: The file cannot be played.
    """
    return House(read_game(path))
