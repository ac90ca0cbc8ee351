"""The learner's figures, logged so that merging over learners is exact.

RLlib merges learners by the mean of their values. A sum over tokens of all learners is
therefore logged as (local sum) x (number of learners).
"""

from __future__ import annotations

import numpy as np
from ray.rllib.core import DEFAULT_MODULE_ID
from ray.rllib.core.learner.learner import ENTROPY_KEY, POLICY_LOSS_KEY, Learner
from ray.rllib.utils.metrics.metrics_logger import MetricsLogger

from rllib_gigpo.learning.rows import TrainingRows
from rllib_gigpo.learning.update import StepFigures


def log_step(
    logger: MetricsLogger,
    figures: StepFigures,
    *,
    num_tokens: int,
    num_learners: int,
    learning_rate: float,
    is_skipped: bool,
    index: int | None = None,
) -> None:
    """Log one optimizer step; the result shows the mean over an iteration's steps.

    Where an iteration has several, what moves from step to step, as the policy leaves
    the one that sampled, is logged under ``by_optimizer_step/<index>`` too.

    Args:
        logger: The learner's.
        figures: Of this learner's part of the step.
        num_tokens: Tokens that train in the step, over all learners.
        num_learners: Learners that share the step.
        learning_rate: Of the step.
        is_skipped: Whether no step was taken: gradients were not finite, or no token
            trains.
        index: Of the step within its iteration; None where it is the only one.
    """
    per_token = num_learners / max(num_tokens, 1)
    of_the_ratio = {
        "policy_ratio_mean": figures.ratio_sum * per_token,
        "clip_low_fraction": figures.num_clipped_low * per_token,
        "clip_high_fraction": figures.num_clipped_high * per_token,
        "dual_clip_fraction": figures.num_dual_clipped * per_token,
    }
    for name, value in {
        Learner.TOTAL_LOSS_KEY: figures.total_loss * num_learners,
        POLICY_LOSS_KEY: figures.policy_loss * num_learners,
        "mean_kl_loss": figures.kl_loss * num_learners,
        ENTROPY_KEY: figures.entropy_sum * per_token,
        "engine_drift_mean": figures.drift_sum * per_token,
        "learning_rate": learning_rate,
        **of_the_ratio,
    }.items():
        logger.log_value((DEFAULT_MODULE_ID, name), value, reduce="mean")
    for name, value in {
        "policy_ratio_max": figures.ratio_max,
        "engine_drift_max": figures.drift_max,
    }.items():
        logger.log_value((DEFAULT_MODULE_ID, name), value, reduce="max")
    logger.log_value(
        (DEFAULT_MODULE_ID, "skipped_step_fraction"), float(is_skipped), reduce="mean"
    )
    if index is None:
        return
    own = (DEFAULT_MODULE_ID, "by_optimizer_step", f"{index:03d}")
    for name, value in of_the_ratio.items():
        logger.log_value((*own, name), value, reduce="mean")
    logger.log_value((*own, "policy_ratio_max"), figures.ratio_max, reduce="max")


def log_update(
    logger: MetricsLogger,
    rows: TrainingRows,
    last_step: StepFigures,
    num_optimizer_steps: int,
) -> None:
    """Log what concerns the whole update.

    Args:
        logger: The learner's.
        rows: This learner's rows.
        last_step: Figures of the last optimizer step.
        num_optimizer_steps: Taken so far in the run.
    """
    padding = 1.0 - last_step.num_packed_tokens / max(last_step.num_attention_slots, 1)
    for name, value in {
        "num_rows_trained": len(rows),
        "num_tokens_trained": int(rows.num_tokens.sum()),
    }.items():
        logger.log_value((DEFAULT_MODULE_ID, name), value, reduce="sum")
    for name, value in {
        "attention_padding_fraction": padding,
        "advantage_abs_mean": float(np.abs(rows.advantage).mean()),
        "num_optimizer_steps_lifetime": num_optimizer_steps,
    }.items():
        logger.log_value((DEFAULT_MODULE_ID, name), value, reduce="mean")
