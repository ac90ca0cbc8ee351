"""The rarer settings of credit assignment, by name."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from rllib_gigpo.credit import CreditConfig
from rllib_gigpo.credit.config import GraphGPOOptions, HGPOOptions
from rllib_gigpo.credit.nearest import nearest_name
from rllib_gigpo.errors import ConfigError

_NESTED = {"hgpo": HGPOOptions, "graphgpo": GraphGPOOptions}


def make_credit_config(options: Mapping[str, Any], **settings: Any) -> CreditConfig:
    """A credit configuration from settings of their own and the rarer options.

    Args:
        options: Fields of ``CreditConfig`` that ``settings`` does not hold; ``hgpo``
            and ``graphgpo`` may be dicts.
        settings: Fields that the algorithm's configuration has under their own name.

    Raises:
        ConfigError: An option is unknown, or is a setting of its own.
    """
    known = {field.name for field in dataclasses.fields(CreditConfig)}
    for name in options:
        if name in settings:
            raise ConfigError(
                f"credit_options holds {name!r}, a setting of its own: set it by "
                f".training({name}=...)"
            )
        if name not in known:
            near = nearest_name(name, known - set(settings))
            raise ConfigError(
                f"credit_options holds the unknown {name!r}; did you mean {near!r}?"
            )
    nested = {
        name: kind(**options[name])
        for name, kind in _NESTED.items()
        if isinstance(options.get(name), Mapping)
    }
    return CreditConfig(**settings, **{**options, **nested})
