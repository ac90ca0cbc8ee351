"""How a question is put to a model: pure, and each wording has a version."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

from environments.parsing import Parsing, Thought
from environments.prompting import ChatMessage, ParsedAction, PromptContext
from environments.search.actions import parse_reply

PromptStyle: TypeAlias = Literal["full", "compact"]

# Danger: raise the number with every change of a rendered text; results are stored
# under it, and figures of different prompts must not be compared.
PROMPT_VERSIONS: dict[PromptStyle, str] = {
    "full": "search-full-1",
    "compact": "search-compact-1",
}
_PARSER_VERSIONS: dict[Parsing, str] = {
    "strict": "search-strict-1",
    "official": "search-official-1",
}
_TAG = re.compile(r"</?(?:search|information|answer)>")


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchPrompt:
    """Template of question answering: one user message per step.

    Attributes:
        style: ``"full"`` tells what the prompt of the published runs tells (question,
            how to search and to answer, steps taken with what was found);
            ``"compact"`` tells question and findings only and leaves the format to be
            learned, for small models.
        history_window: How many past steps are shown; 4, thus all of them, in the
            published runs.
        thought: Whether a reply must hold a think block (strict parsing only).
        parsing: The rules a reply is read by; see ``environments.search.actions``.
    """

    style: PromptStyle = "full"
    history_window: int = 4
    thought: Thought = "required"
    parsing: Parsing = "strict"

    def __post_init__(self) -> None:
        _check("style", self.style, tuple(PROMPT_VERSIONS))
        _check("thought", self.thought, ("required", "optional"))
        _check("parsing", self.parsing, tuple(_PARSER_VERSIONS))
        if self.history_window < 0:
            raise ValueError(f"history_window={self.history_window}: must be >= 0")

    @property
    def version(self) -> str:
        """Names wording, window and rules, e.g. ``search-full-1/k4/…``."""
        return "/".join(
            (
                PROMPT_VERSIONS[self.style],
                f"k{self.history_window}",
                _PARSER_VERSIONS[self.parsing],
                f"thought-{self.thought}",
            )
        )

    def messages(self, context: PromptContext) -> list[ChatMessage]:
        """The single user message that asks for the next search or the answer."""
        render = _full if self.style == "full" else _compact
        return [{"role": "user", "content": render(context)}]

    def parse(
        self, text: str, admissible_actions: tuple[str, ...] | None
    ) -> ParsedAction:
        """The action in a reply; there is no list of admissible ones."""
        return parse_reply(text, parsing=self.parsing, thought=self.thought)

    def response(self, thought: str, action: str) -> str:
        """The reply that :meth:`parse` reads back as ``action``, for demonstrations."""
        block = f"<think>{thought}</think>" if thought else ""
        return f"{block}{action}"


def _rounds(context: PromptContext) -> list[tuple[int, str, str]]:
    """Number, action and what came of it, for every past step that is shown."""
    history = context.history
    came_of_it = [*(entry.observation for entry in history), context.observation][1:]
    first = context.num_steps_taken - len(history) + 1
    return [
        (number, entry.action, outcome)
        for number, (entry, outcome) in enumerate(
            zip(history, came_of_it, strict=True), first
        )
    ]


def _full(context: PromptContext) -> str:
    parts = [
        "You answer a question and may use a search engine on the way.",
        f"Question: {context.instruction}",
    ]
    if context.num_steps_taken:
        parts.append(f"Steps taken so far: {context.num_steps_taken}.")
    parts += [
        f"Step {number}: {action or '(nothing that could be carried out)'}\n{outcome}"
        for number, action, outcome in _rounds(context)
    ]
    if context.num_steps_taken and not context.history:
        parts.append(context.observation)
    parts.append(
        "First think between <think> and </think> about what you know and what is "
        "missing. Then do exactly one of two things. If something is missing, write a "
        "query between <search> and </search>; what is found will be shown between "
        "<information> and </information>. If you know the answer, write it between "
        "<answer> and </answer>, as briefly as possible and without explanation, for "
        "example <answer>Lisbon</answer>."
    )
    return "\n\n".join(parts)


def _compact(context: PromptContext) -> str:
    lines = [f"ask: {context.instruction}"]
    for _, action, outcome in _rounds(context):
        lines += [f"do: {_bare(action)}", f"see: {_bare(outcome)}"]
    if context.num_steps_taken and not context.history:
        lines.append(f"see: {_bare(context.observation)}")
    return "\n".join(lines)


def _bare(text: str) -> str:
    return _TAG.sub("", text)


def _check(name: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise ValueError(f"{name}={value!r}: choose one of {list(known)}")
