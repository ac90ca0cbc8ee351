"""How a game is put to a model: one layout, filled by the wording of each game."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from environments.parsing import parse_action
from environments.prompting import ParsedAction, PromptContext
from environments.styled_prompt import THINK_THEN_ACT, StyledPrompt

ReplyFormat: TypeAlias = Literal["tags", "json"]
GameParser: TypeAlias = Callable[[str, Sequence[str] | None], ParsedAction]

_REPLY_DEMANDS: dict[ReplyFormat, str] = {
    "tags": THINK_THEN_ACT.format(choice="one of these actions"),
    "json": (
        "Answer with one JSON object and nothing else: "
        '{"thoughts": "your reasoning, step by step", "action": "one of these '
        'actions"}'
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class GameWording:
    """What the prompts of one game say.

    Attributes:
        name: Names the game in the version of a prompt.
        version: Danger: raise it with every change of a rendered text; results are
            stored under it, and figures of different prompts must not be compared.
        rules: The role of the agent, the rules, and how to read an observation.
        is_uniform: Whether the task's words and the kinds of actions are the same in
            all episodes; compact prompts then leave them to be learnt.
        official_parser: Reads a reply as the published runs did; None where there
            were none.
        official_reply: The form of reply that those runs asked for.
    """

    name: str
    version: int
    rules: str
    is_uniform: bool
    official_parser: GameParser | None = None
    official_reply: ReplyFormat = "tags"


@dataclass(frozen=True, slots=True, kw_only=True)
class GamePrompt(StyledPrompt):
    """Template of a game.

    In full it tells rules, task, history, observation, actions and format; compact it
    tells the observation and what differs between episodes. Settings are those of
    :class:`StyledPrompt`.

    Attributes:
        wording: The game's own part.
        parsing: ``"strict"``, or ``"official"`` for the form of reply and the rules
            of the published runs.
    """

    wording: GameWording

    def __post_init__(self) -> None:
        # Danger: super() without arguments fails in a dataclass with slots.
        StyledPrompt.__post_init__(self)
        if self.parsing == "official" and self.wording.official_parser is None:
            raise ValueError(
                f"parsing='official': no published run played {self.wording.name}; "
                "use 'strict'"
            )

    @property
    def wording_version(self) -> str:
        """See :class:`StyledPrompt`."""
        return f"{self.wording.name}-{self.style}-{self.wording.version}"

    @property
    def reply_format(self) -> ReplyFormat:
        """The form of reply that is asked for."""
        return self.wording.official_reply if self.parsing == "official" else "tags"

    def parse(
        self, text: str, admissible_actions: tuple[str, ...] | None
    ) -> ParsedAction:
        """The action in a reply."""
        if self.parsing == "official" and self.wording.official_parser is not None:
            return self.wording.official_parser(text, admissible_actions)
        return parse_action(text, admissible_actions, thought=self.thought)

    def full(self, context: PromptContext) -> str:
        """See :class:`StyledPrompt`."""
        parts = [self.wording.rules, f"Your task: {context.instruction}"]
        if context.num_steps_taken:
            parts.append(_full_history(context))
        parts.append(
            f"Step {context.num_steps_taken + 1}. What you see now:\n"
            f"{context.observation}"
        )
        if context.admissible_actions is not None:
            listed = ", ".join(f"'{action}'" for action in context.admissible_actions)
            parts.append(f"Actions that are possible now: {listed}")
        parts.append(_REPLY_DEMANDS[self.reply_format])
        return "\n\n".join(parts)

    def compact(self, context: PromptContext) -> str:
        """See :class:`StyledPrompt`."""
        lines = [
            f"past: {entry.observation}\n> {entry.action}" for entry in context.history
        ]
        if not self.wording.is_uniform:
            lines.insert(0, f"task: {context.instruction}")
        lines.append(f"see: {context.observation}")
        if context.admissible_actions is not None and not self.wording.is_uniform:
            lines.append(f"can: {' | '.join(context.admissible_actions)}")
        return "\n".join(lines)


def _full_history(context: PromptContext) -> str:
    taken = context.num_steps_taken
    head = f"Steps taken so far: {taken}."
    if not context.history:
        return head
    lines = [f"{head} The last {len(context.history)}:"]
    first = taken - len(context.history) + 1
    for number, entry in enumerate(context.history, first):
        lines.append(f"Observation {number}:\n{entry.observation}")
        lines.append(f"Action {number}: '{entry.action}'")
    return "\n".join(lines)
