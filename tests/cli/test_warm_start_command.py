"""From the words of ``rllib-gigpo warm-start`` to its settings."""

import argparse
import dataclasses
from pathlib import Path

import pytest

from rllib_gigpo import warm_start as package
from rllib_gigpo.cli import warm_start as command
from rllib_gigpo.cli.main import main
from rllib_gigpo.warm_start import WarmStartReport, WarmStartSettings
from tests.cli.refusals import gigpo_refusal, usage_error

Asked = list[tuple[WarmStartSettings, Path]]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    """What the command would have made, in the order of asking."""
    calls: Asked = []

    def warm_start(settings: WarmStartSettings, folder: Path) -> WarmStartReport:
        calls.append((settings, folder))
        return WarmStartReport(
            folder=folder, success=0.412, num_steps=300, loss=1.5, seconds=12.3
        )

    monkeypatch.setattr(package, "warm_start", warm_start)
    return calls


def test_defaults_are_those_of_the_settings(
    asked: Asked, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["warm-start", "--env", "Household-v0", "--out", "model"]) == 0
    assert asked == [(WarmStartSettings(env="Household-v0"), Path("model"))]
    assert capsys.readouterr().out == (
        "model: solves 41.2% of training tasks after 300 steps; made in 12 s\n"
    )


def test_every_flag_is_a_setting_and_arrives(asked: Asked) -> None:
    given = {
        "env_config": {"size": "tiny"},
        "model_size": "1m",
        "target_success": 0.5,
        "num_episodes": 11,
        "noise": 0.0,
        "max_steps": 12,
        "check_every": 13,
        "num_check_tasks": 14,
        "tokens_per_step": 15,
        "lr": 0.25,
        "vocabulary_size": 16,
        "max_prompt_tokens": 17,
        "max_response_tokens": 18,
        "seed": 0,
    }
    words = ["warm-start", "--env", "Household-v0", "--out", "model"]
    for name, value in given.items():
        text = '{"size": "tiny"}' if name == "env_config" else str(value)
        words += [f"--{name.replace('_', '-')}", text]
    assert main(words) == 0
    assert asked[0][0] == WarmStartSettings(env="Household-v0", **given)


def test_no_flag_is_dropped() -> None:
    """``run`` passes on what is named like a setting; a misnamed flag would vanish."""
    subparsers = argparse.ArgumentParser().add_subparsers()
    command.add_parser(subparsers)
    flags = {action.dest for action in subparsers.choices["warm-start"]._actions}
    names = {field.name for field in dataclasses.fields(WarmStartSettings)}
    assert flags - {"help", "out", "model"} <= names


def test_a_model_that_was_there(tmp_path: Path) -> None:
    report = WarmStartReport(
        folder=tmp_path, success=0.5, num_steps=9, loss=1.5, seconds=0.0
    )
    assert command.report_line(report).endswith("after 9 steps; was there already")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("--env Household-v0", "--out"),
        ("--env Household-v0 --out x --model-size 7b", "invalid choice"),
        ("--env Household-v0 --out x --env-config tiny", "is not JSON"),
        ("--env Household-v0 --out x --lr fast", "invalid float"),
    ],
)
def test_words_that_do_not_parse(
    words: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert says in usage_error(capsys, "warm-start", *words.split(), command=main)


def test_nothing_to_learn_from(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    words = ("warm-start", "--out", tmp_path / "model")
    assert "--env Household-v0" in gigpo_refusal(capsys, *words)


def test_a_setting_that_cannot_work(
    asked: Asked, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    words = ("warm-start", "--env", "Household-v0", "--out", tmp_path / "model")
    assert "noise=1.5" in gigpo_refusal(capsys, *words, "--noise", "1.5")
    assert asked == [] and list(tmp_path.iterdir()) == []
