"""One file from the web, whole or not at all.

What has come is kept in ``<name>.part``, so that the next attempt, in this process or
a later one, goes on from there. The file gets its name when size and checksum fit.
"""

from __future__ import annotations

import hashlib
import http.client
import logging
import os
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from rllib_gigpo.errors import DownloadError

Progress: TypeAlias = Callable[[int, int | None], None]
"""Called with the bytes there are, and the size of the file if it is known."""

_CHUNK = 1 << 18
_TIMEOUT_S = 60.0
_NUM_ATTEMPTS = 6
_FIRST_WAIT_S = 1.0
_USER_AGENT = "rllib-gigpo"

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteFile:
    """A file and what is known about it.

    Attributes:
        url: Where it is, by http or https.
        size: In bytes, if known.
        sha256: In hexadecimal, if known.
        saved_as: Name to keep it under, where its address does not end in one.
    """

    url: str
    size: int | None = None
    sha256: str | None = None
    saved_as: str = ""

    @property
    def name(self) -> str:
        """Its own name."""
        return self.saved_as or self.url.rpartition("/")[2]


def download(
    file: RemoteFile,
    folder: Path,
    *,
    progress: Progress = lambda done, size: None,
    first_wait_s: float = _FIRST_WAIT_S,
) -> Path:
    """Fetch a file into a folder, unless it is there.

    Args:
        file: What to fetch.
        folder: Made if missing.
        progress: Told now and then.
        first_wait_s: Pause before the second attempt; each later one is twice as long.
            Attempts are counted anew after one that brought something.

    Raises:
        DownloadError: It does not come, or it is not what was expected.
    """
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / file.name
    part = folder / f"{file.name}.part"
    if target.exists():
        _check(file, target)
        return target
    num_failures = 0
    while True:
        before = _size(part)
        try:
            _fetch(file, part, progress)
            break
        except (OSError, http.client.HTTPException) as error:
            if isinstance(error, urllib.error.HTTPError) and error.code < 500:
                raise DownloadError(
                    f"{file.url}: {error}; look for it in a browser, and put it into "
                    f"{folder} by hand"
                ) from error
            num_failures = 1 if _size(part) > before else num_failures + 1
            if num_failures == _NUM_ATTEMPTS:
                raise DownloadError(
                    f"{file.url}: {error}; {_size(part):,} bytes are kept, so run the "
                    "command again when the connection is better"
                ) from error
            wait_s = first_wait_s * 2 ** (num_failures - 1)
            logger.warning("%s: %s; again in %.0f s", file.url, error, wait_s)
            time.sleep(wait_s)
    _check(file, part)
    os.replace(part, target)
    return target


def _fetch(file: RemoteFile, part: Path, progress: Progress) -> None:
    """Bring ``part`` to the file's full size by one request.

    Raises:
        OSError: The connection failed, or ended early.
    """
    start = _size(part)
    if file.size is not None and start == file.size:
        return
    headers = {"User-Agent": _USER_AGENT}
    if start:
        headers["Range"] = f"bytes={start}-"
    request = urllib.request.Request(file.url, headers=headers)
    try:
        response = urllib.request.urlopen(request, timeout=_TIMEOUT_S)
    except urllib.error.HTTPError as error:
        if error.code != http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            raise
        part.unlink()  # More than there is: of another version.
        raise OSError(f"there is nothing after {start:,} bytes") from error
    with response, part.open("ab") as sink:
        if response.status != http.HTTPStatus.PARTIAL_CONTENT:
            start = 0
            sink.truncate(0)  # The server sends all of it again.
        length = response.headers.get("Content-Length")
        size = file.size if length is None else start + int(length)
        while chunk := response.read(_CHUNK):
            sink.write(chunk)
            start += len(chunk)
            progress(start, size)
        sink.flush()
        os.fsync(sink.fileno())
    if size is not None and start < size:
        raise OSError(f"the connection ended after {start:,} of {size:,} bytes")


def _check(file: RemoteFile, path: Path) -> None:
    """Raises DownloadError, and removes the file, if it is not the expected one."""
    size = _size(path)
    digest = ""
    if file.size in (None, size):
        with path.open("rb") as source:
            digest = hashlib.file_digest(source, "sha256").hexdigest()
        if file.sha256 in (None, digest):
            return
    path.unlink()
    found = f"sha256 {digest}" if digest else f"{size:,} bytes"
    wanted = f"sha256 {file.sha256}" if digest else f"{file.size:,} bytes"
    raise DownloadError(
        f"{file.url} gave a file with {found} instead of {wanted}; it was removed: try "
        "again, and if that repeats, something between here and there changes it"
    )


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
