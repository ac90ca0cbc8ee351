"""The environments by name, for ``gymnasium.make`` and RLlib's ``.environment(...)``.

Entry points are strings, so registering imports no environment. What RLlib calls
``env_config`` are an environment's keyword arguments.
"""

from __future__ import annotations

import copy
import importlib
from typing import Any

import gymnasium

ENTRY_POINTS = {
    "ALFWorld-v0": "environments.alfworld.env:AlfworldEnv",
    "Household-v0": "environments.household.env:HouseholdEnv",
    "WebShop-v0": "environments.webshop.env:WebShopEnv",
    "SearchQA-v0": "environments.search.env:SearchQAEnv",
    "Sokoban-v0": "environments.sokoban.env:SokobanEnv",
    "NumberLine-v0": "environments.cards.number_line:NumberLineEnv",
    "EZPoints-v0": "environments.cards.formula_envs:EZPointsEnv",
    "Points24-v0": "environments.cards.formula_envs:Points24Env",
    "Blackjack-v0": "environments.cards.blackjack:BlackjackEnv",
    "TextWorld-v0": "environments.textworld_games.env:TextWorldEnv",
}


def register_environments() -> None:
    """Make every environment known to Gymnasium. Idempotent.

    Gymnasium's own run-time checker is left off: its warnings about what our info
    holds are wrong, and :func:`environments.checker.check_text_env` says more.
    """
    for name, entry_point in ENTRY_POINTS.items():
        if name not in gymnasium.registry:
            gymnasium.register(
                id=name,
                entry_point=entry_point,
                disable_env_checker=True,
                order_enforce=False,
            )


def make_registered(name: str, **settings: Any) -> gymnasium.Env[Any, Any]:
    """A registered environment with settings of its own.

    Danger: ``gymnasium.make`` would keep ``max_episode_steps`` for a wrapper of its
    own, and the environment would never hear of it.

    Args:
        name: E.g. ``"Sokoban-v0"``, or ``"package:Name-v0"`` for one that importing the
            package registers.
        settings: Keyword arguments of the environment.

    Raises:
        gymnasium.error.UnregisteredEnv: There is no environment of that name.
    """
    module, _, name = name.rpartition(":")
    if module:
        importlib.import_module(module)
    spec = copy.deepcopy(gymnasium.spec(name))
    spec.kwargs.update(settings)
    return gymnasium.make(spec, disable_env_checker=True)
