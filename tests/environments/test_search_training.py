"""Search QA in training: the examples, the README, and two iterations by command."""

from __future__ import annotations

from pathlib import Path

import pytest

from environments.prompting import HistoryEntry, PromptContext
from environments.search.env import SearchQAEnv
from tests.environments.training_run import (
    examples,
    readme_block,
    sound_example,
    train_two_iterations,
)


@pytest.mark.parametrize("path", examples("search"), ids=lambda path: path.stem)
def test_the_examples_are_sound(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = sound_example(path, monkeypatch).config
    assert config.env == "SearchQA-v0"
    env = SearchQAEnv(**config.env_config)
    assert env.max_turns == 4
    assert env.anchor == "state" or config.similarity == 0.9


def test_the_readme_example_runs() -> None:
    names: dict[str, object] = {}
    exec(readme_block("search", "python"), names)
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
    assert message["content"] == readme_block("search", "text")


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_two_iterations_of_training_by_command(tmp_path: Path) -> None:
    env_config = {
        "top_k": 1,
        "information_style": "plain",
        "prompt": {"style": "compact"},
    }
    for sampled in train_two_iterations(
        "SearchQA-v0", env_config, tmp_path, group_size=4, groups_per_iteration=4
    ):
        assert sampled["num_episodes"] == 16
        assert sampled["num_failed_episodes"] == 0
        assert set(sampled["success_rate_by_kind"]) <= {"one_hop", "two_hop"}
        assert sampled["num_env_steps_sampled"] >= 16
