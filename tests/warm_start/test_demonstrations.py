from __future__ import annotations

import gymnasium
import pytest

import environments  # noqa: F401
from environments.prompting import ChatMessage, ParsedAction, PromptContext
from environments.text_env import TextEnv
from rllib_gigpo.errors import ConfigError
from rllib_gigpo.warm_start.demonstrations import ExpertPlay, play_expert

COMPACT = {"size": "tiny", "prompt": {"style": "compact"}}


def household() -> TextEnv:
    env = gymnasium.make("Household-v0", disable_env_checker=True, **COMPACT).unwrapped
    assert isinstance(env, TextEnv)
    return env


def play(num_tasks: int = 12, **settings: float) -> ExpertPlay:
    env = household()
    settings = {"seed": 3, "noise": 0.0} | settings
    return play_expert(env, env.tasks("train")[:num_tasks], **settings)


def test_a_steady_expert_solves_its_tasks_in_the_training_format() -> None:
    result = play()
    assert result.num_successes == result.num_episodes == 12
    env = household()
    for step in result.steps:
        parsed = env.prompt.parse(step.response, step.context.admissible_actions)
        assert parsed.is_valid and parsed.is_admissible
        assert step.response.startswith("<think>")


def test_the_same_seed_gives_the_same_play_and_another_does_not() -> None:
    assert play(noise=0.3).steps == play(noise=0.3).steps
    assert play(noise=0.3).steps != play(noise=0.3, seed=4).steps


def test_noise_is_seen_but_never_imitated() -> None:
    """With noise, episodes are longer than what is imitated of them."""
    steady, noisy = play(), play(noise=0.4)
    refused = [s for s in noisy.steps if "Nothing happens." in s.context.observation]
    assert refused, "refusals should be among what is seen"
    longest = max(step.context.num_steps_taken for step in noisy.steps)
    assert longest > max(step.context.num_steps_taken for step in steady.steps)
    assert len(noisy.steps) < noisy.num_episodes * (longest + 1)
    expert_thoughts = {step.response.split("</think>")[0] for step in noisy.steps}
    assert all(thought.count(" ") <= 4 for thought in expert_thoughts)


def test_carelessness_is_imitated() -> None:
    """A careless action stands under the expert's thought, and is admissible."""
    careless = play(num_tasks=30, carelessness=0.5)
    actions = {step.response.split("<action>")[1] for step in careless.steps}
    assert "inventory</action>" in actions  # the expert itself never asks for it
    assert not any("help<" in action for action in actions)  # hidden by the template
    assert careless.num_successes < careless.num_episodes


def test_a_template_that_refuses_the_reply_is_reported() -> None:
    env = household()

    class Deaf:
        history_window = 2
        version = "deaf"

        def messages(self, context: PromptContext) -> list[ChatMessage]:
            return [{"role": "user", "content": context.observation}]

        def parse(self, text: str, admissible_actions: object) -> ParsedAction:
            return ParsedAction(
                action=text, is_valid=False, is_admissible=False, reason="deaf"
            )

    env.prompt = Deaf()
    with pytest.raises(ConfigError, match="deaf"):
        play_expert(env, env.tasks("train")[:1], seed=0, noise=0.0)
