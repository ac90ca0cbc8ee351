"""From the names RLlib and Gymnasium know to a :class:`~environments.TextEnv`."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import gymnasium
from ray.rllib.env.env_context import EnvContext
from ray.tune.registry import ENV_CREATOR, _global_registry

import environments  # noqa: F401  (registers them with Gymnasium)
from environments.registration import make_registered
from environments.text_env import TextEnv
from rllib_gigpo.errors import ConfigError


def make_text_env(env: str | type, env_config: dict[str, Any]) -> TextEnv:
    """Build an environment from what ``config.environment(env, env_config=...)`` takes.

    Args:
        env: A name registered with Tune, a dotted class path, a Gymnasium id, or a
            class.
        env_config: Keyword arguments of the environment; creators registered with
            Tune get it as one ``EnvContext``, as everywhere in RLlib.

    Raises:
        ConfigError: There is no such environment, or it is not a ``TextEnv``.
    """
    made = _make(env, env_config)
    if isinstance(made, gymnasium.Env):
        made = made.unwrapped
    if not isinstance(made, TextEnv):
        raise ConfigError(
            f"environment {env!r} is a {type(made).__name__}, not an "
            "environments.text_env.TextEnv; see docs/environments.md for the contract"
        )
    return made


def _make(env: str | type, env_config: dict[str, Any]) -> object:
    if isinstance(env, type):
        return env(**env_config)
    if _global_registry.contains(ENV_CREATOR, env):
        creator = _global_registry.get(ENV_CREATOR, env)
        return creator(EnvContext(env_config, worker_index=0))
    # A colon is Gymnasium's: "package.module:Name-v0".
    if "." in env and ":" not in env:
        return _find_class(env)(**env_config)
    try:
        return make_registered(env, **env_config)
    except gymnasium.error.UnregisteredEnv as error:
        raise ConfigError(
            f"there is no environment {env!r} ({error}); register it with "
            "gymnasium.register or ray.tune.register_env, or pass its class"
        ) from error


def _find_class(path: str) -> Callable[..., gymnasium.Env]:
    module_name, _, class_name = path.rpartition(".")
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        # What the module itself fails to import is another matter.
        if not f"{module_name}.".startswith(f"{error.name}."):
            raise
        raise ConfigError(
            f"there is no environment {path!r} ({error}); name a class by its full "
            "path, in a module that can be imported from here"
        ) from error
    if not hasattr(module, class_name):
        raise ConfigError(
            f"there is no environment {path!r}: {module_name} has no {class_name!r}"
        )
    return getattr(module, class_name)
