"""Folders that appear when they are whole, and what they may replace."""

import os
from pathlib import Path

import pytest

from rllib_gigpo import checkpoints
from rllib_gigpo.checkpoints import atomic_folder, save_atomically
from rllib_gigpo.errors import CheckpointError


def write(folder: Path, text: str = "new") -> None:
    (folder / "rllib_checkpoint.json").write_text(text)


@pytest.fixture(autouse=True)
def _any_checkpoint_is_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoints, "verify_checkpoint", lambda path: None)


def test_a_checkpoint_replaces_an_older_one_or_an_empty_folder(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint"
    path.mkdir()
    for text in ("first", "second"):
        save_atomically(path, lambda aside, text=text: write(aside, text))
        assert (path / "rllib_checkpoint.json").read_text() == text
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_of_other_files_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "results"
    path.mkdir()
    (path / "notes.txt").write_text("mine")
    with pytest.raises(CheckpointError, match="is no checkpoint"):
        save_atomically(path, write)
    assert (path / "notes.txt").read_text() == "mine"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("mine")
    with pytest.raises(CheckpointError, match="is no checkpoint"):
        save_atomically(path, write)
    assert path.read_text() == "mine"
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    target, link = tmp_path / "7", tmp_path / "latest"
    target.mkdir()
    link.symlink_to(target)
    save_atomically(link, write)
    assert link.is_symlink()
    assert (target / "rllib_checkpoint.json").is_file()


def test_a_relative_path_is_given_on_as_absolute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    seen: list[Path] = []

    def save(aside: Path) -> None:
        seen.append(aside)
        write(aside)

    save_atomically(Path("here"), save)
    assert seen[0].is_absolute()
    assert (tmp_path / "here" / "rllib_checkpoint.json").is_file()


def test_whoever_may_read_new_folders_may_read_this_one(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        with atomic_folder(tmp_path / "folder"):
            pass
    finally:
        os.umask(before)
    assert (tmp_path / "folder").stat().st_mode & 0o777 == 0o755
