"""The kinds of facts in the invented encyclopedia, and how they are put in words.

A relation leads from a thing of one kind to a value: another thing, a word or a year.
The same pattern writes the relation's sentence and reads it back.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """A fact that things of one kind have.

    Attributes:
        name: E.g. ``"birthplace"``.
        subject_kind: ``"town"``, ``"person"`` or ``"work"``.
        value_kind: The kind of thing that the value is; empty for a word or a year.
        sentence: How a passage states it, with ``{subject}`` and ``{value}``.
        question: How it is asked for, with ``{subject}``.
        phrase: The value described, with ``{subject}``; only used with a value kind.
    """

    name: str
    subject_kind: str
    value_kind: str = ""
    sentence: str
    question: str
    phrase: str = ""

    def read(self, subject: str, text: str) -> str | None:
        """The value that a text states for a subject, if it does."""
        pattern = re.escape(self.sentence)
        for field, group in (("subject", re.escape(subject)), ("value", "(.+?)")):
            pattern = pattern.replace(re.escape(f"{{{field}}}"), group)
        match = re.search(pattern, text)
        return match[1] if match else None


RELATIONS = (
    Relation(
        name="region",
        subject_kind="town",
        sentence="{subject} is a town in {value}.",
        question="In which region is {subject}?",
    ),
    Relation(
        name="river",
        subject_kind="town",
        sentence="{subject} lies on the river {value}.",
        question="On which river does {subject} lie?",
    ),
    Relation(
        name="craft",
        subject_kind="town",
        sentence="{subject} is known for its {value}.",
        question="What is {subject} known for?",
    ),
    Relation(
        name="founded",
        subject_kind="town",
        sentence="{subject} was founded in {value}.",
        question="In which year was {subject} founded?",
    ),
    Relation(
        name="profession",
        subject_kind="person",
        sentence="{subject} worked as a {value}.",
        question="What did {subject} work as?",
    ),
    Relation(
        name="birthplace",
        subject_kind="person",
        value_kind="town",
        sentence="{subject} was born at {value}.",
        question="In which town was {subject} born?",
        phrase="the town where {subject} was born",
    ),
    Relation(
        name="birth_year",
        subject_kind="person",
        sentence="{subject} was born in the year {value}.",
        question="In which year was {subject} born?",
    ),
    Relation(
        name="deathplace",
        subject_kind="person",
        value_kind="town",
        sentence="{subject} died at {value}.",
        question="In which town did {subject} die?",
        phrase="the town where {subject} died",
    ),
    Relation(
        name="death_year",
        subject_kind="person",
        sentence="{subject} died in the year {value}.",
        question="In which year did {subject} die?",
    ),
    Relation(
        name="author",
        subject_kind="work",
        value_kind="person",
        sentence="{subject} is a book by {value}.",
        question="Who wrote {subject}?",
        phrase="the author of {subject}",
    ),
    Relation(
        name="published",
        subject_kind="work",
        sentence="{subject} appeared in {value}.",
        question="In which year did {subject} appear?",
    ),
    Relation(
        name="setting",
        subject_kind="work",
        value_kind="town",
        sentence="{subject} is set in {value}.",
        question="In which town is {subject} set?",
        phrase="the town where {subject} is set",
    ),
)
