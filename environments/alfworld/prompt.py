"""How a household task is put to a model: pure, and each wording has a version."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

from environments.parsing import (
    PARSER_VERSIONS,
    Parsing,
    Thought,
    parse_action,
)
from environments.prompting import (
    ChatMessage,
    HistoryEntry,
    ParsedAction,
    PromptContext,
)

PromptStyle: TypeAlias = Literal["full", "compact"]

# Danger: raise the number with every change of a rendered text; results are stored
# under it, and figures of different prompts must not be compared.
PROMPT_VERSIONS: dict[PromptStyle, str] = {
    "full": "household-full-1",
    "compact": "household-compact-1",
}

_HIDDEN_ACTIONS = frozenset({"help"})
_BANNER = re.compile(r"\A-= [^\n]*=-\s*")
_TASK_SENTENCE = re.compile(r"\s*Your task is to: [^\n]*\s*\Z")
_ROOM_INTRODUCTION = re.compile(
    r"You are in the middle of a room\. Looking quickly around you, "
)
_ARTICLE = re.compile(r"\b(?:and )?a (?=[a-z]+ \d)")


@dataclass(frozen=True, slots=True, kw_only=True)
class HouseholdPrompt:
    """Template of ALFWorld and of the generated houses: one user message per step.

    Attributes:
        style: ``"full"`` tells what the prompt of the published runs tells (role,
            task, steps taken and the last ones, observation, admissible commands one
            a line in quotes without ``help``, the format); ``"compact"`` tells the
            same world in a fraction of the tokens and leaves role and format to be
            learned, for small models.
        history_window: How many past steps are shown; 2 in the published runs.
        thought: Whether a reply must hold a think block (strict parsing only).
        parsing: The rules a reply is read by; see ``environments.parsing``.
    """

    style: PromptStyle = "full"
    history_window: int = 2
    thought: Thought = "required"
    parsing: Parsing = "strict"

    def __post_init__(self) -> None:
        _check("style", self.style, tuple(PROMPT_VERSIONS))
        _check("thought", self.thought, ("required", "optional"))
        _check("parsing", self.parsing, tuple(PARSER_VERSIONS))
        if self.history_window < 0:
            raise ValueError(f"history_window={self.history_window}: must be >= 0")

    @property
    def version(self) -> str:
        """Names wording, window and rules, e.g. ``household-full-1/k2/strict-1/…``."""
        return "/".join(
            (
                PROMPT_VERSIONS[self.style],
                f"k{self.history_window}",
                PARSER_VERSIONS[self.parsing],
                f"thought-{self.thought}",
            )
        )

    def messages(self, context: PromptContext) -> list[ChatMessage]:
        """The single user message that asks for the next command."""
        render = _full if self.style == "full" else _compact
        content = render(context, shown_actions(context.admissible_actions))
        return [{"role": "user", "content": content}]

    def parse(
        self, text: str, admissible_actions: tuple[str, ...] | None
    ) -> ParsedAction:
        """The command in a reply; one that was not shown is not admissible."""
        return parse_action(
            text,
            shown_actions(admissible_actions),
            parsing=self.parsing,
            thought=self.thought,
        )

    def response(self, thought: str, action: str) -> str:
        """The reply that :meth:`parse` reads back as ``action``, for demonstrations."""
        block = f"<think>{thought}</think>" if thought else ""
        return f"{block}<action>{action}</action>"


def shown_actions(actions: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """The admissible commands without those that a prompt leaves out."""
    if actions is None:
        return None
    return tuple(action for action in actions if action not in _HIDDEN_ACTIONS)


def bare_observation(observation: str) -> str:
    """An observation without the banner and the task, which a prompt states itself."""
    return _TASK_SENTENCE.sub("", _BANNER.sub("", observation)).strip()


def _full(context: PromptContext, actions: tuple[str, ...] | None) -> str:
    parts = [
        "You are a robot in a house and act through short text commands.",
        f"Your task: {context.instruction}",
    ]
    if context.num_steps_taken:
        parts.append(_full_history(context))
    parts.append(
        f"Step {context.num_steps_taken + 1}. What you see now: "
        f"{bare_observation(context.observation)}"
    )
    if actions is not None:
        listed = "\n".join(f"'{action}'" for action in actions)
        parts.append(f"Commands that are possible now:\n{listed}")
    choice = "one command" if actions is None else "one of these commands"
    parts.append(
        "First think step by step about what to do, between <think> and </think>. "
        f"Then give exactly {choice} between <action> and </action>."
    )
    return "\n\n".join(parts)


def _full_history(context: PromptContext) -> str:
    taken = context.num_steps_taken
    head = f"Steps taken so far: {taken}."
    if not context.history:
        return head
    lines = [f"{head} The last {len(context.history)}:"]
    first = taken - len(context.history) + 1
    lines += [
        f"[Observation {number}: '{bare_observation(entry.observation)}', "
        f"Action {number}: '{entry.action}']"
        for number, entry in enumerate(context.history, first)
    ]
    return "\n".join(lines)


def _compact(context: PromptContext, actions: tuple[str, ...] | None) -> str:
    lines = [f"task: {context.instruction}"]
    lines += [f"past: {_compact_step(entry)}" for entry in context.history]
    lines.append(f"see: {_short(context.observation)}")
    if actions is not None:
        lines.append(f"can: {' | '.join(actions)}")
    return "\n".join(lines)


def _compact_step(entry: HistoryEntry) -> str:
    return f"{_short(entry.observation)} > {entry.action}"


def _short(observation: str) -> str:
    """The observation without phrases that are the same in every game."""
    text = _ROOM_INTRODUCTION.sub("", bare_observation(observation))
    return _ARTICLE.sub("", text)


def _check(name: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise ValueError(f"{name}={value!r}: choose one of {list(known)}")
