"""A small invented world as an encyclopedia: towns, people and works, all consistent.

A size enters; facts, passages and the sentences that state each fact leave. Nobody
dies before being born, no work appears before its author is twenty, every town
is older than the people born there. Names are unique, and no name is part of another.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

from environments.search.corpus import Passage
from environments.search.relations import RELATIONS

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
