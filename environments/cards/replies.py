"""How replies of the card games were read in the published runs."""

from __future__ import annotations

from collections.abc import Sequence

from environments.parsing import InvalidReason
from environments.prompting import ParsedAction

_ACTION_KEY = '"action":'


def parse_official_json(
    text: str, admissible_actions: Sequence[str] | None, *, keywords: Sequence[str]
) -> ParsedAction:
    """The one keyword after ``"action":``, defects included, except that none raises.

    Without that key only the last character is looked at. A keyword counts inside
    other words too; two different ones, or none, make the reply invalid.

    Args:
        text: The model's text.
        admissible_actions: Only sets ``is_admissible``; officially nobody looked.
        keywords: All actions of the game.
    """
    lowered = text.lower()
    start = lowered.find(_ACTION_KEY)
    rest = lowered[-1:] if start < 0 else lowered[start + len(_ACTION_KEY) :]
    found = []
    for keyword in sorted(keywords, key=len, reverse=True):
        if keyword in rest:
            found.append(keyword)
            rest = rest.replace(keyword, " ")  # So that a 10 is no 1.
    if len(found) != 1:
        reason = InvalidReason.SEVERAL_ACTIONS if found else InvalidReason.NO_ACTION
        return ParsedAction(
            action="", is_valid=False, is_admissible=False, reason=reason.value
        )
    is_admissible = admissible_actions is None or found[0] in admissible_actions
    return ParsedAction(
        action=found[0],
        is_valid=True,
        is_admissible=is_admissible,
        reason="" if is_admissible else InvalidReason.NOT_ADMISSIBLE.value,
    )
