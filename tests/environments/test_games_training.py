"""Generated games in training: the examples, the READMEs, two iterations by command."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from environments.prompting import PromptContext
from environments.registration import make_registered
from environments.text_env import TextEnv
from rllib_gigpo.cli.run_file import load_run_file

_ROOT = Path(__file__).resolve().parents[2]
_EXAMPLES = sorted(
    path
    for game in ("sokoban", "ezpoints", "textworld")
    for path in (_ROOT / "tuned_examples").glob(f"{game}_*.py")
)
_READMES = {
    "Sokoban-v0": "sokoban",
    "EZPoints-v0": "cards",
    "TextWorld-v0": "textworld_games",
}


def make(name: str, settings: dict[str, Any]) -> TextEnv:
    env = make_registered(name, **settings).unwrapped
    assert isinstance(env, TextEnv)
    return env


@pytest.mark.parametrize("path", _EXAMPLES, ids=lambda path: path.stem)
def test_the_examples_are_sound(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Loading prepends the folder to both paths; the patches undo that.
    monkeypatch.setattr(sys, "path", sys.path.copy())
    monkeypatch.setenv("PYTHONPATH", os.environ.get("PYTHONPATH", ""))
    run = load_run_file(path)
    run.config.copy(copy_frozen=False).validate()
    assert run.stop["training_iteration"] > 0
    env = make(run.config.env, run.config.env_config)
    assert len(env.tasks("eval")) in (32, 128)


def readme_block(name: str, language: str) -> str:
    text = (_ROOT / "environments" / _READMES[name] / "README.md").read_text()
    block = re.search(rf"```{language}\n(.*?)\n```", text, re.DOTALL)
    assert block is not None
    return block[1]


@pytest.fixture(autouse=True)
def _cache(textworld_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RLLIB_GIGPO_CACHE", str(textworld_cache))


@pytest.mark.parametrize("name", ["Sokoban-v0", "EZPoints-v0"])
def test_the_readme_example_runs(name: str) -> None:
    names: dict[str, Any] = {}
    exec(readme_block(name, "python"), names)
    assert names["observation"] != names["env"].reset()[0]
    assert names["info"]["figures"]["num_rejected"] == 0


@pytest.mark.parametrize("name", ["Sokoban-v0", "EZPoints-v0"])
def test_the_prompt_in_the_readme_is_the_one_that_is_sent(name: str) -> None:
    env = make(name, {"board_format": "compact"} if name == "Sokoban-v0" else {})
    observation, info = env.reset(options={"task": env.tasks("eval")[0]})
    context = PromptContext(
        instruction=info["instruction"],
        observation=observation,
        admissible_actions=info["admissible_actions"],
        history=(),
        num_steps_taken=0,
    )
    (message,) = env.prompt.messages(context)
    assert message["content"] == readme_block(name, "text")


COMPACT = {"style": "compact", "history_window": 0}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("Sokoban-v0", {"board_format": "compact"}),
        ("NumberLine-v0", {}),
        ("EZPoints-v0", {}),
        ("Points24-v0", {}),
        ("Blackjack-v0", {}),
        ("TextWorld-v0", {"kind": "custom", "num_train_tasks": 2, "num_eval_tasks": 1}),
    ],
)
def test_two_iterations_of_training_by_command(
    name: str, settings: dict[str, Any], tmp_path: Path
) -> None:
    settings = {**settings, "prompt": COMPACT, "max_episode_steps": 6}
    environment = os.environ | {"RAY_USAGE_STATS_ENABLED": "0", "OMP_NUM_THREADS": "1"}

    def run(module: str, *words: str) -> None:
        subprocess.run(
            [sys.executable, "-m", f"rllib_gigpo.cli.{module}", *words],
            env=environment,
            check=True,
            timeout=280,
        )

    warm_start = {
        "--env": name,
        "--env-config": json.dumps(settings),
        "--out": str(tmp_path / "model"),
        "--model-size": "tiny",
        "--num-episodes": "40",
        "--max-steps": "20",
        "--check-every": "20",
        "--num-check-tasks": "4",
    }
    run("main", "warm-start", *(word for pair in warm_start.items() for word in pair))
    config = {
        "env_config": settings,
        "model_name_or_path": str(tmp_path / "model"),
        "dtype": "float32",
        "engine": "transformers",
        "max_prompt_tokens": 384,
        "max_response_tokens": 32,
        "group_size": 4,
        "groups_per_iteration": 2,
        "kl_coeff": 0.0,
        "num_env_runners": 0,
    }
    run(
        "rllib",
        *("train", "--algo", "GiGPO", "--env", name),
        *("--config", json.dumps(config), "--stop", '{"training_iteration": 2}'),
        *("--storage-path", str(tmp_path / "results")),
    )
    (progress,) = (tmp_path / "results").rglob("result.json")
    results = [json.loads(line) for line in progress.read_text().splitlines()]
    assert [result["training_iteration"] for result in results] == [1, 2]
    for result in results:
        sampled = result["env_runners"]
        assert sampled["num_episodes"] == 8
        assert sampled["num_failed_episodes"] == 0
        assert 8 <= sampled["num_env_steps_sampled"] <= 48
