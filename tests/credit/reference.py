"""GiGPO as the paper writes it, in plain loops over rows: slow, and easy to check."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any

from rllib_gigpo.credit import CreditConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceCredit:
    """Lists of R numbers, as in `Credit`."""

    step_return: list[float]
    episode_advantage: list[float]
    step_advantage: list[float]
    advantage: list[float]


def gigpo_reference(
    columns: Mapping[str, list[Any]], config: CreditConfig
) -> ReferenceCredit:
    """Eq. 3, 5, 7 and 8 with exact state keys, and every option beside similarity."""
    num_rows = len(columns["group"])
    rows = range(num_rows)
    row_of = {(columns["trajectory"][i], columns["step"][i]): i for i in rows}
    cost = [0.0 if columns["valid"][i] else config.invalid_penalty for i in rows]
    placement = config.invalid_penalty_placement
    nothing = [0.0] * num_rows
    step_cost = nothing if placement == "step" else cost
    score_cost = cost if placement == "official" else nothing

    step_return, episode_return = [], []
    for i in rows:
        trajectory = columns["trajectory"][i]
        discounted, row, power = 0.0, i, 0
        while row is not None:
            discounted += config.gamma**power * columns["reward"][row]
            power += 1
            row = row_of.get((trajectory, columns["step"][i] + power))
        step_return.append(discounted)
        episode_return.append(
            sum(
                columns["reward"][j]
                for j in rows
                if columns["trajectory"][j] == trajectory
            )
        )

    episode_advantage = _episode_advantage(
        columns, [episode_return[i] - score_cost[i] for i in rows], config
    )
    step_advantage = _step_advantage(
        columns, [step_return[i] - step_cost[i] for i in rows], config
    )
    return ReferenceCredit(
        step_return=step_return,
        episode_advantage=episode_advantage,
        step_advantage=step_advantage,
        advantage=[
            episode_advantage[i]
            + config.step_weight * step_advantage[i]
            - (cost[i] - step_cost[i])
            for i in rows
        ],
    )


def _episode_advantage(
    columns: Mapping[str, list[Any]], score: list[float], config: CreditConfig
) -> list[float]:
    values: dict[Hashable, list[float]] = defaultdict(list)
    members: dict[Hashable, set[Hashable]] = defaultdict(set)
    for i, group in enumerate(columns["group"]):
        is_new = columns["trajectory"][i] not in members[group]
        members[group].add(columns["trajectory"][i])
        if is_new or config.episode_unit == "step":
            values[group].append(score[i])

    def is_lone(group: Hashable) -> bool:
        counted = values if config.lone_episode == "raw" else members
        return len(counted[group]) == 1

    return [
        _relative(score[i], values[group], is_lone(group), config.lone_episode, config)
        for i, group in enumerate(columns["group"])
    ]


def _step_advantage(
    columns: Mapping[str, list[Any]], value: list[float], config: CreditConfig
) -> list[float]:
    rows = range(len(value))
    key: Callable[[int], Hashable] = lambda i: (  # noqa: E731
        columns["group"][i],
        columns["state_key"][i],
    )
    first: dict[Hashable, int] = {}
    for i in sorted(rows, key=lambda i: columns["step"][i]):
        first.setdefault((columns["trajectory"][i], key(i)), i)
    is_member = [
        config.revisits == "all" or first[columns["trajectory"][i], key(i)] == i
        for i in rows
    ]
    values: dict[Hashable, list[float]] = defaultdict(list)
    for i in rows:
        if is_member[i]:
            values[key(i)].append(value[i])
    return [
        _relative(
            value[i], values[key(i)], len(values[key(i)]) == 1, config.lone_step, config
        )
        if is_member[i]
        else 0.0
        for i in rows
    ]


def _relative(
    value: float, values: list[float], is_lone: bool, rule: str, config: CreditConfig
) -> float:
    if is_lone:
        return value if rule == "raw" else 0.0
    mean = math.fsum(values) / len(values)
    if max(values) - min(values) <= config.constant_tolerance * max(1.0, abs(mean)):
        return 0.0
    if config.normalize == "none":
        return value - mean
    squares = math.fsum((other - mean) ** 2 for other in values)
    std = math.sqrt(squares / (len(values) - config.ddof))
    return (value - mean) / (std + config.epsilon)
