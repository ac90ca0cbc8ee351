"""The estimators by name: `ESTIMATORS`, a plain dict that takes new ones.

To add an estimator, write a function from `CreditInputs` to `AdvantageParts` in a file
of its own and set ``ESTIMATORS["my_name"] = my_function``.
"""

from __future__ import annotations

from rllib_gigpo.credit.estimators.contract import (
    AdvantageParts,
    CreditInputs,
    Estimator,
)
from rllib_gigpo.credit.estimators.gigpo import gigpo
from rllib_gigpo.credit.estimators.graphgpo import graphgpo
from rllib_gigpo.credit.estimators.grpo import grpo
from rllib_gigpo.credit.estimators.hgpo import hgpo
from rllib_gigpo.credit.estimators.reinforce_plus_plus import reinforce_plus_plus
from rllib_gigpo.credit.estimators.rloo import rloo

ESTIMATORS: dict[str, Estimator] = {
    "gigpo": gigpo,
    "grpo": grpo,
    "rloo": rloo,
    "reinforce_plus_plus": reinforce_plus_plus,
    "hgpo": hgpo,
    "graphgpo": graphgpo,
}

__all__ = ["ESTIMATORS", "AdvantageParts", "CreditInputs", "Estimator"]
