"""WebShop's catalog of 1,000 products and the attributes that its goals are made of.

Source: the set-up script of github.com/princeton-nlp/WebShop (program MIT-licensed;
the texts are product pages, to be used but not passed on).
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from environments.errors import EnvironmentsError
from environments.webshop.catalog import FILES as CATALOG_FILES
from environments.webshop.catalog import Catalog
from rllib_gigpo.checkpoints import atomic_folder
from rllib_gigpo.data.download import RemoteFile
from rllib_gigpo.errors import DownloadError

NUM_GOALS = 6_910
_PRODUCTS, _ATTRIBUTES = CATALOG_FILES["1000"]
_DRIVE = "https://drive.usercontent.google.com/download?export=download&confirm=t&id="
FILES = (
    RemoteFile(
        url=f"{_DRIVE}1EgHdxQ_YxqIQlvvq5iKlCrkEKR6-j0Ib",
        size=4_467_013,
        sha256="30a4765c3a327af72d9a9a95a6b2486d516f0fa1d3ecd83681901ce82a21b269",
        saved_as=_PRODUCTS,
    ),
    RemoteFile(
        url=f"{_DRIVE}1IduG0xl544V_A_jv3tHXC0kyFi7PnyBu",
        size=147_099,
        sha256="f88a36314a397b53b3d9c3fa5878e5f7b26d35019a51ec83fbedeca61a948f6f",
        saved_as=_ATTRIBUTES,
    ),
)


def is_installed(folder: Path) -> bool:
    """Whether the folder holds a catalog with all goals."""
    try:
        return _num_goals(folder) == NUM_GOALS
    except EnvironmentsError:
        return False


def install(files: Sequence[Path], folder: Path) -> str:
    """Put the files into a folder, which appears when both are there and whole.

    Args:
        files: The downloads, in the order of :data:`FILES`.
        folder: To be made.

    Returns:
        What is there now, for the user.

    Raises:
        DownloadError: They are not the official catalog.
    """
    with atomic_folder(folder) as aside:
        for file in files:
            shutil.copyfile(file, aside / file.name)
        try:
            num_goals = _num_goals(aside)
        except EnvironmentsError as error:
            raise DownloadError(f"{error}; remove the files and try again") from error
        if num_goals != NUM_GOALS:
            raise DownloadError(
                f"{', '.join(map(str, files))}: {num_goals} goals instead of "
                f"{NUM_GOALS}; remove the files and try again"
            )
    return f"{num_goals} goals"


def _num_goals(folder: Path) -> int:
    return len(Catalog.load(folder, tagger="words").goals)
