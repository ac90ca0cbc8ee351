"""GRPO: episodes against their group, no step credit."""

from __future__ import annotations

import numpy as np

from rllib_gigpo.credit.estimators.contract import AdvantageParts, CreditInputs
from rllib_gigpo.credit.relative import episode_advantage


def grpo(inputs: CreditInputs) -> AdvantageParts:
    """A^E alone: GiGPO without its step advantage.

    Source: Shao et al., arXiv 2402.03300, outcome supervision; over whole trajectories.
    """
    return AdvantageParts(
        episode_advantage=episode_advantage(
            inputs.table, inputs.episode_score, inputs.table.group, inputs.config
        ),
        step_advantage=np.zeros(len(inputs.table)),
    )
