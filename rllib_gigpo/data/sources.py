"""What can be fetched, by name. To add a source, write its module and a line here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from environments.alfworld.games import folder_for_download as alfworld_folder
from environments.webshop.catalog import folder_for_download as webshop_folder
from rllib_gigpo.data import alfworld, webshop
from rllib_gigpo.data.download import RemoteFile


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSource:
    """Data of one environment.

    Attributes:
        title: What it is, in a line.
        files: To be downloaded.
        default_folder: Where the environment will find it.
        is_installed: Whether a folder holds it.
        install: Puts the downloaded files into a folder, all or nothing; returns what
            is there then, in words.
    """

    title: str
    files: tuple[RemoteFile, ...]
    default_folder: Callable[[], Path]
    is_installed: Callable[[Path], bool]
    install: Callable[[Sequence[Path], Path], str]


SOURCES: dict[str, DataSource] = {
    "alfworld": DataSource(
        title="the official ALFWorld games (37 MB, 340 MB unpacked)",
        files=alfworld.FILES,
        default_folder=alfworld_folder,
        is_installed=alfworld.is_installed,
        install=alfworld.install,
    ),
    "webshop": DataSource(
        title="WebShop's catalog of 1,000 products (5 MB)",
        files=webshop.FILES,
        default_folder=webshop_folder,
        is_installed=webshop.is_installed,
        install=webshop.install,
    ),
}
