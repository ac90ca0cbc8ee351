"""``rllib-gigpo data get alfworld``, against a release made by hand."""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import replace

import pytest

from environments.alfworld.env import AlfworldEnv
from environments.errors import MissingDataError
from rllib_gigpo.cli.main import REFUSED, main
from rllib_gigpo.data import alfworld
from rllib_gigpo.data.download import RemoteFile
from rllib_gigpo.data.sources import SOURCES
from tests.data.file_server import file_server
from tests.environments.hand_made_house import game_text

GAME = game_text("pick_and_place_simple", "Book", "Shelf")
UNSOLVABLE = json.dumps({**json.loads(GAME), "solvable": False})
PLAYED = "pick_and_place_simple-Book-None-Shelf-1"
MEMBERS = {
    f"train/{PLAYED}/trial_a": GAME,
    f"train/{PLAYED}/trial_b": GAME,
    f"train/{PLAYED}/trial_c": UNSOLVABLE,
    "train/pick_and_place_simple-BookSliced-None-Shelf-1/trial_a": GAME,
    "train/pick_and_place_with_movable_recep-Book-Box-Shelf-1/trial_a": GAME,
    f"valid_seen/{PLAYED}/trial_a": GAME,
    f"valid_unseen/{PLAYED}/trial_a": GAME,
    f"valid_train/{PLAYED}/trial_a": GAME,
    f"../train/{PLAYED}/trial_z": GAME,
}


def release(members=MEMBERS) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as zipped:
        for folder, text in members.items():
            zipped.writestr(f"json_2.1.1/{folder}/game.tw-pddl", text)
        zipped.writestr("json_2.1.1/readme.txt", "nothing")
    return content.getvalue()


@pytest.fixture
def server(monkeypatch):
    """Serves a release of four games, which counts as the official one."""
    with file_server() as running:
        running.files["/games.zip"] = release()
        file = RemoteFile(url=running.url("/games.zip"))
        source = replace(SOURCES["alfworld"], files=(file,))
        monkeypatch.setitem(SOURCES, "alfworld", source)
        monkeypatch.setattr(
            alfworld,
            "NUM_OFFICIAL_GAMES",
            {"train": 2, "valid_seen": 1, "valid_unseen": 1},
        )
        yield running


@pytest.fixture(autouse=True)
def no_data_variables(monkeypatch, tmp_path):
    monkeypatch.delenv("RLLIB_GIGPO_DATA", raising=False)
    monkeypatch.delenv("ALFWORLD_DATA", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


@pytest.mark.parametrize(
    ("variables", "where"),
    [
        ({}, "home/.cache/alfworld/json_2.1.1"),
        ({"ALFWORLD_DATA": "a"}, "a/json_2.1.1"),
        ({"RLLIB_GIGPO_DATA": "r"}, "r/alfworld/json_2.1.1"),
        ({"RLLIB_GIGPO_DATA": "r", "ALFWORLD_DATA": "a"}, "r/alfworld/json_2.1.1"),
    ],
)
def test_what_was_fetched_is_what_the_environment_finds(
    variables, where, server, tmp_path, monkeypatch, capsys
) -> None:
    for name, folder in variables.items():
        monkeypatch.setenv(name, str(tmp_path / folder))
    with pytest.raises(MissingDataError, match="`rllib-gigpo data get alfworld`"):
        AlfworldEnv()
    assert main(["data", "get", "alfworld"]) == 0
    assert "2 games of train, 1 games of valid_seen" in capsys.readouterr().out
    files = sorted(p for p in (tmp_path / where).rglob("*") if p.is_file())
    assert [p.name for p in files] == ["game.tw-pddl"] * 4
    env = AlfworldEnv()
    assert [len(env.tasks(split)) for split in env.splits] == [2, 1, 1]
    observation, _ = env.reset(options={"task": env.tasks("valid_unseen")[0]})
    assert "Your task is to" in observation
    assert [p.name for p in (tmp_path / where).parent.iterdir()] == ["json_2.1.1"]


def test_a_second_run_fetches_nothing(server, tmp_path, capsys) -> None:
    command = ["data", "get", "alfworld", "--folder", str(tmp_path / "games")]
    assert main(command) == main(command) == 0
    assert "already there" in capsys.readouterr().out
    assert server.starts == [0]


def test_a_release_with_other_games_is_refused_and_nothing_appears(
    server, tmp_path, capsys
) -> None:
    few = dict(list(MEMBERS.items())[:1])
    server.files["/games.zip"] = release(few)
    folder = tmp_path / "games"
    assert main(["data", "get", "alfworld", "--folder", str(folder)]) == REFUSED
    assert "'valid_unseen': 0" in capsys.readouterr().err
    assert not folder.exists()


def test_a_broken_archive_is_refused_and_nothing_appears(
    server, tmp_path, capsys
) -> None:
    server.files["/games.zip"] = release()[:-100]
    folder = tmp_path / "games"
    assert main(["data", "get", "alfworld", "--folder", str(folder)]) == REFUSED
    assert "no archive of ALFWorld games" in capsys.readouterr().err
    assert not folder.exists()


@pytest.mark.parametrize(
    "text", ["something else", GAME.replace("move {o}", "put {o}")]
)
def test_a_folder_that_holds_something_else_is_left_alone(
    text, server, tmp_path, capsys
) -> None:
    for member in MEMBERS:
        path = tmp_path / "games" / member / "game.tw-pddl"
        path.parent.mkdir(parents=True)
        path.write_text(text)
    folder = tmp_path / "games"
    before = sorted(folder.rglob("*"))
    assert main(["data", "get", "alfworld", "--folder", str(folder)]) == REFUSED
    assert "rename or remove it" in capsys.readouterr().err
    assert sorted(folder.rglob("*")) == before


def test_an_unknown_name_is_answered_with_the_known_ones(capsys) -> None:
    with pytest.raises(SystemExit):
        main(["data", "get", "chess"])
    assert "alfworld" in capsys.readouterr().err


def test_every_source_says_what_it_will_give() -> None:
    for source in SOURCES.values():
        assert source.files and all(f.url.startswith("https://") for f in source.files)
        assert all(f.sha256 is None or len(f.sha256) == 64 for f in source.files)
