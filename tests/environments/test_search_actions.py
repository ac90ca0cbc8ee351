"""Replies of models to searches and answers, by both sets of rules."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from environments.parsing import InvalidReason
from environments.search.actions import (
    parse_official,
    parse_reply,
    parse_strict,
    read_action,
)

_PIECES = st.lists(
    st.sampled_from(
        [
            *("<think>", "</think>", "<search>", "</search>", "<answer>", "</answer>"),
            *(
                "<SEARCH>",
                "<",
                ">",
                "</",
                "İ",
                "\ud800",
                " ",
                "\n",
                "who",
                "<information>",
            ),
        ]
    )
    | st.text(max_size=5),
    max_size=30,
).map("".join)


@pytest.mark.parametrize(
    ("text", "action"),
    [
        (
            "<think>x</think><search>who wrote it</search>",
            "<search>who wrote it</search>",
        ),
        ("<think>x</think>\n<answer> 42 </answer> bye", "<answer>42</answer>"),
        ("<THINK>x</Think><Search>a\n b</SEARCH>", "<search>a b</search>"),
        (
            "<think><search>no</search></think><answer>yes</answer>",
            "<answer>yes</answer>",
        ),
    ],
)
def test_strict_takes_a_thought_and_one_block(text: str, action: str) -> None:
    parsed = parse_strict(text)
    assert (parsed.action, parsed.is_valid, parsed.is_admissible) == (
        action,
        True,
        True,
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("<search>a</search>", InvalidReason.NO_THOUGHT),
        ("<think>a", InvalidReason.BROKEN_THOUGHT),
        ("<think>a</think>", InvalidReason.NO_ACTION),
        ("<think>a</think><search>b", InvalidReason.BROKEN_ACTION),
        ("<think>a</think></search><search>b", InvalidReason.BROKEN_ACTION),
        ("<think>a</think><search>b</answer>", InvalidReason.BROKEN_ACTION),
        ("<think>a</think><search> \n</search>", InvalidReason.EMPTY_ACTION),
        ("<search>b</search><think>a</think>", InvalidReason.ACTION_BEFORE_THOUGHT),
        (
            "<think>a</think><search>b</search><answer>c</answer>",
            InvalidReason.SEVERAL_ACTIONS,
        ),
        (
            "<think>a</think><search>b</search><search>b</search>",
            InvalidReason.SEVERAL_ACTIONS,
        ),
    ],
)
def test_strict_says_what_is_wrong_and_carries_nothing_out(
    text: str, reason: InvalidReason
) -> None:
    parsed = parse_strict(text)
    assert (parsed.action, parsed.is_valid, parsed.reason) == ("", False, reason)


def test_a_thought_may_be_left_out_where_it_is_optional() -> None:
    assert parse_reply("<search>a</search>", thought="optional").is_valid


@pytest.mark.parametrize(
    ("text", "action", "is_valid"),
    [
        ("<search> a </search>", "<search>a</search>", True),
        ("<answer>b</answer> and more", "<answer>b</answer>", True),
        ("hm <Answer>b</ANSWER>", "<answer>b</answer>", True),
        # Cut after the first closing search tag; what follows still makes it invalid.
        ("<search>a</search><search>b</search>", "<search>a</search>", False),
        ("<search>a</search><answer>b</answer>", "<search>a</search>", False),
        ("<answer>b</answer><search>a</search>", "<search>a</search>", False),
        ("<answer>b</answer><answer>c</answer>", "<answer>b</answer>", False),
        # A search without its end leaves the answer to count.
        ("<search>a <answer>b</answer>", "<answer>b</answer>", False),
        ("<search>a", "", False),
        ("", "", False),
        ("plain words", "", False),
    ],
)
def test_official_rules(text: str, action: str, is_valid: bool) -> None:
    parsed = parse_official(text)
    assert (parsed.action, parsed.is_valid) == (action, is_valid)


@given(_PIECES)
def test_no_text_raises_and_a_valid_action_reads_back(text: str) -> None:
    for parsed in (parse_strict(text), parse_official(text)):
        assert parsed.is_valid == (parsed.reason == "")
    parsed = parse_strict(text, thought="optional")
    if parsed.is_valid:
        assert str(read_action(parsed.action)) == parsed.action


@pytest.mark.timeout(120)
@pytest.mark.parametrize("piece", ["<search>", "</search><search>", "<answer>"])
def test_reading_takes_no_time_quadratic_in_the_text(piece: str) -> None:
    """Quadratic reading of this text would take hours."""
    text = "</answer>" + piece * 200_000
    assert not parse_official(text).is_valid or piece == "</search><search>"
    assert not parse_strict(text).is_valid
