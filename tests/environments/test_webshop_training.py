"""WebShop in training: the examples, the README, and two iterations by command."""

from __future__ import annotations

from pathlib import Path

import pytest

from environments.prompting import HistoryEntry, PromptContext
from environments.webshop.env import WebShopEnv
from tests.environments.training_run import (
    examples,
    readme_block,
    sound_example,
    train_two_iterations,
)

_TINY = {
    "observation_mode": "text_rich",
    "reward": "success",
    "max_episode_steps": 6,
    "prompt": {"style": "compact"},
}


@pytest.mark.parametrize("path", examples("webshop"), ids=lambda path: path.stem)
def test_the_examples_are_sound(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = sound_example(path, monkeypatch).config
    assert config.env == "WebShop-v0"
    settings = {k: v for k, v in config.env_config.items() if k != "world"}
    env = WebShopEnv(**settings)
    assert (env.max_episode_steps, env.reward) == (15, "success")


def test_the_readme_example_runs() -> None:
    names: dict[str, object] = {}
    exec(readme_block("webshop", "python"), names)
    assert names["reward"] == 1.0


def test_the_prompt_in_the_readme_is_the_one_that_is_sent() -> None:
    env = WebShopEnv()
    start, _ = env.reset(options={"task": env.tasks("eval")[1]})
    action = env.expert().next_action().action
    page, *_, info = env.step(action)
    context = PromptContext(
        instruction=info["instruction"],
        observation=page,
        admissible_actions=info["admissible_actions"],
        history=(HistoryEntry(observation=start, action=action),),
        num_steps_taken=1,
    )
    (message,) = env.prompt.messages(context)
    assert message["content"] == readme_block("webshop", "text")


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_two_iterations_of_training_by_command(tmp_path: Path) -> None:
    for sampled in train_two_iterations(
        "WebShop-v0", _TINY, tmp_path, group_size=2, groups_per_iteration=4
    ):
        assert sampled["num_episodes"] == 8
        assert sampled["num_failed_episodes"] == 0
        assert 8 <= sampled["num_env_steps_sampled"] <= 48
