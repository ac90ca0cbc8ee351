"""Random play, with everything that an environment says checked as it comes."""

from __future__ import annotations

import math
import pickle
import random
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from environments.checking.requirement import require, shortened
from environments.errors import ContractError
from environments.text_env import StepInfo, TextEnv

ChooseAction: TypeAlias = Callable[[StepInfo], str]
"""The action to play, given the last info."""

ODD_ACTIONS = (
    "",
    "\n",
    "no such action",
    "<action></action>",
    "\x00",
    "öß 世界 🙂",
    "\ud800",
    "{}[]()|\\'\"%s",
    "x" * 10_000,
)
_ODD_SHARE = 0.15
_INFO_KEYS = frozenset(StepInfo.__annotations__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """What the environment says after a reset or an action.

    Attributes:
        observation: The text.
        reward: 0 after a reset.
        terminated, truncated: False after a reset.
        info: As returned.
    """

    observation: str
    reward: float = 0.0
    terminated: bool = False
    truncated: bool = False
    info: StepInfo


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """A whole episode.

    Attributes:
        task_id: Of its task.
        seed: Of its reset.
        actions: Those played.
        moments: One more than there are actions.
    """

    task_id: str
    seed: int
    actions: tuple[str, ...]
    moments: tuple[Moment, ...]


def play(
    env: TextEnv, task_id: str, seed: int, choose: ChooseAction, max_steps: int
) -> Episode:
    """Play an episode to its end, and check all that is said.

    Raises:
        ContractError: Something is not as it should be, an action raises, the episode
            does not end, or a global random generator was touched.
    """
    before = _global_generators()
    where = f"reset of task {task_id!r}"
    told = env.reset(seed=seed, options={"task": task_id})
    require(
        isinstance(told, tuple) and len(told) == 2,
        f"{where} returns {shortened(told)}",
        "return (observation, info)",
    )
    moments = [Moment(observation=told[0], info=told[1])]
    _check_moment(env, moments[0], task_id, where)
    actions: list[str] = []
    while not (moments[-1].terminated or moments[-1].truncated):
        require(
            len(actions) < max_steps,
            f"the episode of task {task_id!r} goes on after {max_steps} steps",
            "truncate it at a limit of its own (or raise max_steps of the check)",
        )
        actions.append(choose(moments[-1].info))
        moments.append(_step(env, actions[-1], task_id, len(actions)))
        _check_not_shared(moments[-2].info, moments[-1].info)
    require(
        _global_generators() == before,
        f"the episode of task {task_id!r} draws from, or seeds, the global random "
        "generator of Python or NumPy",
        "draw from self.np_random, which super().reset(seed=seed) makes",
    )
    return Episode(
        task_id=task_id, seed=seed, actions=tuple(actions), moments=tuple(moments)
    )


def at_random(seed: str, others: tuple[str, ...] = ()) -> ChooseAction:
    """Plays admissible actions, and odd ones from time to time, the first among them.

    Args:
        seed: Decides all choices.
        others: To choose from where no admissible actions are listed.
    """
    chance = random.Random(seed)
    is_first = True

    def choose(info: StepInfo) -> str:
        nonlocal is_first
        actions = info["admissible_actions"] or others
        is_odd = is_first or not actions or chance.random() < _ODD_SHARE
        is_first = False
        return chance.choice(ODD_ACTIONS if is_odd else actions)

    return choose


def as_before(actions: tuple[str, ...]) -> ChooseAction:
    """Plays the same actions again; the last one for ever."""
    position = -1

    def choose(info: StepInfo) -> str:
        nonlocal position
        position = min(position + 1, len(actions) - 1)
        return actions[position]

    return choose


def _step(env: TextEnv, action: str, task_id: str, number: int) -> Moment:
    where = f"step {number} of task {task_id!r}, action {shortened(action, 40)}"
    try:
        told = env.step(action)
    except Exception as error:
        raise ContractError(
            f"{type(error).__name__} ({error}) at {where}: never raise, whatever the "
            "action is; answer in words"
        ) from error
    require(
        isinstance(told, tuple) and len(told) == 5,
        f"{where} returns {shortened(told)}",
        "return (observation, reward, terminated, truncated, info)",
    )
    observation, reward, terminated, truncated, info = told
    for name, flag in (("terminated", terminated), ("truncated", truncated)):
        require(
            isinstance(flag, bool),
            f"{name} is {flag!r} at {where}",
            "return a bool",
        )
    require(
        isinstance(reward, (int, float)) and math.isfinite(reward),
        f"the reward is {reward!r} at {where}",
        "return a finite float",
    )
    moment = Moment(
        observation=observation,
        reward=reward,
        terminated=terminated,
        truncated=truncated,
        info=info,
    )
    _check_moment(env, moment, task_id, where)
    return moment


def _check_moment(env: TextEnv, moment: Moment, task_id: str, where: str) -> None:
    observation, info = moment.observation, moment.info
    require(
        isinstance(observation, str),
        f"the observation is {shortened(observation)} at {where}",
        "return a str",
    )
    require(
        env.observation_space.contains(observation),
        f"the observation {shortened(observation)} at {where} is not in "
        f"observation_space {env.observation_space}",
        "widen its charset or its length",
    )
    require(
        isinstance(info, dict) and set(info) == _INFO_KEYS,
        f"the info at {where} is {shortened(info)}",
        f"return a StepInfo: exactly the keys {sorted(_INFO_KEYS)}; numbers of your "
        "own go into figures",
    )
    require(
        info["task_id"] == task_id,
        f"info['task_id'] is {info['task_id']!r} at {where}",
        "return the id of the task being played",
    )
    require(
        isinstance(info["instruction"], str) and bool(info["instruction"]),
        f"info['instruction'] is {info['instruction']!r} at {where}",
        "say in words what is to be done",
    )
    require(
        isinstance(info["success"], bool),
        f"info['success'] is {info['success']!r} at {where}",
        "return a bool (not a numpy one)",
    )
    _check_actions(info["admissible_actions"], where)
    _check_figures(info["figures"], where)
    _check_key(info["state_key"], where)


def _check_not_shared(earlier: StepInfo, later: StepInfo) -> None:
    require(
        earlier is not later and earlier["figures"] is not later["figures"],
        "info, or its figures, is the same object at two steps",
        "make a new one each time; callers keep them",
    )


def _check_actions(actions: object, where: str) -> None:
    require(
        actions is None
        or (isinstance(actions, tuple) and all(isinstance(a, str) for a in actions)),
        f"info['admissible_actions'] is {shortened(actions)} at {where}",
        "return a tuple of str, or None where they are not listed",
    )
    if isinstance(actions, tuple):
        require(
            len(set(actions)) == len(actions),
            f"info['admissible_actions'] names an action twice at {where}",
            "list each action once",
        )


def _check_figures(figures: object, where: str) -> None:
    is_good = isinstance(figures, dict) and all(
        isinstance(name, str) and isinstance(value, float) and math.isfinite(value)
        for name, value in figures.items()
    )
    require(
        is_good,
        f"info['figures'] is {shortened(figures)} at {where}",
        "return a dict of names to finite floats, empty if there is nothing to tell",
    )


def _check_key(key: Hashable, where: str) -> None:
    try:
        hash(key)
        same = pickle.loads(pickle.dumps(key))
    except Exception as error:
        raise ContractError(
            f"info['state_key'] {shortened(key)} at {where} cannot be hashed or "
            f"pickled ({error}): build it from strings, numbers, tuples and frozensets"
        ) from error
    require(
        same == key,
        f"info['state_key'] {shortened(key)} at {where} is not equal to its own copy",
        "build it from strings, numbers, tuples and frozensets (or define __eq__ and "
        "__hash__ by value)",
    )


def _global_generators() -> tuple[object, bytes]:
    return random.getstate(), pickle.dumps(np.random.get_state())
