"""Episode records to RLlib episodes and back, every token id untouched.

RLlib's callbacks, connectors and loggers see ordinary ``SingleAgentEpisode`` objects:
observations and actions are texts, and the tokens of each step lie in
``extra_model_outputs``, the sampled logprobs under RLlib's own name ``action_logp``.
"""

from __future__ import annotations

from typing import Any

from ray.rllib.core.columns import Columns
from ray.rllib.env.single_agent_episode import SingleAgentEpisode

from rllib_gigpo.inference.engine import FinishReason
from rllib_gigpo.rollout.records import EpisodeRecord, StepRecord, StopReason

_STEP_FIELDS = {
    "prompt_ids": "prompt_ids",
    "response_ids": "response_ids",
    "sampled_logprobs": Columns.ACTION_LOGP,
    "finish_reason": "finish_reason",
    "policy_version": "policy_version",
    "response_text": "response_text",
    "is_valid": "is_valid",
    "is_admissible": "is_admissible",
    "invalid_reason": "invalid_reason",
    "state_key": "state_key",
    "num_dropped_history": "num_dropped_history",
    "num_cached_tokens": "num_cached_tokens",
}
"""Field of StepRecord -> key in ``extra_model_outputs``."""

_EPISODE_FIELDS = ("group_id", "task_id", "task_kind", "success", "figures")


def to_rllib_episode(record: EpisodeRecord) -> SingleAgentEpisode:
    """The record as an RLlib episode, spaces left out (they only add bytes)."""
    steps = record.steps
    # Slicing an RLlib episode drops custom_data, so the group stands in the infos too.
    about = {name: getattr(record, name) for name in _EPISODE_FIELDS}
    episode = SingleAgentEpisode(
        id_=record.episode_id,
        observations=[step.observation for step in steps] + [record.final_observation],
        actions=[step.action for step in steps],
        rewards=[step.reward for step in steps],
        infos=[about] * (len(steps) + 1),
        terminated=record.stop_reason is StopReason.TERMINATED,
        truncated=record.stop_reason is not StopReason.TERMINATED,
        extra_model_outputs={
            key: [_plain(getattr(step, name)) for step in steps]
            for name, key in _STEP_FIELDS.items()
        },
        len_lookback_buffer=0,
    )
    episode.custom_data.update(
        about, stop_reason=str(record.stop_reason), seconds_in_env=record.seconds_in_env
    )
    return episode


def from_rllib_episode(episode: SingleAgentEpisode) -> EpisodeRecord:
    """The record that :func:`to_rllib_episode` was given."""
    about = episode.custom_data
    outputs = episode.extra_model_outputs
    steps = tuple(
        _step(episode, outputs, index) for index in range(episode.env_steps())
    )
    return EpisodeRecord(
        episode_id=episode.id_,
        steps=steps,
        final_observation=episode.get_observations(-1),
        stop_reason=StopReason(about["stop_reason"]),
        seconds_in_env=about["seconds_in_env"],
        **{name: about[name] for name in _EPISODE_FIELDS},
    )


def _step(
    episode: SingleAgentEpisode, outputs: dict[str, Any], index: int
) -> StepRecord:
    fields = {name: outputs[key][index] for name, key in _STEP_FIELDS.items()}
    fields["finish_reason"] = FinishReason(fields["finish_reason"])
    return StepRecord(
        observation=episode.get_observations(index),
        action=episode.get_actions(index),
        reward=episode.get_rewards(index),
        **fields,
    )


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, FinishReason) else value
