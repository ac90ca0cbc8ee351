"""Which texts give an action, which do not, and why."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from environments.parsing import InvalidReason as Reason
from environments.parsing import parse_action, parse_official, parse_strict

LISTED = ("go to desk 1", "look", "inventory", "take mug 1 from desk 1")
GOOD = "<think>find mug</think><action>go to desk 1</action>"

STRICT_GOOD = {
    "plain": (GOOD, "go to desk 1"),
    "text around the blocks": (f"Sure!\n{GOOD}\nDone.", "go to desk 1"),
    "blanks and lines": (
        "<think>\nx\n</think>\n\n<action>\n go  to\tdesk 1 \n</action>",
        "go to desk 1",
    ),
    "case of both tags": (
        "<Think>x</THINK><Action>look</aCTION>",
        "look",
    ),
    "case of the action": (
        "<think>x</think><action>Go To Desk 1</action>",
        "go to desk 1",
    ),
    "action quoted in the thought": (
        "<think>maybe <action>look</action>?</think><action>inventory</action>",
        "inventory",
    ),
    "half an action quoted in the thought": (
        "<think>I write <action> first</think><action>inventory</action>",
        "inventory",
    ),
    "ideographs in the thought": (
        "<think>看桌子</think><action>look</action>",
        "look",
    ),
    "empty thought": ("<think></think><action>look</action>", "look"),
    "angle brackets of other kinds": (
        "<think>a < b <b>x</b></think><action>look</action>",
        "look",
    ),
}

STRICT_BAD = {
    "empty text": ("", Reason.NO_THOUGHT),
    "no tags": ("go to desk 1", Reason.NO_THOUGHT),
    "no thought": ("<action>look</action>", Reason.NO_THOUGHT),
    "thought never closed": (
        "<think>x<action>look</action>",
        Reason.BROKEN_THOUGHT,
    ),
    "thought never opened": (
        "x</think><action>look</action>",
        Reason.BROKEN_THOUGHT,
    ),
    "thought reversed": (
        "</think>x<think><action>look</action>",
        Reason.BROKEN_THOUGHT,
    ),
    "two thoughts": (
        "<think>x</think><think>y</think><action>look</action>",
        Reason.SEVERAL_THOUGHTS,
    ),
    "thought in the thought": (
        "<think>x<think>y</think></think><action>look</action>",
        Reason.BROKEN_THOUGHT,
    ),
    "thought after the action": (
        "<action>look</action><think>x</think>",
        Reason.ACTION_BEFORE_THOUGHT,
    ),
    "action around the thought": (
        "<action><think>x</think>look</action>",
        Reason.ACTION_BEFORE_THOUGHT,
    ),
    "thought in the action": (
        "<think>x</think><action>look<think></action>",
        Reason.SEVERAL_THOUGHTS,
    ),
    "no action": ("<think>x</think>look", Reason.NO_ACTION),
    "action only in the thought": (
        "<think>x <action>look</action></think>",
        Reason.NO_ACTION,
    ),
    "action never closed": (
        "<think>x</think><action>look",
        Reason.BROKEN_ACTION,
    ),
    "action never opened": (
        "<think>x</think>look</action>",
        Reason.BROKEN_ACTION,
    ),
    "action reversed": (
        "<think>x</think></action>look<action>",
        Reason.BROKEN_ACTION,
    ),
    "action in the action": (
        "<think>x</think><action><action>look</action></action>",
        Reason.BROKEN_ACTION,
    ),
    "two actions": (
        "<think>x</think><action>look</action><action>inventory</action>",
        Reason.SEVERAL_ACTIONS,
    ),
    "the same action twice": (
        "<think>x</think><action>look</action> <action>look</action>",
        Reason.SEVERAL_ACTIONS,
    ),
    "a third half action": (
        "<think>x</think><action>look</action><action>",
        Reason.SEVERAL_ACTIONS,
    ),
    "empty action": ("<think>x</think><action></action>", Reason.EMPTY_ACTION),
    "blank action": ("<think>x</think><action> \n\t</action>", Reason.EMPTY_ACTION),
    "tags with blanks": (
        "< think >x</think><action>look</action>",
        Reason.BROKEN_THOUGHT,
    ),
}


@pytest.mark.parametrize("name", STRICT_GOOD)
def test_strict_accepts(name):
    text, action = STRICT_GOOD[name]
    parsed = parse_strict(text, LISTED)
    assert parsed.action == action
    assert parsed.is_valid and parsed.is_admissible and parsed.reason == ""


@pytest.mark.parametrize("name", STRICT_BAD)
def test_strict_refuses_with_the_reason_and_an_empty_action(name):
    text, reason = STRICT_BAD[name]
    parsed = parse_strict(text, LISTED)
    assert (parsed.reason, parsed.action) == (reason, "")
    assert not parsed.is_valid and not parsed.is_admissible


def test_an_action_that_was_not_shown_is_valid_but_not_admissible():
    parsed = parse_strict("<think>x</think><action>fly away</action>", LISTED)
    assert parsed.action == "fly away"
    assert parsed.is_valid and not parsed.is_admissible
    assert parsed.reason == Reason.NOT_ADMISSIBLE


def test_without_a_list_every_action_is_admissible_and_keeps_its_case():
    parsed = parse_strict("<think>x</think><action>search[Red Shoe]</action>", None)
    assert parsed.action == "search[Red Shoe]"
    assert parsed.is_valid and parsed.is_admissible


def test_an_exact_match_wins_over_one_that_differs_in_case():
    text = "<think>x</think><action>Look</action>"
    assert parse_strict(text, ("look", "Look")).action == "Look"


def test_an_optional_thought_may_be_missing_but_not_broken():
    bare = "<action>look</action>"
    assert parse_strict(bare, LISTED, thought="optional").action == "look"
    broken = f"<think>{bare}"
    parsed = parse_strict(broken, LISTED, thought="optional")
    assert parsed.reason == Reason.BROKEN_THOUGHT
    assert parse_strict("look", LISTED, thought="optional").reason == Reason.NO_ACTION


OFFICIAL = {
    # name: (text, action, is_valid)
    "plain": (GOOD, "go to desk 1", True),
    "lower-cases the action": (
        "<think>x</think><action> LOOK </action>",
        "look",
        True,
    ),
    "reversed action tags are valid and empty": (
        "<think>x</think></action>look<action>",
        "",
        True,
    ),
    "the action quoted in the thought wins": (
        "<think><action>look</action></think><action>inventory</action>",
        "look",
        True,
    ),
    "the first of several actions wins": (
        "<think>x</think><action>look</action><action>inventory</action>",
        "look",
        True,
    ),
    "capital action tag counts": (
        "<think>x</think><ACTION>look</Action>",
        "look",
        True,
    ),
    "capital think tag does not, yet the action is played": (
        "<Think>x</think><action>look</action>",
        "look",
        False,
    ),
    "no thought, yet the action is played": (
        "<action>look</action>",
        "look",
        False,
    ),
    "an ideograph spoils it": (
        "<think>看</think><action>look</action>",
        "look",
        False,
    ),
    "ideographs outside the block do not": (
        "<think>\u3400 あ</think><action>look</action>",
        "look",
        True,
    ),
    "without tags the last thirty characters are played": (
        "I Think I should GO TO the Desk 1 now, at once",
        "ould go to the desk 1 now, at once"[-30:],
        False,
    ),
    "empty": ("", "", False),
}


@pytest.mark.parametrize("name", OFFICIAL)
def test_official_rules(name):
    text, action, is_valid = OFFICIAL[name]
    parsed = parse_official(text, None)
    assert (parsed.action, parsed.is_valid) == (action, is_valid)
    assert bool(parsed.reason) != is_valid


def test_official_fallback_length_is_that_of_the_environment():
    text = "abcdefghijklmnopqrstuvwxyz0123456789"
    assert parse_official(text, None, num_fallback_characters=20).action == text[-20:]


def test_unknown_rules_are_named():
    with pytest.raises(ValueError, match="official"):
        parse_action(GOOD, None, parsing="lenient")  # type: ignore[arg-type]


PIECES = (
    *("<think>", "</think>", "<action>", "</action>", "<think>", "</think>"),
    *("<Think>", "</ACTION>", "<action>", "</action>", "look", "go to desk 1"),
    *("<", ">", "</", "think", "action", " ", "\n", "看", "İ", "ß", "\ud800", "\x00"),
    *("<thinkaction>", "<action", "{", "|", "`"),
    *("<think>x</think>", "<action>look</action>") * 3,
)
NUM_TEXTS_PER_EXAMPLE = 24


def texts_of(data):
    """Cuts bytes into model outputs: one byte is a piece, eight make an output."""
    size = max(1, len(data) // NUM_TEXTS_PER_EXAMPLE)
    return [
        "".join(PIECES[byte % len(PIECES)] for byte in data[i : i + size])
        for i in range(0, len(data), size)
    ]


def is_strict_format(text):
    """An independent, slow reading: cut the thought, then look for one block."""
    low = "".join(c.lower() if c.isascii() else c for c in text)
    if low.count("<think>") != 1 or low.count("</think>") != 1:
        return False
    before, rest = low.split("<think>")
    if "</think>" not in rest or "<action>" in before or "</action>" in before:
        return False
    after = rest.split("</think>")[1]
    if after.count("<action>") != 1 or after.count("</action>") != 1:
        return False
    head, tail = after.split("<action>")
    return "</action>" not in head and bool(tail.split("</action>")[0].split())


def check_total(text):
    strict = parse_strict(text, LISTED)
    assert strict.is_valid == is_strict_format(text)
    assert strict == parse_strict(text, LISTED)
    assert strict.is_valid or (strict.action == "" and strict.reason)
    assert strict.is_valid or not strict.is_admissible
    assert not strict.is_admissible or strict.action in LISTED
    optional = parse_strict(text, LISTED, thought="optional")
    assert optional.is_valid or not strict.is_valid
    official = parse_official(text, LISTED)
    assert official.is_valid or not official.is_admissible
    assert not official.is_admissible or official.action in LISTED


@settings(max_examples=600, deadline=None)
@given(
    st.binary(min_size=8 * NUM_TEXTS_PER_EXAMPLE, max_size=8 * NUM_TEXTS_PER_EXAMPLE)
)
def test_no_output_made_of_tags_raises_and_strict_agrees_with_a_slow_reading(data):
    texts = texts_of(data)
    assert len(texts) == NUM_TEXTS_PER_EXAMPLE  # 600 examples: 14,400 outputs
    for text in texts:
        check_total(text)


@settings(max_examples=500, deadline=None)
@given(st.text(max_size=60))
def test_no_text_raises(text):
    check_total(text)
    check_total(f"<think>{text}</think><action>look</action>")
    check_total(f"<think>x</think><action>{text}</action>")


@given(
    st.text(alphabet="abc <>/\n", max_size=30),
    st.sampled_from(LISTED),
    st.lists(st.booleans(), min_size=30, max_size=30),
)
def test_the_case_of_tags_and_action_never_matters(thought, action, upper):
    text = f"<think>{thought}</think><action>{action}</action>"
    mixed = "".join(
        c.upper() if upper[i % len(upper)] else c for i, c in enumerate(text)
    )
    assert parse_strict(mixed, LISTED) == parse_strict(text, LISTED)
    assert parse_strict(mixed, LISTED).action == action
