"""Exact match, every case worked out by hand."""

from __future__ import annotations

import pytest

from environments.search.exact_match import exact_match, normalize_answer


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("The Beatles", "beatles"),
        ("  An   Apple a Day! ", "apple day"),
        ("U.S.A.", "usa"),
        ("rock-and-roll", "rockandroll"),
        ("Theodore", "theodore"),
        ("Anna and the banana", "anna and banana"),
        # Punctuation goes first, so an article may appear or vanish by it.
        ("th-e end", "end"),
        ("A.B.", "ab"),
        # Only ASCII punctuation is punctuation.
        ("“quoted”", "“quoted”"),
        ("1,000", "1000"),
        ("Ångström", "ångström"),
        ("line\nbreak\tand tab", "line break and tab"),
        ("", ""),
        (" \n", ""),
    ],
)
def test_normal_forms(text: str, normal: str) -> None:
    assert normalize_answer(text) == normal


@pytest.mark.parametrize(
    ("answer", "golden", "is_right"),
    [
        ("the Beatles.", ["Beatles"], True),
        ("Lennon", ["John Lennon", "lennon"], True),
        ("John", ["John Lennon"], False),
        ("John Lennon, singer", ["John Lennon"], False),
        ("1974", ["1974"], True),
        ("in 1974", ["1974"], False),
        ("yes", ["Yes"], True),
        ("anything", [], False),
        ("", ["The"], False),
        ("  ", [""], False),
        # Answers made of articles or punctuation only are not all the same.
        ("a", ["A"], True),
        ("the", ["A"], False),
        ("!!!", ["!!!"], True),
        ("???", ["!!!"], False),
    ],
)
def test_any_golden_answer_must_be_equal(
    answer: str, golden: list[str], is_right: bool
) -> None:
    assert exact_match(answer, golden) is is_right
