"""A small invented world as an encyclopedia: towns, people and works, all consistent.

A size enters; facts, passages and the sentences that state each fact leave. Nobody
dies before being born, no work appears before its author is twenty, every town
is older than the people born there. Names are unique, and no name is part of another.

A relation leads from a thing of one kind to a value: another thing, a word or a year.
The same pattern writes the relation's sentence and reads it back.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

from environments.search.corpus import Passage


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

WORLD_SIZES: dict[str, tuple[int, int, int]] = {
    "tiny": (16, 24, 32),
    "full": (120, 240, 400),
}
"""Numbers of towns, people and works."""

_TOWN_STARTS = (
    *("Alder", "Birk", "Cald", "Dun", "Elm", "Farn", "Glen", "Hart", "Ivel", "Kirk"),
    *("Lang", "Marl", "Nor", "Oxen", "Pen", "Quar", "Raven", "Sand", "Thorn", "Wins"),
)
_TOWN_ENDS = ("brook", "bury", "dale", "field", "ford", "ham", "mere", "stow", "wick")
_FIRST_NAMES = (
    *("Ada", "Bruno", "Clara", "David", "Edith", "Felix", "Greta", "Hugo", "Irma"),
    *("Jonas", "Karin", "Leo", "Marta", "Nils", "Olga", "Paul", "Rosa", "Simon"),
    *("Tilda", "Viktor"),
)
_LAST_NAMES = (
    *("Abel", "Bauer", "Corvin", "Dietz", "Eklund", "Falk", "Grimm", "Holm", "Iversen"),
    *("Juhl", "Krantz", "Lund", "Moser", "Nyberg", "Orlov", "Petri", "Quist", "Roth"),
    *("Sander", "Thal"),
)
_TITLE_STARTS = (
    *(
        "Silent",
        "Golden",
        "Broken",
        "Distant",
        "Hidden",
        "Winter",
        "Scarlet",
        "Crooked",
    ),
    *("Burning", "Empty", "Frozen", "Gentle", "Hollow", "Last", "Narrow"),
    *("Pale", "Quiet", "Restless", "Shining", "Wandering"),
)
_TITLE_ENDS = (
    *("Harbour", "Garden", "Mirror", "Lantern", "Orchard", "Bridge", "Tower", "Island"),
    *("Letter", "Mountain", "Clock", "Forest", "Door", "Crown", "Feather", "Ship"),
    *("Window", "Valley", "Candle", "Stranger", "Violin", "Road", "Shadow", "Well"),
)
_REGIONS = (
    "Westmark",
    "Eastmark",
    "the Lowlands",
    "the Highlands",
    "the Coast",
    "Upland",
)
_RIVERS = ("Arle", "Brenn", "Colne", "Dove", "Esker", "Feale", "Garra", "Hodder")
_CRAFTS = ("glass", "cheese", "clocks", "linen", "paper", "pottery", "salt", "wine")
_PROFESSIONS = (
    *("baker", "botanist", "carpenter", "doctor", "judge", "painter", "sailor"),
    *("teacher",),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Encyclopedia:
    """The world.

    Attributes:
        names: Kind to the names of its things, in the order made.
        facts: (relation's name, subject) to value.
    """

    names: Mapping[str, Sequence[str]]
    facts: Mapping[tuple[str, str], str]

    def passages(self) -> list[Passage]:
        """One a thing: its name as title, then a sentence for each of its facts."""
        things = [(kind, name) for kind, names in self.names.items() for name in names]
        return [
            Passage(id=str(number), contents=f'"{name}"\n{self._text(kind, name)}')
            for number, (kind, name) in enumerate(things)
        ]

    def _text(self, kind: str, name: str) -> str:
        return " ".join(
            relation.sentence.format(
                subject=name, value=self.facts[relation.name, name]
            )
            for relation in RELATIONS
            if relation.subject_kind == kind
        )


@lru_cache(maxsize=len(WORLD_SIZES))
def make_encyclopedia(size: str) -> Encyclopedia:
    """The world of a size, always the same one.

    Args:
        size: A key of ``WORLD_SIZES``.

    Raises:
        ValueError: There is no such size.
    """
    if size not in WORLD_SIZES:
        raise ValueError(f"world={size!r}: choose one of {sorted(WORLD_SIZES)}")
    num_towns, num_people, num_works = WORLD_SIZES[size]
    rng = random.Random(0)
    towns = _names(rng, _TOWN_STARTS, _TOWN_ENDS, "{}{}", num_towns)
    people = _names(rng, _FIRST_NAMES, _LAST_NAMES, "{} {}", num_people)
    works = _names(rng, _TITLE_STARTS, _TITLE_ENDS, "The {} {}", num_works)
    facts: dict[tuple[str, str], str] = {}
    for town in towns:
        facts["region", town] = rng.choice(_REGIONS)
        facts["river", town] = rng.choice(_RIVERS)
        facts["craft", town] = rng.choice(_CRAFTS)
        facts["founded", town] = str(rng.randint(1100, 1599))
    for person in people:
        born = rng.randint(1700, 1899)
        facts["profession", person] = rng.choice(_PROFESSIONS)
        facts["birthplace", person] = rng.choice(towns)
        facts["birth_year", person] = str(born)
        facts["deathplace", person] = rng.choice(towns)
        facts["death_year", person] = str(born + rng.randint(40, 90))
    for work in works:
        author = rng.choice(people)
        born, died = (int(facts[f"{e}_year", author]) for e in ("birth", "death"))
        facts["author", work] = author
        facts["published", work] = str(rng.randint(born + 20, died))
        facts["setting", work] = rng.choice(towns)
    names = {"town": towns, "person": people, "work": works}
    return Encyclopedia(names=names, facts=facts)


def _names(
    rng: random.Random,
    starts: Sequence[str],
    ends: Sequence[str],
    form: str,
    count: int,
) -> list[str]:
    return rng.sample([form.format(*pair) for pair in product(starts, ends)], count)
