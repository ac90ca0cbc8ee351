"""``rllib-gigpo data get NAME``: fetch what an environment needs, from its source."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rllib_gigpo.data.download import Progress, download
from rllib_gigpo.data.sources import SOURCES, DataSource
from rllib_gigpo.errors import ConfigError

DOWNLOADS = ".rllib-gigpo-downloads"
"""Folder beside the data that holds a download until it is unpacked."""

_REPORT_INTERVAL_S = 0.2


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Declare the command."""
    parser = subparsers.add_parser("data", help="fetch the data of an environment")
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    get = actions.add_parser(
        "get", help="; ".join(f"{name}: {s.title}" for name, s in SOURCES.items())
    )
    get.add_argument("name", choices=sorted(SOURCES))
    get.add_argument(
        "--folder",
        type=Path,
        help="where to; by default where the environment looks for it "
        "(below RLLIB_GIGPO_DATA, if that is set)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Fetch and unpack, unless it is there. A cut download is resumed.

    Raises:
        DownloadError: Something does not come, or is not what was expected.
        ConfigError: The folder exists, but holds something else.
    """
    source = SOURCES[arguments.name]
    folder = arguments.folder or source.default_folder()
    get_data(source, folder.expanduser().resolve())
    return 0


def get_data(source: DataSource, folder: Path) -> None:
    """Fetch a source into a folder; see :func:`run`."""
    if source.is_installed(folder):
        print(f"{folder}: already there")
        return
    if folder.exists():
        raise ConfigError(
            f"{folder} exists, but does not hold {source.title}, or not all of it: "
            "rename or remove it, or choose another --folder"
        )
    downloads = folder.parent / DOWNLOADS
    archives = []
    for file in source.files:
        with progress_line(file.name) as progress:
            archives.append(download(file, downloads, progress=progress))
    print(f"{folder}: {source.install(archives, folder)}")
    for archive in archives:
        archive.unlink()
    if not any(downloads.iterdir()):
        downloads.rmdir()


@contextmanager
def progress_line(name: str) -> Iterator[Progress]:
    """A line on standard error that is rewritten, if that is a terminal."""
    last = 0.0

    def show(done: int, size: int | None) -> None:
        nonlocal last
        if sys.stderr.isatty() and time.monotonic() - last > _REPORT_INTERVAL_S:
            last = time.monotonic()
            of = f" of {size / 1e6:.1f}" if size else ""
            print(f"\r{name}: {done / 1e6:.1f}{of} MB", end="", file=sys.stderr)

    yield show
    if last:
        print(file=sys.stderr)
