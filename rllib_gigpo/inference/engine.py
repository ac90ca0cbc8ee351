"""The contract between sampling and whatever generates: tokens in, tokens out.

Invariant: ``Completion.token_ids`` are exactly the ids that were sampled, the end-of-
sequence token included, and ``Completion.logprobs`` are their log-probabilities under
softmax(logits / temperature) over the whole vocabulary. Nothing is ever decoded and
encoded again.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingParams:
    """How to sample one completion.

    Attributes:
        max_tokens: Most tokens to sample, > 0.
        stop_token_ids: Sampling stops after any of these; the stop token is kept.
        temperature: >= 0; 0 takes the likeliest token (logprobs are then those of
            temperature 1). The whole vocabulary is sampled from: no top-k or top-p,
            since the learner's ratio could not account for them.
        seed: Decides this completion's random numbers; the same (weights, prompt,
            params) give the same tokens whatever else is in the batch, up to
            floating-point noise.
    """

    max_tokens: int
    stop_token_ids: tuple[int, ...]
    temperature: float = 1.0
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationRequest:
    """One prompt to complete.

    Attributes:
        request_id: Unique within a run, e.g. ``"12/3/0/7"`` for iteration, group,
            episode and step; also orders requests that arrive together.
        prompt_ids: int32 [num_prompt_tokens], at least one.
        sampling: How to sample.
        group: Requests of one group share long prefixes and go to one engine at first.
        episode: Requests of one episode stay on one engine.
    """

    request_id: str
    prompt_ids: NDArray[np.int32]
    sampling: SamplingParams
    group: str = ""
    episode: str = ""


class FinishReason(StrEnum):
    """Why a completion ended."""

    STOP = "stop"
    """A stop token was sampled; it is the last of ``token_ids``."""
    LENGTH = "length"
    """``max_tokens`` or the model's context was reached."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """What was sampled for one request.

    Attributes:
        request_id: Of the request.
        token_ids: int32 [num_tokens], the sampled ids, a stop token included.
        logprobs: float32 [num_tokens], each sampled token's log-probability.
        finish_reason: Why it ended.
        policy_version: Of the weights that sampled it.
        num_cached_tokens: Prompt tokens served from a prefix cache.
    """

    request_id: str
    token_ids: NDArray[np.int32]
    logprobs: NDArray[np.float32]
    finish_reason: FinishReason
    policy_version: int
    num_cached_tokens: int = 0


class Engine(Protocol):
    """What generates. One event loop calls it; any number of requests are in flight."""

    @property
    def policy_version(self) -> int:
        """The version of the weights that the next request will be sampled with."""
        ...

    async def generate(self, request: GenerationRequest) -> Completion:
        """Complete one prompt; others join and leave the running batch freely.

        Raises:
            ValueError: The prompt leaves no room for a token in the model's context.
            EngineError: The engine failed; the request was not completed.
        """
        ...

    def load_weights(
        self, weights: Mapping[str, torch.Tensor], policy_version: int
    ) -> None:
        """Take over a full set of weights, named as in the Hugging Face checkpoint.

        No request may be in flight. Nothing computed from the old weights survives.

        Raises:
            WeightSyncError: Names or shapes do not cover the model exactly.
        """
        ...

    def close(self) -> None:
        """Stop, and free what is held. Idempotent."""
        ...


def check_request(
    request: GenerationRequest, max_model_len: int, ids_in_flight: Container[str]
) -> None:
    """Refuse a request that no engine could complete.

    Raises:
        ValueError: The prompt leaves no room for a token, no token is asked for, or the
            id is in use.
    """
    num_prompt = len(request.prompt_ids)
    if not 1 <= num_prompt < max_model_len:
        raise ValueError(
            f"request {request.request_id!r} has {num_prompt} prompt tokens; "
            f"between 1 and {max_model_len - 1} fit max_model_len={max_model_len}"
        )
    if request.sampling.max_tokens < 1:
        raise ValueError(
            f"request {request.request_id!r} has max_tokens="
            f"{request.sampling.max_tokens}; ask for at least 1"
        )
    if request.request_id in ids_in_flight:
        raise ValueError(
            f"request id {request.request_id!r} is already in flight; "
            "ids must be unique within a run"
        )
