"""Where everything is and how it is: all that changes in the course of a game."""

from __future__ import annotations

from collections.abc import Hashable

from environments.alfworld.house import House, positions
from environments.alfworld.problem import TaskType


class HouseState:
    """The state of a game, with the questions that rules and planners ask of it.

    Sets are integers, one bit a member; for relations see
    :mod:`environments.alfworld.house`. Copies share the house.

    Attributes:
        house: The unchanging tables.
        location: Where the agent is; None at the start, where no receptacle stands.
        held: The item in the agent's hand, or None.
        opened: Set of the open receptacles.
        contents: Relation of receptacles and the items in them.
        lying: Relation of locations and the items that count as lying there.
        removed: Relation of receptacles and the items that were taken from them and
            not put back.
        clean, hot, cool, sliced, toggled: Sets of items.
    """

    __slots__ = (
        "clean",
        "contents",
        "cool",
        "held",
        "hot",
        "house",
        "location",
        "lying",
        "opened",
        "removed",
        "sliced",
        "toggled",
    )

    def __init__(self, house: House) -> None:
        self.house = house
        self.location: int | None = None
        self.held: int | None = None
        self.contents = house.initial_contents
        self.lying = house.initial_lying
        self.cool = house.initial_cool
        self.opened = self.removed = 0
        self.clean = self.hot = self.sliced = self.toggled = 0

    def copy(self) -> HouseState:
        """An independent state, equal to this one."""
        twin = HouseState.__new__(HouseState)
        for name in HouseState.__slots__:
            setattr(twin, name, getattr(self, name))
        return twin

    def receptacles_here(self) -> tuple[int, ...]:
        """The receptacles at the agent's location, in listing order."""
        if self.location is None:
            return ()
        return self.house.receptacles_at[self.location]

    def contents_of(self, receptacle: int) -> int:
        """The set of items in a receptacle, open or not."""
        return self.house.related(self.contents, receptacle)

    def items_here(self) -> int:
        """The set of items in the receptacles here, closed ones included."""
        items = 0
        for receptacle in self.receptacles_here():
            items |= self.contents_of(receptacle)
        return items

    def lying_here(self) -> int:
        """The set of items that count as lying at the agent's location."""
        if self.location is None:
            return 0
        return self.house.related(self.lying, self.location)

    def is_accessible(self, receptacle: int) -> bool:
        """Whether items can be taken out and put in: it is open or never closed."""
        return not (self.house.openable & ~self.opened) >> receptacle & 1

    def takes(self, receptacle: int, item: int) -> bool:
        """Whether an item can be put into a receptacle now."""
        fits = self.house.fitting[receptacle] >> item & 1
        return bool(fits) and self.is_accessible(receptacle)

    def floor(self, location: int) -> list[tuple[int, int]]:
        """The pairs (receptacle, item) such that the item lies beside it there."""
        lying = self.house.related(self.lying, location)
        return [
            (receptacle, item)
            for receptacle in self.house.receptacles_at[location]
            for item in positions(lying & self.house.related(self.removed, receptacle))
        ]

    def meets_goal(self) -> bool:
        """Whether the goal holds now. It may cease to hold later on."""
        house = self.house
        wanted = house.goal_items
        match house.problem.goal.task_type:
            case TaskType.LOOK:
                is_held = self.held is not None and wanted >> self.held & 1
                lit = house.goal_lamps & self.toggled
                return bool(is_held and lit and self.items_here() & lit)
            case TaskType.PLACE_TWO:
                return self._num_placed_together(wanted) >= 2
            case TaskType.CLEAN:
                wanted &= self.clean
            case TaskType.HEAT:
                wanted &= self.hot
            case TaskType.COOL:
                wanted &= self.cool
        return self._num_placed_together(wanted) >= 1

    def _num_placed_together(self, wanted: int) -> int:
        """The most wanted items that are in one and the same target receptacle."""
        counts = [
            (self.contents_of(receptacle) & wanted).bit_count()
            for receptacle in self.house.goal_receptacles
        ]
        return max(counts, default=0)

    def key(self) -> Hashable:
        """Equal exactly when the state that matters for the future is equal.

        Left out is what no text and no goal can ever depend on: where an item lies if
        it can be neither sliced there nor listed by ``look``; that an item was taken
        from a receptacle without a neighbour that takes it; states of containers and
        lamps beyond what the goal asks.
        """
        house = self.house
        removed = self.removed & house.traceable
        return (
            self.location,
            self.held,
            self.opened,
            self.contents,
            self.lying & house.slice_places,
            removed,
            self._whole_floor() if removed else 0,
            self.clean & house.clean_matters,
            self.hot & house.hot_matters,
            self.cool & house.cool_matters,
            self.sliced & ~house.containers,
            self.toggled & house.goal_lamps,
        )

    def _whole_floor(self) -> int:
        locations = range(len(self.house.receptacles_at))
        return self.house.relation(
            pair for location in locations for pair in self.floor(location)
        )
