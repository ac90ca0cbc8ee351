"""From a configuration to what a runner generates with: an engine and its prompts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from rllib_gigpo.inference.engine import Engine
from rllib_gigpo.inference.engine_client import EngineClient
from rllib_gigpo.inference.transformers_engine import TransformersEngine
from rllib_gigpo.modules.model_folder import load_model, load_tokenizer, stop_token_ids
from rllib_gigpo.rollout.prompts import PromptRenderer

if TYPE_CHECKING:
    from rllib_gigpo.algorithms.config import GiGPOConfig


def make_engine(
    config: GiGPOConfig, *, runner_index: int = 0
) -> tuple[Engine, PromptRenderer]:
    """The engine of a runner, and the renderer with its model's tokenizer.

    Args:
        config: Of the run; with ``engine_actor_names`` the engine is a client of those.
        runner_index: So that not all runners prefer the same engine actor.

    Raises:
        ModelFolderError: There is no such model, or it is unfit.
    """
    renderer = make_renderer(config)
    if config.engine_actor_names:
        client = EngineClient(
            config.engine_actor_names,
            offset=runner_index,
            start_timeout_s=config.engine_start_timeout_s,
        )
        return client, renderer
    llm = config.llm_config
    engine = TransformersEngine(
        load_model(llm),
        max_model_len=llm.max_model_len,
        max_batch_size=config.max_batch_size,
        device="cuda" if torch.cuda.is_available() else "cpu",
    )
    return engine, renderer


def make_renderer(config: GiGPOConfig) -> PromptRenderer:
    """The renderer with the model's tokenizer and stop tokens.

    Raises:
        ModelFolderError: There is no such model, or it is unfit.
    """
    llm = config.llm_config
    tokenizer = load_tokenizer(llm)
    return PromptRenderer(
        tokenizer,
        config.max_prompt_tokens,
        stop_token_ids(llm, tokenizer),
        config.chat_template_kwargs,
    )
