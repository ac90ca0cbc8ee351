"""``EZPoints-v0`` (12 from two cards) and ``Points24-v0`` (24 from four)."""

from __future__ import annotations

from functools import partial

import numpy as np

from environments.cards.expression import ARITHMETICS, Arithmetic
from environments.cards.formula_game import (
    Card,
    FormulaExpert,
    FormulaGame,
    FormulaRules,
    card_of_rank,
)
from environments.cards.replies import parse_official_json
from environments.cards.solutions import solutions
from environments.game_env import GameEnv
from environments.game_prompt import GameWording
from environments.level_tasks import level_seed
from environments.styled_prompt import PromptSetting

EZPOINTS_RULES = FormulaRules(target=12, operators="+*", max_tokens=5)
POINTS24_RULES = FormulaRules(target=24, operators="+-*/()", max_tokens=20)
_EZPOINTS_SEED_OFFSET = 0x455A  # Keep the games apart whose levels have equal seeds.
_POINTS24_SEED_OFFSET = 0x3234
_MAX_DEALS = 1000


def _wording(name: str, rules: FormulaRules, num_cards: str) -> GameWording:
    operators = " ".join(rules.operators)
    return GameWording(
        name=name,
        version=1,
        rules=(
            f"You see {num_cards} cards and write a formula that makes {rules.target}, "
            "one number or sign at a time. J, Q and K count 10, A counts 1. Each "
            f"card's number must be used exactly once; the signs are {operators}. "
            "The action '=' ends the game and has the formula judged."
        ),
        is_uniform=True,
        official_parser=partial(parse_official_json, keywords=rules.keywords),
        official_reply="json",
    )


class _FormulaEnv(GameEnv[FormulaGame]):
    """What both have in common."""

    def __init__(
        self,
        *,
        arithmetic: Arithmetic,
        max_episode_steps: int,
        num_train_tasks: int | None,
        num_eval_tasks: int | None,
        prompt: PromptSetting,
    ) -> None:
        if arithmetic not in ARITHMETICS:
            raise ValueError(
                f"arithmetic={arithmetic!r}: choose one of {list(ARITHMETICS)}"
            )
        super().__init__(
            max_episode_steps=max_episode_steps,
            num_train_tasks=num_train_tasks,
            num_eval_tasks=num_eval_tasks,
            prompt=prompt,
        )
        self.arithmetic: Arithmetic = arithmetic

    def expert(self) -> FormulaExpert:
        """Writes a shortest right formula."""
        return FormulaExpert(self.game)


class EZPointsEnv(_FormulaEnv):
    """Make 12 from two cards, by a sum or a product; every deal can be solved.

    Args:
        arithmetic: See :func:`environments.cards.expression.formula_value`.
        max_episode_steps, num_train_tasks, num_eval_tasks, prompt: As in
            :class:`GameEnv`.

    Raises:
        ValueError: A setting is out of range.
    """

    wording = _wording("ezpoints", EZPOINTS_RULES, "two")

    def __init__(
        self,
        *,
        arithmetic: Arithmetic = "exact",
        max_episode_steps: int = 8,
        num_train_tasks: int | None = None,
        num_eval_tasks: int | None = None,
        prompt: PromptSetting = None,
    ) -> None:
        super().__init__(
            arithmetic=arithmetic,
            max_episode_steps=max_episode_steps,
            num_train_tasks=num_train_tasks,
            num_eval_tasks=num_eval_tasks,
            prompt=prompt,
        )

    def _start_game(self, task_id: str) -> FormulaGame:
        rng = np.random.default_rng([_EZPOINTS_SEED_OFFSET, level_seed(task_id)])
        first = card_of_rank(int(rng.integers(2, 14)), rng)
        target = EZPOINTS_RULES.target
        is_product = target % first.number == 0 and rng.random() < 0.5
        other = target // first.number if is_product else target - first.number
        cards = (first, card_of_rank(other, rng))
        if rng.random() < 0.5:
            cards = cards[::-1]
        return FormulaGame(cards, EZPOINTS_RULES, self.arithmetic)


class Points24Env(_FormulaEnv):
    """Make 24 from four cards.

    Args:
        arithmetic: See :func:`environments.cards.expression.formula_value`.
        is_always_solvable: Whether deals that cannot be solved are dealt anew. The
            published environment kept them, 27 % of all.
        max_episode_steps, num_train_tasks, num_eval_tasks, prompt: As in
            :class:`GameEnv`.

    Raises:
        ValueError: A setting is out of range.
    """

    wording = _wording("points24", POINTS24_RULES, "four")

    def __init__(
        self,
        *,
        arithmetic: Arithmetic = "exact",
        is_always_solvable: bool = True,
        max_episode_steps: int = 20,
        num_train_tasks: int | None = None,
        num_eval_tasks: int | None = None,
        prompt: PromptSetting = None,
    ) -> None:
        super().__init__(
            arithmetic=arithmetic,
            max_episode_steps=max_episode_steps,
            num_train_tasks=num_train_tasks,
            num_eval_tasks=num_eval_tasks,
            prompt=prompt,
        )
        self.is_always_solvable = is_always_solvable

    def _start_game(self, task_id: str) -> FormulaGame:
        rng = np.random.default_rng([_POINTS24_SEED_OFFSET, level_seed(task_id)])
        for _ in range(_MAX_DEALS):
            cards = tuple(
                card_of_rank(int(r), rng) for r in rng.integers(1, 14, size=4)
            )
            if not self.is_always_solvable or self._can_be_solved(cards):
                return FormulaGame(cards, POINTS24_RULES, self.arithmetic)
        raise AssertionError(f"{_MAX_DEALS} deals in a row cannot all be unsolvable")

    def _can_be_solved(self, cards: tuple[Card, ...]) -> bool:
        numbers = tuple(sorted(card.number for card in cards))
        return bool(solutions(numbers, POINTS24_RULES.target, "+-*/", self.arithmetic))
