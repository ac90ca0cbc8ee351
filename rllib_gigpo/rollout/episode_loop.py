"""One episode: observe, prompt, generate, parse, step, until there is a reason to stop.

The environment's and the engine's exceptions pass through; whoever plays many episodes
catches them.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field

import numpy as np

from environments.prompting import HistoryEntry, PromptContext
from environments.text_env import StepInfo
from rllib_gigpo.inference.engine import Engine, GenerationRequest, SamplingParams
from rllib_gigpo.rollout.env_calls import EnvHandle
from rllib_gigpo.rollout.prompts import PromptRenderer, RenderedPrompt
from rllib_gigpo.rollout.records import (
    EpisodeRecord,
    GroupSpec,
    StepRecord,
    StopReason,
)
from rllib_gigpo.rollout.settings import RolloutSettings


async def play_episode(
    spec: GroupSpec,
    member: int,
    *,
    env: EnvHandle,
    engine: Engine,
    renderer: PromptRenderer,
    settings: RolloutSettings,
) -> EpisodeRecord:
    """Play one member of a group to its end.

    Args:
        spec: The group.
        member: Which of its episodes, 0 <= member < group_size.
        env: A free environment.
        engine: Generates.
        renderer: Makes prompts.
        settings: Limits.

    Raises:
        ValueError: A reward is NaN or infinite.
        EnvTimeoutError: The environment hangs.
        EngineError: The engine failed.
        Exception: Whatever the environment raises.
    """
    seconds_before = env.seconds
    observation, info = await env.reset(spec.env_seed, spec.task_id)
    episode = _Episode(spec, member, env, observation, info)
    stop_reason = None
    while stop_reason is None:
        prompt = renderer.render(env.env.prompt, episode.context())
        if prompt is None:
            stop_reason = StopReason.CONTEXT
            break
        stop_reason = await episode.play_step(prompt, engine, renderer, settings)
        if len(episode.steps) == settings.max_episode_steps:
            stop_reason = stop_reason or StopReason.TRUNCATED
    return episode.finish(stop_reason, env.seconds - seconds_before)


@dataclass(slots=True)
class _Episode:
    """The episode so far."""

    spec: GroupSpec
    member: int
    env: EnvHandle
    observation: str
    info: StepInfo
    steps: list[StepRecord] = field(default_factory=list)
    history: deque[HistoryEntry] = field(init=False)

    def __post_init__(self) -> None:
        self.history = deque(maxlen=self.env.env.prompt.history_window)

    @property
    def episode_id(self) -> str:
        return f"{self.spec.group_id}/{self.member}"

    def context(self) -> PromptContext:
        return PromptContext(
            instruction=self.info["instruction"],
            observation=self.observation,
            admissible_actions=self.info["admissible_actions"],
            history=tuple(self.history),
            num_steps_taken=len(self.steps),
        )

    async def play_step(
        self,
        prompt: RenderedPrompt,
        engine: Engine,
        renderer: PromptRenderer,
        settings: RolloutSettings,
    ) -> StopReason | None:
        completion = await engine.generate(
            GenerationRequest(
                request_id=f"{self.episode_id}/{len(self.steps)}",
                prompt_ids=prompt.ids,
                sampling=SamplingParams(
                    max_tokens=settings.max_response_tokens,
                    stop_token_ids=renderer.stop_token_ids,
                    temperature=self.spec.temperature,
                    seed=_step_seed(self.spec, self.member, len(self.steps)),
                ),
                group=self.spec.group_id,
                episode=self.episode_id,
            )
        )
        text = renderer.decode(completion.token_ids)
        parsed = self.env.env.prompt.parse(text, self.info["admissible_actions"])
        seen, state_key = self.observation, self.info["state_key"]
        (
            self.observation,
            reward,
            terminated,
            truncated,
            self.info,
        ) = await self.env.step(parsed.action)
        if not math.isfinite(reward):
            raise ValueError(
                f"{type(self.env.env).__name__} gave the reward {reward} for action "
                f"{parsed.action!r} in task {self.spec.task_id!r}"
            )
        self.history.append(HistoryEntry(observation=seen, action=parsed.action))
        self.steps.append(
            StepRecord(
                observation=seen,
                state_key=state_key,
                prompt_ids=prompt.ids,
                response_ids=completion.token_ids,
                sampled_logprobs=completion.logprobs,
                finish_reason=completion.finish_reason,
                policy_version=completion.policy_version,
                response_text=text,
                action=parsed.action,
                is_valid=parsed.is_valid,
                is_admissible=parsed.is_admissible,
                invalid_reason=parsed.reason,
                reward=float(reward),
                num_dropped_history=prompt.num_dropped_history,
                num_cached_tokens=completion.num_cached_tokens,
            )
        )
        if terminated:
            return StopReason.TERMINATED
        return StopReason.TRUNCATED if truncated else None

    def finish(self, stop_reason: StopReason, seconds_in_env: float) -> EpisodeRecord:
        return EpisodeRecord(
            episode_id=self.episode_id,
            group_id=self.spec.group_id,
            task_id=self.spec.task_id,
            task_kind=self.spec.task_kind,
            steps=tuple(self.steps),
            final_observation=self.observation,
            stop_reason=stop_reason,
            success=self.info["success"],
            figures=dict(self.info["figures"]),
            seconds_in_env=seconds_in_env,
        )


def _step_seed(spec: GroupSpec, member: int, step: int) -> int:
    """A seed of this step alone, so that what else is sampled never matters."""
    state = np.random.SeedSequence([spec.sampling_seed, member, step])
    return int(state.generate_state(1, np.uint64)[0] >> 1)
