"""How a household task is put to a model: pure, and each wording has a version."""

from __future__ import annotations

import re
from dataclasses import dataclass

from environments.parsing import parse_action
from environments.prompting import HistoryEntry, ParsedAction, PromptContext
from environments.styled_prompt import (
    THINK_THEN_ACT,
    PromptStyle,
    StyledPrompt,
    inline_history,
)

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
class HouseholdPrompt(StyledPrompt):
    """Template of ALFWorld and of the generated houses.

    In full it tells role, task, steps taken and the last ones, observation, admissible
    commands one a line in quotes without ``help``, and the format. Settings are those
    of :class:`StyledPrompt`.
    """

    @property
    def wording_version(self) -> str:
        """See :class:`StyledPrompt`."""
        return PROMPT_VERSIONS[self.style]

    def full(self, context: PromptContext) -> str:
        """See :class:`StyledPrompt`."""
        return _full(context, shown_actions(context.admissible_actions))

    def compact(self, context: PromptContext) -> str:
        """See :class:`StyledPrompt`."""
        return _compact(context, shown_actions(context.admissible_actions))

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
        parts.append(inline_history(context, bare_observation))
    parts.append(
        f"Step {context.num_steps_taken + 1}. What you see now: "
        f"{bare_observation(context.observation)}"
    )
    if actions is not None:
        listed = "\n".join(f"'{action}'" for action in actions)
        parts.append(f"Commands that are possible now:\n{listed}")
    choice = "one command" if actions is None else "one of these commands"
    parts.append(THINK_THEN_ACT.format(choice=choice))
    return "\n\n".join(parts)


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
