"""From a step table to advantages: `assign_credit`."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rllib_gigpo.credit.anchor_groups import anchor_groups
from rllib_gigpo.credit.config import CreditConfig
from rllib_gigpo.credit.estimators import (
    ESTIMATORS,
    AdvantageParts,
    CreditInputs,
    Estimator,
)
from rllib_gigpo.credit.nearest import nearest_name
from rllib_gigpo.credit.returns import episode_returns, step_returns
from rllib_gigpo.credit.step_table import StepTable
from rllib_gigpo.credit.summary import CreditSummary, summarize
from rllib_gigpo.errors import ConfigError, CreditError


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Credit:
    """Advantages of R rows and what they are made of, in the table's row order.

    Attributes:
        step_return: float64 [R], discounted, without penalties (Eq. 5).
        anchor_group: int64 [R], dense codes; equal where rows share group and state.
        episode_advantage: float64 [R], A^E (Eq. 3).
        step_advantage: float64 [R], A^S (Eq. 7), before ``step_weight``.
        penalty: float64 [R], >= 0, what the row's invalid action costs outside the
            statistics.
        advantage: float64 [R], A^E + step_weight * A^S - penalty (Eq. 8).
        table: What it was computed from.
        config: How.

    Example:
        Two episodes of one step from one state, rewards 10 and 0, ``normalize="none"``:
        ``episode_advantage=[5, -5]``, ``step_advantage=[5, -5]``, ``advantage=[10,
        -10]``.
    """

    step_return: NDArray[np.float64]
    anchor_group: NDArray[np.int64]
    episode_advantage: NDArray[np.float64]
    step_advantage: NDArray[np.float64]
    penalty: NDArray[np.float64]
    advantage: NDArray[np.float64]
    table: StepTable = field(repr=False)
    config: CreditConfig = field(repr=False)

    def summary(self) -> CreditSummary:
        """The figures to watch during training."""
        return summarize(
            self.table,
            self.config,
            anchor_group=self.anchor_group,
            episode_advantage=self.episode_advantage,
            step_advantage=self.step_advantage,
        )


def assign_credit(table: StepTable, config: CreditConfig | None = None) -> Credit:
    """Compute the advantage of every row.

    Args:
        table: R rows; whole groups, since statistics are taken over what is in the
            table.
        config: The paper's GiGPO by default.

    Raises:
        ConfigError: ``config.estimator`` is not in `ESTIMATORS`.
        CreditError: Similarity over keys that are no texts, or an estimator that gives
            anything but one finite number per row.

    Source: arXiv 2505.10978, Eq. 2 to 8. Deviation: the invalid-action penalty stays
    outside the statistics by default, see `CreditConfig`.
    """
    config = config or CreditConfig()
    estimator = find_estimator(config.estimator)
    cost = np.where(table.valid, 0.0, config.invalid_penalty)
    nothing = np.zeros(len(table))
    step_penalty = cost if config.penalizes_steps else nothing
    episode_penalty = cost if config.penalizes_episodes else nothing
    penalty = cost - step_penalty
    step_return = step_returns(table, config.gamma)
    anchor_group = anchor_groups(table, config)
    parts = estimator(
        CreditInputs(
            table=table,
            config=config,
            anchor_group=anchor_group,
            step_return=step_return - step_penalty,
            episode_score=episode_returns(table)[table.trajectory] - episode_penalty,
            step_penalty=step_penalty,
        )
    )
    _check_parts(parts, len(table), config.estimator)
    return Credit(
        step_return=step_return,
        anchor_group=anchor_group,
        episode_advantage=parts.episode_advantage,
        step_advantage=parts.step_advantage,
        penalty=penalty,
        advantage=(
            parts.episode_advantage
            + config.step_weight * parts.step_advantage
            - penalty
        ),
        table=table,
        config=config,
    )


def find_estimator(name: str) -> Estimator:
    """The estimator of that name.

    Raises:
        ConfigError: There is none; the nearest name is given.
    """
    if name not in ESTIMATORS:
        raise ConfigError(
            f"there is no estimator {name!r}; did you mean "
            f"{nearest_name(name, ESTIMATORS)!r}? Known: {', '.join(ESTIMATORS)}"
        )
    return ESTIMATORS[name]


def _check_parts(parts: AdvantageParts, num_rows: int, estimator: str) -> None:
    for name in ("episode_advantage", "step_advantage"):
        values = getattr(parts, name)
        if values.shape != (num_rows,):
            raise CreditError(
                f"estimator {estimator!r}: {name} has shape {values.shape}; it must be "
                f"({num_rows},), one number per row"
            )
        wrong = np.flatnonzero(~np.isfinite(values))
        if len(wrong):
            raise CreditError(
                f"estimator {estimator!r}: {name} is {values[wrong[0]]} in row "
                f"{wrong[0]} ({len(wrong)} such rows); are the rewards too large to "
                "square?"
            )
