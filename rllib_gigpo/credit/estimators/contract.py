"""What an estimator is given and what it gives back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from rllib_gigpo.credit.config import CreditConfig
from rllib_gigpo.credit.step_table import StepTable


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CreditInputs:
    """What every estimator reads; all arrays have the table's row order.

    Attributes:
        table: R rows.
        config: The settings.
        anchor_group: int64 [R], dense codes.
        step_return: float64 [R], less ``step_penalty``.
        episode_score: float64 [R], the episode return on every row, less the row's
            penalty where that is placed inside its statistics.
        step_penalty: float64 [R], >= 0; the penalty of the row where it is placed
            inside the statistics of step returns, else 0. For estimators that compare
            values of their own.
    """

    table: StepTable
    config: CreditConfig
    anchor_group: NDArray[np.int64]
    step_return: NDArray[np.float64]
    episode_score: NDArray[np.float64]
    step_penalty: NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AdvantageParts:
    """The two terms of Eq. 8, before ``step_weight``.

    Attributes:
        episode_advantage: float64 [R].
        step_advantage: float64 [R].
    """

    episode_advantage: NDArray[np.float64]
    step_advantage: NDArray[np.float64]


Estimator: TypeAlias = Callable[[CreditInputs], AdvantageParts]
