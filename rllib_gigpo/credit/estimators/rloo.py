"""RLOO: each episode against the mean of the others of its group."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rllib_gigpo.credit.estimators.contract import AdvantageParts, CreditInputs
from rllib_gigpo.credit.relative import episode_advantage, episode_statistics


def rloo(inputs: CreditInputs) -> AdvantageParts:
    """Score minus the mean of the n - 1 others: n / (n - 1) times the centred score.

    ``normalize`` is not read: leave-one-out has no std. In the step unit a row is
    compared with all other rows, its own trajectory's among them, as the official code
    does.

    Source: Ahmadian et al., arXiv 2402.14740; the identity: arXiv 2505.10978, App. C.
    """
    table, score = inputs.table, inputs.episode_score
    config = replace(inputs.config, normalize="none")
    statistics = episode_statistics(table, score, table.group, config)
    factor = statistics.count / np.maximum(statistics.count - 1, 1)
    centred = episode_advantage(table, score, table.group, config)
    return AdvantageParts(
        episode_advantage=factor[table.group] * centred,
        step_advantage=np.zeros(len(table)),
    )
