"""Lucene's analysis and scores, by hand; recorded rankings are compared elsewhere."""

import math

import numpy as np
import pytest

from environments.webshop.lucene_analysis import STOP_WORDS, analyze, stem
from environments.webshop.search_index import _as_stored, build_index

TEXTS = {
    "stop words and case": ("The shirt IS for THE men", ["shirt", "men"]),
    "a possessive": ("Men's women\u2019s", ["men", "women"]),
    "a dot joins letters or digits, not both": (
        "a.b 1.5 v.2",
        ["a.b", "1.5", "v", "2"],
    ),
    "a colon joins letters only": (
        "description:solid 12:30",
        ["description:solid", "12", "30"],
    ),
    "a comma joins digits only": ("red,blue 1,000", ["red", "blue", "1,000"]),
    "an apostrophe between digits": ("6'2 8.35''", ["6'2", "8.35"]),
    "letters and digits are one word": ("40x40cm", ["40x40cm"]),
    "underscores belong to words but make none": ("a_b _ __ _c", ["a_b", "_c"]),
    "ideographs one by one": ("\u4f60\u597d", ["\u4f60", "\u597d"]),
    "pictographs are words": (
        "\u2764\u2764 \u2605 \u261enote \u2661",
        ["\u2764", "\u2764", "\u2605", "\u261e", "note", "\u2661"],
    ),
    "other signs are not": ("\u273f \u25c6 * # - %", []),
    "a pictograph with its variation is one word": ("\u2665\ufe0f", ["\u2665\ufe0f"]),
    "nothing": ("", []),
}


@pytest.mark.parametrize("name", TEXTS)
def test_texts_become_terms(name):
    text, terms = TEXTS[name]
    assert analyze(text) == terms


STEMS = {
    # Each of these is one rule of the paper.
    "caresses": "caress",
    "ponies": "poni",
    "agreed": "agre",
    "hopping": "hop",
    "relational": "relat",
    "electricity": "electr",
    "adjustment": "adjust",
    # Where Lucene departs from it.
    "possibly": "possibl",
    "assembly": "assembl",
    "technology": "technolog",
    "as": "as",
    # Its condition on the stem does not hold: no vowel and consonant before the ending.
    "doubly": "doubli",
}


@pytest.mark.parametrize("word", STEMS)
def test_words_are_stemmed(word):
    assert stem(word) == STEMS[word]


def test_stop_words_are_dropped_after_the_possessive():
    assert analyze("it's " + " ".join(sorted(STOP_WORDS))) == []


def test_lengths_are_stored_in_one_byte():
    # 24 + x with x cut to four leading bits: 40 = 24 + 0b10000, 41 = 24 + 0b10001.
    lengths = np.array([0, 1, 23, 24, 39, 40, 41, 42, 55, 56, 57, 59, 60, 391])
    stored = [0, 1, 23, 24, 39, 40, 40, 42, 54, 56, 56, 56, 60, 376]
    assert _as_stored(lengths).tolist() == stored


def test_scores_are_bm25_and_repeated_query_words_count_twice():
    index = build_index(
        [("a", "red red shoe"), ("b", "blue shoe"), ("c", "red hat box")]
    )
    # By hand: 3 documents, mean length 8/3; "shoe" is in 2, "blue" in 1.
    norm = {n: 0.9 * (0.6 + 0.4 * n / (8 / 3)) for n in (2, 3)}
    shoe, blue = math.log(1 + 1.5 / 2.5), math.log(1 + 2.5 / 1.5)
    by_hand = {
        "a": 2 * shoe / (1 + norm[3]),
        "b": 2 * shoe / (1 + norm[2]) + blue / (1 + norm[2]),
    }
    assert index.search("shoes SHOE blue", 10) == ["b", "a"]
    scores = np.zeros(3)
    for term, count in (("shoe", 2), ("blue", 1)):
        index._add_scores(scores, index.terms[term], count)
    assert scores.tolist() == pytest.approx([by_hand["a"], by_hand["b"], 0])


def test_ties_are_in_the_order_of_the_names_and_k_cuts_after_it():
    index = build_index([(name, "same words") for name in "zxay"])
    assert index.search("words", 10) == ["a", "x", "y", "z"]
    assert index.search("words", 2) == ["a", "x"]


def test_unknown_and_empty_queries_find_nothing():
    index = build_index([("a", "red shoe")])
    assert index.search("", 5) == index.search("the", 5) == index.search("sky", 5) == []
    assert build_index([]).search("red", 5) == []
