"""From a model's text to a :class:`ParsedAction`: one function per set of rules.

Pure, total (no text raises) and linear in the text's length. ``"strict"`` is the
default everywhere; ``"official"`` reproduces what published GiGPO runs accepted
(arXiv 2505.10978), for comparison with them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum
from functools import lru_cache
from typing import Literal, NamedTuple, TypeAlias

from environments.prompting import ParsedAction

Parsing: TypeAlias = Literal["strict", "official"]
Thought: TypeAlias = Literal["required", "optional"]

PARSER_VERSIONS: dict[Parsing, str] = {"strict": "strict-1", "official": "official-1"}

_PLACEHOLDER = re.compile(r"<[a-z][a-z ]*>")
_IDEOGRAPH = re.compile(r"[\u4e00-\u9fff]")


class InvalidReason(StrEnum):
    """Why a text gives no good action; independent of the text, so countable."""

    NO_THOUGHT = "no think tag"
    """A thought is required and there is no think tag at all."""
    BROKEN_THOUGHT = "think tags not paired"
    """A think tag without its partner, or the closing one first."""
    SEVERAL_THOUGHTS = "several thoughts"
    """More than one think block."""
    NO_ACTION = "no action tag"
    """No action tag outside the thought."""
    BROKEN_ACTION = "action tags not paired"
    """An action tag without its partner, or the closing one first."""
    ACTION_BEFORE_THOUGHT = "action before thought"
    """The action block does not come after the thought."""
    SEVERAL_ACTIONS = "several actions"
    """More than one action block outside the thought."""
    EMPTY_ACTION = "empty action"
    """Nothing but blanks between the action tags."""
    IDEOGRAPH = "ideograph"
    """A character of U+4E00 to U+9FFF (official rules only)."""
    NOT_ADMISSIBLE = "not admissible"
    """The format is right, but the action is not in the list that was shown."""


def parse_action(
    text: str,
    admissible_actions: Sequence[str] | None,
    *,
    parsing: Parsing = "strict",
    thought: Thought = "required",
    num_fallback_characters: int = 30,
) -> ParsedAction:
    """The action in a model's text, by the rules named ``parsing``.

    Args:
        text: The model's text without end-of-sequence tokens.
        admissible_actions: The list that was shown, or None if there was none.
        parsing: ``"strict"`` (:func:`parse_strict`) or ``"official"``
            (:func:`parse_official`).
        thought: Whether a think block must be there (strict rules only; the official
            ones always ask for one).
        num_fallback_characters: Of :func:`parse_official`.
    """
    if parsing == "strict":
        return parse_strict(text, admissible_actions, thought=thought)
    if parsing == "official":
        return parse_official(
            text,
            admissible_actions,
            num_fallback_characters=num_fallback_characters,
        )
    raise ValueError(f"parsing={parsing!r}: choose one of {sorted(PARSER_VERSIONS)}")


def parse_strict(
    text: str,
    admissible_actions: Sequence[str] | None,
    *,
    thought: Thought = "required",
) -> ParsedAction:
    """``<think>…</think><action>…</action>``: each block once, in this order.

    Tags may have any case. Text outside the blocks is ignored, and so are action tags
    inside the thought. Runs of blanks in the action count as one; an action that is
    listed but for its case takes the list's spelling. A text that breaks the rules
    gives the empty action.
    """
    outside, reason = tags_after_thought(find_tags(text, ("action",)), thought)
    if reason is None:
        reason = _action_fault(outside)
    if reason is not None:
        return _invalid(reason)
    opening, closing = outside
    action = " ".join(text[opening.end : closing.start].split())
    if not action:
        return _invalid(InvalidReason.EMPTY_ACTION)
    return _listed(action, admissible_actions)


def parse_official(
    text: str,
    admissible_actions: Sequence[str] | None,
    *,
    num_fallback_characters: int = 30,
) -> ParsedAction:
    """What the published runs did, defects included, except that it never raises.

    The lower-cased text between the first opening and the first closing action tag is
    the action, even if invalid and even if the closing tag comes first (the action is
    then empty and *valid*). Without both tags the last characters are the action.
    Invalid: an action tag missing, a think tag missing in exactly this case, or an
    ideograph anywhere.

    Args:
        text: As in :func:`parse_action`.
        admissible_actions: Only sets ``is_admissible``; the official runs never looked.
        num_fallback_characters: 30 in ALFWorld, 20 in WebShop.
    """
    lowered = text.lower()
    start, end = lowered.find("<action>"), lowered.find("</action>")
    reason: InvalidReason | None = None
    if start < 0 or end < 0:
        action = lowered[-num_fallback_characters:]
        reason = InvalidReason.NO_ACTION
    else:
        action = lowered[start + len("<action>") : end].strip()
        if "<think>" not in text or "</think>" not in text:
            reason = InvalidReason.NO_THOUGHT
        elif _IDEOGRAPH.search(text):
            reason = InvalidReason.IDEOGRAPH
    if reason is not None:
        return ParsedAction(
            action=action, is_valid=False, is_admissible=False, reason=reason.value
        )
    is_admissible = admissible_actions is None or is_listed(action, admissible_actions)
    return ParsedAction(
        action=action,
        is_valid=True,
        is_admissible=is_admissible,
        reason="" if is_admissible else InvalidReason.NOT_ADMISSIBLE.value,
    )


def is_listed(action: str, admissible_actions: Sequence[str]) -> bool:
    """Whether an action is in a list, its placeholders filled in.

    A placeholder is lower-case words in angle brackets; it stands for any text but the
    empty one: ``"search[red shoes]"`` is listed by ``"search[<your query>]"``.
    """
    return action in admissible_actions or any(
        pattern.fullmatch(action)
        for entry in admissible_actions
        if (pattern := _filled_in(entry)) is not None
    )


@lru_cache(maxsize=1024)
def _filled_in(entry: str) -> re.Pattern[str] | None:
    """What an entry with placeholders stands for; None for a plain one."""
    parts = _PLACEHOLDER.split(entry)
    if len(parts) == 1:
        return None
    return re.compile(".+".join(map(re.escape, parts)), re.DOTALL)


class Tag(NamedTuple):
    """A think or action tag and the span of text that it covers."""

    is_closing: bool
    name: str
    start: int
    end: int


def find_tags(text: str, names: Sequence[str]) -> list[Tag]:
    """The think tags of a text and those of the other names, in any case, in order."""
    pattern = re.compile(rf"<(/?)(think|{'|'.join(names)})>", re.IGNORECASE)
    return [
        Tag(bool(m[1]), m[2].lower(), m.start(), m.end())
        for m in pattern.finditer(text)
    ]


def tags_after_thought(
    tags: list[Tag], thought: Thought
) -> tuple[list[Tag], InvalidReason | None]:
    """The other tags outside the thought, or what is wrong with the thought."""
    thinks = [i for i, tag in enumerate(tags) if tag.name == "think"]
    if not thinks:
        reason = InvalidReason.NO_THOUGHT if thought == "required" else None
        return tags, reason
    kinds = [tags[i].is_closing for i in thinks]
    if len(thinks) > 2 and kinds[:2] == [False, True]:
        return [], InvalidReason.SEVERAL_THOUGHTS
    if kinds != [False, True]:
        return [], InvalidReason.BROKEN_THOUGHT
    if thinks[0] > 0:
        return [], InvalidReason.ACTION_BEFORE_THOUGHT
    return tags[thinks[1] + 1 :], None


def _action_fault(tags: list[Tag]) -> InvalidReason | None:
    kinds = [tag.is_closing for tag in tags]
    if not kinds:
        return InvalidReason.NO_ACTION
    if kinds == [False, True]:
        return None
    if len(kinds) > 2 and kinds[:2] == [False, True]:
        return InvalidReason.SEVERAL_ACTIONS
    return InvalidReason.BROKEN_ACTION


def _invalid(reason: InvalidReason) -> ParsedAction:
    return ParsedAction(
        action="", is_valid=False, is_admissible=False, reason=reason.value
    )


def _listed(action: str, admissible_actions: Sequence[str] | None) -> ParsedAction:
    """A well-formed action, in the list's spelling where only the case differs."""
    if admissible_actions is None or is_listed(action, admissible_actions):
        return ParsedAction(action=action, is_valid=True, is_admissible=True)
    folded = action.casefold()
    for listed in admissible_actions:
        if listed.casefold() == folded:
            return ParsedAction(action=listed, is_valid=True, is_admissible=True)
    return ParsedAction(
        action=action,
        is_valid=True,
        is_admissible=False,
        reason=InvalidReason.NOT_ADMISSIBLE.value,
    )
