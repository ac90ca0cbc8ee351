"""Search QA in training: the examples, the README, and two iterations by command."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from environments.prompting import HistoryEntry, PromptContext
from environments.search.env import SearchQAEnv
from rllib_gigpo.cli.run_file import load_run_file

_ROOT = Path(__file__).resolve().parents[2]
_EXAMPLES = sorted((_ROOT / "tuned_examples").glob("search_*.py"))


@pytest.mark.parametrize("path", _EXAMPLES, ids=lambda path: path.stem)
def test_the_examples_are_sound(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Loading prepends the folder to both paths; the patches undo that.
    monkeypatch.setattr(sys, "path", sys.path.copy())
    monkeypatch.setenv("PYTHONPATH", os.environ.get("PYTHONPATH", ""))
    run = load_run_file(path)
    run.config.copy(copy_frozen=False).validate()
    assert run.config.env == "SearchQA-v0"
    assert run.stop["training_iteration"] > 0
    env = SearchQAEnv(**run.config.env_config)
    assert env.max_turns == 4
    assert env.anchor == "state" or run.config.similarity == 0.9


def _readme_block(language: str) -> str:
    file = sys.modules[SearchQAEnv.__module__].__file__ or ""
    text = Path(file).with_name("README.md").read_text()
    block = re.search(rf"```{language}\n(.*?)\n```", text, re.DOTALL)
    assert block is not None
    return block[1]


def test_the_readme_example_runs() -> None:
    names: dict[str, object] = {}
    exec(_readme_block("python"), names)
    assert names["reward"] == 1.0


def test_the_prompt_in_the_readme_is_the_one_that_is_sent() -> None:
    env = SearchQAEnv(top_k=2)
    question, _ = env.reset(options={"task": env.tasks("eval")[0]})
    action = env.expert().next_action().action
    found, *_, info = env.step(action)
    context = PromptContext(
        instruction=info["instruction"],
        observation=found,
        admissible_actions=None,
        history=(HistoryEntry(observation=question, action=action),),
        num_steps_taken=1,
    )
    (message,) = env.prompt.messages(context)
    assert message["content"] == _readme_block("text")


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_two_iterations_of_training_by_command(tmp_path: Path) -> None:
    env_config = {
        "top_k": 1,
        "information_style": "plain",
        "prompt": {"style": "compact"},
    }
    environment = os.environ | {"RAY_USAGE_STATS_ENABLED": "0", "OMP_NUM_THREADS": "1"}

    def run(module: str, *words: str) -> None:
        subprocess.run(
            [sys.executable, "-m", f"rllib_gigpo.cli.{module}", *words],
            env=environment,
            check=True,
            timeout=280,
        )

    warm_start = {
        "--env": "SearchQA-v0",
        "--env-config": json.dumps(env_config),
        "--out": str(tmp_path / "model"),
        "--model-size": "tiny",
        "--num-episodes": "40",
        "--max-steps": "20",
        "--check-every": "20",
        "--num-check-tasks": "4",
    }
    run("main", "warm-start", *(word for pair in warm_start.items() for word in pair))
    config = {
        "env_config": env_config,
        "model_name_or_path": str(tmp_path / "model"),
        "dtype": "float32",
        "engine": "transformers",
        "max_prompt_tokens": 384,
        "max_response_tokens": 32,
        "group_size": 4,
        "groups_per_iteration": 4,
        "kl_coeff": 0.0,
        "num_env_runners": 0,
    }
    run(
        "rllib",
        *("train", "--algo", "GiGPO", "--env", "SearchQA-v0"),
        *("--config", json.dumps(config), "--stop", '{"training_iteration": 2}'),
        *("--storage-path", str(tmp_path / "results")),
    )
    (progress,) = (tmp_path / "results").rglob("result.json")
    results = [json.loads(line) for line in progress.read_text().splitlines()]
    assert [result["training_iteration"] for result in results] == [1, 2]
    for result in results:
        sampled = result["env_runners"]
        assert sampled["num_episodes"] == 16
        assert sampled["num_failed_episodes"] == 0
        assert set(sampled["success_rate_by_kind"]) <= {"one_hop", "two_hop"}
        assert sampled["num_env_steps_sampled"] >= 16
