"""A model for benchmarks when none is given: right in shape, with random weights."""

from __future__ import annotations

from pathlib import Path

from environments.household.env import HouseholdEnv
from rllib_gigpo.modules.model_folder import save_model
from rllib_gigpo.warm_start.demonstrations import conversations, play_expert
from rllib_gigpo.warm_start.model import MODEL_SIZES, build_model
from rllib_gigpo.warm_start.tokenizer import train_tokenizer

HOUSEHOLD_CONFIG = {"size": "tiny", "prompt": {"style": "compact"}}
_NUM_EPISODES = 60


def save_small_model(folder: Path, size: str = "1m") -> Path:
    """An untrained model with a tokenizer of the household's words.

    Args:
        folder: Where to.
        size: A name in ``MODEL_SIZES``.
    """
    env = HouseholdEnv(**HOUSEHOLD_CONFIG)
    play = play_expert(env, env.tasks("train")[:_NUM_EPISODES], seed=0, noise=0.0)
    shape = MODEL_SIZES[size]
    tokenizer = train_tokenizer(
        conversations(play.steps, env.prompt),
        vocabulary_size=1024,
        max_length=shape.max_length,
    )
    save_model(build_model(shape, tokenizer, seed=0), tokenizer, folder)
    return folder
