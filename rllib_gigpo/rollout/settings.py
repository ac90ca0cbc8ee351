"""What governs the play of one episode, apart from its task and seeds."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutSettings:
    """Limits of an episode.

    Attributes:
        max_prompt_tokens: Longest prompt; history is shortened until it fits.
        max_response_tokens: Most tokens sampled per step.
        max_episode_steps: Most steps per episode on top of the environment's own
            limit; None leaves it to the environment.
        env_timeout_s: Longest wall time of one ``reset`` or ``step`` of an environment
            that does not run inline; the episode fails beyond it.
    """

    max_prompt_tokens: int
    max_response_tokens: int
    max_episode_steps: int | None = None
    env_timeout_s: float = 60.0
