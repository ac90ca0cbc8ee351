"""From a text to index terms, as Lucene's English analysis makes them.

Unicode word segmentation (UAX #29, with emoji as words), the English possessive cut
off, lower case, stop words dropped, Porter's stemmer. Enters any text; leaves the terms
in order. Pure.
"""

from __future__ import annotations

from functools import lru_cache

import regex
import Stemmer

# fmt: off
STOP_WORDS = frozenset((
    "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into",
    "is", "it", "no", "not", "of", "on", "or", "such", "that", "the", "their", "then",
    "there", "these", "they", "this", "to", "was", "will", "with",
))
# fmt: on

# Written out where Unicode has changed since Lucene's tables: a colon joined letters,
# and more pictographs counted as emoji. Digits, # and * are among the emoji in Unicode,
# since key caps begin with them.
_LETTER = r"[\p{WB=ALetter}\p{WB=Hebrew_Letter}]"
_DIGIT = r"\p{WB=Numeric}"
_EXTENSION = r"[\p{WB=Extend}\p{WB=Format}\p{WB=ZWJ}]*+"
_IN_BOTH = r".'\u2018\u2019\u2024\ufe52\uff07\uff0e"
_IN_LETTERS = rf"[{_IN_BOTH}:\u00b7\u0387\u055f\u05f4\u2027\ufe13\ufe55\uff1a]"
_IN_DIGITS = (
    rf"[{_IN_BOTH},;\u037e\u0589\u060c\u060d\u066c\u07f8\u2044"
    r"\ufe10\ufe14\ufe50\ufe54\uff0c\uff1b]"
)
_EMOJI = (
    r"[\p{Emoji}\u2600-\u2605\u2607-\u2612\u2614-\u2685\u2690-\u2705\u2708-\u2712"
    r"\u2763-\u2767\U0001f000-\U0001f0ff--[0-9#*]]"
)
_WORD = regex.compile(
    rf"""
    (?! \p{{WB=ExtendNumLet}}++ (?! {_LETTER} | {_DIGIT} | \p{{WB=Katakana}} ) )
    (?: {_LETTER} {_EXTENSION} (?: {_IN_LETTERS} {_EXTENSION} (?={_LETTER}) )?
      | {_DIGIT} {_EXTENSION} (?: {_IN_DIGITS} {_EXTENSION} (?={_DIGIT}) )?
      | [\p{{WB=Katakana}}\p{{WB=ExtendNumLet}}] {_EXTENSION}
    )++
    | [\p{{Script=Han}}\p{{Script=Hiragana}}] {_EXTENSION}
    | \p{{LineBreak=SA}}++
    | {_EMOJI} {_EXTENSION} (?: (?<=\u200d) {_EMOJI} {_EXTENSION} )*+
    """,
    regex.VERBOSE | regex.V1,
)
_POSSESSIVES = ("'s", "\u2019s", "\uff07s")
_HAS_VOWEL_THEN_CONSONANT = regex.compile(r"[aeiou][^aeiou]|(?<=[^aeiou])y[^aeiou]")
_DEPARTURES = (("bli", "ble"), ("logi", "log"))
_PORTER = Stemmer.Stemmer("porter", 0)


def analyze(text: str) -> list[str]:
    """The terms of a text, in order, repeats included."""
    terms = (_term(word) for word in _WORD.findall(text))
    return [term for term in terms if term]


@lru_cache(maxsize=1 << 16)
def _term(word: str) -> str:
    """The term of a word; empty for a stop word."""
    word = word.lower()
    if word.endswith(_POSSESSIVES):
        word = word[:-2]
    return "" if word in STOP_WORDS else stem(word)


def stem(word: str) -> str:
    """Porter's stem of a lower-case word, with the departures that Lucene keeps.

    In step 2 ``-bli`` becomes ``-ble`` and ``-logi`` becomes ``-log``; words of one or
    two letters stay as they are. Source: M. Porter, An algorithm for suffix stripping,
    1980; the departures are those of his own Java version.
    """
    if len(word) <= 2:
        return word
    stemmed = _PORTER.stemWord(word)
    for ending, replacement in _DEPARTURES:
        # No later step touches these endings, so they are as step 2 left them, and
        # stemming anew goes on from there.
        before = stemmed.removesuffix(ending)
        if before != stemmed and _HAS_VOWEL_THEN_CONSONANT.search(before):
            return str(_PORTER.stemWord(before + replacement))
    return str(stemmed)
