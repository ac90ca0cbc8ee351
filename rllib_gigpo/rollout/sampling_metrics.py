"""Figures of a rollout, each pooled over its episodes or steps, under RLlib's names."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import numpy as np
from ray.rllib.utils.metrics import (
    EPISODE_LEN_MAX,
    EPISODE_LEN_MEAN,
    EPISODE_LEN_MIN,
    EPISODE_RETURN_MAX,
    EPISODE_RETURN_MEAN,
    EPISODE_RETURN_MIN,
    NUM_ENV_STEPS_SAMPLED,
    NUM_EPISODES,
)

from rllib_gigpo.inference.engine import FinishReason
from rllib_gigpo.rollout.records import EpisodeFailure, EpisodeRecord, StopReason

Metrics = dict[str, "float | Metrics"]


def sampling_metrics(
    episodes: Sequence[EpisodeRecord],
    failures: Sequence[EpisodeFailure],
    seconds: float,
) -> Metrics:
    """Figures of one rollout.

    Args:
        episodes: Finished episodes, at least one.
        failures: Episodes that failed; they enter no mean.
        seconds: Wall seconds the rollout took.

    Returns:
        Means are over episodes for ``episode_*`` and ``success_rate*``, over steps for
        ``*_fraction`` and token counts per step.
    """
    steps = [step for episode in episodes for step in episode.steps]
    num_steps = max(len(steps), 1)
    returns = np.array([episode.episode_return for episode in episodes])
    lengths = np.array([len(episode.steps) for episode in episodes])
    num_response_tokens = sum(len(step.response_ids) for step in steps)
    num_prompt_tokens = sum(len(step.prompt_ids) for step in steps)
    num_cached_tokens = sum(step.num_cached_tokens for step in steps)
    metrics: Metrics = {
        NUM_EPISODES: len(episodes),
        NUM_ENV_STEPS_SAMPLED: len(steps),
        "num_failed_episodes": len(failures),
        EPISODE_RETURN_MEAN: float(returns.mean()),
        EPISODE_RETURN_MIN: float(returns.min()),
        EPISODE_RETURN_MAX: float(returns.max()),
        EPISODE_LEN_MEAN: float(lengths.mean()),
        EPISODE_LEN_MIN: int(lengths.min()),
        EPISODE_LEN_MAX: int(lengths.max()),
        "success_rate": float(np.mean([episode.success for episode in episodes])),
        "truncated_fraction": _fraction(
            episode.stop_reason is StopReason.TRUNCATED for episode in episodes
        ),
        "context_stopped_fraction": _fraction(
            episode.stop_reason is StopReason.CONTEXT for episode in episodes
        ),
        "invalid_action_fraction": _fraction(not step.is_valid for step in steps),
        "inadmissible_action_fraction": _fraction(
            step.is_valid and not step.is_admissible for step in steps
        ),
        "length_stopped_fraction": _fraction(
            step.finish_reason is FinishReason.LENGTH for step in steps
        ),
        "shortened_prompt_fraction": _fraction(
            step.num_dropped_history > 0 for step in steps
        ),
        "prompt_tokens_mean": num_prompt_tokens / num_steps,
        "response_tokens_mean": num_response_tokens / num_steps,
        "cached_prompt_fraction": num_cached_tokens / max(num_prompt_tokens, 1),
        "num_generated_tokens": num_response_tokens,
        "num_generated_tokens_per_s": num_response_tokens / max(seconds, 1e-9),
        "seconds_in_env": sum(episode.seconds_in_env for episode in episodes),
    }
    if by_kind := _success_by_kind(episodes):
        metrics["success_rate_by_kind"] = by_kind
        # Each kind counts alike, as question sets of unequal size are averaged.
        metrics["success_rate_kind_mean"] = float(np.mean(list(by_kind.values())))
    if reasons := Counter(step.invalid_reason for step in steps if step.invalid_reason):
        metrics["invalid_reasons"] = {
            reason.replace(" ", "_"): count for reason, count in sorted(reasons.items())
        }
    if figures := _figure_means(episodes):
        metrics["figures"] = figures
    return metrics


def _fraction(flags: Iterable[bool]) -> float:
    values = np.fromiter(flags, bool)
    return float(values.mean()) if len(values) else 0.0


def _success_by_kind(episodes: Sequence[EpisodeRecord]) -> Metrics:
    by_kind: defaultdict[str, list[bool]] = defaultdict(list)
    for episode in episodes:
        if episode.task_kind:
            by_kind[episode.task_kind].append(episode.success)
    return {kind: float(np.mean(wins)) for kind, wins in sorted(by_kind.items())}


def _figure_means(episodes: Sequence[EpisodeRecord]) -> Metrics:
    by_name: defaultdict[str, list[float]] = defaultdict(list)
    for episode in episodes:
        for name, value in episode.figures.items():
            by_name[name].append(value)
    return {name: float(np.mean(values)) for name, values in sorted(by_name.items())}
