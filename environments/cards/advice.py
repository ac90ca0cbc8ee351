"""What the experts of these games say."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """An action and the reason for it.

    Attributes:
        action: An admissible action.
        thought: Why, in a few words.
    """

    action: str
    thought: str
