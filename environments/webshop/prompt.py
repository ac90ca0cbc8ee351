"""How a shopping goal is put to a model: pure, and each wording has a version."""

from __future__ import annotations

import re
from dataclasses import dataclass

from environments.parsing import parse_action
from environments.prompting import ParsedAction, PromptContext
from environments.styled_prompt import (
    THINK_THEN_ACT,
    PromptStyle,
    StyledPrompt,
    inline_history,
)
from environments.webshop.pages import SEPARATOR

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
class WebShopPrompt(StyledPrompt):
    """Template of the shop.

    In full it tells role, task, steps taken and the last ones, page, actions and
    format; compact it tells task, past actions and page. Settings are those of
    :class:`StyledPrompt`.
    """

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
        """The action in a reply; every query fills in the listed search."""
        return parse_action(
            text,
            admissible_actions,
            parsing=self.parsing,
            thought=self.thought,
            num_fallback_characters=_NUM_FALLBACK_CHARACTERS,
        )


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
        parts.append(
            inline_history(
                context, lambda page: bare_observation(page, context.instruction)
            )
        )
    page = bare_observation(context.observation, context.instruction)
    parts.append(f"Step {context.num_steps_taken + 1}. The page you see now:\n{page}")
    choice = "one action"
    if context.admissible_actions is not None:
        listed = "\n".join(f"'{action}'" for action in context.admissible_actions)
        parts.append(f"Actions that are possible now:\n{listed}")
        choice = "one of these actions"
    parts.append(THINK_THEN_ACT.format(choice=choice))
    return "\n\n".join(parts)


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
