"""From the state of an episode to chat messages, and back from text to an action."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol, TypedDict, runtime_checkable


class ChatMessage(TypedDict):
    """One message as chat templates take it."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryEntry:
    """A past step: what was seen and the action (never the thought) taken there."""

    observation: str
    action: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptContext:
    """All that a prompt may show.

    Attributes:
        instruction: The task in words.
        observation: The present observation.
        admissible_actions: As in ``StepInfo``.
        history: The steps to show, oldest first: at most the template's
            ``history_window`` last ones, fewer when the prompt must be shortened.
        num_steps_taken: Steps played in this episode so far; 0 at its start.
    """

    instruction: str
    observation: str
    admissible_actions: tuple[str, ...] | None
    history: tuple[HistoryEntry, ...]
    num_steps_taken: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedAction:
    """What a model's text amounts to.

    Attributes:
        action: What to pass to ``env.step``; the empty string when ``is_valid`` is
            false and the text is not to be executed.
        is_valid: Whether the text keeps the required format.
        is_admissible: Whether the action is in the list that was shown; true when
            there is no list. False whenever ``is_valid`` is false.
        reason: Why not, in a few words that do not depend on the text (so that they
            can be counted), e.g. ``"no action tag"``; empty for a good action.
    """

    action: str
    is_valid: bool
    is_admissible: bool
    reason: str = ""


class PromptTemplate(Protocol):
    """How one environment speaks to a model.

    A frozen dataclass may keep it: both attributes are only read.
    """

    @property
    def version(self) -> str:
        """Changes whenever a rendered prompt or a parsing rule changes.

        Stored with results.
        """
        ...

    @property
    def history_window(self) -> int:
        """How many past steps :meth:`messages` is given at most."""
        ...

    def messages(self, context: PromptContext) -> list[ChatMessage]:
        """The chat messages that ask for the next action. Pure."""
        ...

    def parse(
        self, text: str, admissible_actions: tuple[str, ...] | None
    ) -> ParsedAction:
        """The action in a model's text (without end-of-sequence tokens). Pure."""
        ...


@runtime_checkable
class ResponseWriter(Protocol):
    """A template that also writes replies, for demonstrations in a format of its own.

    Without it a reply is ``<think>thought</think><action>action</action>``.
    """

    def response(self, thought: str, action: str) -> str:
        """The reply that :meth:`PromptTemplate.parse` reads back as ``action``."""
        ...


def written_reply(prompt: PromptTemplate, thought: str, action: str) -> str:
    """A demonstration's reply, in the template's own format if it has one."""
    if isinstance(prompt, ResponseWriter):
        return prompt.response(thought, action)
    return f"<think>{thought}</think><action>{action}</action>"
