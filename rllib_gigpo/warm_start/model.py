"""Small Qwen2-architecture models, from scratch."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from transformers import PreTrainedTokenizerBase, Qwen2Config, Qwen2ForCausalLM

from rllib_gigpo.errors import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSize:
    """The shape of a model; the defaults are about a million parameters.

    Attributes:
        hidden_size: Width D, divisible by ``num_heads``.
        num_layers: Transformer blocks.
        num_heads: Query heads.
        num_kv_heads: Key-value heads, a divisor of ``num_heads``.
        intermediate_size: Width of the feed-forward part.
        max_length: Longest prompt plus response, tokens.
    """

    hidden_size: int = 128
    num_layers: int = 4
    num_heads: int = 4
    num_kv_heads: int = 2
    intermediate_size: int = 384
    max_length: int = 2048

    def __post_init__(self) -> None:
        if self.hidden_size % (2 * self.num_heads):
            raise ConfigError(
                f"hidden_size {self.hidden_size} must be an even multiple of "
                f"num_heads {self.num_heads}"
            )
        if self.num_heads % self.num_kv_heads:
            raise ConfigError(
                f"num_kv_heads {self.num_kv_heads} must divide "
                f"num_heads {self.num_heads}"
            )


MODEL_SIZES = {
    "tiny": ModelSize(hidden_size=64, num_layers=2, intermediate_size=192),
    "1m": ModelSize(),
    "3m": ModelSize(hidden_size=192, num_layers=6, num_heads=6, intermediate_size=576),
}


def build_model(
    size: ModelSize, tokenizer: PreTrainedTokenizerBase, *, seed: int
) -> Qwen2ForCausalLM:
    """A model with random float32 weights that depend on ``size`` and ``seed`` alone.

    Embedding and output head are tied. The global random state is left as it was.
    """
    config = Qwen2Config(
        vocab_size=len(tokenizer),
        hidden_size=size.hidden_size,
        intermediate_size=size.intermediate_size,
        num_hidden_layers=size.num_layers,
        num_attention_heads=size.num_heads,
        num_key_value_heads=size.num_kv_heads,
        max_position_embeddings=size.max_length,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        dtype="float32",
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = Qwen2ForCausalLM(config)
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    model.generation_config.pad_token_id = tokenizer.pad_token_id
    return model
