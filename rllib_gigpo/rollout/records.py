"""What sampling passes around: the groups to play, the steps played, what failed."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from rllib_gigpo.inference.engine import FinishReason


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSpec:
    """A group to play: ``group_size`` episodes of one task from one initial state.

    Attributes:
        group_id: Unique within a run, e.g. ``"12/3"`` (iteration, index); also the
            prefix of episode and request ids.
        task_id: The task, by id.
        task_kind: The task's category; may be empty.
        env_seed: Seed of every member's ``reset``, so that all start alike.
        sampling_seed: Root of the members' sampling seeds.
        group_size: Number of episodes, >= 1.
        temperature: Sampling temperature; 0 is greedy.
    """

    group_id: str
    task_id: str
    task_kind: str
    env_seed: int
    sampling_seed: int
    group_size: int
    temperature: float


class StopReason(StrEnum):
    """Why an episode ended."""

    TERMINATED = "terminated"
    """The environment reached a final state."""
    TRUNCATED = "truncated"
    """The environment, or ``max_episode_steps``, cut the episode off."""
    CONTEXT = "context"
    """Even without history the prompt was longer than ``max_prompt_tokens``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRecord:
    """One model call and the environment step it led to: one row of the step table.

    Attributes:
        observation: What the agent saw.
        state_key: Of the state it acted in.
        prompt_ids: int32 [num_prompt_tokens], as sent to the engine.
        response_ids: int32 [num_response_tokens], as sampled, end token included.
        sampled_logprobs: float32 [num_response_tokens].
        finish_reason: Why the response ended.
        policy_version: Of the weights it was sampled with.
        response_text: The decoded response, for people and the parser only.
        action: What was played.
        is_valid: Whether the response kept the format.
        is_admissible: Whether the action was on the list.
        invalid_reason: Why not; empty when fine.
        reward: What the environment gave for the action.
        num_dropped_history: Past steps left out so that the prompt fits.
        num_cached_tokens: Prompt tokens from the engine's prefix cache.
    """

    observation: str
    state_key: Hashable
    prompt_ids: NDArray[np.int32]
    response_ids: NDArray[np.int32]
    sampled_logprobs: NDArray[np.float32]
    finish_reason: FinishReason
    policy_version: int
    response_text: str
    action: str
    is_valid: bool
    is_admissible: bool
    invalid_reason: str
    reward: float
    num_dropped_history: int = 0
    num_cached_tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeRecord:
    """One finished episode.

    Attributes:
        episode_id: ``"<group_id>/<member>"``.
        group_id: Of its group.
        task_id: Of its task.
        task_kind: The task's category; may be empty.
        steps: In order; at least one, unless the first prompt did not fit.
        final_observation: What the last action led to.
        stop_reason: Why it ended.
        success: Whether the task was solved in the final state.
        figures: The environment's own numbers at the end.
        seconds_in_env: Wall seconds spent in ``reset`` and ``step``.
    """

    episode_id: str
    group_id: str
    task_id: str
    task_kind: str
    steps: tuple[StepRecord, ...]
    final_observation: str
    stop_reason: StopReason
    success: bool
    figures: dict[str, float] = field(default_factory=dict)
    seconds_in_env: float = 0.0

    @property
    def episode_return(self) -> float:
        """Plain sum of the rewards."""
        return sum(step.reward for step in self.steps)


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeFailure:
    """An episode that could not be finished, through no act of the agent.

    Attributes:
        episode_id: ``"<group_id>/<member>"``.
        task_id: Of its task.
        error_type: Class name of the exception.
        message: Its text.
        traceback: Where it happened.
        is_engine_failure: The engine failed, not the environment.
    """

    episode_id: str
    task_id: str
    error_type: str
    message: str
    traceback: str
    is_engine_failure: bool = False
