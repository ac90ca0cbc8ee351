"""``rllib-gigpo``: every command is there, and refuses with a sentence."""

import argparse
import importlib
from pathlib import Path

import pytest

from rllib_gigpo.cli.main import COMMANDS, main
from rllib_gigpo.errors import ConfigError
from tests.cli.refusals import gigpo_refusal, usage_error


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_declares_itself_and_runs(name: str) -> None:
    module = importlib.import_module(f"rllib_gigpo.cli.{name}")
    subparsers = argparse.ArgumentParser().add_subparsers()
    module.add_parser(subparsers)
    # `main` finds the module by the command's name.
    assert [command.replace("-", "_") for command in subparsers.choices] == [name]
    assert callable(module.run)


def test_every_command_module_is_listed() -> None:
    folder = Path(importlib.import_module("rllib_gigpo.cli").__file__).parent
    declaring = {
        path.stem
        for path in folder.glob("*.py")
        if "def add_parser(subparsers" in path.read_text()
    }
    assert declaring == set(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        main([name.replace("_", "-"), "--help"])
    assert exit_.value.code == 0
    assert "usage: rllib-gigpo" in capsys.readouterr().out


def test_a_command_is_needed(capsys: pytest.CaptureFixture[str]) -> None:
    assert "COMMAND" in usage_error(capsys, command=main)
    assert "invalid choice" in usage_error(capsys, "train", command=main)


@pytest.mark.parametrize(("returned", "status"), [(None, 0), (0, 0), (1, 1)])
def test_the_exit_status_is_the_commands(
    returned: int | None, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rllib_gigpo.cli.doctor.run", lambda arguments: returned)
    assert main(["doctor"]) == status


def test_our_errors_are_a_sentence_and_others_a_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(error: Exception):
        def run(arguments: argparse.Namespace) -> int:
            raise error

        return run

    monkeypatch.setattr("rllib_gigpo.cli.doctor.run", fail(ConfigError("do this")))
    assert gigpo_refusal(capsys, "doctor") == "do this"
    monkeypatch.setattr("rllib_gigpo.cli.doctor.run", fail(ZeroDivisionError("why")))
    with pytest.raises(ZeroDivisionError):
        main(["doctor"])
