"""Credit assignment: from a table of steps to advantages. Pure numpy.

``StepTable.from_columns`` checks what was sampled, ``assign_credit`` computes the
advantages by ``CreditConfig``, ``ESTIMATORS`` takes new estimators.
"""

from __future__ import annotations

from rllib_gigpo.credit.assign import Credit, assign_credit, find_estimator
from rllib_gigpo.credit.config import CreditConfig, GraphGPOOptions, HGPOOptions
from rllib_gigpo.credit.estimators import (
    ESTIMATORS,
    AdvantageParts,
    CreditInputs,
    Estimator,
)
from rllib_gigpo.credit.step_table import StepTable
from rllib_gigpo.credit.summary import CreditSummary

__all__ = [
    "ESTIMATORS",
    "AdvantageParts",
    "Credit",
    "CreditConfig",
    "CreditInputs",
    "CreditSummary",
    "Estimator",
    "GraphGPOOptions",
    "HGPOOptions",
    "StepTable",
    "assign_credit",
    "find_estimator",
]
