"""Writing trees of figures into RLlib's MetricsLogger as they are, unsmoothed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ray.rllib.utils.metrics.metrics_logger import MetricsLogger


def log_tree(
    logger: MetricsLogger, key: tuple[str, ...], tree: Mapping[str, Any]
) -> None:
    """Log every leaf under ``key``; the result shows exactly the last value logged.

    RLlib's default would be a slow moving average, and its merging a mean of means.
    """
    for name, value in tree.items():
        if isinstance(value, Mapping):
            log_tree(logger, (*key, name), value)
        else:
            logger.log_value((*key, name), value, reduce="item")
