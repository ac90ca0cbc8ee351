"""All ways to make a number from cards, each as the tokens of a formula."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from environments.cards.expression import Arithmetic, formula_value

Tokens: TypeAlias = tuple[str, ...]

_SUM, _PRODUCT, _ATOM = range(3)
# The search is in floating point for speed; what it finds is checked exactly.
_TOLERANCE = 1e-6
_OPERATIONS: dict[str, Callable[[float, float], float]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
}


@lru_cache(maxsize=1024)
def solutions(
    numbers: tuple[int, ...], target: int, operators: str, arithmetic: Arithmetic
) -> tuple[Tokens, ...]:
    """The formulas that use each number once and make the target, shortest first.

    Brackets stand only where they are needed.

    Args:
        numbers: Of the cards, ascending; any order of them is tried.
        target: What to make.
        operators: Those of ``+-*/`` that are allowed.
        arithmetic: By which the formulas must come out right.
    """
    leaves = tuple(_Term(float(n), (str(n),), _ATOM) for n in numbers)
    found = {term.tokens for term in _combined(leaves, operators, target)}
    right = [t for t in found if formula_value(t, arithmetic) == target]
    return tuple(sorted(right, key=lambda tokens: (len(tokens), tokens)))


class _Term(NamedTuple):
    """A part of a formula: its value, its tokens, and how strongly it binds."""

    value: float
    tokens: Tokens
    binding: int


def _combined(terms: tuple[_Term, ...], operators: str, target: int) -> Iterator[_Term]:
    """Every term of all the given ones, two or more, that has the target's value."""
    is_last = len(terms) == 2
    tried = set()
    for i, left in enumerate(terms):
        for j, right in enumerate(terms):
            pair = (left.tokens, right.tokens)
            if i == j or pair in tried:
                continue
            tried.add(pair)
            rest = tuple(term for k, term in enumerate(terms) if k not in (i, j))
            for operator in operators:
                if operator == "/" and abs(right.value) < _TOLERANCE:
                    continue
                value = _OPERATIONS[operator](left.value, right.value)
                if is_last:
                    if abs(value - target) < _TOLERANCE:
                        yield _joined(left, operator, right, value)
                else:
                    joined = _joined(left, operator, right, value)
                    yield from _combined((*rest, joined), operators, target)


def _joined(left: _Term, operator: str, right: _Term, value: float) -> _Term:
    binding = _SUM if operator in "+-" else _PRODUCT
    # Between equals, a - (b + c) and a / (b * c) need brackets; a + (b - c) does not.
    weakest_right = binding + (operator in "-/")
    tokens = (
        *_bracketed(left, left.binding < binding),
        operator,
        *_bracketed(right, right.binding < weakest_right),
    )
    return _Term(value, tokens, binding)


def _bracketed(term: _Term, is_needed: bool) -> Tokens:
    return ("(", *term.tokens, ")") if is_needed else term.tokens
