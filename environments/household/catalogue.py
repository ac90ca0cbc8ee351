"""What generated houses are made of: rooms, furniture, things and where they belong.

The words are those of the official games, so that an agent moves between both.
"""

from __future__ import annotations

from dataclasses import dataclass

from environments.alfworld.problem import Ability

OPENABLE = frozenset({"cabinet", "drawer", "fridge", "microwave", "safe"})
LAMP_STANDS = ("coffeetable", "desk", "dresser", "shelf", "sidetable")

_PICK = Ability.PICKUPABLE
_WASH = _PICK | Ability.CLEANABLE
_CHILL = _PICK | Ability.COOLABLE
_DISH = _WASH | Ability.COOLABLE | Ability.CONTAINER
_HOT_DISH = _DISH | Ability.HEATABLE
_FOOD = _WASH | Ability.COOLABLE | Ability.HEATABLE | Ability.SLICEABLE


@dataclass(frozen=True, slots=True, kw_only=True)
class ThingKind:
    """A kind of item.

    Attributes:
        name: Its class, e.g. ``"mug"``.
        abilities: Of every item of the kind.
        homes: The receptacle kinds it fits, ascending.
        is_common: Whether tiny houses know it; few kinds make a small vocabulary.
    """

    name: str
    abilities: Ability
    homes: tuple[str, ...]
    is_common: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomKind:
    """A kind of room.

    Attributes:
        name: E.g. ``"kitchen"``.
        furniture: Receptacle kinds with the fewest and the most of each in a full-size
            room.
        things: What may lie about in it.
    """

    name: str
    furniture: tuple[tuple[str, int, int], ...]
    things: tuple[ThingKind, ...]

    @property
    def furniture_kinds(self) -> tuple[str, ...]:
        """The receptacle kinds that the room may have."""
        return tuple(kind for kind, _, _ in self.furniture)


def _thing(
    name: str, abilities: Ability, homes: str, *, is_common: bool = False
) -> ThingKind:
    return ThingKind(
        name=name,
        abilities=abilities,
        homes=tuple(sorted(homes.split())),
        is_common=is_common,
    )


DESK_LAMP = _thing("desklamp", Ability.TOGGLEABLE, " ".join(LAMP_STANDS))

_TABLES = "countertop diningtable sidetable"
_COLD_STORE = f"{_TABLES} fridge sinkbasin"
_DISH_STORE = f"{_TABLES} cabinet fridge shelf sinkbasin"
_DESKS = "coffeetable desk diningtable dresser shelf sidetable"
_SEATS = "armchair sofa"
_BATH = "cabinet countertop drawer garbagecan shelf toilet"

_KITCHEN_THINGS = (
    _thing("apple", _FOOD, f"{_COLD_STORE} garbagecan microwave", is_common=True),
    _thing("bread", _FOOD & ~Ability.CLEANABLE, f"{_TABLES} fridge microwave"),
    _thing("egg", _FOOD, f"{_COLD_STORE} garbagecan microwave", is_common=True),
    _thing("lettuce", _FOOD & ~Ability.HEATABLE, _COLD_STORE),
    _thing("potato", _FOOD, f"{_COLD_STORE} garbagecan microwave"),
    _thing("tomato", _FOOD, f"{_COLD_STORE} garbagecan microwave"),
    _thing("bowl", _DISH, f"{_DISH_STORE} microwave", is_common=True),
    _thing("cup", _HOT_DISH, f"{_DISH_STORE} microwave", is_common=True),
    _thing("mug", _HOT_DISH, f"{_DISH_STORE} coffeemachine microwave", is_common=True),
    _thing("plate", _HOT_DISH, f"{_DISH_STORE} microwave", is_common=True),
    _thing("pan", _DISH, f"{_TABLES} cabinet fridge sinkbasin stoveburner"),
    _thing("pot", _DISH, f"{_DISH_STORE} stoveburner"),
    _thing("kettle", _WASH, f"{_TABLES} cabinet shelf sinkbasin stoveburner"),
    _thing("butterknife", _WASH, f"{_TABLES} drawer sinkbasin"),
    _thing("fork", _WASH, f"{_TABLES} drawer sinkbasin"),
    _thing("knife", _WASH, f"{_TABLES} drawer sinkbasin"),
    _thing("ladle", _WASH, f"{_TABLES} cabinet drawer sinkbasin"),
    _thing("spatula", _WASH, f"{_TABLES} drawer sinkbasin"),
    _thing("spoon", _WASH, f"{_TABLES} drawer sinkbasin", is_common=True),
    _thing("dishsponge", _WASH, f"{_TABLES} cabinet drawer garbagecan sinkbasin"),
    _thing("peppershaker", _PICK, f"{_TABLES} cabinet drawer shelf"),
    _thing("saltshaker", _PICK, f"{_TABLES} cabinet drawer shelf"),
    _thing("soapbottle", _PICK, f"{_TABLES} cabinet drawer garbagecan shelf"),
    _thing("winebottle", _CHILL, f"{_TABLES} cabinet fridge garbagecan shelf"),
)

