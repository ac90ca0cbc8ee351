"""The value of a formula, by Python's grammar but never by Python's ``eval``."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, Literal, TypeAlias

Arithmetic: TypeAlias = Literal["exact", "official"]
Value: TypeAlias = Fraction | float
_Operation: TypeAlias = Callable[[Any, Any], Any]

ARITHMETICS = ("exact", "official")
# Larger powers equal no target, and would take for ever.
_LARGEST_BASE = 1e6
_LARGEST_EXPONENT = 64

_EXACT: dict[type[ast.operator], _Operation] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


def formula_value(tokens: Sequence[str], arithmetic: Arithmetic) -> Value | None:
    """The value of a formula, or None if it has none.

    Args:
        tokens: Numbers, ``+ - * /`` and brackets.
        arithmetic: ``"exact"``: fractions, each token by itself. ``"official"``: as
            in the published environment, whose formulas were text in floating point,
            so that adjacent numbers join, ``* *`` is a power, ``/ /`` a floor
            division, and ``8/(3-8/3)`` is not quite 24.
    """
    text = (" " if arithmetic == "exact" else "").join(tokens)
    try:
        tree = ast.parse(text, mode="eval")
        return _value(tree.body, arithmetic)
    except (SyntaxError, ZeroDivisionError, OverflowError, _NoValueError):
        return None


class _NoValueError(Exception):
    """The formula is grammatical but means no number."""


def _value(node: ast.expr, arithmetic: Arithmetic) -> Value:
    match node:
        case ast.Constant(value=int(number)) if not isinstance(number, bool):
            return Fraction(number) if arithmetic == "exact" else float(number)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return _value(operand, arithmetic)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, arithmetic)
        case ast.BinOp(left=left, op=op, right=right):
            operation = _operation(op, arithmetic)
            value: Value = operation(
                _value(left, arithmetic), _value(right, arithmetic)
            )
            return value
    raise _NoValueError


def _operation(op: ast.operator, arithmetic: Arithmetic) -> _Operation:
    if type(op) in _EXACT:
        return _EXACT[type(op)]
    if arithmetic == "official":
        if isinstance(op, ast.FloorDiv):
            return operator.floordiv
        if isinstance(op, ast.Pow):
            return _power
    raise _NoValueError


def _power(base: float, exponent: float) -> float:
    if abs(base) > _LARGEST_BASE or abs(exponent) > _LARGEST_EXPONENT:
        raise _NoValueError
    if base < 0 and not exponent.is_integer():
        raise _NoValueError  # Such powers are complex.
    value: float = base**exponent
    return value
