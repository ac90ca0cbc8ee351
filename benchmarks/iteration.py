"""Where the seconds of one training iteration go.

Run: ``python -m benchmarks.iteration [--model FOLDER] [--env NAME] [--num-iterations
N]``. An iteration samples groups of episodes, assigns credit, updates and hands the new
weights to the engine; its time is read from the timers in RLlib's results. Without a
model an untrained one of a million parameters plays the tiny household, so episodes run
to their last step and responses to their last token: the dearest iteration there is.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from ray.rllib.core import DEFAULT_MODULE_ID

from benchmarks.small_model import HOUSEHOLD_CONFIG, save_small_model
from rllib_gigpo import GiGPOConfig

_PARTS = ("sample", "credit", "learner_update", "weight_sync")


@dataclass(frozen=True, slots=True, kw_only=True)
class Iteration:
    """One measured iteration.

    Attributes:
        seconds: Wall time of ``train()``.
        parts: Seconds by part of the training step.
        num_steps: Environment steps sampled.
        num_generated_tokens: Tokens sampled.
        num_trained_tokens: Prompt and response tokens of the rows learned from.
        env_seconds: Spent in environments, summed over episodes that run side by side.
        cached_prompt_fraction: Prompt tokens that need not be computed.
    """

    seconds: float
    parts: Mapping[str, float]
    num_steps: int
    num_generated_tokens: int
    num_trained_tokens: int
    env_seconds: float
    cached_prompt_fraction: float


def run(config: GiGPOConfig, num_iterations: int) -> list[Iteration]:
    """Train; the first iteration, which warms up, is left out."""
    algorithm = config.build_algo()
    try:
        measured = []
        for _ in range(num_iterations + 1):
            start = time.perf_counter()
            result = algorithm.train()
            measured.append(_read(result, time.perf_counter() - start))
        return measured[1:]
    finally:
        algorithm.stop()


def _read(result: Mapping[str, Any], seconds: float) -> Iteration:
    sampled = result["env_runners"]
    return Iteration(
        seconds=seconds,
        parts={part: result["timers"][f"{part}_s"] for part in _PARTS},
        num_steps=sampled["num_env_steps_sampled"],
        num_generated_tokens=sampled["num_generated_tokens"],
        num_trained_tokens=result["learners"][DEFAULT_MODULE_ID]["num_tokens_trained"],
        env_seconds=sampled["seconds_in_env"],
        cached_prompt_fraction=sampled["cached_prompt_fraction"],
    )


def report(iterations: list[Iteration]) -> None:
    """Print the mean iteration, part by part."""

    def mean(values: list[float]) -> float:
        return float(np.mean(values))

    total = mean([i.seconds for i in iterations])
    print(f"{'part':<18}{'seconds':>10}{'share':>9}")
    named = 0.0
    for part in _PARTS:
        seconds = mean([i.parts[part] for i in iterations])
        named += seconds
        print(f"{part:<18}{seconds:>10.3f}{seconds / total:>9.1%}")
    print(f"{'all else':<18}{total - named:>10.3f}{1 - named / total:>9.1%}")
    print(f"{'iteration':<18}{total:>10.3f}{1:>9.1%}")
    steps = mean([i.num_steps for i in iterations])
    generated = mean([i.num_generated_tokens for i in iterations])
    trained = mean([i.num_trained_tokens for i in iterations])
    sampling = mean([i.parts["sample"] for i in iterations])
    updating = mean([i.parts["learner_update"] for i in iterations])
    cached = mean([i.cached_prompt_fraction for i in iterations])
    env = mean([i.env_seconds for i in iterations])
    print(f"{steps:,.0f} steps, {steps / total:,.0f} a second in all")
    print(f"{generated:,.0f} tokens sampled, {generated / sampling:,.0f} a second")
    print(f"{trained:,.0f} tokens learned, {trained / updating:,.0f} a second")
    print(f"{cached:.1%} of prompt tokens from the cache, {env:.3f} s in environments")


def make_config(flags: argparse.Namespace, model: str) -> GiGPOConfig:
    """The run to measure: one process, both sampling and learning."""
    env_config = json.loads(flags.env_config) if flags.env_config else HOUSEHOLD_CONFIG
    return (
        GiGPOConfig()
        .environment(flags.env, env_config=env_config)
        .llm(
            model_name_or_path=model,
            dtype=flags.dtype,
            max_prompt_tokens=flags.max_prompt_tokens,
            max_response_tokens=flags.max_response_tokens,
        )
        .inference(engine=flags.engine)
        .training(
            group_size=flags.group_size,
            groups_per_iteration=flags.num_groups,
            lr=1e-6,
            kl_coeff=0.0,
            max_tokens_per_micro_batch=4096,
        )
        .env_runners(num_env_runners=flags.num_env_runners, num_envs_per_env_runner=128)
        .learners(num_learners=0)
        .debugging(seed=0)
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--model", help="a Hugging Face folder; a small one is made")
    parser.add_argument("--env", default="Household-v0")
    parser.add_argument("--env-config", help="JSON; the tiny household's by default")
    parser.add_argument("--dtype", default="float32", choices=["float32", "bfloat16"])
    parser.add_argument("--engine", default="transformers")
    parser.add_argument("--group-size", type=int, default=8)
    parser.add_argument("--num-groups", type=int, default=8)
    parser.add_argument("--num-env-runners", type=int, default=0)
    parser.add_argument("--max-prompt-tokens", type=int, default=384)
    parser.add_argument("--max-response-tokens", type=int, default=32)
    parser.add_argument("--num-iterations", type=int, default=2)
    flags = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        model = flags.model or str(save_small_model(Path(folder)))
        report(run(make_config(flags, model), flags.num_iterations))


if __name__ == "__main__":
    main()
