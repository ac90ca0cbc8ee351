"""How often a model solves tasks, played as in training but without RLlib."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence

from transformers import PreTrainedModel

from environments.tasks import Task
from environments.text_env import TextEnv
from rllib_gigpo.errors import RolloutError
from rllib_gigpo.inference.transformers_engine import TransformersEngine
from rllib_gigpo.rollout.event_loop import EventLoopThread
from rllib_gigpo.rollout.group_scheduler import EnvPool, play_groups
from rllib_gigpo.rollout.prompts import PromptRenderer
from rllib_gigpo.rollout.settings import RolloutSettings
from rllib_gigpo.rollout.task_sampling import evaluation_panel

_ENV_TIMEOUT_S = 60.0


def measure_success(
    model: PreTrainedModel,
    make_env: Callable[[], TextEnv],
    tasks: Sequence[Task],
    renderer: PromptRenderer,
    settings: RolloutSettings,
    *,
    seed: int,
    temperature: float = 1.0,
) -> float:
    """The share of ``tasks`` that the model solves, one episode each.

    Args:
        model: Left as it is: a copy generates.
        make_env: Makes one of the environments to play in.
        tasks: What to play.
        renderer: Makes prompts for the model.
        settings: Limits of an episode.
        seed: Of the sampling.
        temperature: 0 is greedy.

    Raises:
        RolloutError: An episode failed.
    """
    copied = copy.deepcopy(model)
    copied.set_attn_implementation("sdpa")
    engine = TransformersEngine(
        copied,
        max_model_len=settings.max_prompt_tokens + settings.max_response_tokens,
        max_batch_size=len(tasks),
    )
    loop = EventLoopThread("warm-start")
    envs = EnvPool(make_env, size=len(tasks), timeout_s=_ENV_TIMEOUT_S)
    specs = evaluation_panel(
        tasks, seed=seed, num_tasks=None, episodes_per_task=1, temperature=temperature
    )
    try:
        rollout = loop.run(
            play_groups(
                specs, envs=envs, engine=engine, renderer=renderer, settings=settings
            )
        )
    finally:
        engine.close()
        envs.close()
        loop.close()
    if rollout.failures:
        first = rollout.failures[0]
        raise RolloutError(f"task {first.task_id!r} failed:\n{first.traceback}")
    return sum(episode.success for episode in rollout.episodes) / len(tasks)
