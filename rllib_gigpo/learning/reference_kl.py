"""How far responses have moved from the reference policy, asked of all learners."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from ray.rllib.core.learner.learner_group import LearnerGroup

from rllib_gigpo.errors import GiGPOError
from rllib_gigpo.learning.learner import GiGPOLearner
from rllib_gigpo.learning.rows import TrainingRows
from rllib_gigpo.learning.training_data import GiGPOTrainingData


def reference_kl(
    learner_group: LearnerGroup, rows: TrainingRows
) -> NDArray[np.float64]:
    """KL of each row, each computed by one of the learners.

    Args:
        learner_group: Built with ``kl_coeff > 0``.
        rows: At least one; advantages are not read.

    Returns:
        float64 [R], as of ``GiGPOLearner.reference_kl``; independent of the number of
        learners but for the rounding of float32 products.

    Raises:
        GiGPOError: A learner died.
    """
    whole = GiGPOTrainingData(rows=rows)
    shares = (
        [whole]
        if learner_group.is_local
        else [share for share, _ in whole.shard(len(learner_group))]
    )
    kl_R = np.full(len(rows), np.nan)
    for result in learner_group.foreach_learner(_own_share, shares=shares):
        places, values = result.get()
        kl_R[places] = values
    if num_missing := int(np.isnan(kl_R).sum()):
        raise GiGPOError(
            f"the KL of {num_missing} of {len(rows)} responses is missing or NaN: a "
            "learner died or its weights are not finite; see the learners' logs"
        )
    return kl_R


def _own_share(
    learner: GiGPOLearner, shares: Sequence[GiGPOTrainingData]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    return learner.reference_kl(shares[learner._learner_index])
