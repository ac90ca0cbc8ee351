"""Fine-tuning on demonstrations: response tokens train, and prompt tokens beside them.

Stops at a number of optimizer steps, or earlier at a check of the caller's.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import PreTrainedModel

from rllib_gigpo.modules.packed_attention import PACKED_SDPA
from rllib_gigpo.modules.packed_tokens import PackedTokens, pack_tokens
from rllib_gigpo.modules.token_logprobs import token_logprobs
from rllib_gigpo.warm_start.demonstrations import DemonstrationRows

logger = logging.getLogger(__name__)

_WINDOW = 16
"""Batches whose rows are sorted by length together, so that a batch is nearly even."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FitSettings:
    """How to fine-tune.

    Attributes:
        max_steps: Most optimizer steps; the learning rate falls to a tenth by then.
        tokens_per_step: Prompt and response tokens per optimizer step, about.
        prompt_weight: Weight of the mean loss over prompt tokens beside that over
            response tokens. A model from scratch learns from prompts how to copy
            names, in about half the steps; 0 for a pretrained one.
        lr: Highest learning rate of embeddings and vectors (AdamW).
        matrix_lr: Highest learning rate of the blocks' matrices (Muon, which makes a
            small model learn in about two thirds of AdamW's steps).
        warmup_steps: Optimizer steps until then.
        grad_clip: Largest norm of a gradient.
        check_every: Optimizer steps between checks.
    """

    max_steps: int
    tokens_per_step: int = 1024
    prompt_weight: float = 2.0
    lr: float = 4e-3
    matrix_lr: float = 0.02
    warmup_steps: int = 40
    grad_clip: float = 1.0
    check_every: int = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class FitResult:
    """What a fit came to.

    Attributes:
        num_steps: Optimizer steps taken.
        num_tokens: Prompt and response tokens seen.
        loss: Mean negative logprob of a response token over the last 20 steps, nats.
        seconds: Wall time, checks excluded.
    """

    num_steps: int
    num_tokens: int
    loss: float
    seconds: float


def fit(
    model: PreTrainedModel,
    rows: DemonstrationRows,
    settings: FitSettings,
    *,
    seed: int,
    is_enough: Callable[[int], bool] = lambda num_steps: False,
) -> FitResult:
    """Train ``model`` in place to predict the responses.

    Args:
        model: A causal LM in float32, without dropout; trained and left in train mode.
        rows: The demonstrations; gone through again and again in new orders.
        settings: How.
        seed: Of the order of the rows.
        is_enough: Called with the number of optimizer steps taken every
            ``check_every`` steps; true ends the fit.
    """
    model.set_attn_implementation(PACKED_SDPA)
    model.train()
    optimizers = _optimizers(model, settings)
    schedules = [
        torch.optim.lr_scheduler.LambdaLR(optimizer, _schedule(settings))
        for optimizer in optimizers
    ]
    batches = _batches(rows, settings.tokens_per_step, np.random.default_rng(seed))
    losses: list[float] = []
    num_tokens = 0
    seconds = 0.0
    for num_steps in range(1, settings.max_steps + 1):
        start = time.perf_counter()
        batch = next(batches)
        losses.append(_take_step(model, optimizers, batch, settings))
        for schedule in schedules:
            schedule.step()
        num_tokens += batch.input_ids.numel()
        seconds += time.perf_counter() - start
        if num_steps % settings.check_every == 0:
            logger.info(
                "step %d: loss %.3f, %.0f tokens/s",
                num_steps,
                np.mean(losses[-20:]),
                num_tokens / seconds,
            )
            if is_enough(num_steps):
                break
    return FitResult(
        num_steps=len(losses),
        num_tokens=num_tokens,
        loss=float(np.mean(losses[-20:])),
        seconds=seconds,
    )


def _optimizers(
    model: PreTrainedModel, settings: FitSettings
) -> list[torch.optim.Optimizer]:
    """Muon for the blocks' matrices, AdamW for embeddings, norms and biases."""
    matrices, others = [], []
    embedding = model.get_input_embeddings().weight
    for parameter in model.parameters():
        is_matrix = parameter.ndim == 2 and parameter is not embedding
        (matrices if is_matrix else others).append(parameter)
    return [
        torch.optim.Muon(matrices, lr=settings.matrix_lr, weight_decay=0.0),
        torch.optim.AdamW(others, lr=settings.lr, betas=(0.9, 0.98), weight_decay=0.0),
    ]


def _schedule(settings: FitSettings) -> Callable[[int], float]:
    """Linear warm-up, then linear decay to a tenth."""

    def factor(step: int) -> float:
        warm = (step + 1) / max(settings.warmup_steps, 1)
        return min(warm, 1 - 0.9 * step / settings.max_steps)

    return factor


def _take_step(
    model: PreTrainedModel,
    optimizers: Sequence[torch.optim.Optimizer],
    batch: PackedTokens,
    settings: FitSettings,
) -> float:
    """One optimizer step; the mean loss over the batch's response tokens."""
    tokens, is_response = _all_targets(batch)
    loss_N = -token_logprobs(model, tokens, temperature=1.0).logprob
    response_loss = loss_N[is_response].mean()
    loss = response_loss + settings.prompt_weight * loss_N[~is_response].mean()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), settings.grad_clip)
    for optimizer in optimizers:
        optimizer.step()
        optimizer.zero_grad()
    return response_loss.item()


def _all_targets(batch: PackedTokens) -> tuple[PackedTokens, torch.Tensor]:
    """The batch with every token but each row's first as a target; bool [N]."""
    is_inside = batch.position_ids[0, 1:] != 0
    index = is_inside.nonzero().squeeze(-1)
    predicts_response = torch.zeros(batch.input_ids.shape[-1], dtype=torch.bool)
    predicts_response[batch.predict_index] = True
    everything = replace(
        batch,
        predict_index=index,
        target_ids=batch.input_ids[0, index + 1],
        row=torch.zeros_like(index),
    )
    return everything, predicts_response[index]


def _batches(
    rows: DemonstrationRows, num_tokens: int, rng: np.random.Generator
) -> Iterator[PackedTokens]:
    """Packed batches without end, each row once an epoch."""
    length_R = np.array(
        [
            len(prompt) + len(response)
            for prompt, response in zip(rows.prompt_ids, rows.response_ids, strict=True)
        ]
    )
    while True:
        for batch in _epoch(length_R, num_tokens, rng):
            yield pack_tokens(
                [rows.prompt_ids[row] for row in batch],
                [rows.response_ids[row] for row in batch],
            )


def _epoch(
    length_R: NDArray[np.int64], num_tokens: int, rng: np.random.Generator
) -> list[NDArray[np.int64]]:
    """All rows, cut into batches of about ``num_tokens``, longest row first in each."""
    order = rng.permutation(len(length_R))
    window_of = np.cumsum(length_R[order]) // (num_tokens * _WINDOW)
    batches: list[NDArray[np.int64]] = []
    for window in np.unique(window_of):
        members = order[window_of == window]
        members = members[np.argsort(-length_R[members], kind="stable")]
        batch_of = (np.cumsum(length_R[members]) - 1) // num_tokens
        batches += [members[batch_of == number] for number in np.unique(batch_of)]
    return [batches[number] for number in rng.permutation(len(batches))]
