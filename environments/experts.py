"""What a scripted player looks like, for environments that have one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


class ExpertAdvice(Protocol):
    """What an expert would do now, and why in a few words."""

    @property
    def action(self) -> str:
        """An admissible action."""
        ...

    @property
    def thought(self) -> str:
        """The reason; short, since a model that imitates it samples every token."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """The simplest :class:`ExpertAdvice`.

    Attributes:
        action: An admissible action.
        thought: The reason, in a few words.
    """

    action: str
    thought: str


class ExpertPolicy(Protocol):
    """Plays the one episode it was made for."""

    def next_action(self) -> ExpertAdvice:
        """Advice for the environment's present state, whoever led there.

        Changes nothing in the environment.

        Raises:
            NoAdviceError: The task can no longer be solved.
        """
        ...
