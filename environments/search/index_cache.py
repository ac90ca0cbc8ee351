"""BM25 indexes kept on disk: built once a machine, mapped by every process."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
from functools import lru_cache
from pathlib import Path

from environments.errors import MissingDataError
from environments.search.bm25 import INDEX_VERSION, Bm25Retriever
from environments.search.corpus import Corpus

CACHE_VARIABLE = "RLLIB_GIGPO_CACHE"
_DEFAULT_CACHE = Path("~/.cache/rllib-gigpo")


def cache_folder() -> Path:
    """``$RLLIB_GIGPO_CACHE/search``, by default under ``~/.cache/rllib-gigpo``."""
    base = Path(os.environ.get(CACHE_VARIABLE) or _DEFAULT_CACHE)
    return base.expanduser() / "search"


def open_bm25(corpus: str | os.PathLike[str]) -> Bm25Retriever:
    """The BM25 retriever of a corpus file, shared by all who ask in this process.

    The index lies in the cache folder under a digest of the file's path, size and time
    of change. It is built when it is not there; meanwhile other processes wait.

    Raises:
        MissingDataError: There is no such file.
        DataFileError: The file is no corpus.
    """
    path = Path(corpus).expanduser().resolve()
    if not path.is_file():
        raise MissingDataError(
            f"there is no corpus {path}; a corpus is a .jsonl (also .gz, .bz2, .xz) or "
            ".parquet file with `id` and `contents` a row"
        )
    status = path.stat()
    key = f"{INDEX_VERSION} {path} {status.st_size} {status.st_mtime_ns}"
    digest = hashlib.blake2b(key.encode(), digest_size=8).hexdigest()
    name = path.name.partition(".")[0]
    return _open(path, cache_folder() / f"{name}-{digest}")


@lru_cache(maxsize=4)
def _open(corpus: Path, folder: Path) -> Bm25Retriever:
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with folder.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not folder.is_dir():
                _build(corpus, folder)
    return Bm25Retriever.open(folder)


def _build(corpus: Path, folder: Path) -> None:
    """Build under another name, so that a folder of the right one is always whole."""
    unfinished = folder.with_suffix(".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    Bm25Retriever.build(Corpus.read(corpus)).save(unfinished)
    unfinished.rename(folder)
