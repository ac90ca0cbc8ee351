"""The official ALFWorld games: 3,827 of them, in a zip of 37 MB.

Source: the text games of github.com/alfworld/alfworld, release 0.4.2 (MIT licence).
"""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from environments.alfworld.games import (
    DATA_FOLDER,
    GAME_FILE,
    NUM_OFFICIAL_GAMES,
    SPLITS,
    game_of_task,
    list_games,
)
from environments.alfworld.pddl import read_game
from environments.alfworld.problem import TaskType
from environments.errors import GameFileError, MissingDataError
from rllib_gigpo.checkpoints import atomic_folder
from rllib_gigpo.data.download import RemoteFile
from rllib_gigpo.errors import DownloadError

FILES = (
    RemoteFile(
        url="https://github.com/alfworld/alfworld/releases/download/0.4.2/"
        "json_2.1.3_tw-pddl.zip",
        size=36_507_267,
        sha256="5df77ea759f2211a4106082839ddbbb790f1ba4e7d097ed732cf453f72aa36cf",
    ),
)
_MEMBER = re.compile(
    rf"{re.escape(DATA_FOLDER)}/(?:{'|'.join(SPLITS)})/(?:{'|'.join(TaskType)})-"
    rf"(?![\w-]*Sliced)[\w-]+/\w+/{re.escape(GAME_FILE)}"
)


def is_installed(folder: Path) -> bool:
    """Whether the folder holds every official game, in the present wording."""
    if _num_games(folder) != NUM_OFFICIAL_GAMES:
        return False
    try:
        read_game(game_of_task(folder, list_games(folder, SPLITS[0])[0].id))
    except GameFileError:
        return False
    return True


def install(archives: Sequence[Path], folder: Path) -> str:
    """Unpack the games that the official loader plays; the folder appears when all did.

    Args:
        archives: The downloads, in the order of :data:`FILES`.
        folder: To be made, with the splits in it.

    Returns:
        What is there now, for the user.

    Raises:
        DownloadError: An archive is broken, or does not hold the official games.
    """
    with atomic_folder(folder) as aside:
        for archive in archives:
            _unpack(archive, aside)
        found = _num_games(aside)
        if found != NUM_OFFICIAL_GAMES:
            raise DownloadError(
                f"{', '.join(map(str, archives))}: games per split are {dict(found)} "
                f"instead of {NUM_OFFICIAL_GAMES}; remove the file and try again"
            )
    return ", ".join(f"{count} games of {split}" for split, count in found.items())


def _unpack(archive: Path, folder: Path) -> None:
    try:
        with zipfile.ZipFile(archive) as zipped:
            for member in zipped.namelist():
                if _MEMBER.fullmatch(member):
                    text = zipped.read(member)
                    if json.loads(text)["solvable"]:
                        path = folder / Path(member).relative_to(DATA_FOLDER)
                        path.parent.mkdir(parents=True, exist_ok=True)
                        path.write_bytes(text)
    except (zipfile.BadZipFile, ValueError, KeyError) as error:
        raise DownloadError(
            f"{archive} is no archive of ALFWorld games ({error!r}): remove it and try "
            "again"
        ) from error


def _num_games(folder: Path) -> Mapping[str, int]:
    counts = {}
    for split in SPLITS:
        try:
            counts[split] = len(list_games(folder, split))
        except MissingDataError:
            counts[split] = 0
    return counts
