"""Looking a name up in a registry, with the nearest name when it is not there."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import TypeVar

from rllib_gigpo.errors import ConfigError

Entry = TypeVar("Entry")


def look_up(registry: Mapping[str, Entry], name: str, setting: str) -> Entry:
    """The entry called ``name``.

    Args:
        registry: Name to entry.
        name: What the user asked for.
        setting: The setting it came from, for the message.

    Raises:
        ConfigError: There is no such entry.
    """
    if name in registry:
        return registry[name]
    nearest = difflib.get_close_matches(str(name), registry, n=1, cutoff=0.4)
    hint = f"; did you mean {nearest[0]!r}?" if nearest else ""
    raise ConfigError(f"{setting}={name!r} is not one of {', '.join(registry)}{hint}")
