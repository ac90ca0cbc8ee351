"""LLMConfig: which causal LM, in which form."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Literal, Self

import torch

from rllib_gigpo.errors import ConfigError

_DTYPES = {
    "float32": torch.float32,
    "bfloat16": torch.bfloat16,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LLMConfig:
    """The settings of a model; also what an RLModule gets as ``model_config``.

    Attributes:
        model_name_or_path: A Hugging Face model folder, or a hub id.
        dtype: ``"float32"`` or ``"bfloat16"``, of the engines' weights and of the
            learner's matrix products. The learner's own weights, log-softmax and
            entropy are in float32 always.
        attention: ``"sdpa"``, or ``"flash_attention_2"`` where it is installed.
        gradient_checkpointing: Recompute activations in the backward pass.
        max_prompt_tokens: Longest prompt.
        max_response_tokens: Longest response.
        trust_remote_code: Run Python code that comes with the model.
    """

    model_name_or_path: str
    dtype: str = "bfloat16"
    attention: Literal["sdpa", "flash_attention_2"] = "sdpa"
    gradient_checkpointing: bool = False
    max_prompt_tokens: int = 2048
    max_response_tokens: int = 512
    trust_remote_code: bool = False

    def __post_init__(self) -> None:
        if self.dtype not in _DTYPES:
            raise ConfigError(
                f"dtype={self.dtype!r} is not one of {', '.join(_DTYPES)}"
            )
        if self.attention not in ("sdpa", "flash_attention_2"):
            raise ConfigError(
                f"attention={self.attention!r} is not one of sdpa, flash_attention_2"
            )

    @property
    def torch_dtype(self) -> torch.dtype:
        """``dtype`` as torch has it."""
        return _DTYPES[self.dtype]

    @property
    def max_model_len(self) -> int:
        """Most tokens of a prompt and its response together."""
        return self.max_prompt_tokens + self.max_response_tokens

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for RLlib."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """From a dict that may hold other keys too, as RLlib's model configs do."""
        names = {field.name for field in dataclasses.fields(cls)}
        return cls(**{name: v for name, v in values.items() if name in names})