_DESK_THINGS = (
    _thing("alarmclock", _PICK, _DESKS),
    _thing("book", _PICK, f"{_DESKS} {_SEATS} bed cabinet drawer", is_common=True),
    _thing("cd", _PICK, f"{_DESKS} cabinet drawer garbagecan safe", is_common=True),
    _thing("cellphone", _PICK, f"{_DESKS} {_SEATS} bed drawer safe"),
    _thing("creditcard", _PICK, f"{_DESKS} {_SEATS} drawer safe"),
    _thing("keychain", _PICK, f"{_DESKS} {_SEATS} drawer safe", is_common=True),
    _thing("pen", _PICK, f"{_DESKS} drawer garbagecan", is_common=True),
    _thing("pencil", _PICK, f"{_DESKS} drawer garbagecan"),
    _thing("laptop", _PICK, f"{_DESKS} {_SEATS} bed"),
    _thing("pillow", _PICK, f"{_SEATS} bed"),
    _thing("box", _PICK | Ability.CONTAINER, f"{_DESKS} {_SEATS} cabinet"),
)

_LIVING_THINGS = (
    *_DESK_THINGS,
    _thing("newspaper", _PICK, f"{_DESKS} {_SEATS} cabinet drawer garbagecan"),
    _thing("remotecontrol", _PICK, f"{_DESKS} {_SEATS} drawer tvstand"),
    _thing("statue", _PICK, f"{_DESKS} safe tvstand"),
    _thing("tissuebox", _PICK, f"{_DESKS} cabinet drawer garbagecan tvstand"),
    _thing("vase", _PICK, f"{_DESKS} cabinet safe"),
    _thing("watch", _PICK, f"{_DESKS} drawer safe"),
)

_BATH_THINGS = (
    _thing("candle", _PICK, _BATH),
    _thing("cloth", _WASH, f"{_BATH} bathtubbasin sinkbasin", is_common=True),
    _thing("soapbar", _WASH, f"{_BATH} bathtubbasin sinkbasin", is_common=True),
    _thing("soapbottle", _PICK, _BATH, is_common=True),
    _thing("spraybottle", _PICK, _BATH),
    _thing("toiletpaper", _PICK, f"{_BATH} toiletpaperhanger"),
    _thing("handtowel", _PICK, "cabinet countertop handtowelholder shelf"),
)

ROOMS: dict[str, RoomKind] = {
    room.name: room
    for room in (
        RoomKind(
            name="kitchen",
            furniture=(
                *(("fridge", 1, 1), ("microwave", 1, 1), ("sinkbasin", 1, 1)),
                *(("countertop", 1, 3), ("cabinet", 4, 14), ("drawer", 2, 9)),
                *(("diningtable", 0, 1), ("shelf", 0, 3), ("sidetable", 0, 1)),
                *(("stoveburner", 2, 4), ("coffeemachine", 1, 1), ("garbagecan", 1, 1)),
            ),
            things=_KITCHEN_THINGS,
        ),
        RoomKind(
            name="living room",
            furniture=(
                *(("sofa", 1, 1), ("armchair", 0, 2), ("coffeetable", 1, 1)),
                *(("sidetable", 1, 3), ("shelf", 0, 4), ("tvstand", 0, 1)),
                *(("drawer", 2, 6), ("cabinet", 0, 4), ("dresser", 0, 1)),
                *(("diningtable", 0, 1), ("safe", 0, 1), ("garbagecan", 1, 1)),
            ),
            things=_LIVING_THINGS,
        ),
        RoomKind(
            name="bedroom",
            furniture=(
                *(("bed", 1, 1), ("desk", 1, 2), ("sidetable", 1, 2)),
                *(("drawer", 3, 9), ("shelf", 0, 6), ("dresser", 0, 1)),
                *(("armchair", 0, 1), ("safe", 0, 1), ("garbagecan", 1, 1)),
            ),
            things=_DESK_THINGS,
        ),
        RoomKind(
            name="bathroom",
            furniture=(
                *(("sinkbasin", 1, 2), ("toilet", 1, 1), ("bathtubbasin", 0, 1)),
                *(("countertop", 1, 1), ("cabinet", 2, 6), ("drawer", 0, 5)),
                *(("shelf", 0, 3), ("toiletpaperhanger", 1, 1)),
                *(("handtowelholder", 1, 2), ("garbagecan", 1, 1)),
            ),
            things=_BATH_THINGS,
        ),
    )
}
