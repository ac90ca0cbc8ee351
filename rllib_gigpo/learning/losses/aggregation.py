"""From per-token losses to one number: what each token of a row weighs.

Row lengths, trajectories and weights of a whole mini-batch enter; one weight per row
leaves. Because the weights are made from the mini-batch and not from what happens to
share a micro-batch or a learner, the weighted sum is exact however it is split.

Shapes: R rows of the mini-batch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rllib_gigpo.errors import ConfigError
from rllib_gigpo.learning.losses.registry import look_up


@dataclass(frozen=True, slots=True, kw_only=True)
class RowCounts:
    """The rows of one mini-batch, over all learners.

    Attributes:
        num_tokens: int64 [R], response tokens.
        trajectory: int64 [R], the episode a row belongs to.
        loss_weight: float64 [R]; 0 for rows that do not train.
    """

    num_tokens: NDArray[np.int64]
    trajectory: NDArray[np.int64]
    loss_weight: NDArray[np.float64]

    def __post_init__(self) -> None:
        if not len(self.num_tokens) == len(self.trajectory) == len(self.loss_weight):
            raise ValueError(
                f"{len(self.num_tokens)} token counts, {len(self.trajectory)} "
                f"trajectories, {len(self.loss_weight)} weights: one each per row"
            )


Weights = NDArray[np.float64]


def token_mean(rows: RowCounts, constant: float | None) -> Weights:
    """Every token counts the same: 1/N with N the tokens of the mini-batch.

    Source: DAPO (arXiv 2503.14476), equation 12.
    """
    del constant
    return _divide(rows.loss_weight, np.sum(rows.loss_weight * rows.num_tokens))


def sequence_mean_token_mean(rows: RowCounts, constant: float | None) -> Weights:
    """Every row counts the same, and every token within its row.

    Rows without tokens count as no rows. Source: GRPO (arXiv 2402.03300), equation 3,
    with one model call as the sequence.
    """
    del constant
    has_tokens = rows.num_tokens > 0
    num_rows = np.sum(rows.loss_weight * has_tokens)
    return _divide(rows.loss_weight, rows.num_tokens.astype(np.float64) * num_rows)


def sequence_sum_constant(rows: RowCounts, constant: float | None) -> Weights:
    """Token sums of rows, divided by the row count and a fixed number.

    The number is a setting and not a width of the data, so padding cannot change it.
    Source: Dr. GRPO (arXiv 2503.20783), section 3.2.
    """
    if constant is None:
        raise ConfigError(_CONSTANT_MISSING)
    has_tokens = rows.num_tokens > 0
    return _divide(rows.loss_weight, constant * np.sum(rows.loss_weight * has_tokens))


def trajectory_mean_token_mean(rows: RowCounts, constant: float | None) -> Weights:
    """Every trajectory counts the same, and every token within its trajectory.

    With one row per model call the two sequence modes weigh long trajectories more;
    this one does not.
    """
    del constant
    _, member = np.unique(rows.trajectory, return_inverse=True)
    weight_of_row = rows.loss_weight * rows.num_tokens
    total = np.bincount(member, weight_of_row).astype(np.float64)
    return _divide(rows.loss_weight, total[member] * np.count_nonzero(total))


LOSS_AGGREGATIONS: dict[str, Callable[[RowCounts, float | None], Weights]] = {
    "token-mean": token_mean,
    "sequence-mean-token-mean": sequence_mean_token_mean,
    "sequence-sum-constant": sequence_sum_constant,
    "trajectory-mean-token-mean": trajectory_mean_token_mean,
}

_CONSTANT_MISSING = (
    "loss_aggregation='sequence-sum-constant' needs loss_constant > 0, a fixed number "
    "such as max_response_tokens"
)


def row_token_weights(
    rows: RowCounts, aggregation: str, constant: float | None = None
) -> Weights:
    """What each token of a row weighs in the loss of the mini-batch.

    Args:
        rows: All rows of one optimizer step, over all learners.
        aggregation: A name in ``LOSS_AGGREGATIONS``.
        constant: Divisor of ``sequence-sum-constant``; others ignore it.

    Returns:
        float64 [R]; zeros where nothing trains.

    Raises:
        ConfigError: Unknown name, or the constant is missing.
    """
    return look_up(LOSS_AGGREGATIONS, aggregation, "loss_aggregation")(rows, constant)


def _divide(weight_R: Weights, divisor: Weights | float) -> Weights:
    """``weight / divisor``, and 0 where the divisor is 0 (nothing trains there)."""
    divisor_R = np.broadcast_to(np.asarray(divisor, np.float64), weight_R.shape)
    return np.divide(
        weight_R, divisor_R, out=np.zeros(len(weight_R)), where=divisor_R > 0
    )
