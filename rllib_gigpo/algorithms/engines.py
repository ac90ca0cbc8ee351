"""From a configuration to the engine actors of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from rllib_gigpo.algorithms.resources import engine_resources
from rllib_gigpo.errors import ConfigError
from rllib_gigpo.inference.vllm_settings import CPU_HEAD_SIZES, VLLMSettings
from rllib_gigpo.modules.model_folder import load_config

if TYPE_CHECKING:
    from rllib_gigpo.algorithms.config import GiGPOConfig
    from rllib_gigpo.inference.engine_group import EngineGroup
    from rllib_gigpo.weight_sync.engine_sync import EngineSync, WeightTransport
    from rllib_gigpo.weight_sync.verify import WeightVerifier


def start_engines(config: GiGPOConfig) -> EngineGroup | None:
    """The engine actors, ready; None if runners generate by themselves.

    Danger: call it before RLlib starts its own actors. Learners are pinned to no
    bundle, and one that sits in an engine's bundle makes the trial wait for ever.

    Raises:
        ConfigError: vLLM cannot run the model on a CPU.
        EngineError: They did not start.
    """
    if config.resolved_engine != "vllm":
        return None
    resources = engine_resources(config)
    if "GPU" not in resources:
        check_head_size(config)
    # Engine actors import vLLM; runs without them need not have it.
    from rllib_gigpo.inference.engine_group import EngineGroup

    return EngineGroup(
        vllm_settings(config),
        num_engines=config.num_engines,
        resources=resources,
        max_num_restarts=config.max_num_engine_restarts,
        start_timeout_s=config.engine_start_timeout_s,
        stall_timeout_s=config.engine_stall_timeout_s,
    )


def check_head_size(config: GiGPOConfig) -> None:
    """Refuse a model whose attention vLLM cannot compute on a CPU.

    Raises:
        ConfigError: Saying which sizes it can.
    """
    model = load_config(config.llm_config).get_text_config()
    size = getattr(model, "head_dim", None) or (
        model.hidden_size // model.num_attention_heads
    )
    if size not in CPU_HEAD_SIZES:
        raise ConfigError(
            f"{config.model_name_or_path!r} has attention heads of {size}, and vLLM on "
            f"a CPU takes {', '.join(map(str, CPU_HEAD_SIZES))}; use "
            ".inference(engine='transformers') or a model with other heads"
        )


def make_engine_sync(config: GiGPOConfig, engines: EngineGroup) -> EngineSync:
    """What keeps the engines at the learner's weights."""
    from rllib_gigpo.weight_sync.engine_sync import EngineSync

    return EngineSync(
        engines, _make_transport(config, engines), shares_gpu=_shares_gpu(config)
    )


def _make_transport(config: GiGPOConfig, engines: EngineGroup) -> WeightTransport:
    from rllib_gigpo.weight_sync.native import OPEN_SENDER, NativeTransport
    from rllib_gigpo.weight_sync.object_store import ObjectStoreTransport

    transport = weight_transport(config)
    if transport == "object_store":
        return ObjectStoreTransport(engines)
    return NativeTransport(
        engines,
        OPEN_SENDER[transport],
        workers_per_engine=config.tensor_parallel_size,
        timeout_s=config.engine_stall_timeout_s,
        # The learner is ahead of what engines sample with.
        keeps_copy=config.max_policy_lag > 0,
    )


def weight_transport(config: GiGPOConfig) -> Literal["object_store", "ipc", "nccl"]:
    """How weights get from the learners to the engines, ``"auto"`` resolved.

    From GPU to GPU where learner and engines have some: by CUDA IPC on a shared one, by
    NCCL between whole ones, as its ranks must not share any.
    """
    num_gpus = engine_resources(config).get("GPU", 0.0)
    if not num_gpus or not config.num_gpus_per_learner:
        return "object_store"
    if config.weight_transport != "auto":
        return config.weight_transport
    if config.colocate:
        return "ipc"
    has_whole_gpus = min(num_gpus, config.num_gpus_per_learner) >= 1
    return "nccl" if has_whole_gpus else "object_store"


def _shares_gpu(config: GiGPOConfig) -> bool:
    return config.colocate and "GPU" in engine_resources(config)


def make_verifier(config: GiGPOConfig) -> WeightVerifier | None:
    """What checks the engines after each weight sync; None if that is switched off."""
    if not (config.verify_weights and config.resolved_engine == "vllm"):
        return None
    from rllib_gigpo.weight_sync.verify import WeightVerifier

    llm = config.llm_config
    return WeightVerifier(
        dtype=llm.dtype,
        vocab_size=load_config(llm).get_text_config().vocab_size,
        max_model_len=llm.max_model_len,
        temperature=config.temperature,
    )


def vllm_settings(config: GiGPOConfig) -> VLLMSettings:
    """The settings of one engine."""
    llm = config.llm_config
    transport = weight_transport(config)
    return VLLMSettings(
        model=llm.model_name_or_path,
        dtype=llm.dtype,
        max_model_len=llm.max_model_len,
        max_batch_size=config.max_batch_size,
        tensor_parallel_size=config.tensor_parallel_size,
        gpu_memory_utilization=config.gpu_memory_utilization,
        trust_remote_code=llm.trust_remote_code,
        sleep_mode=_shares_gpu(config),
        weight_transfer=None if transport == "object_store" else transport,
        engine_kwargs=config.engine_kwargs,
    )
