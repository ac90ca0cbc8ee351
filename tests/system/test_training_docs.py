"""What docs/training.md says about a run is what a run leaves behind."""

import re
from fnmatch import fnmatch
from pathlib import Path

import pytest
from ray import tune
from ray.tune.utils import flatten_dict

from rllib_gigpo import GiGPOConfig
from tests.cli.corridor_command import run_command, train_words

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/training.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def names() -> dict[str, object]:
    """What the page's blocks define, run in order."""
    result: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(compile(block, "docs/training.md", "exec"), result)
    return result


def table(header: str) -> list[list[str]]:
    """The cells of the table whose first column has this header."""
    lines = PAGE[PAGE.index(f"| {header} |") :].split("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def quoted(text: str) -> list[str]:
    return re.findall(r"`([^`]+)`", text)


def test_the_configuration_and_the_sweep_are_valid(names: dict[str, object]) -> None:
    names["config"].validate()
    assert isinstance(names["tuner"], tune.Tuner)


def test_every_setting_named_is_one() -> None:
    config = GiGPOConfig()
    for section, _, settings in table("section"):
        (method,) = quoted(section)
        assert callable(getattr(config, method.removeprefix(".")))
        assert [name for name in quoted(settings) if not hasattr(config, name)] == []


def test_a_run_leaves_the_files_and_figures_that_the_page_names(
    names: dict[str, object],
    ray_session: None,
    corridor_model: Path,
    tmp_path: Path,
) -> None:
    words = train_words(
        corridor_model,
        tmp_path,
        iterations=1,
        num_minibatches=2,
        kl_coeff=0.01,
        kl_placement="reward",
        evaluation_interval=1,
        evaluate_at_start=True,
    )
    run = run_command(words, tmp_path)
    assert run.status == 0
    for pattern in (name for row in table("file") for name in quoted(row[0])):
        assert list(run.trial.glob(pattern)), pattern
    figures = flatten_dict(run.results[-1])
    patterns = [name for row in table("key") for name in quoted(row[0])]
    assert len(patterns) > 25
    assert [p for p in patterns if not any(fnmatch(f, p) for f in figures)] == []

    learnt, lost = names["changes"](run.trial, 0, 1)
    rates = [
        figures[f"{when}/env_runners/success_rate"]
        for when in ("evaluation_at_start", "evaluation")
    ]
    assert len(learnt) - len(lost) == pytest.approx(6 * (rates[1] - rates[0]))
    assert f"{run.trial}/evaluation_tasks" in run.out
