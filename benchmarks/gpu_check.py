"""Whether engine, learner and weight transfer work on this machine's GPU.

    python -m benchmarks.gpu_check --model FOLDER

Needs one NVIDIA GPU and a model folder or hub id; takes a few minutes. It starts a vLLM
engine and a learner on the same GPU, as ``colocate=True`` does, and then, in order:

1. compares what the engine generates with transformers, token by token;
2. measures generated tokens per second;
3. changes the learner's weights, sends them by CUDA IPC, and compares again, with a
   warm prefix cache;
4. lets the engine sleep, shows the memory that this frees, wakes it around another
   transfer, and compares again;
5. does the same transfer through the object store, for its time.

Ends with status 0 only if every comparison held.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from types import SimpleNamespace

import numpy as np
import ray
import torch
from transformers import PreTrainedModel

from rllib_gigpo import GiGPOConfig
from rllib_gigpo.algorithms.engines import make_engine_sync, start_engines
from rllib_gigpo.inference.engine import Completion, GenerationRequest, SamplingParams
from rllib_gigpo.inference.engine_group import EngineGroup
from rllib_gigpo.modules.model_folder import load_model
from rllib_gigpo.weight_sync.base import checkpoint_weights
from rllib_gigpo.weight_sync.engine_sync import EngineSync

_LARGEST_MEAN_DIFFERENCE = {"float32": 1e-3, "bfloat16": 0.05}
"""Of a token's logprob; what rounding explains."""


class LoneLearner:
    """A learner group of one learner that only holds weights, in this process.

    Args:
        config: Of the model; the weights are float32, as a learner's are.
    """

    def __init__(self, config: GiGPOConfig) -> None:
        self.model: PreTrainedModel = load_model(config.llm_config).float().cuda()
        module = SimpleNamespace(model=self.model, llm_config=config.llm_config)
        self._learner = SimpleNamespace(
            module=_Modules({"default_policy": module}),
            weight_connection=None,
            export_weights=self._export,
        )
        self._dtype = config.llm_config.torch_dtype
        self.is_local = True

    def foreach_learner(
        self, function: Callable[..., object], remote_actor_ids: object = None
    ) -> list[SimpleNamespace]:
        """See RLlib's ``LearnerGroup``."""
        result = function(self._learner)
        return [SimpleNamespace(get=lambda: result)]

    @torch.no_grad()
    def change(self, seed: int) -> None:
        """As an update does, but enough to change what is generated."""
        generator = torch.Generator("cuda").manual_seed(seed)
        for tensor in checkpoint_weights(self.model).values():
            noise = torch.randn(tensor.shape, generator=generator, device=tensor.device)
            tensor.add_(0.02 * tensor.std().nan_to_num() * noise)

    @torch.no_grad()
    def logprobs(
        self, request: GenerationRequest, token_ids: Sequence[int]
    ) -> np.ndarray:
        """How likely the weights, in the engine's dtype, find a completion."""
        ids = torch.tensor([[*request.prompt_ids, *token_ids]], device="cuda")
        with torch.autocast("cuda", self._dtype, enabled=self._dtype != torch.float32):
            logits = self.model(ids).logits[0, len(request.prompt_ids) - 1 : -1]
        chosen = torch.tensor(list(token_ids), device="cuda")[:, None]
        logprobs = torch.log_softmax(logits.float(), dim=-1)
        return logprobs.gather(1, chosen)[:, 0].cpu().numpy()

    def _export(self) -> dict[str, torch.Tensor]:
        return {
            name: tensor.to("cpu", self._dtype, copy=True)
            for name, tensor in checkpoint_weights(self.model).items()
        }


class _Modules(dict):
    """RLlib's module of modules, as far as a transfer looks at it."""

    def __getitem__(self, module_id: str) -> SimpleNamespace:
        module = super().__getitem__(module_id)
        return SimpleNamespace(unwrapped=lambda: module)

    def zero_grad(self, set_to_none: bool) -> None:
        """There are no gradients."""


