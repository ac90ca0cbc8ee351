"""An expert, where there is one: advises what is possible, and disturbs nothing."""

from __future__ import annotations

from environments.checking.episodes import play
from environments.checking.requirement import require
from environments.experts import ExpertPolicy
from environments.parsing import is_listed
from environments.tasks import Task
from environments.text_env import StepInfo, TextEnv


def check_expert(env: TextEnv, task: Task, max_steps: int) -> None:
    """Follow the expert through an episode.

    Raises:
        ContractError: Its advice is not admissible, or changes when asked for again.
    """
    env.reset(seed=0, options={"task": task})
    try:
        env.expert()
    except NotImplementedError:
        return
    expert: ExpertPolicy | None = None

    def choose(info: StepInfo) -> str:
        nonlocal expert
        # Made after the reset of the episode that it is to play.
        expert = expert or env.expert()
        action = expert.next_action().action
        again = expert.next_action().action
        require(
            action == again,
            f"the expert advises {action!r} and then {again!r} in the same state",
            "let next_action change nothing",
        )
        admissible = info["admissible_actions"]
        require(
            admissible is None or is_listed(action, admissible),
            f"the expert advises {action!r}, which is not admissible",
            "advise one of the listed actions",
        )
        return action

    play(env, task.id, 0, choose, max_steps)
