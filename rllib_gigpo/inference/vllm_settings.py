"""VLLMSettings: what a vLLM engine is started with. Importable without vLLM."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

_CPU_KV_CACHE_BYTES = 1 << 30
_CPU_BLOCK_SIZE = 32
"""The smallest that vLLM's CPU attention takes; prefixes are shared by whole blocks."""

_CPU_TOKENS_PER_STEP = 4096

CPU_HEAD_SIZES = (32, 64, 80, 96, 112, 128, 160, 192, 224, 256, 512)
"""What vLLM's CPU attention has kernels for; it finds out at the first request only."""

_WORKER_EXTENSION = "rllib_gigpo.inference.vllm_worker.WeightReloader"


@dataclass(frozen=True, slots=True, kw_only=True)
class VLLMSettings:
    """How to start one engine.

    Attributes:
        model: A Hugging Face model folder or hub id.
        dtype: ``"float32"`` or ``"bfloat16"``.
        max_model_len: Most tokens of a prompt and its response together.
        max_batch_size: Most sequences decoded at once; more wait their turn.
        tensor_parallel_size: GPUs the model is spread over.
        gpu_memory_utilization: Share of a GPU's memory the engine takes.
        trust_remote_code: Run Python code that comes with the model.
        sleep_mode: Whether the engine can give its GPU's memory up for a while.
        weight_transfer: How weights come from a learner's GPU, ``"ipc"`` or ``"nccl"``;
            None: through :meth:`~.vllm_engine.VLLMEngine.load_weights` only.
        engine_kwargs: Overrides of vLLM's ``EngineArgs``, by name.
    """

    model: str
    dtype: str = "bfloat16"
    max_model_len: int
    max_batch_size: int = 128
    tensor_parallel_size: int = 1
    gpu_memory_utilization: float = 0.6
    trust_remote_code: bool = False
    sleep_mode: bool = False
    weight_transfer: Literal["ipc", "nccl"] | None = None
    engine_kwargs: Mapping[str, object] = field(
        default_factory=lambda: MappingProxyType({})
    )

    def __reduce__(self) -> tuple[object, ...]:
        # A mapping proxy cannot be pickled.
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        values["engine_kwargs"] = dict(self.engine_kwargs)
        return _rebuild, (values,)

    def engine_args(self, *, has_gpu: bool) -> dict[str, object]:
        """Keyword arguments of vLLM's ``EngineArgs``.

        Args:
            has_gpu: Whether the engine runs on GPUs.
        """
        arguments: dict[str, object] = {
            "model": self.model,
            "dtype": self.dtype,
            "max_model_len": self.max_model_len,
            "max_num_seqs": self.max_batch_size,
            "trust_remote_code": self.trust_remote_code,
            # Tokens in, tokens out: what ends a response is the request's business.
            "skip_tokenizer_init": True,
            "generation_config": "vllm",
            # The learner's logprobs are those of softmax(logits / temperature).
            "logprobs_mode": "processed_logprobs",
            "enable_prefix_caching": True,
            "disable_log_stats": True,
            "worker_extension_cls": _WORKER_EXTENSION,
        }
        if has_gpu:
            arguments["gpu_memory_utilization"] = self.gpu_memory_utilization
            arguments["tensor_parallel_size"] = self.tensor_parallel_size
            arguments["enable_sleep_mode"] = self.sleep_mode
            if self.weight_transfer is not None:
                arguments["weight_transfer_config"] = {"backend": self.weight_transfer}
            if self.tensor_parallel_size > 1:
                # Inside a placement group vLLM would pick Ray's executor, which
                # refuses bundles of several GPUs.
                arguments["distributed_executor_backend"] = "mp"
        else:
            arguments["kv_cache_memory_bytes"] = _CPU_KV_CACHE_BYTES
            arguments["block_size"] = _CPU_BLOCK_SIZE
            arguments["enforce_eager"] = True
            # A prompt computed in parts rewinds its random generator, which those of
            # a CPU refuse: whole prompts only, each within the budget of a step.
            arguments["enable_chunked_prefill"] = False
            arguments["max_num_batched_tokens"] = max(
                _CPU_TOKENS_PER_STEP, self.max_model_len
            )
        return arguments | dict(self.engine_kwargs)

    def environment(self, *, has_gpu: bool) -> dict[str, str]:
        """Environment variables that must be set before vLLM is imported."""
        variables = {"VLLM_LOGGING_LEVEL": "WARNING", "VLLM_NO_USAGE_STATS": "1"}
        if self.tensor_parallel_size == 1 or not has_gpu:
            # The engine core stays in the process: no copies, no ports.
            variables["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"
        if not has_gpu:
            # By default every engine would pin its threads to the same first cores.
            variables["VLLM_CPU_OMP_THREADS_BIND"] = "nobind"
            # Compiled for token ranks only, which nobody reads: 2 to 17 s at the first
            # request, and not faster afterwards.
            variables["TORCH_COMPILE_DISABLE"] = "1"
        return variables


def _rebuild(values: dict[str, object]) -> VLLMSettings:
    return VLLMSettings(**values)
