"""The unchanging side of a game, compiled once and shared by all its episodes.

Sets of items are integers with one bit an item. A relation between receptacles (or
locations) and items is one integer too: that of place p takes the ``num_items`` bits
from ``p * num_items`` on. So a whole state is a handful of integers, cheap to copy,
compare and hash.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from environments.alfworld.problem import Ability, Item, Problem, Receptacle, TaskType

_TREATMENTS = {
    "clean": (Ability.CLEANABLE, frozenset({"sinkbasin", "sink"})),
    "heat": (Ability.HEATABLE, frozenset({"microwave"})),
    "cool": (Ability.COOLABLE, frozenset({"fridge"})),
}
_GOAL_TREATMENTS = {
    TaskType.CLEAN: "clean",
    TaskType.HEAT: "heat",
    TaskType.COOL: "cool",
}
_KNIFE_KINDS = frozenset({"knife", "butterknife"})


class House:
    """Tables of a problem.

    Attributes:
        problem: What was compiled.
        num_items: Width of an item set in bits.
        all_items: The set of all items.
        receptacle_names, all_item_names: Position to name.
        receptacle_number, item_number: Name to position.
        location_of: Receptacle to location.
        receptacles_at: Location to the receptacles there, in listing order.
        go_to_commands: Location to the commands that lead elsewhere, sorted; the last
            entry is that of the start, where there is no receptacle.
        initial_contents: Relation of receptacles and the items in them.
        initial_lying: Relation of locations and the items that lie there.
        initial_cool: Set of the items that count as cooled.
        fitting: Receptacle to the set of items it takes.
        openable: Set of the receptacles that open, one bit a receptacle.
        treatments: ``clean``, ``heat`` and ``cool`` to the set of items that can be
            treated so and the set of receptacles that do it.
        goal_items: Set of the items that the goal can be met with.
        goal_receptacles: The receptacles of the kind that the goal names.
        goal_lamps: Set of the lamps of the kind that the goal names.
        traceable: Relation of receptacles and the items that can come to lie beside
            them: another receptacle of the same location takes the item.
        slice_places: Relation of locations and the items that may be sliced there;
            empty if no knife can be had.
        clean_matters, hot_matters, cool_matters: Sets of the items of which a text or
            the goal can tell that state.
        pickupable, sliceable, toggleable, containers, knives: Sets of items.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        receptacles, items = problem.receptacles, problem.items
        self.num_items = len(items)
        self.all_items = (1 << self.num_items) - 1
        self.receptacle_names = tuple(r.name for r in receptacles)
        self.all_item_names = tuple(item.name for item in items)
        self.receptacle_number = {r.name: n for n, r in enumerate(receptacles)}
        self.item_number = {item.name: n for n, item in enumerate(items)}
        self._compile_locations()
        self._compile_abilities()
        self.initial_contents = self.relation(
            (n, item) for n, r in enumerate(receptacles) for item in r.contents
        )
        self.initial_lying = self.relation(
            (location, n) for n, item in enumerate(items) for location in item.locations
        )
        self.initial_cool = self._items_with(lambda item: item.is_cool)
        self.fitting = tuple(self._fitting(r) for r in receptacles)
        self.traceable = self.relation(
            (n, item)
            for n, r in enumerate(receptacles)
            for other in self.receptacles_at[r.location]
            if other != n
            for item in positions(self.fitting[other])
        )
        self._compile_goal()
        self._compile_what_matters()

    def relation(self, pairs: Iterable[tuple[int, int]]) -> int:
        """The relation of the given pairs (place, item)."""
        bits = 0
        for place, item in pairs:
            bits |= 1 << (place * self.num_items + item)
        return bits

    def related(self, relation: int, place: int) -> int:
        """The set of items that a relation has at a place."""
        return relation >> (place * self.num_items) & self.all_items

    def item_names(self, item_set: int) -> list[str]:
        """The names of a set of items, in listing order."""
        names = self.all_item_names
        return [names[n] for n in positions(item_set)]

    def _compile_locations(self) -> None:
        receptacles = self.problem.receptacles
        self.location_of = tuple(r.location for r in receptacles)
        num_locations = 1 + max(self.location_of, default=-1)
        self.receptacles_at = tuple(
            tuple(n for n, r in enumerate(receptacles) if r.location == location)
            for location in range(num_locations)
        )
        self.go_to_commands = tuple(
            sorted(f"go to {r.name}" for r in receptacles if r.location != location)
            for location in range(num_locations + 1)
        )
        self.openable = _set_of(r.is_openable for r in receptacles)

    def _compile_abilities(self) -> None:
        self.pickupable = self._items_able(Ability.PICKUPABLE)
        self.sliceable = self._items_able(Ability.SLICEABLE)
        self.toggleable = self._items_able(Ability.TOGGLEABLE)
        self.containers = self._items_able(Ability.CONTAINER)
        self.knives = self._items_with(lambda item: item.kind in _KNIFE_KINDS)
        self.treatments = {
            verb: (
                self._items_able(ability),
                _set_of(r.kind in kinds for r in self.problem.receptacles),
            )
            for verb, (ability, kinds) in _TREATMENTS.items()
        }

    def _compile_goal(self) -> None:
        goal = self.problem.goal
        verb = _GOAL_TREATMENTS.get(goal.task_type)
        able = self.treatments[verb][0] if verb else self.all_items
        self.goal_items = able & self._items_with(
            lambda item: item.kind == goal.item_kind
        )
        self.goal_receptacles: tuple[int, ...] = ()
        self.goal_lamps = 0
        if goal.task_type is TaskType.LOOK:
            self.goal_lamps = self.toggleable & self._items_with(
                lambda item: item.kind == goal.target_kind
            )
        else:
            self.goal_receptacles = tuple(
                n
                for n, r in enumerate(self.problem.receptacles)
                if r.kind == goal.target_kind
            )

    def _compile_what_matters(self) -> None:
        told = self.all_items & ~self.containers
        asked = dict.fromkeys(_TREATMENTS, 0)
        verb = _GOAL_TREATMENTS.get(self.problem.goal.task_type)
        if verb:
            asked[verb] = self.goal_items
        self.clean_matters = told | asked["clean"]
        self.hot_matters = told | asked["heat"]
        self.cool_matters = told | asked["cool"]
        can_slice = bool(self.knives & self.pickupable)
        self.slice_places = self.relation(
            (location, item)
            for location in range(len(self.receptacles_at))
            for item in positions(self.sliceable if can_slice else 0)
        )

    def _fitting(self, receptacle: Receptacle) -> int:
        kind, fits = receptacle.kind, self.problem.fits
        return self._items_with(lambda item: (kind, item.kind) in fits)

    def _items_able(self, ability: Ability) -> int:
        return self._items_with(lambda item: ability in item.abilities)

    def _items_with(self, holds: Callable[[Item], bool]) -> int:
        return _set_of(holds(item) for item in self.problem.items)


def positions(bits: int) -> Iterator[int]:
    """The members of a set, ascending."""
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest


def _set_of(members: Iterable[bool]) -> int:
    return sum(1 << n for n, is_member in enumerate(members) if is_member)
