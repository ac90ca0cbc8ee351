"""GiGPOConfig: every setting of a run, in RLlib's sections, with the paper's defaults.

A setting has one home; what follows from others is a property. ``validate`` refuses
what cannot work with a sentence that says what to do.
"""

from __future__ import annotations

import importlib.util
from typing import Any, Literal, Self

from ray.rllib.algorithms.algorithm_config import AlgorithmConfig, NotProvided
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.utils.annotations import override

from rllib_gigpo.algorithms.credit_options import make_credit_config
from rllib_gigpo.algorithms.evaluation import evaluate_panel
from rllib_gigpo.algorithms.resources import has_gpu
from rllib_gigpo.algorithms.validation import find_problem
from rllib_gigpo.credit import CreditConfig
from rllib_gigpo.learning.losses import LossConfig
from rllib_gigpo.learning.update_plan import PlanSettings
from rllib_gigpo.modules.llm_config import LLMConfig
from rllib_gigpo.rollout.settings import RolloutSettings


class GiGPOConfig(AlgorithmConfig):
    """Configures :class:`~rllib_gigpo.algorithms.gigpo.GiGPO`.

    .. testcode::

        from rllib_gigpo import GiGPOConfig

        config = (
            GiGPOConfig()
            .environment("Household-v0", env_config={"size": "tiny"})
            .llm(model_name_or_path="path/to/model")
            .training(group_size=8, groups_per_iteration=16, lr=1e-6)
        )

    Source: Feng et al., arXiv 2505.10978; defaults from its Appendix E.1.
    """

    @override(AlgorithmConfig)
    def __init__(self, algo_class: type | None = None) -> None:
        from rllib_gigpo.algorithms.gigpo import GiGPO
        from rllib_gigpo.rollout.env_runner import LLMEnvRunner

        super().__init__(algo_class=algo_class or GiGPO)
        # Groups and credit.
        self.group_size = 8
        self.groups_per_iteration = 16
        self.estimator = "gigpo"
        self.gamma = 0.95
        self.step_weight = 1.0
        self.normalize: Literal["std", "none"] = "std"
        self.episode_unit: Literal["trajectory", "step"] = "trajectory"
        self.similarity: float | None = None
        self.credit_options: dict[str, Any] = {}
        self.invalid_penalty = 0.1
        self.invalid_penalty_placement: Literal["step", "anchor", "official"] = "step"
        self.penalize_inadmissible = False
        self.train_length_stopped = True
        self.dynamic_sampling = False
        self.max_dynamic_sampling_rounds = 10
        # Loss.
        self.clip_low = 0.2
        self.clip_high = 0.2
        self.dual_clip: float | None = 3.0
        self.policy_ratio: Literal["token", "sequence"] = "token"
        self.loss_aggregation = "token-mean"
        self.loss_constant: float | None = None
        self.kl_coeff = 0.01
        self.kl_estimator = "k3-unbiased"
        self.kl_placement: Literal["loss", "reward"] = "loss"
        self.entropy_coeff = 0.001
        self.importance_cap: float | None = None
        self.max_policy_lag: Literal[0, 1] = 0
        self.old_logprobs: Literal["auto", "engine", "recompute"] = "auto"
        # Optimizer.
        self.lr = 1e-6
        self.lr_schedule: Literal["constant", "linear", "cosine"] = "constant"
        self.lr_warmup_steps = 0
        self.lr_total_steps: int | None = None
        self.weight_decay = 0.01
        self.adam_betas = (0.9, 0.999)
        self.adam_epsilon = 1e-8
        self.grad_clip = 1.0
        self.grad_clip_by = "global_norm"
        self.num_epochs = 1
        self.num_minibatches = 1
        self.max_tokens_per_micro_batch = 16_384
        # Model.
        self.model_name_or_path: str | None = None
        self.dtype: Literal["float32", "bfloat16"] = "bfloat16"
        self.attention: Literal["sdpa", "flash_attention_2"] = "sdpa"
        self.gradient_checkpointing = False
        self.max_prompt_tokens = 2048
        self.max_response_tokens = 512
        self.chat_template_kwargs: dict[str, Any] = {}
        self.trust_remote_code = False
        # Inference.
        self.engine: Literal["auto", "transformers", "vllm"] = "auto"
        self.temperature = 1.0
        self.max_batch_size = 128
        self.num_engines = 1
        self.num_cpus_per_engine = 1.0
        self.num_gpus_per_engine = 1.0
        self.tensor_parallel_size = 1
        self.gpu_memory_utilization = 0.6
        self.colocate = False
        self.weight_transport: Literal["auto", "object_store", "ipc", "nccl"] = "auto"
        self.engine_kwargs: dict[str, Any] = {}
        self.verify_weights = False
        self.max_num_engine_restarts = 10
        self.engine_start_timeout_s = 600.0
        self.engine_stall_timeout_s = 300.0
        self.engine_actor_names: tuple[str, ...] = ()
        # Rollout.
        self.num_envs_per_env_runner = 128
        self.max_episode_steps: int | None = None
        self.env_timeout_s = 60.0
        self.max_failed_episode_fraction = 0.1
        # Evaluation.
        self.evaluation_split: str | None = None
        self.evaluation_num_tasks: int | None = None
        self.evaluation_episodes_per_task = 1
        self.evaluation_temperature = 0.4
        self.evaluation_seed = 0
        self.evaluate_at_start = False
        # RLlib's own settings, as whole text episodes need them (see
        # docs/architecture.md): nothing is broadcast, episodes stay ragged lists.
        self.env_runner_cls = LLMEnvRunner
        self.custom_evaluation_function = evaluate_panel
        self.batch_mode = "complete_episodes"
        self.episodes_to_numpy = False
        self.merge_env_runner_states = False
        self.broadcast_env_runner_states = False
        self._dont_auto_sync_env_runner_states = True
        self.add_default_connectors_to_learner_pipeline = False
        self.delay_between_env_runner_restarts_s = 1.0
        self.sample_timeout_s = 3600.0
        self.evaluation_sample_timeout_s = 3600.0

    @override(AlgorithmConfig)
    def training(
        self,
        *,
        group_size: int = NotProvided,
        groups_per_iteration: int = NotProvided,
        estimator: str = NotProvided,
        step_weight: float = NotProvided,
        normalize: Literal["std", "none"] = NotProvided,
        episode_unit: Literal["trajectory", "step"] = NotProvided,
        similarity: float | None = NotProvided,
        credit_options: dict[str, Any] = NotProvided,
        invalid_penalty: float = NotProvided,
        invalid_penalty_placement: Literal["step", "anchor", "official"] = NotProvided,
        penalize_inadmissible: bool = NotProvided,
        train_length_stopped: bool = NotProvided,
        dynamic_sampling: bool = NotProvided,
        max_dynamic_sampling_rounds: int = NotProvided,
        clip_low: float = NotProvided,
        clip_high: float = NotProvided,
        dual_clip: float | None = NotProvided,
        policy_ratio: Literal["token", "sequence"] = NotProvided,
        loss_aggregation: str = NotProvided,
        loss_constant: float | None = NotProvided,
        kl_coeff: float = NotProvided,
        kl_estimator: str = NotProvided,
        kl_placement: Literal["loss", "reward"] = NotProvided,
        entropy_coeff: float = NotProvided,
        importance_cap: float | None = NotProvided,
        max_policy_lag: Literal[0, 1] = NotProvided,
        old_logprobs: Literal["auto", "engine", "recompute"] = NotProvided,
        lr_schedule: Literal["constant", "linear", "cosine"] = NotProvided,
        lr_warmup_steps: int = NotProvided,
        lr_total_steps: int | None = NotProvided,
        weight_decay: float = NotProvided,
        adam_betas: tuple[float, float] = NotProvided,
        adam_epsilon: float = NotProvided,
        num_minibatches: int = NotProvided,
        max_tokens_per_micro_batch: int = NotProvided,
        **kwargs: Any,
    ) -> Self:
        """Set how groups become gradients.

        Args:
            group_size: Episodes per group (N in the paper), >= 2.
            groups_per_iteration: Groups per training iteration.
            estimator: A name in ``rllib_gigpo.credit.ESTIMATORS``.
            step_weight: Weight of the step advantage (omega, Eq. 8).
            normalize: Divide advantages by the group's standard deviation, or not
                (F_norm in Eq. 3 and 7).
            episode_unit: Episode statistics over trajectories (Eq. 3) or over steps, as
                the official code does.
            similarity: Treat observations at least this similar as one anchor state;
                None compares state keys exactly.
            credit_options: The rarer settings of ``CreditConfig`` by name, e.g.
                ``{"similarity_method": "first_fit", "lone_episode": "raw"}``.
            invalid_penalty: Taken from the reward of a step whose response is invalid.
            invalid_penalty_placement: ``"step"`` takes it off the advantage itself,
                ``"anchor"`` compares it within the anchor group, ``"official"`` puts it
                into both statistics.
            penalize_inadmissible: Penalise well-formed but inadmissible actions too.
            train_length_stopped: Whether responses cut by ``max_response_tokens``
                train.
            dynamic_sampling: Replace groups whose episodes all have the same return
                by new ones (DAPO, arXiv 2503.14476).
            max_dynamic_sampling_rounds: Rounds of replacement before the iteration
                goes on with what it has.
            clip_low: The policy ratio is clipped below at 1 - clip_low.
            clip_high: ... and above at 1 + clip_high.
            dual_clip: Bound on the loss for negative advantages (arXiv 1912.09729);
                None switches it off.
            policy_ratio: Per token, or one geometric mean per response (GSPO, arXiv
                2507.18071; takes far smaller clip ranges).
            loss_aggregation: A name in ``rllib_gigpo.learning.losses``'
                ``LOSS_AGGREGATIONS``.
            loss_constant: The divisor of ``"sequence-sum-constant"``.
            kl_coeff: Weight of the KL term against the initial model; 0 keeps no
                reference model.
            kl_estimator: A name in ``KL_ESTIMATORS``, for the KL in the loss.
            kl_placement: ``"loss"`` adds a term to the loss, ``"reward"`` takes the KL
                of each response from its step's reward before credit is assigned (see
                ``rllib_gigpo.algorithms.kl_reward``).
            entropy_coeff: Weight of the entropy bonus.
            importance_cap: Cap of the truncated importance weight learner/engine; None
                applies no correction, or one capped at 2 with ``max_policy_lag=1``.
            max_policy_lag: 0 is strictly on-policy; 1 samples the next batch while this
                one is learned, on weights that are one update older. Needs remote
                env runners.
            old_logprobs: Where the ratio's denominator comes from: ``"auto"`` takes the
                present policy when one optimizer step follows a rollout and recomputes
                otherwise.
            lr_schedule: Shape of the learning rate after warm-up.
            lr_warmup_steps: Optimizer steps of linear warm-up.
            lr_total_steps: Optimizer steps at which the schedule ends.
            weight_decay: AdamW's.
            adam_betas: AdamW's.
            adam_epsilon: AdamW's.
            num_minibatches: Optimizer steps per epoch over an iteration's rows.
            max_tokens_per_micro_batch: Most tokens in one forward pass; never changes
                the gradient.
            **kwargs: RLlib's own: ``lr``, ``gamma``, ``grad_clip``, ``num_epochs``, ...
        """
        _set_provided(self, locals())
        super().training(**kwargs)
        return self

    def llm(
        self,
        *,
        model_name_or_path: str = NotProvided,
        dtype: Literal["float32", "bfloat16"] = NotProvided,
        attention: Literal["sdpa", "flash_attention_2"] = NotProvided,
        gradient_checkpointing: bool = NotProvided,
        max_prompt_tokens: int = NotProvided,
        max_response_tokens: int = NotProvided,
        chat_template_kwargs: dict[str, Any] = NotProvided,
        trust_remote_code: bool = NotProvided,
    ) -> Self:
        """Set the language model.

        Args:
            model_name_or_path: A Hugging Face model folder or hub id, with tokenizer
                and chat template.
            dtype: Of the engines' weights and the learner's matrix products; the
                learner's own weights and all reductions are float32.
            attention: ``"sdpa"`` runs everywhere.
            gradient_checkpointing: Trade time for memory.
            max_prompt_tokens: History is shortened until a prompt fits.
            max_response_tokens: Most tokens sampled per step.
            chat_template_kwargs: E.g. ``{"enable_thinking": False}``.
            trust_remote_code: Run code that comes with the model.
        """
        _set_provided(self, locals())
        return self

    def inference(
        self,
        *,
        engine: Literal["auto", "transformers", "vllm"] = NotProvided,
        temperature: float = NotProvided,
        max_batch_size: int = NotProvided,
        num_engines: int = NotProvided,
        num_cpus_per_engine: float = NotProvided,
        num_gpus_per_engine: float = NotProvided,
        tensor_parallel_size: int = NotProvided,
        gpu_memory_utilization: float = NotProvided,
        colocate: bool = NotProvided,
        weight_transport: Literal["auto", "object_store", "ipc", "nccl"] = NotProvided,
        engine_kwargs: dict[str, Any] = NotProvided,
        verify_weights: bool = NotProvided,
        max_num_engine_restarts: int = NotProvided,
        engine_start_timeout_s: float = NotProvided,
        engine_stall_timeout_s: float = NotProvided,
    ) -> Self:
        """Set what generates.

        Args:
            engine: ``"transformers"`` generates inside each env runner, ``"vllm"`` in
                engine actors of their own; ``"auto"`` takes vLLM where it is installed
                and there is a GPU.
            temperature: Of training samples; the learner's logprobs use the same.
            max_batch_size: Most sequences an engine decodes at once.
            num_engines: vLLM engine actors.
            num_cpus_per_engine: CPUs each of them reserves.
            num_gpus_per_engine: GPUs each reserves, where there are any.
            tensor_parallel_size: GPUs one engine spreads a model over.
            gpu_memory_utilization: Share of a GPU's memory an engine takes.
            colocate: The engine and the learner share one GPU: the engine sleeps while
                the learner works. Give each a part of it by ``num_gpus_per_engine`` and
                ``num_gpus_per_learner``. Without a GPU it changes nothing.
            weight_transport: How weights reach the engines: ``"ipc"`` on a shared GPU,
                ``"nccl"`` between GPUs, ``"object_store"`` through host memory;
                ``"auto"`` takes the fastest that there is.
            engine_kwargs: Passed to vLLM's ``EngineArgs`` as they are.
            verify_weights: After each weight sync compare digests of all engine actors,
                and the logprobs of probes with the learner's; a mismatch stops the run.
            max_num_engine_restarts: Engines that die are replaced so often over the
                whole run before it stops.
            engine_start_timeout_s: Longest time an engine may take to start.
            engine_stall_timeout_s: An engine that decodes nothing for so long is
                replaced.
        """
        _set_provided(self, locals())
        return self

    @override(AlgorithmConfig)
    def env_runners(
        self,
        *,
        max_episode_steps: int | None = NotProvided,
        env_timeout_s: float = NotProvided,
        max_failed_episode_fraction: float = NotProvided,
        **kwargs: Any,
    ) -> Self:
        """Set how episodes are played.

        Args:
            max_episode_steps: Most steps per episode on top of the environment's own
                limit.
            env_timeout_s: Longest time of one ``reset`` or ``step`` of an environment
                that does not run inline.
            max_failed_episode_fraction: The run stops when more episodes of an
                iteration fail.
            **kwargs: RLlib's own: ``num_env_runners``, ``num_envs_per_env_runner``
                (episodes a runner plays at once), ...
        """
        _set_provided(self, locals())
        super().env_runners(**kwargs)
        return self

    @override(AlgorithmConfig)
    def evaluation(
        self,
        *,
        evaluation_split: str | None = NotProvided,
        evaluation_num_tasks: int | None = NotProvided,
        evaluation_episodes_per_task: int = NotProvided,
        evaluation_temperature: float = NotProvided,
        evaluation_seed: int = NotProvided,
        evaluate_at_start: bool = NotProvided,
        **kwargs: Any,
    ) -> Self:
        """Set the evaluation panel: the same tasks with the same seeds every time.

        Args:
            evaluation_split: The environment's split; its second one by default.
            evaluation_num_tasks: The first so many tasks of the split; None takes all.
            evaluation_episodes_per_task: Episodes of each task.
            evaluation_temperature: 0 is greedy.
            evaluation_seed: Seeds the panel, independently of ``seed``.
            evaluate_at_start: Evaluate before the first iteration; every result shows
                it under ``evaluation_at_start``.
            **kwargs: RLlib's own: ``evaluation_interval``, ...
        """
        _set_provided(self, locals())
        super().evaluation(**kwargs)
        return self

    @property
    def resolved_engine(self) -> Literal["transformers", "vllm"]:
        """The engine that ``engine="auto"`` stands for on this machine."""
        if self.engine != "auto":
            return self.engine
        has_vllm = importlib.util.find_spec("vllm") is not None
        return "vllm" if has_vllm and has_gpu() else "transformers"

    @property
    def resolved_importance_cap(self) -> float | None:
        """``importance_cap``, or what stands for None when samples lag behind."""
        if self.importance_cap is None and self.max_policy_lag:
            return 2.0
        return self.importance_cap

    @property
    def credit_config(self) -> CreditConfig:
        """The settings of credit assignment."""
        return make_credit_config(
            self.credit_options,
            estimator=self.estimator,
            gamma=self.gamma,
            step_weight=self.step_weight,
            normalize=self.normalize,
            episode_unit=self.episode_unit,
            similarity=self.similarity,
            invalid_penalty=self.invalid_penalty,
            invalid_penalty_placement=self.invalid_penalty_placement,
        )

    @property
    def loss_config(self) -> LossConfig:
        """The terms of the loss."""
        return LossConfig(
            policy_ratio=self.policy_ratio,
            clip_low=self.clip_low,
            clip_high=self.clip_high,
            dual_clip=self.dual_clip,
            loss_aggregation=self.loss_aggregation,
            loss_constant=self.loss_constant,
            entropy_coeff=self.entropy_coeff,
            importance_cap=self.resolved_importance_cap,
            **(
                {"kl_coeff": self.kl_coeff, "kl_estimator": self.kl_estimator}
                if self.kl_placement == "loss"
                else {"kl_coeff": 0.0}
            ),
        )

    @property
    def rollout_settings(self) -> RolloutSettings:
        """The limits of an episode."""
        return RolloutSettings(
            max_prompt_tokens=self.max_prompt_tokens,
            max_response_tokens=self.max_response_tokens,
            max_episode_steps=self.max_episode_steps,
            env_timeout_s=self.env_timeout_s,
        )

    def plan_settings(self, iteration: int) -> PlanSettings:
        """How an iteration's rows become optimizer steps."""
        return PlanSettings(
            num_epochs=self.num_epochs,
            num_minibatches=self.num_minibatches,
            max_tokens_per_micro_batch=self.max_tokens_per_micro_batch,
            loss_aggregation=self.loss_aggregation,
            loss_constant=self.loss_constant,
            seed=(self.seed or 0) + iteration,
        )

    @property
    def llm_config(self) -> LLMConfig:
        """The settings of the model."""
        return LLMConfig(
            model_name_or_path=self.model_name_or_path,
            dtype=self.dtype,
            attention=self.attention,
            gradient_checkpointing=self.gradient_checkpointing,
            max_prompt_tokens=self.max_prompt_tokens,
            max_response_tokens=self.max_response_tokens,
            trust_remote_code=self.trust_remote_code,
        )

    @override(AlgorithmConfig)
    def get_default_rl_module_spec(self) -> RLModuleSpec:
        """The causal LM as RLModule."""
        from rllib_gigpo.modules.llm_rl_module import LLMRLModule

        return RLModuleSpec(module_class=LLMRLModule)

    @override(AlgorithmConfig)
    def get_default_learner_class(self) -> type:
        """The learner of exact full-batch gradients."""
        from rllib_gigpo.learning.learner import GiGPOLearner

        return GiGPOLearner

    @property
    @override(AlgorithmConfig)
    def _model_config_auto_includes(self) -> dict[str, Any]:
        return super()._model_config_auto_includes | self.llm_config.to_dict()

    @override(AlgorithmConfig)
    def validate(self) -> None:
        """Refuse what cannot work.

        Raises:
            ConfigError: With what to do about it.
        """
        super().validate()
        if problem := find_problem(self):
            self._value_error(problem)


def _set_provided(config: GiGPOConfig, arguments: dict[str, Any]) -> None:
    """Set every keyword of a section that the caller gave."""
    for name, value in arguments.items():
        if name in ("self", "kwargs", "__class__") or value is NotProvided:
            continue
        setattr(config, name, value)
