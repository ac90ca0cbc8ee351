"""Our algorithms under their names in RLlib's registry.

Entries in ``ALGORITHMS`` survive Tune's re-registration and are resolved lazily, so
``tune.Tuner("GiGPO")`` and ``get_trainable_cls("GiGPO")`` work after importing us.
"""

from __future__ import annotations

from ray.rllib.algorithms.registry import ALGORITHMS

NAMES = {
    "GiGPO": "gigpo",
    "GRPO": "presets",
    "RLOO": "presets",
    "DAPO": "presets",
    "DrGRPO": "presets",
    "GSPO": "presets",
    "REINFORCE++": "presets",
}
"""Algorithm name -> module of :mod:`rllib_gigpo.algorithms`."""

_CLASS_NAMES = {"REINFORCE++": "ReinforcePlusPlus"}


def register_algorithms() -> None:
    """Add our algorithms to RLlib's registry. Idempotent."""
    for name in NAMES:
        ALGORITHMS.setdefault(name, lambda name=name: _load(name))


def _load(name: str) -> tuple[type, object]:
    import importlib

    module = importlib.import_module(f"rllib_gigpo.algorithms.{NAMES[name]}")
    algorithm = getattr(module, _CLASS_NAMES.get(name, name))
    return algorithm, algorithm.get_default_config()