class Check:
    """The steps of this script; remembers whether one failed."""

    def __init__(
        self, engines: EngineGroup, sync: EngineSync, learner: LoneLearner, dtype: str
    ) -> None:
        self._engines, self._sync, self._learner = engines, sync, learner
        self._tolerance = _LARGEST_MEAN_DIFFERENCE[dtype]
        self._vocabulary = learner.model.config.get_text_config().vocab_size
        self._version = 0
        self.has_failed = False

    def send(self) -> float:
        """Send the learner's weights; seconds it took, with sleep and waking."""
        self._version += 1
        torch.cuda.synchronize()
        start = time.perf_counter()
        self._sync.send(self._learner, self._version)
        return time.perf_counter() - start

    def compare(self, title: str) -> None:
        """The engine's logprobs with the learner's, twice: the second time cached."""
        requests = self._requests(8, num_prompt=200, num_tokens=64)
        for is_cached in (False, True):
            completions = self._generate(requests)
            difference = float(
                np.mean(
                    [
                        np.abs(
                            self._learner.logprobs(r, c.token_ids) - c.logprobs
                        ).mean()
                        for r, c in zip(requests, completions, strict=True)
                    ]
                )
            )
            holds = difference <= self._tolerance and all(
                c.policy_version == self._version
                and (c.num_cached_tokens > 0) == is_cached
                for c in completions
            )
            self.has_failed |= not holds
            print(
                f"{'ok  ' if holds else 'FAIL'} {title}, "
                f"{'warm' if is_cached else 'cold'} prefix cache: mean difference of "
                f"logprobs {difference:.2g} (at most {self._tolerance:g})"
            )

    def tokens_per_s(self) -> float:
        """Generated tokens per second, 256 prompts at once."""
        requests = self._requests(256, num_prompt=128, num_tokens=128, temperature=1.0)
        self._generate(requests[:8])
        start = time.perf_counter()
        completions = self._generate(requests)
        seconds = time.perf_counter() - start
        return sum(len(c.token_ids) for c in completions) / seconds

    def sleeping(self) -> float:
        """GiB of GPU memory that sleep frees; the engine stays asleep."""
        before = torch.cuda.mem_get_info()[0]
        self._sync.before_learning()
        return (torch.cuda.mem_get_info()[0] - before) / 2**30

    def _generate(self, requests: list[GenerationRequest]) -> list[Completion]:
        (completions,) = self._engines.call_all("probe", requests)
        return completions

    def _requests(
        self, count: int, *, num_prompt: int, num_tokens: int, temperature: float = 0.0
    ) -> list[GenerationRequest]:
        rng = np.random.default_rng(0)
        return [
            GenerationRequest(
                request_id=f"{self._version}/{count}/{number}",
                prompt_ids=rng.integers(0, self._vocabulary, num_prompt, np.int32),
                sampling=SamplingParams(
                    max_tokens=num_tokens,
                    stop_token_ids=(),
                    temperature=temperature,
                    seed=number,
                ),
            )
            for number in range(count)
        ]


def make_config(model: str, dtype: str, transport: str, share: float) -> GiGPOConfig:
    return (
        GiGPOConfig()
        .llm(
            model_name_or_path=model,
            dtype=dtype,
            max_prompt_tokens=512,
            max_response_tokens=256,
        )
        .learners(num_gpus_per_learner=0.5)
        .inference(
            engine="vllm",
            colocate=True,
            weight_transport=transport,
            num_gpus_per_engine=0.5,
            gpu_memory_utilization=share,
            max_batch_size=256,
        )
    )


def run_checks(arguments: argparse.Namespace, transport: str) -> bool:
    """All steps with one transport.

    Returns:
        Whether every comparison held.
    """
    print(f"--- {transport}")
    config = make_config(
        arguments.model, arguments.dtype, transport, arguments.gpu_memory_utilization
    )
    start = time.perf_counter()
    engines = start_engines(config)
    try:
        learner = LoneLearner(config)
        check = Check(
            engines, make_engine_sync(config, engines), learner, arguments.dtype
        )
        print(f"     engine started in {time.perf_counter() - start:.1f} s")
        print(f"     first transfer, connecting: {check.send():.2f} s")
        check.compare("weights as on disk")
        print(f"     {check.tokens_per_s():,.0f} generated tokens/s")
        for seed in (1, 2):
            learner.change(seed)
            print(f"     transfer between sleep and waking: {check.send():.2f} s")
            check.compare(f"after update {seed}")
        print(f"     sleep frees {check.sleeping():.1f} GiB")
        learner.change(3)
        check.send()
        check.compare("after learning while the engine slept")
    finally:
        engines.shutdown()
    return not check.has_failed


def main() -> None:
    """Check and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--model", required=True, help="a model folder or hub id")
    parser.add_argument("--dtype", default="bfloat16", choices=("bfloat16", "float32"))
    parser.add_argument("--gpu-memory-utilization", type=float, default=0.4)
    parser.add_argument(
        "--transports", nargs="+", default=["ipc", "object_store"], metavar="NAME"
    )
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit(
            "gpu_check needs an NVIDIA GPU, and torch sees none here; what needs none "
            "is checked by `make test`"
        )
    ray.init(include_dashboard=False)
    start = time.perf_counter()
    results = [run_checks(arguments, name) for name in arguments.transports]
    ray.shutdown()
    print(f"{time.perf_counter() - start:.0f} s in all")
    if not all(results):
        sys.exit("a comparison failed: see the lines that begin with FAIL")


if __name__ == "__main__":
    main()
