"""The file that ``rllib train file`` runs: a module with ``config`` and ``stop``.

It may also hold ``warm_start``, the settings of the model that its config names; that
model is then made before the run, unless it is there.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rllib_gigpo.errors import ConfigError

if TYPE_CHECKING:
    from ray.rllib.algorithms.algorithm_config import AlgorithmConfig

    from rllib_gigpo.warm_start import WarmStartSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFile:
    """What a run file says.

    Attributes:
        name: The file's name without its ending; the experiment's default name.
        config: Its ``config``.
        stop: Its ``stop``; empty if it has none.
        folder: Where it lies; workers import it from there.
        warm_start: Its ``warm_start``, if it has one.
    """

    name: str
    config: AlgorithmConfig
    stop: Mapping[str, object]
    folder: Path
    warm_start: WarmStartSettings | None


def load_run_file(path: Path) -> RunFile:
    """Import a run file under its own name, so that workers can import it too.

    Raises:
        ConfigError: The file is missing, is no Python file, hides behind another
            module of its name, or lacks a proper ``config`` or ``stop``.
    """
    from ray.rllib.algorithms.algorithm_config import AlgorithmConfig

    module = import_from(path.resolve())
    config = getattr(module, "config", None)
    if not isinstance(config, AlgorithmConfig):
        raise ConfigError(
            f"{path}: `config` must be an AlgorithmConfig at the top of the module, "
            f"not {type(config).__name__}"
        )
    stop = getattr(module, "stop", {})
    if not isinstance(stop, Mapping):
        raise ConfigError(
            f'{path}: `stop` must be a dict such as {{"training_iteration": 10}}, '
            f"not {type(stop).__name__}"
        )
    return RunFile(
        name=path.stem,
        config=config,
        stop=stop,
        folder=path.parent,
        warm_start=_warm_start(path, module),
    )


def _warm_start(path: Path, module: object) -> WarmStartSettings | None:
    found = getattr(module, "warm_start", None)
    if found is None:
        return None
    from rllib_gigpo.warm_start import WarmStartSettings

    if not isinstance(found, WarmStartSettings):
        raise ConfigError(
            f"{path}: `warm_start` must be a WarmStartSettings at the top of the "
            f"module, not {type(found).__name__}"
        )
    return found


def import_from(path: Path) -> object:
    """The module of ``path``, importable by its bare name here and in Ray's workers."""
    if not path.is_file():
        raise ConfigError(f"{path}: no such file")
    if path.suffix != ".py":
        raise ConfigError(
            f"{path}: only Python files with a module-level `config` can be run; "
            "YAML files belonged to RLlib's old API stack"
        )
    if "." in path.stem:
        raise ConfigError(f"{path}: rename the file to one without dots in its name")
    folder = str(path.parent)
    sys.path.insert(0, folder)
    # Ray's workers inherit the environment of the process that starts Ray.
    inherited = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (folder, inherited)))
    module = importlib.import_module(path.stem)
    if Path(getattr(module, "__file__", None) or "").resolve() != path:
        raise ConfigError(
            f"{path}: another module is called {path.stem!r} "
            f"({getattr(module, '__file__', 'built in')}); rename the file"
        )
    return module
