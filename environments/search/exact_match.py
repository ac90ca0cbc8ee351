"""Exact match of an answer, the measure of open-domain question answering. Pure."""

from __future__ import annotations

import re
import string
from collections.abc import Iterable

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalize_answer(text: str) -> str:
    """Lower case, without ASCII punctuation and articles, single blanks.

    Where that leaves nothing (a grade "A", a band "!!!"), articles and then
    punctuation stay, so that such answers are not all the same. The published scorer
    leaves them empty; that is the only difference.
    """
    lowered = text.lower()
    bare = lowered.translate(_PUNCTUATION)
    for form in (_ARTICLES.sub(" ", bare), bare, lowered):
        if squeezed := " ".join(form.split()):
            return squeezed
    return ""


def exact_match(answer: str, golden_answers: Iterable[str]) -> bool:
    """Whether an answer equals any of the golden ones once all are normalised.

    An answer of nothing but blanks matches nothing.
    """
    normalized = normalize_answer(answer)
    return bool(normalized) and any(
        normalized == normalize_answer(golden) for golden in golden_answers
    )
