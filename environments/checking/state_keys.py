"""What a state key promises, as far as play can tell."""

from __future__ import annotations

from collections.abc import Hashable
from itertools import pairwise

from environments.checking.episodes import Episode, Moment
from environments.checking.requirement import require, shortened


def check_unknown_actions(episodes: list[Episode]) -> None:
    """Check that an action that is not admissible changes nothing but the count.

    Raises:
        ContractError: It changes what can be done next, or the success.
    """
    for before, action, after, where in _unknown(episodes):
        for name in ("admissible_actions", "success"):
            x, y = before.info[name], after.info[name]
            require(
                x == y,
                f"info[{name!r}] becomes {shortened(y)} instead of {shortened(x)} by "
                f"the inadmissible action {shortened(action, 40)} {where}",
                "let an action that is not listed change nothing, or list it",
            )


def check_state_keys(episodes: list[Episode]) -> None:
    """Check that keys are neither too coarse nor too fine.

    Args:
        episodes: Several of each task, all of a task with the same seed.

    Raises:
        ContractError: Equal keys with unequal futures, or a key that counts steps.
    """
    for before, action, after, where in _unknown(episodes):
        require(
            before.info["state_key"] == after.info["state_key"],
            f"info['state_key'] changes by the inadmissible action "
            f"{shortened(action, 40)} {where}, although nothing else does",
            "leave step counts, histories and last observations out of the key "
            "(or pass has_exact_keys=False)",
        )
    seen: dict[tuple[str, Hashable, str], tuple[Moment, str]] = {}
    for episode in episodes:
        for number, (before, after) in enumerate(pairwise(episode.moments)):
            if after.truncated:
                continue
            action = episode.actions[number]
            key = (episode.task_id, before.info["state_key"], action)
            where = f"at step {number + 1} of {episode.task_id!r}"
            earlier, earlier_where = seen.setdefault(key, (after, where))
            difference = _difference(earlier, after)
            require(
                not difference,
                f"two states share info['state_key'] {shortened(key[1])}, but action "
                f"{shortened(action, 40)} leads to different {difference} "
                f"({earlier_where} and {where})",
                "put all hidden state that matters for the future into the key (or "
                "pass has_exact_keys=False for a key that is coarse by intent)",
            )


def _unknown(episodes: list[Episode]) -> list[tuple[Moment, str, Moment, str]]:
    """The steps by an inadmissible action that did not end their episode."""
    return [
        (before, action, after, f"at step {number} of {episode.task_id!r}")
        for episode in episodes
        for number, (action, (before, after)) in enumerate(
            zip(episode.actions, pairwise(episode.moments), strict=True), 1
        )
        if before.info["admissible_actions"] is not None
        and action not in before.info["admissible_actions"]
        and not (after.terminated or after.truncated)
    ]


def _difference(a: Moment, b: Moment) -> str:
    answers = {
        "observations": (a.observation, b.observation),
        "rewards": (a.reward, b.reward),
        "terminations": (a.terminated, b.terminated),
        "admissible actions": (
            a.info["admissible_actions"],
            b.info["admissible_actions"],
        ),
        "successes": (a.info["success"], b.info["success"]),
        "state keys": (a.info["state_key"], b.info["state_key"]),
    }
    return next((name for name, (x, y) in answers.items() if x != y), "")
