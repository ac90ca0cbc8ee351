"""Which engine serves which request, so that prefix caching pays. Pure: no Ray."""

from __future__ import annotations

from collections import OrderedDict

_MOST_GROUPS = 16_384
"""Groups remembered; the one that was asked for longest ago is forgotten first."""


class Router:
    """Keeps each group, and so each of its episodes, on one engine.

    A new group goes to the engine with the fewest requests in flight. Hashing would
    be simpler, but can crowd one engine while others idle.

    Args:
        num_engines: How many there are.
        offset: Which of equally loaded engines comes first, so that several routers
            do not all begin with the same one.
    """

    def __init__(self, num_engines: int, *, offset: int = 0) -> None:
        order = [(offset + i) % num_engines for i in range(num_engines)]
        self._num_in_flight = dict.fromkeys(order, 0)
        self._is_up = dict.fromkeys(order, True)
        self._engine_of: OrderedDict[str, int] = OrderedDict()

    def route(self, group: str) -> int | None:
        """The engine for a request, counted as in flight until :meth:`release`.

        Args:
            group: Of the request.

        Returns:
            Its index, or None if no engine is up.
        """
        engine = self._engine_of.get(group)
        if engine is None or not self._is_up[engine]:
            up = [e for e, is_up in self._is_up.items() if is_up]
            if not up:
                return None
            engine = min(up, key=self._num_in_flight.__getitem__)
        self._engine_of[group] = engine
        self._engine_of.move_to_end(group)
        if len(self._engine_of) > _MOST_GROUPS:
            self._engine_of.popitem(last=False)
        self._num_in_flight[engine] += 1
        return engine

    def release(self, engine: int) -> None:
        """A request that :meth:`route` sent there has ended, one way or another."""
        self._num_in_flight[engine] -= 1

    def mark_down(self, engine: int) -> None:
        """Send nothing there; its groups move to other engines when they next ask."""
        self._is_up[engine] = False

    def mark_up(self, engine: int) -> None:
        """Send new groups there again."""
        self._is_up[engine] = True
