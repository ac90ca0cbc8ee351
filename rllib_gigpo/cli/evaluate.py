"""``rllib evaluate``: play a checkpoint's policy, print what it achieves."""

from __future__ import annotations

import argparse
import json
import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rllib_gigpo.cli.episode_log import EpisodeLog
from rllib_gigpo.cli.ray_session import ray_session, refuse_impossible
from rllib_gigpo.cli.settings import algorithm_name, apply_settings, validate
from rllib_gigpo.errors import CheckpointError, ConfigError

if TYPE_CHECKING:
    from ray.rllib.algorithms.algorithm_config import AlgorithmConfig

CONSTRUCTOR_FILE = "class_and_ctor_args.pkl"


def evaluate(arguments: argparse.Namespace) -> int:
    """Run ``rllib evaluate``; returns the exit status."""
    from ray.rllib.algorithms.algorithm import Algorithm

    refuse_flags(arguments)
    checkpoint = find_checkpoint(arguments.checkpoint)
    config = evaluation_of(read_config(checkpoint), arguments)
    if arguments.out is not None:
        arguments.out.unlink(missing_ok=True)
    with ray_session(arguments):
        algorithm = Algorithm.from_checkpoint(str(checkpoint), config=config)
        try:
            figures = numbers(algorithm.evaluate())
        finally:
            algorithm.stop()
    print(json.dumps(figures, indent=2))
    if arguments.out is not None:
        if not arguments.out.exists():
            raise CheckpointError(
                f"{arguments.out}: not written, since {algorithm_name(config)}'s "
                "environment runners did not report the end of any episode"
            )
        print(f"episodes: {arguments.out.resolve()}")
    return 0


def refuse_flags(arguments: argparse.Namespace) -> None:
    """Raise ConfigError for flags that cannot be served."""
    if arguments.use_shelve:
        raise ConfigError(
            "--use-shelve is gone: --out writes each episode as it ends, one JSON "
            "object per line, and holds none in memory"
        )
    if arguments.save_info and arguments.out is None:
        raise ConfigError("--save-info says what --out writes: add --out FILE")
    if arguments.out is not None and not arguments.out.resolve().parent.is_dir():
        raise ConfigError(f"--out {arguments.out}: there is no such folder; make it")
    refuse_impossible(arguments)


def find_checkpoint(path: Path) -> Path:
    """The checkpoint at ``path``, or the newest one in a trial's folder.

    Raises:
        CheckpointError: There is none.
    """
    if (path / CONSTRUCTOR_FILE).is_file():
        return path.resolve()
    inside = sorted(path.glob("checkpoint_*")) or sorted(path.glob("*/checkpoint_*"))
    complete = [folder for folder in inside if (folder / CONSTRUCTOR_FILE).is_file()]
    if not complete:
        raise CheckpointError(
            f"{path} is no RLlib checkpoint: it holds neither {CONSTRUCTOR_FILE} nor a "
            "folder checkpoint_*; `rllib train` prints the path at its end"
        )
    return complete[-1].resolve()


def read_config(checkpoint: Path) -> AlgorithmConfig:
    """The config that a checkpoint was trained with, as a copy that can be changed.

    Danger: unpickles the file, as RLlib's own restore does. Only for trusted files.
    """
    from ray.rllib.algorithms.algorithm_config import AlgorithmConfig

    content = pickle.loads((checkpoint / CONSTRUCTOR_FILE).read_bytes())
    positional, named = content["ctor_args_and_kwargs"]
    config = named.get("config", positional[0] if positional else None)
    if isinstance(config, Mapping):
        config = content["class"].get_default_config().update_from_dict(dict(config))
    if not isinstance(config, AlgorithmConfig):
        raise CheckpointError(f"{checkpoint / CONSTRUCTOR_FILE} holds no config")
    return config.copy(copy_frozen=False)


def evaluation_of(
    config: AlgorithmConfig, arguments: argparse.Namespace
) -> AlgorithmConfig:
    """The checkpoint's config with the flags on top, ready to evaluate.

    Raises:
        ConfigError: ``--algo`` names another algorithm, or a setting is refused.
    """
    name = algorithm_name(config)
    if arguments.algo not in (None, name):
        raise ConfigError(f"the checkpoint is one of {name}, not of {arguments.algo}")
    apply_settings(config, arguments.config)
    if arguments.env:
        config.environment(arguments.env)
    if arguments.render:
        config.environment(env_config={"render_mode": "human"})
    set_duration(config, arguments)
    # Without an interval RLlib makes no environment runners for evaluation.
    config.evaluation(evaluation_interval=config.evaluation_interval or 1)
    if arguments.out or arguments.track_progress:
        log = EpisodeLog(
            path=arguments.out and arguments.out.resolve(),
            with_infos=arguments.save_info,
            is_printed=arguments.track_progress,
        )
        config.callbacks(on_episode_end=log)
    validate(config)
    return config


def set_duration(config: AlgorithmConfig, arguments: argparse.Namespace) -> None:
    """Make the evaluation as long as ``--episodes`` or ``--steps`` say.

    Raises:
        ConfigError: ``--steps`` with an algorithm that plays whole episodes only.
    """
    from rllib_gigpo.algorithms.config import GiGPOConfig

    if isinstance(config, GiGPOConfig):
        if arguments.steps:
            raise ConfigError(
                f"--steps: {algorithm_name(config)} evaluates by whole episodes of "
                "fixed tasks; use --episodes N for the first N tasks"
            )
        if arguments.episodes:
            config.evaluation(
                evaluation_num_tasks=arguments.episodes, evaluation_episodes_per_task=1
            )
    elif arguments.episodes or arguments.steps:
        config.evaluation(
            evaluation_duration=arguments.episodes or arguments.steps,
            evaluation_duration_unit="episodes" if arguments.episodes else "timesteps",
        )


def numbers(results: Mapping[str, Any]) -> dict[str, float]:
    """The evaluation's own figures, flat; without the timings of RLlib's connectors."""
    from ray.tune.utils import flatten_dict

    own = {key: results[key] for key in ("env_runners",) if key in results}
    flat = flatten_dict(own or dict(results))
    return {
        key: float(value)
        for key, value in flat.items()
        if "connector" not in key
        and (isinstance(value, int | float) or hasattr(value, "item"))
    }
