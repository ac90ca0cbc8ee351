"""A short training run by command, and what examples and READMEs must hold."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from rllib_gigpo.cli.run_file import RunFile, load_run_file

ROOT = Path(__file__).resolve().parents[2]
_SECONDS = 400


def examples(environment: str) -> list[Path]:
    return sorted((ROOT / "tuned_examples").glob(f"{environment}_*.py"))


def sound_example(path: Path, monkeypatch: pytest.MonkeyPatch) -> RunFile:
    """The example, after the checks that hold for all of them."""
    # Loading prepends the folder to both paths; the patches undo that.
    monkeypatch.setattr(sys, "path", sys.path.copy())
    monkeypatch.setenv("PYTHONPATH", os.environ.get("PYTHONPATH", ""))
    run = load_run_file(path)
    run.config.copy(copy_frozen=False).validate()
    assert run.stop["training_iteration"] > 0
    return run


def readme_block(folder: str, language: str) -> str:
    """The first block of a language in an environment's README."""
    text = (ROOT / "environments" / folder / "README.md").read_text(encoding="utf-8")
    block = re.search(rf"```{language}\n(.*?)\n```", text, re.DOTALL)
    assert block is not None
    return block[1]


def train_two_iterations(
    env: str, env_config: Mapping[str, Any], folder: Path, **settings: Any
) -> list[dict[str, Any]]:
    """Warm-start a tiny model and train it, both by command.

    Args:
        env: Name of the environment.
        env_config: Its settings.
        folder: An empty one, for the model and the results.
        settings: Of the algorithm, e.g. ``group_size``.

    Returns:
        What each of the two iterations sampled, ``env_runners`` of its result.
    """
    warm_start = {
        "--env": env,
        "--env-config": json.dumps(env_config),
        "--out": str(folder / "model"),
        "--model-size": "tiny",
        "--num-episodes": "40",
        "--max-steps": "20",
        "--check-every": "20",
        "--num-check-tasks": "4",
    }
    _run("main", "warm-start", *(word for pair in warm_start.items() for word in pair))
    config = {
        "env_config": env_config,
        "model_name_or_path": str(folder / "model"),
        "dtype": "float32",
        "engine": "transformers",
        "max_prompt_tokens": 384,
        "max_response_tokens": 32,
        "kl_coeff": 0.0,
        "num_env_runners": 0,
        **settings,
    }
    _run(
        "rllib",
        *("train", "--algo", "GiGPO", "--env", env),
        *("--config", json.dumps(config), "--stop", '{"training_iteration": 2}'),
        *("--storage-path", str(folder / "results")),
    )
    (progress,) = (folder / "results").rglob("result.json")
    results = [json.loads(line) for line in progress.read_text().splitlines()]
    assert [result["training_iteration"] for result in results] == [1, 2]
    return [result["env_runners"] for result in results]


def _run(module: str, *words: str) -> None:
    subprocess.run(
        [sys.executable, "-m", f"rllib_gigpo.cli.{module}", *words],
        env=os.environ | {"RAY_USAGE_STATS_ENABLED": "0", "OMP_NUM_THREADS": "1"},
        check=True,
        timeout=_SECONDS,
    )
