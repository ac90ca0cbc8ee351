"""The best play of one hand for the chance to win, worked out exactly.

Cards are values from 1 (ace) to 10, the ten four times as likely as each other one.
A hand is its total and whether an ace counts 11 in it (a soft hand).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

BUST = 21
DEALER_STANDS_AT = 17
_VALUES = range(1, 11)


def hand_total(values: Sequence[int]) -> tuple[int, bool]:
    """The best total of a hand, and whether an ace counts 11 in it."""
    total = sum(values)
    is_soft = 1 in values and total + 10 <= BUST
    return (total + 10 if is_soft else total), is_soft


def should_hit(total: int, is_soft: bool, dealer: int) -> bool:
    """Whether a card more raises the chance to win.

    Args:
        total: Of the player's hand, 4 to 21.
        is_soft: Whether an ace counts 11 in it.
        dealer: The dealer's open card, 1 to 10.
    """
    return _hit_chance(total, is_soft, dealer) > _stand_chance(total, dealer)


def win_chance(total: int, is_soft: bool, dealer: int) -> float:
    """The chance to win by the best play from here; 0 over 21."""
    if total > BUST:
        return 0.0
    return max(_hit_chance(total, is_soft, dealer), _stand_chance(total, dealer))


def _probability(value: int) -> float:
    return (4 if value == 10 else 1) / 13


def _drawn(total: int, is_soft: bool, value: int) -> tuple[int, bool]:
    """The hand after one card more."""
    hard = total - 10 if is_soft else total
    has_ace = is_soft or value == 1
    total, is_soft = hard + value, has_ace and hard + value + 10 <= BUST
    return (total + 10 if is_soft else total), is_soft


@cache
def _hit_chance(total: int, is_soft: bool, dealer: int) -> float:
    return sum(
        _probability(value) * win_chance(*_drawn(total, is_soft, value), dealer)
        for value in _VALUES
    )


@cache
def _stand_chance(total: int, dealer: int) -> float:
    finals = _dealer_finals(*hand_total([dealer]))
    return sum(p for final, p in finals.items() if final > BUST or final < total)


@cache
def _dealer_finals(total: int, is_soft: bool) -> dict[int, float]:
    """The chance of each total that the dealer ends with."""
    if total >= DEALER_STANDS_AT:
        return {total: 1.0}
    finals: dict[int, float] = {}
    for value in _VALUES:
        after = _dealer_finals(*_drawn(total, is_soft, value))
        for final, probability in after.items():
            finals[final] = finals.get(final, 0.0) + _probability(value) * probability
    return finals
