"""GiGPO: episodes against their group, steps against those from the same state."""

from __future__ import annotations

from rllib_gigpo.credit.estimators.contract import AdvantageParts, CreditInputs
from rllib_gigpo.credit.relative import anchor_advantage, episode_advantage


def gigpo(inputs: CreditInputs) -> AdvantageParts:
    """A^E over the group's episode returns, A^S over the anchor group's step returns.

    Source: arXiv 2505.10978, Eq. 3, 7 and 8.
    """
    table, config = inputs.table, inputs.config
    return AdvantageParts(
        episode_advantage=episode_advantage(
            table, inputs.episode_score, table.group, config
        ),
        step_advantage=anchor_advantage(
            table, inputs.step_return, inputs.anchor_group, config
        ),
    )
