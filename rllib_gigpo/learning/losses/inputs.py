"""What every loss term reads: the response tokens of one micro-batch, flattened.

Shapes: N response tokens of the micro-batch, in row order.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch


@dataclass(frozen=True, slots=True, kw_only=True)
class LossInputs:
    """N tokens that train, and nothing else: prompt tokens never get here.

    Attributes:
        logprob: float32 [N], under the present weights, with gradient.
        entropy: float32 [N], of the whole distribution, with gradient.
        old_logprob: float32 [N], under the learner's weights before the update.
        sampled_logprob: float32 [N], as the engine reported it.
        reference_logprob: float32 [N], under the frozen reference; None without KL.
        advantage: float32 [N], the row's advantage repeated over its tokens.
        row: int64 [N] in [0, num_rows), which row of the micro-batch a token is of.
            The tokens of one row are never split over micro-batches.
        num_rows: Rows in the micro-batch.
        token_weight: float32 [N]. The loss is ``sum(token_weight * token_loss)``;
            the weights come from the whole mini-batch (see ``aggregation``), so the
            sum over micro-batches and learners is the full-batch loss.

    Example:
        Rows of two and one tokens: ``row=[0, 0, 1]``, ``num_rows=2``, advantages
        ``[0.5, 0.5, -0.5]``, and with token-mean ``token_weight=[1/3, 1/3, 1/3]``.
    """

    logprob: torch.Tensor
    entropy: torch.Tensor
    old_logprob: torch.Tensor
    sampled_logprob: torch.Tensor
    reference_logprob: torch.Tensor | None
    advantage: torch.Tensor
    row: torch.Tensor
    num_rows: int
    token_weight: torch.Tensor


def sum_by_row(
    value_N: torch.Tensor, row_N: torch.Tensor, num_rows: int
) -> torch.Tensor:
    """Sum of a token value over each row, [num_rows], differentiable."""
    return value_N.new_zeros(num_rows).index_add(0, row_N, value_N)
