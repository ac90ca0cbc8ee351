"""The learner: exact full-batch gradients from packed rows, on any number of learners.

What enters: ``GiGPOTrainingData`` through ``LearnerGroup.update``. What leaves: new
weights, and figures under RLlib's names. RLlib's own batch path is not used: it would
cut ragged rows at timestep counts and normalise each mini-batch by itself.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from ray.rllib.algorithms.algorithm_config import AlgorithmConfig
from ray.rllib.core import DEFAULT_MODULE_ID
from ray.rllib.core.learner.learner import Learner
from ray.rllib.core.learner.torch.torch_learner import TorchLearner
from ray.rllib.utils.annotations import override
from ray.rllib.utils.typing import ModuleID, ResultDict, StateDict

from rllib_gigpo.learning.learner_metrics import log_step, log_update
from rllib_gigpo.learning.losses import kl_per_row
from rllib_gigpo.learning.rows import TrainingRows
from rllib_gigpo.learning.schedule import LearningRate
from rllib_gigpo.learning.training_data import GiGPOTrainingData
from rllib_gigpo.learning.update import (
    RowLogprobs,
    StepFigures,
    accumulate_gradients,
    row_logprobs,
)
from rllib_gigpo.learning.update_plan import OptimizerStep, micro_batches
from rllib_gigpo.modules.llm_rl_module import (
    ENTROPY,
    LOGPROB,
    PACKED_TOKENS,
    TEMPERATURE,
    LLMRLModule,
)
from rllib_gigpo.modules.packed_tokens import PackedTokens, pack_tokens
from rllib_gigpo.modules.token_logprobs import TokenLogprobs

if TYPE_CHECKING:
    from rllib_gigpo.weight_sync.learner_side import Connection

_NUM_OPTIMIZER_STEPS = "num_optimizer_steps"


class GiGPOLearner(TorchLearner):
    """Takes the optimizer steps of GiGPO and its siblings."""

    @override(TorchLearner)
    def build(self) -> None:
        """Build the module, the optimizer and, with a KL, the reference model."""
        self._num_optimizer_steps = 0
        self._reference: LLMRLModule | None = None
        # Of the transport that sends weights to engines; it lasts from sync to sync.
        self.weight_connection: Connection | None = None
        super().build()
        if self.config.kl_coeff > 0:
            # The module as it is before any update or restore: the initial policy.
            self._reference = copy.deepcopy(self._llm).eval().requires_grad_(False)

    @override(TorchLearner)
    def configure_optimizers_for_module(
        self, module_id: ModuleID, config: AlgorithmConfig | None = None
    ) -> None:
        """AdamW on the parameters that train; the learning rate is set per step."""
        parameters = [
            p for p in self._module[module_id].parameters() if p.requires_grad
        ]
        optimizer = torch.optim.AdamW(
            parameters,
            lr=self._learning_rate.at(0),
            betas=self.config.adam_betas,
            eps=self.config.adam_epsilon,
            weight_decay=self.config.weight_decay,
        )
        self.register_optimizer(
            module_id=module_id, optimizer=optimizer, params=parameters
        )

    @override(Learner)
    def update(
        self,
        *,
        training_data: GiGPOTrainingData,
        timesteps: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> ResultDict:
        """All optimizer steps of one iteration.

        Args:
            training_data: This learner's rows and plan, or all rows for a lone learner.
            timesteps: RLlib's counters, for the hooks.
            **kwargs: RLlib's, ignored.

        Returns:
            Figures, reduced for merging with other learners'.
        """
        self._check_is_built()
        self.before_gradient_based_update(timesteps=timesteps or {})
        training_data.validate()
        training_data.solve_refs()
        rows, plan = training_data.rows, training_data.plan
        self._weights_seq_no += 1
        batches = self._batches(training_data)
        old = reference = None
        if self._needs_old_logprobs(len(plan.steps)):
            old = self._old_logprobs(rows, batches)
        if self.config.loss_config.kl_coeff > 0:
            reference = self._row_logprobs(self._reference, rows, batches)
        for index, step in enumerate(plan.steps):
            figures = self._take_step(
                training_data,
                step,
                old,
                reference,
                index=index if len(plan.steps) > 1 else None,
            )
        log_update(self.metrics, rows, figures, self._num_optimizer_steps)
        self.after_gradient_based_update(timesteps=timesteps or {})
        return self.metrics.reduce()

    def _take_step(
        self,
        training_data: GiGPOTrainingData,
        step: OptimizerStep,
        old_logprobs: RowLogprobs | None,
        reference_logprobs: RowLogprobs | None,
        *,
        index: int | None,
    ) -> StepFigures:
        learning_rate = self._learning_rate.at(self._num_optimizer_steps)
        optimizer = self.get_optimizer(DEFAULT_MODULE_ID)
        self._set_optimizer_lr(optimizer, learning_rate)
        optimizer.zero_grad(set_to_none=True)
        module = self.module[DEFAULT_MODULE_ID]
        num_learners = max(self.config.num_learners, 1)
        figures = accumulate_gradients(
            lambda packed: self._forward(module, packed),
            training_data.rows,
            step,
            loss_config=self.config.loss_config,
            old_logprobs=old_logprobs,
            reference_logprobs=reference_logprobs,
            device=self._device,
            # DDP averages over learners, the loss is a sum over them.
            gradient_scale=float(num_learners),
            without_sync=module.no_sync if num_learners > 1 else nullcontext,
        )
        gradients = {
            reference: parameter.grad
            for reference, parameter in self._params.items()
            if parameter.grad is not None
        }
        # RLlib would write zeros for what is not finite and step all the same. Without
        # a token that trains, momentum and weight decay alone would move the weights.
        is_taken = step.num_tokens > 0 and all(
            bool(torch.isfinite(g).all()) for g in gradients.values()
        )
        if is_taken:
            self.apply_gradients(self.postprocess_gradients(gradients))
        log_step(
            self.metrics,
            figures,
            num_tokens=step.num_tokens,
            num_learners=num_learners,
            learning_rate=learning_rate,
            is_skipped=not is_taken,
            index=index,
        )
        self._num_optimizer_steps += 1
        return figures

    @torch.no_grad()
    def reference_kl(
        self, training_data: GiGPOTrainingData
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """KL of each response from the reference policy: k1, summed over its tokens.

        Both sides are computed here in the same way, so it is exactly 0 before the
        first update; with ``old_logprobs="engine"`` the policy's side is the engine's.

        Args:
            training_data: As for :meth:`update`; advantages are not read.

        Returns:
            int64 [r], places among all rows, and float64 [r], their KL in nats.
        """
        training_data.validate()
        training_data.solve_refs()
        rows, plan = training_data.rows, training_data.plan
        batches = self._batches(training_data)
        policy, reference = (
            torch.from_numpy(np.concatenate(logprobs)).double()
            for logprobs in (
                self._old_logprobs(rows, batches),
                self._row_logprobs(self._reference, rows, batches),
            )
        )
        num_tokens = torch.tensor([len(ids) for ids in rows.response_ids])
        row_N = torch.repeat_interleave(torch.arange(len(rows)), num_tokens)
        return plan.rows, kl_per_row(policy, reference, row_N, len(rows)).numpy()

    def _batches(self, training_data: GiGPOTrainingData) -> list[NDArray[np.int64]]:
        return micro_batches(
            training_data.plan.own_rows,
            training_data.rows.num_tokens,
            self.config.max_tokens_per_micro_batch,
        )

    def _old_logprobs(
        self, rows: TrainingRows, batches: Sequence[NDArray[np.int64]]
    ) -> RowLogprobs:
        if self.config.old_logprobs == "engine":
            return rows.sampled_logprobs
        return self._row_logprobs(self._llm, rows, batches)

    def _row_logprobs(
        self, module: Any, rows: TrainingRows, batches: Sequence[NDArray[np.int64]]
    ) -> RowLogprobs:
        return row_logprobs(
            lambda packed: self._forward(module, packed), rows, batches, self._device
        )

    def _needs_old_logprobs(self, num_steps: int) -> bool:
        # With a single step the present policy is the old one: no extra pass, and a
        # ratio of exactly 1.
        return self.config.old_logprobs != "auto" or num_steps > 1

    def _forward(self, module: Any, packed: PackedTokens) -> TokenLogprobs:
        outputs = module.forward_train(
            {PACKED_TOKENS: packed, TEMPERATURE: self.config.temperature}
        )
        return TokenLogprobs(logprob=outputs[LOGPROB], entropy=outputs[ENTROPY])

    @property
    def _llm(self) -> LLMRLModule:
        return self.module[DEFAULT_MODULE_ID].unwrapped()

    @property
    def _learning_rate(self) -> LearningRate:
        return LearningRate(
            peak=self.config.lr,
            schedule=self.config.lr_schedule,
            num_warmup_steps=self.config.lr_warmup_steps,
            num_total_steps=self.config.lr_total_steps,
        )

    def export_weights(self) -> dict[str, torch.Tensor]:
        """The policy's weights for engines; see ``LLMRLModule.export_weights``."""
        return self._llm.export_weights()

    @torch.no_grad()
    def logprobs_of(
        self,
        prompt_ids: Sequence[NDArray[np.int32]],
        response_ids: Sequence[NDArray[np.int32]],
    ) -> list[NDArray[np.float32]]:
        """How likely the present policy finds responses, at the training temperature.

        Args:
            prompt_ids: R arrays, each with at least one token.
            response_ids: R arrays.

        Returns:
            R arrays, float32, parallel to ``response_ids``.
        """
        logprobs = []
        for prompt, response in zip(prompt_ids, response_ids, strict=True):
            packed = pack_tokens([prompt], [response]).to(self._device)
            logprobs.append(self._forward(self._llm, packed).logprob.cpu().numpy())
        return logprobs

    @override(Learner)
    def compute_loss_for_module(self, **kwargs: Any) -> torch.Tensor:
        """Not a way to learn here: :meth:`update` takes ``GiGPOTrainingData`` only.

        Raises:
            TypeError: Always.
        """
        raise TypeError(
            "GiGPOLearner learns from rows: call update(training_data="
            "GiGPOTrainingData(rows=...)) instead of passing a batch or episodes"
        )

    @override(Learner)
    def get_state(
        self,
        components: str | Collection[str] | None = None,
        *,
        not_components: str | Collection[str] | None = None,
        **kwargs: Any,
    ) -> StateDict:
        """RLlib's state, and the position in the learning rate schedule."""
        state = super().get_state(components, not_components=not_components, **kwargs)
        return state | {_NUM_OPTIMIZER_STEPS: self._num_optimizer_steps}

    @override(Learner)
    def set_state(self, state: StateDict) -> None:
        """Restore what :meth:`get_state` gave."""
        super().set_state(state)
        self._num_optimizer_steps = state.get(
            _NUM_OPTIMIZER_STEPS, self._num_optimizer_steps
        )

    @override(TorchLearner)
    def _get_optimizer_state(self) -> StateDict:
        # As tensors: RLlib's conversion to numpy knows no bfloat16.
        return {
            name: {
                "module_id": self._optimizer_name_to_module[name],
                "state": copy.deepcopy(optimizer.state_dict()),
            }
            for name, optimizer in self._named_optimizers.items()
        }

    @override(TorchLearner)
    def _set_optimizer_state(self, state: StateDict) -> None:
        for name, saved in state.items():
            self._named_optimizers[name].load_state_dict(saved["state"])
