"""Generated games in training: the examples, the READMEs, two iterations by command."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from environments.prompting import PromptContext
from environments.registration import make_registered
from environments.text_env import TextEnv
from tests.environments.training_run import (
    examples,
    readme_block,
    sound_example,
    train_two_iterations,
)

_EXAMPLES = [
    path for game in ("sokoban", "ezpoints", "textworld") for path in examples(game)
]
_READMES = {"Sokoban-v0": "sokoban", "EZPoints-v0": "cards"}


def make(name: str, settings: dict[str, Any]) -> TextEnv:
    env = make_registered(name, **settings).unwrapped
    assert isinstance(env, TextEnv)
    return env


@pytest.mark.parametrize("path", _EXAMPLES, ids=lambda path: path.stem)
def test_the_examples_are_sound(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = sound_example(path, monkeypatch).config
    env = make(config.env, config.env_config)
    assert len(env.tasks("eval")) in (32, 128)


@pytest.fixture(autouse=True)
def _cache(textworld_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RLLIB_GIGPO_CACHE", str(textworld_cache))


@pytest.mark.parametrize("name", _READMES)
def test_the_readme_example_runs(name: str) -> None:
    names: dict[str, Any] = {}
    exec(readme_block(_READMES[name], "python"), names)
    assert names["observation"] != names["env"].reset()[0]
    assert names["info"]["figures"]["num_rejected"] == 0


@pytest.mark.parametrize("name", _READMES)
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
    assert message["content"] == readme_block(_READMES[name], "text")


COMPACT = {"style": "compact", "history_window": 0}


@pytest.mark.slow
@pytest.mark.timeout(900)
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
    for sampled in train_two_iterations(
        name, settings, tmp_path, group_size=4, groups_per_iteration=2
    ):
        assert sampled["num_episodes"] == 8
        assert sampled["num_failed_episodes"] == 0
        assert 8 <= sampled["num_env_steps_sampled"] <= 48
