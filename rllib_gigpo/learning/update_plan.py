"""Which rows make which optimizer step, micro-batch and learner.

Made once from the rows' lengths, before anything is sent: every learner gets its own
rows, the same number of steps and the same number of micro-batches in each step (so
that collective operations match), and for each row the weight of a token in the loss of
the *whole* mini-batch. The gradient then is the full-batch gradient however rows are
split, and rows are never duplicated.

Shapes: R rows of the iteration, r rows of one micro-batch.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rllib_gigpo.learning.losses.aggregation import RowCounts, row_token_weights
from rllib_gigpo.learning.rows import TrainingRows

Indices = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class MicroBatch:
    """Rows of one forward pass, longest first.

    Attributes:
        rows: int64 [r], indices into the learner's own rows.
        token_weight: float64 [r], what a response token of the row weighs in the loss;
            all 0 for a micro-batch that only keeps learners in step.
    """

    rows: Indices
    token_weight: NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimizerStep:
    """One learner's part of one optimizer step.

    Attributes:
        micro_batches: At least one, and as many as on every other learner.
        num_tokens: Response tokens that train in this step, over all learners.
    """

    micro_batches: tuple[MicroBatch, ...]
    num_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardPlan:
    """What one learner does in one update.

    Attributes:
        rows: int64, the rows it gets, indices into all R.
        steps: Its optimizer steps in order.
    """

    rows: Indices
    steps: tuple[OptimizerStep, ...]

    @property
    def own_rows(self) -> Indices:
        """int64, indices of the learner's rows into themselves."""
        return np.arange(len(self.rows))


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanSettings:
    """How rows become optimizer steps.

    Attributes:
        num_epochs: Passes over the rows.
        num_minibatches: Optimizer steps in each pass; rows are shuffled if several.
        max_tokens_per_micro_batch: Most tokens of one forward pass; a longer row gets
            one of its own.
        loss_aggregation: A name in ``LOSS_AGGREGATIONS``.
        loss_constant: As of ``LossConfig``.
        seed: Of the shuffles.
    """

    num_epochs: int = 1
    num_minibatches: int = 1
    max_tokens_per_micro_batch: int = 16_384
    loss_aggregation: str = "token-mean"
    loss_constant: float | None = None
    seed: int = 0


def plan_update(
    rows: TrainingRows, num_shards: int, settings: PlanSettings
) -> list[ShardPlan]:
    """The plans of all learners.

    Args:
        rows: All rows of the iteration, at least one.
        num_shards: Number of learners.
        settings: How.

    Raises:
        ValueError: There are no rows.
    """
    if not len(rows):
        raise ValueError("there are no rows to train on")
    length_R = rows.num_tokens
    shard_R = _balanced_shards(length_R, num_shards)
    own = [np.flatnonzero(shard_R == shard) for shard in range(num_shards)]
    # A learner without rows borrows one with weight 0, to have something to run.
    own = [index if len(index) else np.array([0]) for index in own]
    local = [{int(row): i for i, row in enumerate(index)} for index in own]
    steps: list[list[OptimizerStep]] = [[] for _ in range(num_shards)]
    for minibatch in _minibatches(len(rows), settings):
        weight_R = np.zeros(len(rows))
        weight_R[minibatch] = _token_weights(rows, minibatch, settings)
        split = [
            micro_batches(
                minibatch[shard_R[minibatch] == shard],
                length_R,
                settings.max_tokens_per_micro_batch,
            )
            for shard in range(num_shards)
        ]
        most = max(len(batches) for batches in split)
        for shard, batches in enumerate(split):
            steps[shard].append(
                OptimizerStep(
                    micro_batches=tuple(
                        _localize(batch, weight_R, local[shard]) for batch in batches
                    )
                    + (_idle(),) * (most - len(batches)),
                    num_tokens=_num_training_tokens(rows, minibatch),
                )
            )
    return [
        ShardPlan(rows=own[shard], steps=tuple(steps[shard]))
        for shard in range(num_shards)
    ]


def micro_batches(rows: Indices, length_R: Indices, max_tokens: int) -> list[Indices]:
    """Rows cut into runs of similar length within a token budget, longest first."""
    order = rows[np.argsort(-length_R[rows], kind="stable")]
    batches: list[Indices] = []
    start = 0
    total = np.cumsum(length_R[order])
    while start < len(order):
        before = total[start - 1] if start else 0
        stop = int(np.searchsorted(total, before + max_tokens, side="right"))
        stop = max(stop, start + 1)
        batches.append(order[start:stop])
        start = stop
    return batches


def _balanced_shards(length_R: Indices, num_shards: int) -> Indices:
    """A shard per row: sorted by length and dealt back and forth, so tokens balance."""
    order = np.argsort(-length_R, kind="stable")
    turn = np.arange(len(order)) % (2 * num_shards)
    shard_R = np.empty(len(order), np.int64)
    shard_R[order] = np.minimum(turn, 2 * num_shards - 1 - turn)
    return shard_R


def _minibatches(num_rows: int, settings: PlanSettings) -> list[Indices]:
    if settings.num_minibatches == 1:
        return [np.arange(num_rows)] * settings.num_epochs
    rng = np.random.default_rng(settings.seed)
    return [
        part
        for _ in range(settings.num_epochs)
        for part in np.array_split(rng.permutation(num_rows), settings.num_minibatches)
        if len(part)
    ]


def _token_weights(
    rows: TrainingRows, minibatch: Indices, settings: PlanSettings
) -> NDArray[np.float64]:
    counts = RowCounts(
        num_tokens=np.array([len(rows.response_ids[i]) for i in minibatch], np.int64),
        trajectory=rows.trajectory[minibatch],
        loss_weight=rows.loss_weight[minibatch],
    )
    return row_token_weights(counts, settings.loss_aggregation, settings.loss_constant)


def _num_training_tokens(rows: TrainingRows, minibatch: Indices) -> int:
    return sum(
        len(rows.response_ids[i]) for i in minibatch.tolist() if rows.loss_weight[i] > 0
    )


def _localize(
    batch: Indices, weight_R: NDArray[np.float64], local: dict[int, int]
) -> MicroBatch:
    return MicroBatch(
        rows=np.array([local[row] for row in batch.tolist()], np.int64),
        token_weight=weight_R[batch],
    )


def _idle() -> MicroBatch:
    return MicroBatch(rows=np.array([0]), token_weight=np.zeros(1))
