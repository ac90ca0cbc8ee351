"""The name that was probably meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest_name(name: str, known: Iterable[str]) -> str:
    """The known name most like ``name``; case does not count."""
    lowered = name.lower()
    return max(
        sorted(known),
        key=lambda other: difflib.SequenceMatcher(None, lowered, other.lower()).ratio(),
    )
