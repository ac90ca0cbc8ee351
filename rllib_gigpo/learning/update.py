"""Exact gradients of one optimizer step, accumulated over micro-batches. Needs no Ray.

What enters: rows, a plan and a forward function. What leaves: gradients in the model's
parameters, and the figures of the step.

Shapes: r rows and N response tokens of a micro-batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from rllib_gigpo.learning.losses import (
    LossConfig,
    LossInputs,
    LossOutputs,
    total_loss,
)
from rllib_gigpo.learning.rows import TrainingRows
from rllib_gigpo.learning.update_plan import MicroBatch, OptimizerStep
from rllib_gigpo.modules.packed_tokens import PackedTokens, pack_tokens
from rllib_gigpo.modules.token_logprobs import TokenLogprobs

Forward = Callable[[PackedTokens], TokenLogprobs]
RowLogprobs = Sequence[NDArray[np.float32]]


@dataclass(slots=True)
class StepFigures:
    """Sums over the tokens of one learner's part of an optimizer step.

    Loss terms are weighted as in the loss, so they add up over learners to the whole
    mini-batch's; counts are of tokens that train.
    """

    total_loss: float = 0.0
    policy_loss: float = 0.0
    kl_loss: float = 0.0
    weighted_entropy: float = 0.0
    num_tokens: int = 0
    num_clipped_low: int = 0
    num_clipped_high: int = 0
    num_dual_clipped: int = 0
    ratio_sum: float = 0.0
    entropy_sum: float = 0.0
    ratio_max: float = 0.0
    drift_sum: float = 0.0
    drift_max: float = 0.0
    num_packed_tokens: int = 0
    num_attention_slots: int = 0

    def add(
        self, inputs: LossInputs, outputs: LossOutputs, packed: PackedTokens
    ) -> None:
        """Count one micro-batch."""
        self.num_packed_tokens += packed.input_ids.numel()
        self.num_attention_slots += packed.layout.num_slots
        if not len(inputs.logprob):
            return
        term = outputs.term
        drift_N = (inputs.old_logprob - inputs.sampled_logprob).abs()
        self.total_loss += outputs.total.item()
        self.policy_loss += outputs.policy.item()
        self.kl_loss += outputs.kl.item()
        self.weighted_entropy += outputs.entropy.item()
        self.num_tokens += len(inputs.logprob)
        self.num_clipped_low += int(term.is_clipped_low.sum())
        self.num_clipped_high += int(term.is_clipped_high.sum())
        self.num_dual_clipped += int(term.is_dual_clipped.sum())
        self.ratio_sum += term.ratio.sum().item()
        self.entropy_sum += inputs.entropy.detach().sum().item()
        self.ratio_max = max(self.ratio_max, term.ratio.max().item())
        self.drift_sum += drift_N.sum().item()
        self.drift_max = max(self.drift_max, drift_N.max().item())


@torch.no_grad()
def row_logprobs(
    forward: Forward,
    rows: TrainingRows,
    batches: Sequence[NDArray[np.int64]],
    device: torch.device,
) -> list[NDArray[np.float32]]:
    """Log-probabilities of every row's response, without gradient.

    Args:
        forward: Of the model in question.
        rows: The learner's rows.
        batches: Row indices by micro-batch, longest row first in each.
        device: Of the model.

    Returns:
        One float32 array per row, parallel to ``rows.response_ids``; rows in no batch
        get an array of NaN, which no loss can overlook.
    """
    result = [np.full(len(ids), np.nan, np.float32) for ids in rows.response_ids]
    for batch in batches:
        packed = _pack(rows, batch).to(device)
        logprob_N = forward(packed).logprob.cpu().numpy()
        ends = np.cumsum([len(rows.response_ids[i]) for i in batch.tolist()])
        for row, part in zip(
            batch.tolist(), np.split(logprob_N, ends[:-1]), strict=True
        ):
            result[row] = part
    return result


def accumulate_gradients(
    forward: Forward,
    rows: TrainingRows,
    step: OptimizerStep,
    *,
    loss_config: LossConfig,
    old_logprobs: RowLogprobs | None,
    reference_logprobs: RowLogprobs | None,
    device: torch.device,
    gradient_scale: float = 1.0,
    without_sync: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> StepFigures:
    """Add the gradient of one optimizer step's loss to the parameters' ``.grad``.

    Args:
        forward: Of the model that learns.
        rows: The learner's rows.
        step: Its micro-batches.
        loss_config: The loss.
        old_logprobs: Per row, of the policy before the update; None takes the present
            one, which is exact for the first step after a rollout.
        reference_logprobs: Per row; None without a KL term.
        device: Of the model.
        gradient_scale: Multiplies the gradient only; the number of learners where
            their gradients are averaged.
        without_sync: Context in which backward exchanges no gradients; entered for
            all micro-batches but the last.
    """
    figures = StepFigures()
    last = len(step.micro_batches) - 1
    for index, batch in enumerate(step.micro_batches):
        packed = _pack(rows, batch.rows).to(device)
        with without_sync() if index < last else nullcontext():
            inputs = _loss_inputs(
                forward(packed),
                packed,
                rows,
                batch,
                old_logprobs=old_logprobs,
                reference_logprobs=reference_logprobs,
                device=device,
            )
            outputs = total_loss(inputs, loss_config)
            (outputs.total * gradient_scale).backward()
        figures.add(inputs, outputs, packed)
    return figures


def _pack(rows: TrainingRows, indices: NDArray[np.int64]) -> PackedTokens:
    chosen = indices.tolist()
    return pack_tokens(
        [rows.prompt_ids[i] for i in chosen], [rows.response_ids[i] for i in chosen]
    )


def _loss_inputs(
    now: TokenLogprobs,
    packed: PackedTokens,
    rows: TrainingRows,
    batch: MicroBatch,
    *,
    old_logprobs: RowLogprobs | None,
    reference_logprobs: RowLogprobs | None,
    device: torch.device,
) -> LossInputs:
    chosen = batch.rows.tolist()
    trains = _training_tokens(rows, batch, device)
    row_N = packed.row[trains]

    def tokens(per_row: RowLogprobs) -> torch.Tensor:
        joined = np.concatenate([per_row[i] for i in chosen])
        return torch.from_numpy(joined).to(device, torch.float32)[trains]

    def spread(per_row: NDArray[np.float64]) -> torch.Tensor:
        return torch.from_numpy(per_row).to(device, torch.float32)[row_N]

    logprob_N = now.logprob[trains]
    return LossInputs(
        logprob=logprob_N,
        entropy=now.entropy[trains],
        old_logprob=(
            logprob_N.detach() if old_logprobs is None else tokens(old_logprobs)
        ),
        sampled_logprob=tokens(rows.sampled_logprobs),
        reference_logprob=(
            None if reference_logprobs is None else tokens(reference_logprobs)
        ),
        advantage=spread(rows.advantage[batch.rows]),
        row=row_N,
        num_rows=packed.num_rows,
        token_weight=spread(batch.token_weight),
    )


def _training_tokens(
    rows: TrainingRows, batch: MicroBatch, device: torch.device
) -> slice | torch.Tensor:
    """Places of the tokens that weigh something, among the batch's response tokens.

    The others are left out and not multiplied by 0: a ratio of theirs that overflows
    would make that NaN.
    """
    trains_r = batch.token_weight > 0
    if trains_r.all():
        return slice(None)
    num_tokens_r = [len(rows.response_ids[i]) for i in batch.rows.tolist()]
    trains_N = np.repeat(trains_r, num_tokens_r)
    return torch.from_numpy(np.flatnonzero(trains_N)).to(device)
