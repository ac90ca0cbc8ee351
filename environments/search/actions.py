"""The two things an agent can do, search and answer, and finding them in text. Pure.

An action is text with its tags, ``<search>query</search>`` or
``<answer>text</answer>``, the form in which histories hold it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

from environments.parsing import (
    InvalidReason,
    Parsing,
    Tag,
    Thought,
    find_tags,
    tags_after_thought,
)
from environments.prompting import ParsedAction

ActionKind: TypeAlias = Literal["search", "answer"]
_KINDS: tuple[ActionKind, ...] = ("search", "answer")
_TAGS = {
    kind: (re.compile(f"<{kind}>", re.I), re.compile(f"</{kind}>", re.I))
    for kind in _KINDS
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchAction:
    """An action.

    Attributes:
        kind: Whether to search or to answer.
        text: The query, or the answer, without outer blanks.
    """

    kind: ActionKind
    text: str

    def __str__(self) -> str:
        return f"<{self.kind}>{self.text}</{self.kind}>"


def read_action(text: str) -> SearchAction | None:
    """The first complete search block, else the first complete answer block, if any."""
    for kind, (opening_tag, closing_tag) in _TAGS.items():
        opening = opening_tag.search(text)
        closing = opening and closing_tag.search(text, opening.end())
        if opening and closing:
            inner = text[opening.end() : closing.start()].strip()
            return SearchAction(kind=kind, text=inner)
    return None


def parse_reply(
    text: str, *, parsing: Parsing = "strict", thought: Thought = "required"
) -> ParsedAction:
    """The action in a model's reply. No text raises.

    Args:
        text: The model's text without end-of-sequence tokens.
        parsing: ``"strict"`` (:func:`parse_strict`) or ``"official"``
            (:func:`parse_official`).
        thought: Whether a think block must be there (strict rules only).
    """
    if parsing == "official":
        return parse_official(text)
    return parse_strict(text, thought=thought)


def parse_strict(text: str, *, thought: Thought = "required") -> ParsedAction:
    """A thought, then one block, search or answer, that is not empty.

    Tags may have any case; text outside the blocks is ignored, and so are tags inside
    the thought. Runs of blanks in the block count as one. A reply that breaks the
    rules gives the empty action.
    """
    tags, reason = tags_after_thought(find_tags(text, _KINDS), thought)
    if reason is None:
        reason = _fault(tags)
    if reason is not None:
        return _invalid("", reason)
    opening, closing = tags
    inner = " ".join(text[opening.end : closing.start].split())
    if not inner:
        return _invalid("", InvalidReason.EMPTY_ACTION)
    return ParsedAction(
        action=f"<{opening.name}>{inner}</{opening.name}>",
        is_valid=True,
        is_admissible=True,
    )


def parse_official(text: str) -> ParsedAction:
    """What the published runs did.

    The reply is cut after its first closing search tag, else after its first closing
    answer tag; :func:`read_action` of the rest is the action. Thoughts are not looked
    for. A reply with opening tags of both kinds, or two of one, is invalid and
    executed all the same.

    Source: the search environment published with arXiv 2505.10978.
    """
    cut = text
    for kind in _KINDS:
        end = f"</{kind}>"
        if end in text:
            cut = text[: text.index(end) + len(end)]
            break
    action = read_action(cut)
    if action is None:
        return _invalid("", InvalidReason.NO_ACTION)
    lowered = text.lower()
    if sum(lowered.count(f"<{kind}>") for kind in _KINDS) > 1:
        return _invalid(str(action), InvalidReason.SEVERAL_ACTIONS)
    return ParsedAction(action=str(action), is_valid=True, is_admissible=True)


def _fault(tags: list[Tag]) -> InvalidReason | None:
    """What is wrong with the tags outside the thought."""
    if not tags:
        return InvalidReason.NO_ACTION
    is_block = [(tag.is_closing, tag.name) for tag in tags[:2]] == [
        (False, tags[0].name),
        (True, tags[0].name),
    ]
    if not is_block:
        return InvalidReason.BROKEN_ACTION
    return InvalidReason.SEVERAL_ACTIONS if len(tags) > 2 else None


def _invalid(action: str, reason: InvalidReason) -> ParsedAction:
    return ParsedAction(
        action=action, is_valid=False, is_admissible=False, reason=reason.value
    )
