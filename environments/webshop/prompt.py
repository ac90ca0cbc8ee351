"""How a shopping goal is put to a model: pure, and each wording has a version."""

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
from environments.prompting import ChatMessage, ParsedAction, PromptContext
from environments.webshop.pages import SEPARATOR

PromptStyle: TypeAlias = Literal["full", "compact"]

# Danger: raise the number with every change of a rendered text; results are stored
# under it, and figures of different prompts must not be compared.
PROMPT_VERSIONS: dict[PromptStyle, str] = {
    "full": "webshop-full-1",
    "compact": "webshop-compact-1",
}
SEARCH_ENTRY = "search[<your query>]"
_NUM_FALLBACK_CHARACTERS = 20
_RICH_MARK = re.compile(r"\[(clicked )?button\] (.*) \[(?:clicked )?button_\]")
_UNTOLD = frozenset({"", "Rating: N.A.", "Description", "Features", "Reviews"})


@dataclass(frozen=True, slots=True, kw_only=True)
class WebShopPrompt:
    """Template of the shop: one user message per step.

    Attributes:
        style: ``"full"`` tells what the prompt of the published runs tells (role,
            task, steps taken and the last ones, page, actions, format);
            ``"compact"`` tells task, past actions and page in a fraction of the
            tokens and leaves the format to be learned, for small models.
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
        """Names wording, window and rules, e.g. ``webshop-full-1/k2/strict-1/…``."""
        return "/".join(
            (
                PROMPT_VERSIONS[self.style],
                f"k{self.history_window}",
                PARSER_VERSIONS[self.parsing],
                f"thought-{self.thought}",
            )
        )

    def messages(self, context: PromptContext) -> list[ChatMessage]:
        """The single user message that asks for the next action."""
        render = _full if self.style == "full" else _compact
        return [{"role": "user", "content": render(context)}]

    def parse(
        self, text: str, admissible_actions: tuple[str, ...] | None
    ) -> ParsedAction:
        """The action in a reply; every query fills in the listed search."""
        return parse_action(
            text,
            admissible_actions,
            parsing=self.parsing,
            thought=self.thought,
            num_fallback_characters=_NUM_FALLBACK_CHARACTERS,
        )

    def response(self, thought: str, action: str) -> str:
        """The reply that :meth:`parse` reads back as ``action``, for demonstrations."""
        block = f"<think>{thought}</think>" if thought else ""
        return f"{block}<action>{action}</action>"


def bare_observation(observation: str, instruction: str) -> str:
    """A page without the instruction, which a prompt states itself, in either form."""
    for head in (
        f"Instruction:{SEPARATOR}{instruction.strip()}{SEPARATOR}",
        f"Instruction:\n{instruction}\n",
        f"Instruction: \n{instruction}\n",
    ):
        before, found, after = observation.partition(head)
        if found:
            return before + after
    return observation


def _full(context: PromptContext) -> str:
    parts = [
        "You are shopping on the web site WebShop. Find the product that is asked for, "
        "choose the right options and buy it.",
        f"Your task: {context.instruction}",
    ]
    if context.num_steps_taken:
        parts.append(_full_history(context))
    page = bare_observation(context.observation, context.instruction)
    parts.append(f"Step {context.num_steps_taken + 1}. The page you see now:\n{page}")
    choice = "one action"
    if context.admissible_actions is not None:
        listed = "\n".join(f"'{action}'" for action in context.admissible_actions)
        parts.append(f"Actions that are possible now:\n{listed}")
        choice = "one of these actions"
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
    for number, entry in enumerate(context.history, first):
        page = bare_observation(entry.observation, context.instruction)
        lines.append(
            f"[Observation {number}: '{page}', Action {number}: '{entry.action}']"
        )
    return "\n".join(lines)


def _compact(context: PromptContext) -> str:
    lines = [f"task: {context.instruction}"]
    # A past page is long and seldom matters; the action tells what came of it.
    lines += [f"past: {entry.action}" for entry in context.history]
    page = bare_observation(context.observation, context.instruction)
    lines.append(f"see: {' | '.join(_compact_parts(page))}")
    return "\n".join(lines)


def _compact_parts(page: str) -> list[str]:
    """The parts of a page as clicks name them, in lower case.

    A star marks what was clicked, in the rich form.
    """
    separator = SEPARATOR if SEPARATOR in page else "\n"
    parts = (_RICH_MARK.sub(_starred, part).strip() for part in page.split(separator))
    return [
        part.lower()
        for part in parts
        if part not in _UNTOLD and not part.startswith("You have clicked ")
    ]


def _starred(mark: re.Match[str]) -> str:
    return f"*{mark[2]}" if mark[1] else mark[2]


def _check(name: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise ValueError(f"{name}={value!r}: choose one of {list(known)}")
