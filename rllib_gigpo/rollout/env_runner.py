"""The EnvRunner that plays whole groups of text episodes.

What enters: group specs from the algorithm. What leaves: RLlib episodes that carry the
exact sampled tokens, and the failures of those that could not be finished.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from ray.rllib.callbacks.utils import make_callback
from ray.rllib.core import DEFAULT_MODULE_ID
from ray.rllib.env import INPUT_ENV_SINGLE_SPACES, INPUT_ENV_SPACES
from ray.rllib.env.env_runner import EnvRunner
from ray.rllib.env.single_agent_episode import SingleAgentEpisode
from ray.rllib.utils import force_list
from ray.rllib.utils.annotations import override
from ray.rllib.utils.checkpoints import Checkpointable
from ray.rllib.utils.metrics import (
    NUM_ENV_STEPS_SAMPLED,
    NUM_ENV_STEPS_SAMPLED_LIFETIME,
    NUM_EPISODES,
)
from ray.rllib.utils.typing import StateDict

from environments.text_env import TextEnv
from rllib_gigpo.errors import RolloutError
from rllib_gigpo.rollout.episodes import to_rllib_episode
from rllib_gigpo.rollout.event_loop import EventLoopThread
from rllib_gigpo.rollout.group_scheduler import EnvPool, play_groups
from rllib_gigpo.rollout.make_engine import make_engine
from rllib_gigpo.rollout.make_env import make_text_env
from rllib_gigpo.rollout.records import EpisodeFailure, GroupSpec
from rllib_gigpo.rollout.task_sampling import TaskSampler

if TYPE_CHECKING:
    from rllib_gigpo.algorithms.config import GiGPOConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayedGroups:
    """What one runner sends back: RLlib episodes, and the episodes that failed."""

    episodes: list[SingleAgentEpisode]
    failures: list[EpisodeFailure]


class LLMEnvRunner(EnvRunner, Checkpointable):
    """Plays groups of episodes, every environment advancing on its own.

    The policy lives in ``self.engine``; RLlib's weight broadcasts carry nothing, new
    weights arrive through :meth:`load_weights`.
    """

    @override(EnvRunner)
    def __init__(self, *, config: GiGPOConfig, **kwargs: Any) -> None:
        super().__init__(config=config, **kwargs)
        self.env: TextEnv | None = None
        self._loop = EventLoopThread("rollout")
        self._callbacks = [make() for make in force_list(config.callbacks_class)]
        self.make_env()
        self.make_module()

    @override(EnvRunner)
    def make_env(self) -> None:
        """The pool of environments; ``self.env`` is the one that lists the tasks."""
        config = self.config
        self.env = make_text_env(config.env, config.env_config)
        self._envs = EnvPool(
            lambda: make_text_env(config.env, config.env_config),
            size=config.num_envs_per_env_runner,
            timeout_s=config.env_timeout_s,
        )
        # Offset by the worker, so that runners sampling on their own differ.
        self._own_tasks = TaskSampler(
            self.env.tasks(self.env.splits[0]),
            seed=(config.seed or 0) + 1 + (self.worker_index or 0),
            group_size=1,
        )

    @override(EnvRunner)
    def make_module(self) -> None:
        """The engine and the prompt renderer that goes with its model."""
        self.engine, self._renderer = make_engine(
            self.config, runner_index=self.worker_index or 0
        )

    def play(self, specs: Sequence[GroupSpec]) -> PlayedGroups:
        """Play these groups to their end; then RLlib's ``on_episode_end`` for each."""
        rollout = self._loop.run(
            play_groups(
                specs,
                envs=self._envs,
                engine=self.engine,
                renderer=self._renderer,
                settings=self.config.rollout_settings,
            )
        )
        num_steps = sum(len(episode.steps) for episode in rollout.episodes)
        self.num_env_steps_sampled_lifetime += num_steps
        self._log_env_steps(self._metrics_num_env_steps_sampled, num_steps)
        episodes = [to_rllib_episode(episode) for episode in rollout.episodes]
        for episode in episodes:
            self._call_back(episode)
        return PlayedGroups(episodes=episodes, failures=rollout.failures)

    def _call_back(self, episode: SingleAgentEpisode) -> None:
        make_callback(
            "on_episode_end",
            callbacks_objects=self._callbacks,
            callbacks_functions=self.config.callbacks_on_episode_end,
            kwargs={
                "episode": episode,
                "prev_episode_chunks": [],
                "env_runner": self,
                "metrics_logger": self.metrics,
                "env": self.env,
                "env_index": 0,
                "rl_module": None,
            },
        )

    @override(EnvRunner)
    def sample(
        self,
        *,
        num_timesteps: int | None = None,
        num_episodes: int | None = None,
        explore: bool | None = None,
        random_actions: bool = False,
        force_reset: bool = False,
    ) -> list[SingleAgentEpisode]:
        """RLlib's own way of sampling: single episodes of tasks drawn by this runner.

        Args:
            num_timesteps: Play whole episodes until there are this many steps.
            num_episodes: Play this many episodes; 1 if neither is given.
            explore: Sample at the training temperature; False samples at the
                evaluation temperature.
            random_actions: Must be False: a language model has no random action.
            force_reset: Every episode starts afresh in any case.

        Raises:
            ValueError: ``random_actions`` is set.
            RolloutError: All episodes drawn at once failed, or had no step.
        """
        if random_actions:
            raise ValueError("LLMEnvRunner cannot sample random actions")
        config = self.config
        explore = config.explore if explore is None else explore
        temperature = config.temperature if explore else config.evaluation_temperature
        episodes: list[SingleAgentEpisode] = []
        while True:
            specs = self._own_tasks.draw(
                num_episodes or 1,
                prefix=f"runner_{self.worker_index}",
                temperature=temperature,
            )
            played = self.play(specs)
            if not any(episode.env_steps() for episode in played.episodes):
                raise RolloutError(_no_step_message(played.failures, config))
            episodes += played.episodes
            num_steps = sum(episode.env_steps() for episode in episodes)
            if num_timesteps is None or num_steps >= num_timesteps:
                break
        self.metrics.log_value(NUM_EPISODES, len(episodes), reduce="sum")
        self.metrics.log_value(NUM_ENV_STEPS_SAMPLED, num_steps, reduce="sum")
        return episodes

    def load_weights(
        self, weights: Mapping[str, torch.Tensor], policy_version: int
    ) -> None:
        """Give the engine of this runner new weights.

        Raises:
            WeightSyncError: The weights do not cover the model exactly.
        """
        self.engine.load_weights(weights, policy_version)

    @override(EnvRunner)
    def get_metrics(self) -> dict[str, Any]:
        """What :meth:`sample` logged; the algorithm pools its own groups' figures."""
        return self.metrics.reduce()

    @override(EnvRunner)
    def get_spaces(self) -> dict[str, Any]:
        """Text spaces under RLlib's three keys."""
        spaces = (self.env.observation_space, self.env.action_space)
        return {
            INPUT_ENV_SPACES: spaces,
            INPUT_ENV_SINGLE_SPACES: spaces,
            DEFAULT_MODULE_ID: spaces,
        }

    @override(EnvRunner)
    def assert_healthy(self) -> None:
        """Check that there are an environment and an engine."""
        assert self.env is not None and self.engine is not None

    @override(Checkpointable)
    def get_state(
        self,
        components: str | Collection[str] | None = None,
        *,
        not_components: str | Collection[str] | None = None,
        **kwargs: Any,
    ) -> StateDict:
        """Counters and the position in the tasks; weights are the learner's."""
        return {
            NUM_ENV_STEPS_SAMPLED_LIFETIME: self.num_env_steps_sampled_lifetime,
            "num_tasks_drawn": self._own_tasks.num_drawn,
        }

    @override(Checkpointable)
    def set_state(self, state: StateDict) -> None:
        """Restore what :meth:`get_state` gave; all else in ``state`` is not ours."""
        if NUM_ENV_STEPS_SAMPLED_LIFETIME in state:
            self.num_env_steps_sampled_lifetime = state[NUM_ENV_STEPS_SAMPLED_LIFETIME]
        if "num_tasks_drawn" in state:
            self._own_tasks.num_drawn = state["num_tasks_drawn"]

    @override(Checkpointable)
    def get_ctor_args_and_kwargs(self) -> tuple[tuple, dict[str, Any]]:
        """Arguments that rebuild this runner."""
        return (), {"config": self.config, "worker_index": self.worker_index}

    @override(EnvRunner)
    def stop(self) -> None:
        """Close environments and the engine. Idempotent."""
        self._envs.close()
        self.env.close()
        self.engine.close()
        self._loop.close()


def _no_step_message(failures: Sequence[EpisodeFailure], config: GiGPOConfig) -> str:
    if not failures:
        return (
            "no episode made a step: every first prompt is longer than "
            f"max_prompt_tokens={config.max_prompt_tokens}; raise it"
        )
    first = failures[0]
    return (
        f"no episode made a step; {first.episode_id} of task {first.task_id!r}: "
        f"{first.error_type}: {first.message}\n{first.traceback}"
    )
