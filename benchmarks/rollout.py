"""How much of vLLM's own speed a whole rollout keeps, environments included.

    python -m benchmarks.rollout --model FOLDER [--env Household-v0] [--num-groups 16]

Four ways to sample the same tokens, one after the other on this machine:

- raw: the very requests of the rollout, submitted to vLLM at once, nothing else;
- rollout: episodes through an engine actor, each advancing on its own;
- lock-step: the same, but every episode waits until all others have their tokens;
- transformers: episodes through the engine that runs without vLLM.

Then the time that new weights take from the learner's process into vLLM.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import ray

from rllib_gigpo import GiGPOConfig
from rllib_gigpo.algorithms.engines import vllm_settings
from rllib_gigpo.algorithms.resources import engine_resources
from rllib_gigpo.inference.engine import Completion, Engine, GenerationRequest
from rllib_gigpo.inference.engine_client import EngineClient
from rllib_gigpo.inference.engine_group import EngineGroup
from rllib_gigpo.inference.vllm_settings import VLLMSettings
from rllib_gigpo.modules.model_folder import load_model
from rllib_gigpo.rollout.group_scheduler import EnvPool, play_groups
from rllib_gigpo.rollout.make_engine import make_engine, make_renderer
from rllib_gigpo.rollout.make_env import make_text_env
from rllib_gigpo.rollout.records import GroupSpec
from rllib_gigpo.rollout.task_sampling import TaskSampler
from rllib_gigpo.weight_sync.base import checkpoint_weights, copy_to_cpu


@dataclass(frozen=True, slots=True, kw_only=True)
class Speed:
    """What was measured.

    Attributes:
        num_requests: Model calls.
        num_tokens: Generated tokens.
        seconds: Wall time.
        cached_prompt_fraction: Of prompt tokens, those served from the prefix cache.
    """

    num_requests: int
    num_tokens: int
    seconds: float
    cached_prompt_fraction: float

    @property
    def tokens_per_s(self) -> float:
        """Generated tokens per second of wall time."""
        return self.num_tokens / self.seconds


class RecordingEngine:
    """Passes requests on and remembers them."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.requests: list[GenerationRequest] = []
        self.completions: list[Completion] = []

    async def generate(self, request: GenerationRequest) -> Completion:
        """See the Engine protocol."""
        self.requests.append(request)
        completion = await self._engine.generate(request)
        self.completions.append(completion)
        return completion


