"""How a question is put to a model: pure, and each wording has a version."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from environments.parsing import Parsing
from environments.prompting import ParsedAction, PromptContext
from environments.search.actions import parse_reply
from environments.styled_prompt import PromptStyle, StyledPrompt

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
class SearchPrompt(StyledPrompt):
    """Template of question answering.

    In full it tells question, steps taken with what was found, how to search and how
    to answer; compact it tells question and findings only. Settings are those of
    :class:`StyledPrompt`; replies are read as ``environments.search.actions`` says.

    Attributes:
        history_window: 4, thus all steps, in the published runs.
    """

    parser_versions: ClassVar[Mapping[Parsing, str]] = _PARSER_VERSIONS

    history_window: int = 4

    @property
    def wording_version(self) -> str:
        """See :class:`StyledPrompt`."""
        return PROMPT_VERSIONS[self.style]

    def full(self, context: PromptContext) -> str:
        """See :class:`StyledPrompt`."""
        return _full(context)

    def compact(self, context: PromptContext) -> str:
        """See :class:`StyledPrompt`."""
        return _compact(context)

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
