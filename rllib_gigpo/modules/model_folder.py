"""Causal LMs in and out of Hugging Face folders. Needs no Ray."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoTokenizer,
    GenerationConfig,
    PreTrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

from rllib_gigpo.errors import ModelFolderError
from rllib_gigpo.modules.llm_config import LLMConfig
from rllib_gigpo.weight_sync.base import checkpoint_weights


def check_model(config: LLMConfig) -> None:
    """Refuse a model that a run would fail on later, without loading its weights.

    Raises:
        ModelFolderError: There is no such model, it has no tokenizer or chat template,
            or its context is too short.
    """
    load_tokenizer(config)
    limit = getattr(
        load_config(config).get_text_config(), "max_position_embeddings", None
    )
    if limit is not None and config.max_model_len > limit:
        raise ModelFolderError(
            f"max_prompt_tokens={config.max_prompt_tokens} and max_response_tokens="
            f"{config.max_response_tokens} make {config.max_model_len} tokens, but "
            f"{config.model_name_or_path!r} has a context of {limit}; lower one of them"
        )


def load_model(
    config: LLMConfig,
    *,
    dtype: torch.dtype | None = None,
    attention: str = "sdpa",
) -> PreTrainedModel:
    """The model with its weights, on the CPU, every dropout set to 0.

    Dropout would make the logprobs of sampling and learning differ.

    Args:
        config: Which model.
        dtype: Of the weights; that of ``config`` by default.
        attention: A transformers attention implementation; the default one can
            generate.

    Raises:
        ModelFolderError: There is no such model, or it lacks weights.
    """
    model_config = load_config(config)
    _switch_off_dropout(model_config)
    try:
        model, loaded = AutoModelForCausalLM.from_pretrained(
            config.model_name_or_path,
            config=model_config,
            dtype=dtype or config.torch_dtype,
            attn_implementation=attention,
            trust_remote_code=config.trust_remote_code,
            output_loading_info=True,
        )
    except (OSError, ValueError, RuntimeError) as error:
        raise ModelFolderError(
            f"the weights of {config.model_name_or_path!r} cannot be loaded ({error}); "
            "the folder needs the safetensors files that save_pretrained writes"
        ) from error
    # Transformers would fill them with random numbers and go on.
    if missing := sorted(loaded["missing_keys"]):
        raise ModelFolderError(
            f"{config.model_name_or_path!r} lacks {len(missing)} of the model's "
            f"weights (first: {missing[0]!r}); save the whole model with "
            "save_pretrained"
        )
    if config.gradient_checkpointing:
        model.gradient_checkpointing_enable({"use_reentrant": False})
    return model


def load_tokenizer(config: LLMConfig) -> PreTrainedTokenizerBase:
    """The tokenizer, which must have a chat template and an end token.

    Raises:
        ModelFolderError: It is missing or lacks one of them.
    """
    _check_folder(config.model_name_or_path)
    try:
        tokenizer = AutoTokenizer.from_pretrained(
            config.model_name_or_path, trust_remote_code=config.trust_remote_code
        )
    except (OSError, ValueError) as error:
        raise ModelFolderError(
            f"{config.model_name_or_path!r} has no tokenizer that transformers can "
            f"load ({error}); save one into the folder with tokenizer.save_pretrained"
        ) from error
    # Without files transformers makes one of special tokens only and goes on.
    if len(tokenizer) <= len(tokenizer.all_special_ids):
        raise ModelFolderError(
            f"{config.model_name_or_path!r} holds no tokenizer; save the model's own "
            "into the folder with tokenizer.save_pretrained"
        )
    if not tokenizer.chat_template:
        raise ModelFolderError(
            f"the tokenizer of {config.model_name_or_path!r} has no chat template; use "
            "an instruct model, or set tokenizer.chat_template and save it again"
        )
    if tokenizer.eos_token_id is None:
        raise ModelFolderError(
            f"the tokenizer of {config.model_name_or_path!r} has no end-of-sequence "
            "token; set tokenizer.eos_token and save the tokenizer again"
        )
    return tokenizer


def stop_token_ids(
    config: LLMConfig, tokenizer: PreTrainedTokenizerBase
) -> tuple[int, ...]:
    """The tokens that end a response: the tokenizer's and the generation config's."""
    ids = {tokenizer.eos_token_id}
    try:
        generation = GenerationConfig.from_pretrained(config.model_name_or_path)
    except OSError:
        # A folder need not have one; the tokenizer's end token is always there.
        return tuple(ids)
    extra = generation.eos_token_id
    ids.update([extra] if isinstance(extra, int) else extra or [])
    return tuple(sorted(ids))


def checkpoint_shapes(
    model_name_or_path: str, *, trust_remote_code: bool = False
) -> dict[str, torch.Size]:
    """Shapes of a model's weights by checkpoint name, without loading them."""
    config = LLMConfig(
        model_name_or_path=model_name_or_path, trust_remote_code=trust_remote_code
    )
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(
            load_config(config), trust_remote_code=trust_remote_code
        )
    weights = checkpoint_weights(model)
    return {name: tensor.shape for name, tensor in weights.items()}


def save_model(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    folder: Path,
    weights: Mapping[str, torch.Tensor] | None = None,
) -> None:
    """Write safetensors, config, generation config, tokenizer and chat template.

    Args:
        model: The model.
        tokenizer: Its tokenizer.
        folder: Where to; made if it is not there.
        weights: Written instead of the model's own, under the same names.
    """
    state = None if weights is None else dict(weights)
    model.save_pretrained(folder, state_dict=state)
    tokenizer.save_pretrained(folder)


def _check_folder(model: str) -> None:
    is_path = os.sep in model and (
        Path(model).is_absolute() or model.startswith(".") or model.count(os.sep) > 1
    )
    if is_path and not (Path(model) / "config.json").is_file():
        raise ModelFolderError(
            f"{model!r} is no Hugging Face model folder (no config.json in it); make a "
            "small one with `rllib-gigpo warm-start`, or name a folder or hub id"
        )


def load_config(config: LLMConfig) -> PreTrainedConfig:
    """The architecture's own configuration.

    Raises:
        ModelFolderError: There is no such model.
    """
    _check_folder(config.model_name_or_path)
    try:
        return AutoConfig.from_pretrained(
            config.model_name_or_path, trust_remote_code=config.trust_remote_code
        )
    except (OSError, ValueError) as error:
        raise ModelFolderError(
            f"model {config.model_name_or_path!r} cannot be loaded ({error}); name a "
            "Hugging Face folder, or a hub id that is reachable"
        ) from error


def _switch_off_dropout(model_config: PreTrainedConfig) -> None:
    text: Any = model_config.get_text_config()
    for name, value in text.to_dict().items():
        is_dropout = "dropout" in name or name.endswith("pdrop")
        if is_dropout and isinstance(value, float) and value:
            setattr(text, name, 0.0)
