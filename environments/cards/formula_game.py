"""Make a number from cards, token by token: what EZPoints and Points24 share."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from environments.cards.expression import Arithmetic, formula_value
from environments.cards.solutions import solutions
from environments.experts import Advice
from environments.game_env import Outcome

NUMBERS = tuple(str(number) for number in range(1, 11))
_SUITS = "HSDC"
_RANKS = "A23456789TJQK"
_WIN_REWARD = 10.0


@dataclass(frozen=True, slots=True)
class Card:
    """A playing card.

    Attributes:
        code: Suit and rank, e.g. ``"HT"``.
        number: What it counts: 1 to 10, 10 for a face.
    """

    code: str
    number: int


def card_of_rank(rank: int, rng: np.random.Generator) -> Card:
    """A card of a rank from 1 (ace) to 13 (king), of a random suit."""
    suit = _SUITS[rng.integers(len(_SUITS))]
    return Card(suit + _RANKS[rank - 1], min(rank, 10))


@dataclass(frozen=True, slots=True, kw_only=True)
class FormulaRules:
    """What is asked for.

    Attributes:
        target: The number to make.
        operators: The tokens besides numbers and ``=``.
        max_tokens: An action after more tokens than these ends the episode.
    """

    target: int
    operators: str
    max_tokens: int

    @property
    def keywords(self) -> tuple[str, ...]:
        """All actions that are ever understood."""
        return (*NUMBERS, *self.operators, "=")


class FormulaGame:
    """Reward 10 for a right formula of all cards at ``=``, otherwise nothing."""

    def __init__(
        self, cards: tuple[Card, ...], rules: FormulaRules, arithmetic: Arithmetic
    ) -> None:
        self.cards = cards
        self.rules = rules
        self.arithmetic = arithmetic
        self.formula: tuple[str, ...] = ()
        self.won = False

    @property
    def instruction(self) -> str:
        """What to make."""
        return f"make {self.rules.target} using the number of every card exactly once"

    def observation(self) -> str:
        """Cards, their numbers, and the formula so far."""
        codes = [card.code for card in self.cards]
        numbers = [card.number for card in self.cards]
        formula = "".join(self.formula)
        return f"Cards: {codes}. Numbers: {numbers}. Current formula: {formula}."

    def unused_numbers(self) -> list[int]:
        """The numbers of the cards that are not in the formula yet, ascending."""
        unused = sorted(card.number for card in self.cards)
        for token in self.formula:
            if token in NUMBERS:
                unused.remove(int(token))
        return unused

    def admissible_actions(self) -> tuple[str, ...]:
        """The unused numbers, the operators and ``=``."""
        numbers = dict.fromkeys(map(str, self.unused_numbers()))
        return (*numbers, *self.rules.operators, "=")

    def state_key(self) -> Hashable:
        """The cards and the tokens of the formula."""
        return tuple(card.code for card in self.cards), self.formula

    def play(self, action: str) -> Outcome:
        """Add a token; ``=`` ends the game."""
        is_cut = len(self.formula) > self.rules.max_tokens
        if action not in self.rules.keywords:
            remark = f"Nothing happens: the actions are {self._listed_actions()}."
            return Outcome(reward=0.0, is_rejected=True, is_cut=is_cut, remark=remark)
        if action in NUMBERS and int(action) not in self.unused_numbers():
            remark = "Nothing happens: no unused card has that number."
            return Outcome(reward=0.0, is_rejected=True, is_cut=is_cut, remark=remark)
        if action == "=":
            self.won = self._is_right()
        self.formula = (*self.formula, action)
        if action == "=":
            return Outcome(reward=_WIN_REWARD if self.won else 0.0, is_over=True)
        return Outcome(reward=0.0, is_cut=is_cut)

    def figures(self) -> dict[str, float]:
        """How many cards are in the formula."""
        return {"num_cards_used": float(len(self.cards) - len(self.unused_numbers()))}

    def _is_right(self) -> bool:
        if self.unused_numbers():
            return False
        return formula_value(self.formula, self.arithmetic) == self.rules.target

    def _listed_actions(self) -> str:
        return f"the numbers of unused cards, {' '.join(self.rules.operators)} and ="


class FormulaExpert:
    """Writes a shortest right formula, going on from what is written already."""

    def __init__(self, game: FormulaGame) -> None:
        self._game = game

    def next_action(self) -> Advice:
        """The next token; ``=``, which ends it, if nothing right can follow."""
        game = self._game
        numbers = tuple(sorted(card.number for card in game.cards))
        operators = game.rules.operators.replace("(", "").replace(")", "")
        written = game.formula
        for formula in solutions(
            numbers, game.rules.target, operators, game.arithmetic
        ):
            if formula[: len(written)] == written:
                rest = (*formula[len(written) :], "=")
                return Advice(action=rest[0], thought="".join((*formula, "=")))
        return Advice(action="=", thought="no way left")
