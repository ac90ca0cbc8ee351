"""What the prompt templates of this package share: settings, version, layout."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

from environments.choices import check_choice
from environments.parsing import PARSER_VERSIONS, Parsing, Thought
from environments.prompting import ChatMessage, PromptContext, PromptTemplate

PromptStyle: TypeAlias = Literal["full", "compact"]
PromptSetting: TypeAlias = PromptTemplate | Mapping[str, Any] | None
"""A template, the settings of an environment's own one, or None for its defaults."""

# Danger: with a change of these words, or of `inline_history`, raise the version of
# every wording that uses them; figures of different prompts must not be compared.
THINK_THEN_ACT = (
    "First think step by step about what to do, between <think> and </think>. "
    "Then give exactly {choice} between <action> and </action>."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StyledPrompt(ABC):
    """One user message per step, in full words or in few tokens.

    Attributes:
        style: ``"full"`` tells what the prompt of the published runs tells;
            ``"compact"`` tells what changes in a fraction of the tokens and leaves the
            rest, the format included, to be learned, for small models.
        history_window: How many past steps are shown; 2 in the published runs.
        thought: Whether a reply must hold a think block (strict parsing only).
        parsing: The rules a reply is read by; see ``environments.parsing``.

    Raises:
        ValueError: A setting is out of range.
    """

    parser_versions: ClassVar[Mapping[Parsing, str]] = PARSER_VERSIONS

    style: PromptStyle = "full"
    history_window: int = 2
    thought: Thought = "required"
    parsing: Parsing = "strict"

    def __post_init__(self) -> None:
        check_choice("style", self.style, ("full", "compact"))
        check_choice("thought", self.thought, ("required", "optional"))
        check_choice("parsing", self.parsing, tuple(self.parser_versions))
        if self.history_window < 0:
            raise ValueError(f"history_window={self.history_window}: must be >= 0")

    @property
    @abstractmethod
    def wording_version(self) -> str:
        """Names environment, style and version of the words, ``household-full-1``."""

    @property
    def version(self) -> str:
        """Names wording, window and rules, ``household-full-1/k2/strict-1/…``."""
        return "/".join(
            (
                self.wording_version,
                f"k{self.history_window}",
                self.parser_versions[self.parsing],
                f"thought-{self.thought}",
            )
        )

    def messages(self, context: PromptContext) -> list[ChatMessage]:
        """The single user message that asks for the next action."""
        content = self.full(context) if self.style == "full" else self.compact(context)
        return [{"role": "user", "content": content}]

    @abstractmethod
    def full(self, context: PromptContext) -> str:
        """The message in full words."""

    @abstractmethod
    def compact(self, context: PromptContext) -> str:
        """The message in few tokens."""

    def response(self, thought: str, action: str) -> str:
        """The reply that ``parse`` reads back as ``action``, for demonstrations."""
        block = f"<think>{thought}</think>" if thought else ""
        return f"{block}<action>{action}</action>"


def make_prompt(
    setting: PromptSetting, make: Callable[..., PromptTemplate]
) -> PromptTemplate:
    """The template that a setting means.

    Args:
        setting: See :data:`PromptSetting`.
        make: Makes the environment's own template from keyword arguments.
    """
    if setting is None:
        return make()
    if isinstance(setting, Mapping):
        return make(**setting)
    return setting


def inline_history(context: PromptContext, show: Callable[[str], str]) -> str:
    """How many steps were taken, and the last ones, one a line.

    Args:
        context: With at least one step taken.
        show: Shortens a past observation.
    """
    head = f"Steps taken so far: {context.num_steps_taken}."
    if not context.history:
        return head
    first = context.num_steps_taken - len(context.history) + 1
    return "\n".join(
        [
            f"{head} The last {len(context.history)}:",
            *(
                f"[Observation {number}: '{show(entry.observation)}', "
                f"Action {number}: '{entry.action}']"
                for number, entry in enumerate(context.history, first)
            ),
        ]
    )
