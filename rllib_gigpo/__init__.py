"""GiGPO for multi-turn LLM agents, native to Ray RLlib.

Importing the package registers its algorithms with RLlib and its environments with
Gymnasium. Without Ray, the learning core stays importable by its submodules.
"""

from __future__ import annotations

import importlib
import importlib.util
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rllib_gigpo.algorithms.config import GiGPOConfig
    from rllib_gigpo.algorithms.gigpo import GiGPO

__all__ = ["GiGPO", "GiGPOConfig"]

_EXPORTS = {
    "GiGPO": "rllib_gigpo.algorithms.gigpo",
    "GiGPOConfig": "rllib_gigpo.algorithms.config",
}


def __getattr__(name: str) -> Any:
    # Lazily, so that importing us costs no import of RLlib's algorithms or torch.
    if name not in _EXPORTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_EXPORTS[name]), name)


if importlib.util.find_spec("ray") is not None:
    import environments  # noqa: F401
    from rllib_gigpo.algorithms.registration import register_algorithms

    register_algorithms()
