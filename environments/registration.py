"""The environments by name, for ``gymnasium.make`` and RLlib's ``.environment(...)``.

Entry points are strings, so registering imports no environment. RLlib passes its
``env_config`` on to ``gymnasium.make`` as keyword arguments.
"""

from __future__ import annotations

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
