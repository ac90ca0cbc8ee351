"""What engines reserve, so that Tune sets it aside with the rest of a trial."""

from __future__ import annotations

from typing import TYPE_CHECKING

import ray
import torch
from ray.tune import PlacementGroupFactory

if TYPE_CHECKING:
    from rllib_gigpo.algorithms.config import GiGPOConfig


def engine_resources(config: GiGPOConfig) -> dict[str, float]:
    """One engine's bundle; on machines without a GPU it is made of CPUs alone."""
    resources = {"CPU": float(config.num_cpus_per_engine)}
    if has_gpu():
        # Tensor parallelism stays within one bundle, hence on one node.
        resources["GPU"] = float(
            max(config.num_gpus_per_engine, config.tensor_parallel_size)
            if config.tensor_parallel_size > 1
            else config.num_gpus_per_engine
        )
    return {name: amount for name, amount in resources.items() if amount}


def has_gpu() -> bool:
    """Whether there is a GPU in the cluster, or without one on this machine."""
    if ray.is_initialized():
        return ray.cluster_resources().get("GPU", 0.0) > 0
    return torch.cuda.is_available()


def add_engine_bundles(
    request: PlacementGroupFactory, config: GiGPOConfig
) -> PlacementGroupFactory:
    """A trial's request with the engines' bundles at its end.

    Args:
        request: RLlib's own: main process, env runners, evaluation runners, learners.
        config: Of the trial.
    """
    if config.resolved_engine != "vllm":
        return request
    return PlacementGroupFactory(
        [*request.bundles, *[engine_resources(config)] * config.num_engines],
        strategy=request.strategy,
    )
