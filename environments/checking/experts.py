"""An expert, where there is one: advises what is possible, and disturbs nothing."""

from __future__ import annotations

from environments.checking.episodes import play
from environments.checking.requirement import require, shortened
from environments.experts import ExpertPolicy
from environments.parsing import is_listed
from environments.prompting import PromptTemplate, written_reply
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
        advice = expert.next_action()
        action = advice.action
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
        _check_reply(env.prompt, advice.thought, action, admissible)
        return action

    play(env, task.id, 0, choose, max_steps)


def _check_reply(
    prompt: PromptTemplate,
    thought: str,
    action: str,
    admissible: tuple[str, ...] | None,
) -> None:
    """Check that a demonstration of the action is read back as it."""
    reply = written_reply(prompt, thought, action)
    parsed = prompt.parse(reply, admissible)
    require(
        parsed.is_admissible and parsed.action == action,
        f"the expert's reply {shortened(reply)} is read as {parsed}",
        "give the prompt template a method response(thought, action) that writes what "
        "parse reads",
    )
