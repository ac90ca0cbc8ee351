"""Refusing a setting that is none of a few words."""

from __future__ import annotations

from collections.abc import Sequence


def check_choice(name: str, value: str, known: Sequence[str]) -> None:
    """Check that a setting has one of its known values.

    Raises:
        ValueError: It has not; the message names setting, value and choices.
    """
    if value not in known:
        raise ValueError(f"{name}={value!r}: choose one of {list(known)}")
