"""``rllib train file``: which files are taken, and what is said of others."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rllib_gigpo import GiGPOConfig
from rllib_gigpo.cli.run_file import load_run_file
from tests.cli.refusals import refusal

CONFIG = """
from rllib_gigpo import GiGPOConfig
config = GiGPOConfig().llm(model_name_or_path="model").environment("Household-v0")
"""


@pytest.fixture(autouse=True)
def same_imports_after(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A run file becomes a module; forget it, and the path that it came by."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setenv("PYTHONPATH", os.environ.get("PYTHONPATH", ""))
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith("/tmp"):
            del sys.modules[name]


def run_file(folder: Path, text: str, name: str = "my_run.py") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_what_a_file_says(tmp_path: Path) -> None:
    text = CONFIG + 'stop = {"training_iteration": 3}\n'
    file = load_run_file(run_file(tmp_path, text, "one_run.py"))
    assert file.name == "one_run"
    assert isinstance(file.config, GiGPOConfig)
    assert file.config.model_name_or_path == "model"
    assert file.stop == {"training_iteration": 3}
    assert file.warm_start is None
    # Workers of a Ray that starts now find the module by its name.
    assert os.environ["PYTHONPATH"].split(os.pathsep)[0] == str(tmp_path)


def test_a_warm_start_comes_along(tmp_path: Path) -> None:
    text = CONFIG + (
        "from rllib_gigpo.warm_start import WarmStartSettings\n"
        'warm_start = WarmStartSettings(env="Household-v0", max_steps=7)\n'
    )
    file = load_run_file(run_file(tmp_path, text, "warm_run.py"))
    assert file.warm_start is not None and file.warm_start.max_steps == 7
    assert file.stop == {}


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("a_run.yaml", "my-run: {}", "only Python files"),
        ("a_run.yml", "my-run: {}", "only Python files"),
        ("a_run.v2.py", CONFIG, "without dots"),
        ("no_config.py", "configuration = 3", "not NoneType"),
        ("dict_config.py", "config = {'lr': 1}", "an AlgorithmConfig at the top"),
        ("list_stop.py", CONFIG + "stop = [10]", "`stop` must be a dict"),
        (
            "word_stop.py",
            CONFIG + "stop = {'training_iteration': 'ten'}",
            "'ten' is not a number",
        ),
        (
            "dict_warm_start.py",
            CONFIG + "warm_start = {'env': 'Household-v0'}",
            "`warm_start` must be a WarmStartSettings at the top of the module, "
            "not dict",
        ),
        (
            "bad_warm_start.py",
            CONFIG
            + "from rllib_gigpo.warm_start import WarmStartSettings\n"
            + "warm_start = WarmStartSettings(env='Household-v0', noise=2)",
            "noise=2 must lie in [0, 1)",
        ),
        ("json.py", CONFIG, "another module is called 'json'"),
        ("sys.py", CONFIG, "another module is called 'sys' (built in)"),
        (
            "bad_value.py",
            CONFIG + "config.training(group_size=1)",
            "group_size=1: advantages compare",
        ),
    ],
)
def test_a_file_that_cannot_be_run(
    name: str,
    text: str,
    says: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = run_file(tmp_path, text, name)
    assert says in refusal(capsys, "train", "file", path)


def test_a_missing_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "nothing.py"
    assert refusal(capsys, "train", "file", path) == f"{path}: no such file"


def test_flags_overrule_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = run_file(tmp_path, CONFIG, "overruled.py")
    words = ("train", "file", path, "--config", '{"group_size": 0}')
    assert "group_size=0" in refusal(capsys, *words)
    assert "'Sokoban-v0'" in refusal(
        capsys, "train", "file", path, "--env", "Sokoban-v00"
    )
