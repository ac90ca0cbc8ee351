"""What was found, as the text that an agent reads. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Literal, TypeAlias

from environments.search.corpus import Passage

InformationStyle: TypeAlias = Literal["search-r1", "json", "plain"]
INFORMATION_STYLES: tuple[InformationStyle, ...] = ("search-r1", "json", "plain")
NOTHING_FOUND = "No passage was found."

# A passage must not be able to speak for the agent or close the block it stands in.
_PROTOCOL_TAG = re.compile(r"</?(?:think|search|information|answer)>", re.IGNORECASE)


def information(
    passages: Sequence[Passage], style: InformationStyle, max_characters: int
) -> str:
    """The observation after a search.

    Args:
        passages: What was found, best first.
        style: ``"search-r1"``: a line ``Doc 1(Title: "T") text`` each; ``"json"``:
            lines ``Doc 1: "T"``, newline, text, in a JSON string, as in the published
            GiGPO runs; ``"plain"``: the bare texts, a line each.
        max_characters: Of a passage's text; what is beyond is cut.

    Returns:
        The passages between ``<information>`` tags, without tags of the protocol.
    """
    lines = [
        _line(number, passage, style, max_characters)
        for number, passage in enumerate(passages, 1)
    ]
    text = _PROTOCOL_TAG.sub("", "\n".join(lines)).strip() or NOTHING_FOUND
    if style == "json":
        text = json.dumps({"result": text}, ensure_ascii=False)
    return f"<information>{text}</information>"


def _line(
    number: int, passage: Passage, style: InformationStyle, max_characters: int
) -> str:
    text = passage.text[:max_characters].rstrip()
    if style == "plain":
        return text
    if style == "json":
        return f'Doc {number}: "{passage.title}"\n{text}'
    return f'Doc {number}(Title: "{passage.title}") {text}'