class LockStepEngine:
    """Answers the requests of one tick together, when the last of them is done."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._waiting: list[tuple[GenerationRequest, asyncio.Future[Completion]]] = []

    async def generate(self, request: GenerationRequest) -> Completion:
        """See the Engine protocol."""
        future = asyncio.get_running_loop().create_future()
        self._waiting.append((request, future))
        if len(self._waiting) == 1:
            self._round = asyncio.create_task(self._play_round())
        return await future

    async def _play_round(self) -> None:
        await asyncio.sleep(0)
        batch, self._waiting = self._waiting, []
        completions = await asyncio.gather(
            *(self._engine.generate(request) for request, _ in batch)
        )
        for (_, future), completion in zip(batch, completions, strict=True):
            future.set_result(completion)


class RawVLLM:
    """vLLM in a process of its own, without anything of ours around it."""

    def __init__(self, settings: VLLMSettings) -> None:
        from rllib_gigpo.inference.vllm_engine import start_vllm

        self._llm = start_vllm(settings)

    def generate(self, requests: Sequence[GenerationRequest]) -> tuple[int, float]:
        """Tokens generated, and seconds it took."""
        from vllm.inputs.engine import tokens_input

        from rllib_gigpo.inference.vllm_engine import to_vllm_sampling_params

        assert self._llm.reset_prefix_cache()
        start = time.perf_counter()
        num_tokens = 0
        for request in requests:
            self._llm.add_request(
                request.request_id,
                tokens_input(request.prompt_ids.tolist()),
                to_vllm_sampling_params(request),
            )
        while self._llm.has_unfinished_requests():
            for output in self._llm.step():
                num_tokens += len(output.outputs[0].token_ids)
        return num_tokens, time.perf_counter() - start


def play(
    config: GiGPOConfig, engine: Engine, specs: Sequence[GroupSpec]
) -> tuple[Speed, list[GenerationRequest]]:
    """Play groups once, and again with the time taken; also the requests."""
    recorder = RecordingEngine(engine)
    envs = EnvPool(
        lambda: make_text_env(config.env, config.env_config),
        config.num_envs_per_env_runner,
        config.env_timeout_s,
    )
    start = time.perf_counter()
    rollout = asyncio.run(
        play_groups(
            specs,
            envs=envs,
            engine=recorder,
            renderer=make_renderer(config),
            settings=config.rollout_settings,
        )
    )
    seconds = time.perf_counter() - start
    envs.close()
    if rollout.failures:
        raise RuntimeError(rollout.failures[0].traceback)
    num_prompt = sum(len(request.prompt_ids) for request in recorder.requests)
    num_cached = sum(c.num_cached_tokens for c in recorder.completions)
    speed = Speed(
        num_requests=len(recorder.requests),
        num_tokens=sum(len(c.token_ids) for c in recorder.completions),
        seconds=seconds,
        cached_prompt_fraction=num_cached / num_prompt,
    )
    return speed, recorder.requests


def make_config(arguments: argparse.Namespace) -> GiGPOConfig:
    return (
        GiGPOConfig()
        .environment(arguments.env, env_config=arguments.env_config)
        .llm(
            model_name_or_path=arguments.model,
            dtype="float32",
            max_prompt_tokens=arguments.max_prompt_tokens,
            max_response_tokens=arguments.max_response_tokens,
        )
        .inference(engine="vllm", num_engines=arguments.num_engines)
    )


def draw_groups(config: GiGPOConfig, num_groups: int) -> list[GroupSpec]:
    env = make_text_env(config.env, config.env_config)
    sampler = TaskSampler(env.tasks(env.splits[0]), seed=0, group_size=8)
    env.close()
    return sampler.draw(num_groups, prefix="benchmark", temperature=1.0)


def measure_sync(config: GiGPOConfig, engines: EngineGroup, num_times: int) -> float:
    """Seconds from weights in a learner's memory until all engines have them."""
    weights = copy_to_cpu(checkpoint_weights(load_model(config.llm_config)))
    times = []
    for version in range(1, num_times + 1):
        start = time.perf_counter()
        engines.load_weights(ray.put(weights), version)
        times.append(time.perf_counter() - start)
    return float(np.median(times))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--model", required=True, help="a model folder")
    parser.add_argument("--env", default="Household-v0")
    parser.add_argument(
        "--env-config",
        type=json.loads,
        default={"size": "tiny", "prompt": {"style": "compact"}},
    )
    parser.add_argument("--num-groups", type=int, default=16)
    parser.add_argument("--num-engines", type=int, default=1)
    parser.add_argument("--max-prompt-tokens", type=int, default=400)
    parser.add_argument("--max-response-tokens", type=int, default=32)
    parser.add_argument("--num-repeats", type=int, default=3)
    arguments = parser.parse_args()
    config = make_config(arguments)
    specs = draw_groups(config, arguments.num_groups)
    # As many as needed: what counts is what the processes take, not what is reserved.
    ray.init(num_cpus=2 + arguments.num_engines, include_dashboard=False)
    figures: dict[str, list[Speed]] = {}
    engines = EngineGroup(
        vllm_settings(config),
        num_engines=arguments.num_engines,
        resources=engine_resources(config),
    )
    raw = ray.remote(RawVLLM).options(num_cpus=1).remote(vllm_settings(config))
    client = EngineClient(engines.actor_names)
    transformers = make_engine(config)[0]
    weights = ray.put(copy_to_cpu(checkpoint_weights(load_model(config.llm_config))))
    _, requests = play(config, client, specs)
    ray.get(raw.generate.remote(requests))
    for repeat in range(arguments.num_repeats):
        # Interleaved, so that whatever else the machine does disturbs all alike; each
        # with an empty prefix cache.
        engines.load_weights(weights, repeat + 1)
        speed, requests = play(config, client, specs)
        figures.setdefault("rollout", []).append(speed)
        num_tokens, seconds = ray.get(raw.generate.remote(requests))
        figures.setdefault("raw", []).append(
            Speed(
                num_requests=len(requests),
                num_tokens=num_tokens,
                seconds=seconds,
                cached_prompt_fraction=float("nan"),
            )
        )
        engines.load_weights(weights, 1000 + repeat)
        figures.setdefault("lock-step", []).append(
            play(config, LockStepEngine(client), specs)[0]
        )
        figures.setdefault("transformers", []).append(
            play(config, transformers, specs)[0]
        )
    report(figures)
    num_parameters = sum(t.numel() for t in ray.get(weights).values())
    seconds = measure_sync(config, engines, 5)
    print(
        f"weight sync of {num_parameters:,} parameters to {arguments.num_engines} "
        f"engine(s): {seconds:.3f} s"
    )
    engines.shutdown()
    ray.shutdown()


def report(figures: dict[str, list[Speed]]) -> None:
    raw = float(np.median([speed.tokens_per_s for speed in figures["raw"]]))
    columns = (
        "requests",
        "tokens",
        "tokens/s",
        "slowest",
        "fastest",
        "of raw",
        "cached",
    )
    print(" " * 14 + "".join(f"{column:>10}" for column in columns))
    for name, speeds in figures.items():
        rates = [speed.tokens_per_s for speed in speeds]
        rate = float(np.median(rates))
        last = speeds[-1]
        print(
            f"{name:<14}{last.num_requests:>10,}{last.num_tokens:>10,}{rate:>10,.0f}"
            f"{min(rates):>10,.0f}{max(rates):>10,.0f}"
            f"{rate / raw:>10.2f}{last.cached_prompt_fraction:>10.2f}"
        )


if __name__ == "__main__":
    main()
