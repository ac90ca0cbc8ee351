"""REINFORCE++: each episode against the whole batch."""

from __future__ import annotations

import numpy as np

from rllib_gigpo.credit.estimators.contract import AdvantageParts, CreditInputs
from rllib_gigpo.credit.relative import episode_advantage


def reinforce_plus_plus(inputs: CreditInputs) -> AdvantageParts:
    """A^E with one baseline, and one std, for the batch: groups are not read.

    The one estimator whose advantages change when other groups are added.

    Source: Hu, arXiv 2501.03262, global advantage normalisation; over trajectories
    instead of tokens.
    """
    table = inputs.table
    whole_batch = np.zeros(len(table), np.int64)
    return AdvantageParts(
        episode_advantage=episode_advantage(
            table, inputs.episode_score, whole_batch, inputs.config
        ),
        step_advantage=np.zeros(len(table)),
    )
