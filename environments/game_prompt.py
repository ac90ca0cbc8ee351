"""How a game is put to a model: one layout, filled by the wording of each game."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
    ParsedAction,
    PromptContext,
)

GamePromptStyle: TypeAlias = Literal["full", "compact"]
ReplyFormat: TypeAlias = Literal["tags", "json"]
GameParser: TypeAlias = Callable[[str, Sequence[str] | None], ParsedAction]

_STYLES = ("full", "compact")
_REPLY_DEMANDS: dict[ReplyFormat, str] = {
    "tags": (
        "First think step by step about what to do, between <think> and </think>. "
        "Then give exactly one of these actions between <action> and </action>."
    ),
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
class GamePrompt:
    """Template of a game: one user message per step.

    Attributes:
        wording: The game's own part.
        style: ``"full"`` states rules, task, history, observation, actions and
            format; ``"compact"`` states the observation and what differs between
            episodes, and leaves the rest to be learned, for small models.
        history_window: How many past steps are shown; 2 in the published text runs.
        thought: Whether a reply must hold a think block (strict parsing only).
        parsing: ``"strict"``, or ``"official"`` for the form of reply and the rules
            of the published runs.
    """

    wording: GameWording
    style: GamePromptStyle = "full"
    history_window: int = 2
    thought: Thought = "required"
    parsing: Parsing = "strict"

    def __post_init__(self) -> None:
        _check("style", self.style, _STYLES)
        _check("thought", self.thought, ("required", "optional"))
        _check("parsing", self.parsing, tuple(PARSER_VERSIONS))
        if self.history_window < 0:
            raise ValueError(f"history_window={self.history_window}: must be >= 0")
        if self.parsing == "official" and self.wording.official_parser is None:
            raise ValueError(
                f"parsing='official': no published run played {self.wording.name}; "
                "use 'strict'"
            )

    @property
    def version(self) -> str:
        """Names wording, window and rules, e.g. ``sokoban-full-1/k2/strict-1/…``."""
        return "/".join(
            (
                f"{self.wording.name}-{self.style}-{self.wording.version}",
                f"k{self.history_window}",
                PARSER_VERSIONS[self.parsing],
                f"thought-{self.thought}",
            )
        )

    @property
    def reply_format(self) -> ReplyFormat:
        """The form of reply that is asked for."""
        return self.wording.official_reply if self.parsing == "official" else "tags"

    def messages(self, context: PromptContext) -> list[ChatMessage]:
        """The single user message that asks for the next action."""
        content = (
            self._full(context) if self.style == "full" else self._compact(context)
        )
        return [{"role": "user", "content": content}]

    def parse(
        self, text: str, admissible_actions: tuple[str, ...] | None
    ) -> ParsedAction:
        """The action in a reply."""
        if self.parsing == "official" and self.wording.official_parser is not None:
            return self.wording.official_parser(text, admissible_actions)
        return parse_action(text, admissible_actions, thought=self.thought)

    def _full(self, context: PromptContext) -> str:
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

    def _compact(self, context: PromptContext) -> str:
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


def _check(name: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise ValueError(f"{name}={value!r}: choose one of {list(known)}")
