"""Loss terms as pure functions of one micro-batch's tokens; torch and numpy only.

To add a policy ratio, an aggregation or a KL estimator, write the function and add a
line to ``POLICY_RATIOS``, ``LOSS_AGGREGATIONS`` or ``KL_ESTIMATORS``.
"""

from rllib_gigpo.learning.losses.aggregation import (
    LOSS_AGGREGATIONS,
    RowCounts,
    row_token_weights,
)
from rllib_gigpo.learning.losses.config import LossConfig
from rllib_gigpo.learning.losses.inputs import LossInputs
from rllib_gigpo.learning.losses.kl import KL_ESTIMATORS, kl_per_row
from rllib_gigpo.learning.losses.policy_ratio import POLICY_RATIOS
from rllib_gigpo.learning.losses.total import LossOutputs, total_loss

__all__ = [
    "KL_ESTIMATORS",
    "LOSS_AGGREGATIONS",
    "POLICY_RATIOS",
    "LossConfig",
    "LossInputs",
    "LossOutputs",
    "RowCounts",
    "kl_per_row",
    "row_token_weights",
    "total_loss",
]
