"""Does an environment keep the contract? For your own ones, in a test or by hand.

``python -m environments.checker MODULE:CLASS [--settings JSON]`` also compares the
episodes of two processes.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence

from environments.checking.declaration import (
    check_declaration,
    check_tasks,
    sample_tasks,
)
from environments.checking.experts import check_expert
from environments.checking.processes import check_processes, make_env
from environments.checking.prompts import check_prompt
from environments.checking.repeats import (
    check_repeats,
    check_reset_options,
    play_sample,
)
from environments.checking.requirement import require
from environments.checking.state_keys import check_state_keys, check_unknown_actions
from environments.text_env import TextEnv


def check_text_env(
    env: object,
    *,
    actions: Sequence[str] = (),
    num_tasks: int = 3,
    max_steps: int = 1_000,
    seed: int = 0,
    has_exact_keys: bool = True,
) -> None:
    """Play an environment at random and check every promise of :class:`TextEnv`.

    Spaces, tasks per split, options of reset, types of all that is returned, odd
    actions, an end of every episode, the same episode for the same task and seed, the
    state key against what follows, the prompt on every moment, the parser on debris,
    and the expert if there is one.

    Args:
        env: A :class:`TextEnv`, or Gymnasium wrappers around one (left aside).
        actions: What to play where the environment lists no admissible actions.
        num_tasks: How many tasks of each split to play.
        max_steps: Within which an episode must end.
        seed: Of the episodes and of the play.
        has_exact_keys: False if ``state_key`` is coarse by intent (such as the text of
            the observation) or steps are random.

    Raises:
        ContractError: The first promise that is broken: what, where, and what to do.
    """
    env = getattr(env, "unwrapped", env)
    require(
        isinstance(env, TextEnv),
        f"{env!r} is no TextEnv",
        "derive it from environments.text_env.TextEnv",
    )
    assert isinstance(env, TextEnv)
    check_declaration(env)
    check_tasks(env)
    tasks = sample_tasks(env, num_tasks)
    episodes = play_sample(env, tasks, seed, tuple(actions), max_steps)
    check_repeats(env, episodes, max_steps)
    check_reset_options(env, tasks[0])
    check_unknown_actions(episodes)
    if has_exact_keys:
        check_state_keys(episodes)
    check_prompt(env.prompt, episodes)
    check_expert(env, tasks[0], max_steps)


def main(argv: Sequence[str] | None = None) -> None:
    """Check the class that is named on the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m environments.checker", description=check_text_env.__doc__
    )
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("entry_point", metavar="MODULE:CLASS")
    parser.add_argument(
        "--settings", type=json.loads, default={}, help="keyword arguments, as JSON"
    )
    parser.add_argument(
        "--action", action="append", default=[], help="to play; may be repeated"
    )
    parser.add_argument(
        "--coarse-keys", action="store_true", help="has_exact_keys=False"
    )
    arguments = parser.parse_args(argv)
    env = make_env(arguments.entry_point, arguments.settings)
    check_text_env(
        env, actions=arguments.action, has_exact_keys=not arguments.coarse_keys
    )
    check_processes(arguments.entry_point, arguments.settings, actions=arguments.action)
    print(f"{arguments.entry_point} keeps the contract")


if __name__ == "__main__":
    main()
