"""Checkpoints that are whole or not there: written aside, checked, then renamed."""

from __future__ import annotations

import os
import shutil
import tempfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from safetensors import SafetensorError, safe_open

from rllib_gigpo.errors import CheckpointError

MODULE_FOLDER = Path("learner_group/learner/rl_module/default_policy")
"""Where in a checkpoint the Hugging Face model folder lies."""

_NEEDED = (
    "rllib_checkpoint.json",
    "class_and_ctor_args.pkl",
    "algorithm_state.pkl",
    "learner_group/learner/state.pkl",
)


@contextmanager
def atomic_folder(path: Path) -> Iterator[Path]:
    """A folder to write into that appears under ``path`` when all went well.

    A folder already at ``path`` is replaced as a whole; on an error it stays, and
    nothing else is left behind.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # Not by `mkdtemp`, whose folders nobody else may read.
    aside = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    aside.mkdir()
    try:
        yield aside
        _flush_to_disk(aside)
        old = None
        if path.exists():
            old = Path(tempfile.mkdtemp(prefix=f".{path.name}.old.", dir=path.parent))
            os.replace(path, old)
        os.replace(aside, path)
        if old is not None:
            shutil.rmtree(old)
    finally:
        if aside.exists():
            shutil.rmtree(aside)


def verify_checkpoint(path: Path) -> None:
    """Check that a checkpoint holds all its files and readable weights.

    RLlib swallows an exception in a remote learner's save, so that without this a
    checkpoint without weights would look fine.

    Raises:
        CheckpointError: With what is missing.
    """
    missing = [name for name in _NEEDED if not (path / name).is_file()]
    weights = sorted((path / MODULE_FOLDER).glob("*.safetensors"))
    if not weights:
        missing.append(str(MODULE_FOLDER / "*.safetensors"))
    if missing:
        raise CheckpointError(
            f"checkpoint {path} is incomplete, missing {', '.join(missing)}; see the "
            "learner's log for why it was not written"
        )
    for file in weights:
        _check_readable(file)


def _check_readable(file: Path) -> None:
    try:
        with safe_open(file, framework="numpy") as tensors:
            if not list(tensors.keys()):
                raise CheckpointError(f"{file} holds no weights")
    except SafetensorError as error:
        raise CheckpointError(f"{file} cannot be read: {error}") from error


def save_atomically(path: Path, save: Callable[[Path], object]) -> None:
    """Save an algorithm to ``path`` through ``save``, whole and checked.

    An older checkpoint there is replaced.

    Raises:
        CheckpointError: ``path`` is a file or holds something else, or what was written
            is not complete; ``path`` is as before.
    """
    path = path.resolve()  # A link stays a link.
    _check_replaceable(path)
    with atomic_folder(path) as aside:
        save(aside)
        verify_checkpoint(aside)


def _check_replaceable(path: Path) -> None:
    is_free = not path.exists() or (path.is_dir() and not any(path.iterdir()))
    if not is_free and not (path / _NEEDED[0]).is_file():
        raise CheckpointError(
            f"{path} exists and is no checkpoint: saving would replace it as a whole; "
            "name a folder of its own, e.g. one inside it"
        )


def _flush_to_disk(folder: Path) -> None:
    for root, _, files in os.walk(folder):
        for name in files:
            with open(Path(root) / name, "rb") as file:
                os.fsync(file.fileno())
