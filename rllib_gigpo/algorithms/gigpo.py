"""GiGPO: group-in-group policy optimisation of LLM agents, as an RLlib Algorithm.

One training iteration is ``training_step``: sample groups of episodes, assign credit,
take exact optimizer steps, send the new weights to what generates.

Source: Feng et al., "Group-in-Group Policy Optimization for LLM Agent Training",
arXiv 2505.10978. Where this deviates from the paper or its official code, on purpose:

- Episode statistics are over trajectories (Eq. 3); the official code's statistics over
  steps are ``episode_unit="step"``.
- The invalid-action penalty never enters the episode advantage; the official placement
  is ``invalid_penalty_placement="official"``.
- A lone episode or a lone step has advantage 0, and so has a group whose returns differ
  by floating-point noise only.
- An anchor state is the environment's hidden state; the text that the paper takes is
  an option of the environment (``env_config={"anchor": "observation"}``).
- One optimizer step per iteration over all rows by default (``num_minibatches=1``), so
  that the ratio starts at exactly 1; no rows are duplicated to fill batches.
- The KL term uses an unbiased gradient (``kl_estimator="k3-unbiased"``).
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from ray.rllib.algorithms.algorithm import Algorithm
from ray.rllib.algorithms.algorithm_config import AlgorithmConfig
from ray.rllib.utils.annotations import override
from ray.rllib.utils.metrics import (
    ENV_RUNNER_RESULTS,
    LEARNER_RESULTS,
    NUM_ENV_STEPS_SAMPLED_LIFETIME,
    NUM_EPISODES_LIFETIME,
    TIMERS,
)
from ray.rllib.utils.typing import ResultDict, StateDict
from ray.tune import PlacementGroupFactory

from environments.tasks import TaskSet
from rllib_gigpo.algorithms.dynamic_sampling import sample_groups
from rllib_gigpo.algorithms.engines import (
    make_engine_sync,
    make_verifier,
    start_engines,
)
from rllib_gigpo.algorithms.kl_reward import kl_penalty
from rllib_gigpo.algorithms.metrics import log_tree
from rllib_gigpo.algorithms.resources import add_engine_bundles
from rllib_gigpo.algorithms.sample_ahead import Batch, SampleAhead, policy_lag
from rllib_gigpo.algorithms.sampling import check_failures, play_on_runners
from rllib_gigpo.checkpoints import save_atomically
from rllib_gigpo.credit import assign_credit
from rllib_gigpo.errors import RolloutError
from rllib_gigpo.learning.training_data import GiGPOTrainingData
from rllib_gigpo.modules.model_folder import check_model
from rllib_gigpo.rollout.group_scheduler import Rollout
from rllib_gigpo.rollout.make_env import make_text_env
from rllib_gigpo.rollout.records import EpisodeRecord
from rllib_gigpo.rollout.sampling_metrics import sampling_metrics
from rllib_gigpo.rollout.task_sampling import TaskSampler
from rllib_gigpo.rollout.to_step_table import to_step_table
from rllib_gigpo.rollout.to_training_rows import to_training_rows
from rllib_gigpo.weight_sync.object_store import sync_weights

_STATE_KEY = "gigpo"


class GiGPO(Algorithm):
    """Group-in-group policy optimisation; configure it with ``GiGPOConfig``."""

    config_class: ClassVar[type[AlgorithmConfig] | None] = None

    @classmethod
    @override(Algorithm)
    def get_default_config(cls) -> AlgorithmConfig:
        """The algorithm's own config class, paper defaults."""
        from rllib_gigpo.algorithms.config import GiGPOConfig

        return (cls.config_class or GiGPOConfig)()

    @override(Algorithm)
    def setup(self, config: AlgorithmConfig) -> None:
        """Check the model and the tasks, start everything, hand out the weights."""
        self.policy_version = 0
        self._num_groups_trained = 0
        self.evaluation_at_start: ResultDict | None = None
        self.last_evaluation: Rollout | None = None
        self._batches = SampleAhead(self._sample, config.max_policy_lag)
        check_model(config.llm_config)
        self._list_tasks(config)
        self.engine_group = start_engines(config)
        self._weight_verifier = make_verifier(config)
        try:
            if self.engine_group is not None:
                self._engine_sync = make_engine_sync(config, self.engine_group)
                self.config = self.config.copy(copy_frozen=False)
                self.config.engine_actor_names = self.engine_group.actor_names
                self.config.freeze()
            super().setup(self.config)
            self._sync_weights()
        except BaseException:
            # Nobody calls `cleanup` on what was never built.
            self._stop_engines()
            raise

    @override(Algorithm)
    def training_step(self) -> None:
        """Sample, assign credit, update, sync: Section 4 of the paper."""
        config = self.config
        with self._timed("sample"):
            batch = self._batches.take()
        self._batches.start()
        self._num_groups_trained = batch.num_drawn_after
        rollout = self._report(batch)
        if self.engine_group is not None:
            self._engine_sync.before_learning()
        episodes = [episode for episode in rollout.episodes if episode.steps]
        if not episodes:
            raise RolloutError(
                "no episode has a step to learn from: every first prompt is longer "
                f"than max_prompt_tokens={config.max_prompt_tokens}; raise it, or "
                "shorten the environment's prompt"
            )
        with self._timed("credit"):
            table = to_step_table(
                episodes,
                penalize_inadmissible=config.penalize_inadmissible,
                reward_penalty=self._reward_penalty(episodes),
            )
            credit = assign_credit(table, config.credit_config)
            rows = to_training_rows(
                episodes,
                credit.advantage,
                train_length_stopped=config.train_length_stopped,
            )
        log_tree(self.metrics, ("credit",), credit.summary().metrics())
        log_tree(
            self.metrics,
            (ENV_RUNNER_RESULTS,),
            policy_lag(rows.policy_version, self.policy_version),
        )
        with self._timed("learner_update"):
            learner_results = self.learner_group.update(
                training_data=GiGPOTrainingData(
                    rows=rows, settings=config.plan_settings(self.iteration)
                ),
                timesteps={
                    NUM_ENV_STEPS_SAMPLED_LIFETIME: self.metrics.peek(
                        (ENV_RUNNER_RESULTS, NUM_ENV_STEPS_SAMPLED_LIFETIME)
                    )
                },
            )
        self.metrics.aggregate(learner_results, key=LEARNER_RESULTS)
        with self._timed("sample_ahead"):
            self._batches.wait()
        self.policy_version += 1
        with self._timed("weight_sync"):
            self._sync_weights()

    def _sample(self) -> Batch:
        """Draw tasks and play them; touches no metric, as it may run on a thread."""
        config = self.config
        start = time.perf_counter()
        rollout, num_rounds = sample_groups(
            draw=lambda count: self._task_sampler.draw(
                count, prefix="training", temperature=config.temperature
            ),
            play=lambda specs: play_on_runners(
                self.env_runner_group, specs, timeout_s=config.sample_timeout_s
            ),
            num_groups=config.groups_per_iteration,
            max_rounds=(
                config.max_dynamic_sampling_rounds if config.dynamic_sampling else 0
            ),
        )
        return Batch(
            rollout=rollout,
            num_rounds=num_rounds,
            seconds=time.perf_counter() - start,
            num_drawn_after=self._task_sampler.num_drawn,
        )

    def _report(self, batch: Batch) -> Rollout:
        """Check a batch, and log its figures."""
        config, rollout = self.config, batch.rollout
        if self.engine_group is not None:
            self.engine_group.check()
            log_tree(self.metrics, ("engines",), self.engine_group.metrics())
        check_failures(rollout, config.max_failed_episode_fraction)
        results = sampling_metrics(rollout.episodes, rollout.failures, batch.seconds)
        results["num_sampling_rounds"] = batch.num_rounds
        log_tree(self.metrics, (ENV_RUNNER_RESULTS,), results)
        for key, count in (
            (NUM_ENV_STEPS_SAMPLED_LIFETIME, results["num_env_steps_sampled"]),
            (NUM_EPISODES_LIFETIME, results["num_episodes"]),
        ):
            self.metrics.log_value(
                (ENV_RUNNER_RESULTS, key), count, reduce="lifetime_sum"
            )
        return rollout

    def _reward_penalty(
        self, episodes: list[EpisodeRecord]
    ) -> NDArray[np.float64] | None:
        if self.config.kl_placement != "reward":
            return None
        penalty, figures = kl_penalty(
            self.learner_group, episodes, self.config.kl_coeff
        )
        log_tree(self.metrics, ("credit",), figures)
        return penalty

    def _sync_weights(self) -> None:
        if self.engine_group is not None:
            self._engine_sync.send(self.learner_group, self.policy_version)
            if self._weight_verifier is not None:
                drift = self._weight_verifier.verify(
                    self.learner_group, self.engine_group
                )
                log_tree(self.metrics, ("engines",), {"verified_drift": drift})
            return
        sync_weights(self.learner_group, self.env_runner_group, self.policy_version)
        if self.eval_env_runner_group is not None:
            sync_weights(
                self.learner_group, self.eval_env_runner_group, self.policy_version
            )

    def _list_tasks(self, config: AlgorithmConfig) -> None:
        env = make_text_env(config.env, config.env_config)
        training, *others = env.splits
        self.training_tasks: TaskSet = env.tasks(training)
        self.evaluation_tasks: TaskSet = env.tasks(
            config.evaluation_split or (others or [training])[0]
        )
        self._task_sampler = TaskSampler(
            self.training_tasks, seed=config.seed or 0, group_size=config.group_size
        )
        env.close()

    @override(Algorithm)
    def step(self) -> ResultDict:
        """One training iteration; before the first one, an evaluation if asked for."""
        if self.config.evaluate_at_start and self.evaluation_at_start is None:
            self.evaluation_at_start = self.evaluate()
        results = super().step()
        if self.evaluation_at_start is not None:
            results["evaluation_at_start"] = self.evaluation_at_start
        return results

    @override(Algorithm)
    def get_state(self, *args: Any, **kwargs: Any) -> StateDict:
        """RLlib's state and ours: the position in the tasks, the policy version."""
        return super().get_state(*args, **kwargs) | {
            _STATE_KEY: {
                "num_groups_drawn": self._num_groups_trained,
                "policy_version": self.policy_version,
                "evaluation_at_start": self.evaluation_at_start,
            }
        }

    @override(Algorithm)
    def set_state(self, state: StateDict) -> None:
        """Restore what :meth:`get_state` gave."""
        super().set_state(state)
        if ours := state.get(_STATE_KEY):
            self._batches.drop()
            self._num_groups_trained = ours["num_groups_drawn"]
            self._task_sampler.num_drawn = ours["num_groups_drawn"]
            self.policy_version = ours["policy_version"]
            self.evaluation_at_start = ours["evaluation_at_start"]

    @override(Algorithm)
    def save_to_path(self, path: Any = None, **kwargs: Any) -> str:
        """Write a checkpoint: whole and verified, or not at all.

        Raises:
            CheckpointError: Something did not get written, or there is something else.
        """
        # Whoever brings a file system of their own gets RLlib's plain way.
        if path is None or "://" in str(path) or kwargs.get("filesystem"):
            return super().save_to_path(path, **kwargs)
        save = super().save_to_path
        save_atomically(Path(path), lambda aside: save(aside, **kwargs))
        return str(path)

    @override(Algorithm)
    def restore_from_path(self, path: Any, *args: Any, **kwargs: Any) -> None:
        """Restore a checkpoint, then hand its weights to what generates."""
        super().restore_from_path(path, *args, **kwargs)
        self._sync_weights()

    @override(Algorithm)
    def restore_env_runners(self, env_runner_group: Any) -> list[int]:
        """Give restarted runners the present weights."""
        restored = super().restore_env_runners(env_runner_group)
        if restored:
            self._sync_weights()
        return restored

    @override(Algorithm)
    def cleanup(self) -> None:
        """Stop everything that was started, the engines last."""
        self._batches.close()
        super().cleanup()
        self._stop_engines()

    def _stop_engines(self) -> None:
        if self.engine_group is not None:
            self.engine_group.shutdown()
            self.engine_group = None

    @classmethod
    @override(Algorithm)
    def default_resource_request(cls, config: Any) -> PlacementGroupFactory:
        """RLlib's bundles, then one for each engine."""
        request = super().default_resource_request(config)
        return add_engine_bundles(
            request, cls.get_default_config().update_from_dict(config)
        )

    @classmethod
    @override(Algorithm)
    def _should_create_evaluation_env_runners(
        cls, eval_config: AlgorithmConfig
    ) -> bool:
        # Without runners of its own, evaluation plays on the training runners: their
        # engine holds the weights already.
        return eval_config.evaluation_num_env_runners > 0

    @contextmanager
    def _timed(self, name: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.metrics.log_value(
            (TIMERS, f"{name}_s"), time.perf_counter() - start, reduce="item"
        )
