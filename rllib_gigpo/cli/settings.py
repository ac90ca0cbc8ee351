"""From names and JSON to a checked AlgorithmConfig, before anything is started.

RLlib sets whatever key it is given, so that a mistyped one has no effect and no
message. Here an unknown name is refused, with the nearest known one.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from rllib_gigpo.errors import ConfigError

if TYPE_CHECKING:
    from ray.rllib.algorithms.algorithm_config import AlgorithmConfig

Settings = Mapping[str, object]

# Accepted by AlgorithmConfig.update_from_dict without being attributes.
STRUCTURED_KEYS = frozenset({"multiagent"})


def nearest(name: str, known: Iterable[str]) -> str:
    """A hint to end a sentence with: the nearest known name, or nothing."""
    by_lower = {candidate.lower(): candidate for candidate in known}
    matches = difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=0.5)
    return f"; did you mean {by_lower[matches[0]]!r}?" if matches else ""


def default_config(algorithm: str) -> AlgorithmConfig:
    """The default config of an RLlib algorithm, ours included.

    Raises:
        ConfigError: No algorithm has this name.
    """
    from ray.rllib.algorithms.registry import ALGORITHMS

    if algorithm not in ALGORITHMS:
        raise ConfigError(
            f"unknown algorithm {algorithm!r}{nearest(algorithm, ALGORITHMS)} "
            "(`rllib algorithms` lists them)"
        )
    return ALGORITHMS[algorithm]()[1]


def apply_settings(config: AlgorithmConfig, settings: Settings) -> None:
    """Set every key of ``settings`` on ``config``, as ``--config`` means it.

    Raises:
        ConfigError: A key is unknown, or its value refused by the config.
    """
    check_keys(config, settings)
    try:
        config.update_from_dict(dict(settings))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ConfigError(
            f"{algorithm_name(config)} refuses these settings: {error}"
        ) from error


def check_keys(config: AlgorithmConfig, settings: Settings, where: str = "") -> None:
    """Refuse keys that the config, or its evaluation part, does not have.

    Raises:
        ConfigError: Naming the first unknown key and the nearest known one.
    """
    known = known_keys(config)
    for key in settings:
        if config._translate_special_keys(key, warn_deprecated=False) not in known:
            raise ConfigError(
                f"unknown config key {where + key!r} for {algorithm_name(config)}"
                f"{nearest(key, known)}"
            )
    evaluation = settings.get("evaluation_config")
    if isinstance(evaluation, Mapping):
        check_keys(config, evaluation, where="evaluation_config/")


def known_keys(config: AlgorithmConfig) -> set[str]:
    """The names that can be set: attributes, and properties with a setter."""
    settable = {
        name
        for name in dir(type(config))
        if getattr(getattr(type(config), name), "fset", None) is not None
    }
    public = {key for key in vars(config) if not key.startswith("_is_")}
    return public | settable | STRUCTURED_KEYS


def algorithm_name(config: AlgorithmConfig) -> str:
    """The name that Tune knows the config's algorithm by.

    Raises:
        ConfigError: The config belongs to no algorithm.
    """
    if config.algo_class is None:
        raise ConfigError(
            f"{type(config).__name__} has no algorithm: use a subclass such as "
            "GiGPOConfig or PPOConfig"
        )
    return str(config.algo_class.__name__)


def check_environment(env: object) -> None:
    """Refuse an environment name that neither Tune nor Gymnasium knows.

    Raises:
        ConfigError: Naming the nearest known environment.
    """
    import gymnasium
    from ray.tune.registry import ENV_CREATOR, _global_registry

    if not isinstance(env, str) or _global_registry.contains(ENV_CREATOR, env):
        return
    # A dotted path to a class, or "package:Name-v0": resolved where it is made.
    if ":" in env or (env.count(".") > 0 and "/" not in env):
        return
    if env in gymnasium.registry:
        return
    try:
        gymnasium.spec(env)
    except gymnasium.error.Error as error:
        raise ConfigError(
            f"unknown environment {env!r}{nearest(env, gymnasium.registry)}"
        ) from error


def has_search_space(config: AlgorithmConfig) -> bool:
    """Whether Tune has to choose some settings (grid search, distributions)."""
    from ray.tune.search.variant_generator import parse_spec_vars

    _, distributions, grids = parse_spec_vars(config.to_dict())
    return bool(distributions or grids)


def validate(config: AlgorithmConfig) -> None:
    """Refuse what the config itself calls impossible, as it would do on start.

    With a search space only Tune can, once it has chosen.

    Raises:
        ConfigError: Saying what does not fit.
    """
    check_environment(config.env)
    if has_search_space(config):
        return
    try:
        config.copy(copy_frozen=False).validate()
    except TypeError as error:
        raise ConfigError(
            f"a setting of {algorithm_name(config)} has the wrong type: {error}"
        ) from error
    except ValueError as error:
        # RLlib adds how to switch all checks off, which helps nobody here.
        what = str(error).split("\nTo suppress all validation errors")[0]
        raise ConfigError(what) from error
