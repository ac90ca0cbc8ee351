"""``rllib train`` and ``rllib train file``: from flags to a Tune run.

Enters: parsed flags. Leaves: an exit status, with the results where Tune puts them.
Everything that can be refused is refused before Ray is started.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rllib_gigpo.cli.ray_session import ray_session, refuse_impossible
from rllib_gigpo.cli.run_file import load_run_file
from rllib_gigpo.cli.scheduler import make_scheduler
from rllib_gigpo.cli.settings import (
    algorithm_name,
    apply_settings,
    default_config,
    has_search_space,
    validate,
)
from rllib_gigpo.errors import ConfigError

if TYPE_CHECKING:
    from ray.rllib.algorithms.algorithm_config import AlgorithmConfig
    from ray.tune import Callback, CheckpointConfig

    from rllib_gigpo.warm_start import WarmStartSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingPlan:
    """What to run.

    Attributes:
        experiment: Name of the results' folder.
        config: The whole config; may hold a search space.
        stop: Flat metric keys (``"env_runners/episode_return_mean"``) to the values
            at which a trial ends.
    """

    experiment: str
    config: AlgorithmConfig
    stop: Mapping[str, float]


def train(arguments: argparse.Namespace) -> int:
    """Run ``rllib train``; returns the exit status."""
    refuse_flags(arguments)
    config = default_config(arguments.algo)
    override(config, arguments)
    plan = TrainingPlan(
        experiment=arguments.experiment_name,
        config=config,
        stop=flat_stop(arguments.stop or {}),
    )
    return run(plan, arguments)


def train_file(arguments: argparse.Namespace) -> int:
    """Run ``rllib train file``; returns the exit status."""
    refuse_flags(arguments)
    file = load_run_file(arguments.file)
    config = file.config.copy(copy_frozen=False)
    override(config, arguments)
    plan = TrainingPlan(
        experiment=arguments.experiment_name or file.name,
        config=config,
        stop=flat_stop(file.stop if arguments.stop is None else arguments.stop),
    )
    if file.warm_start is not None:
        make_model(file.warm_start)
    return run(plan, arguments)


def make_model(settings: WarmStartSettings) -> None:
    """Make the small model that a run file starts from, unless it is there."""
    from rllib_gigpo.cli.warm_start import report_line, show_progress
    from rllib_gigpo.warm_start import warm_start

    show_progress()
    print(report_line(warm_start(settings)), flush=True)


def refuse_flags(arguments: argparse.Namespace) -> None:
    """Refuse what RLlib once had and no longer can.

    Raises:
        ConfigError: Saying what to use instead.
    """
    if arguments.framework != "torch":
        raise ConfigError(
            f"--framework {arguments.framework}: RLlib's new API stack knows torch only"
        )
    if arguments.trace:
        raise ConfigError("--trace belonged to TensorFlow: drop it")
    if arguments.local_dir or arguments.upload_dir:
        raise ConfigError(
            "--local-dir and --upload-dir are gone from Ray: use --storage-path"
        )
    if arguments.resources_per_trial:
        raise ConfigError(
            "--resources-per-trial: RLlib computes a trial's resources itself; set "
            "num_env_runners, num_cpus_per_env_runner, num_learners or "
            "num_gpus_per_learner by --config"
        )
    if arguments.wandb_project and importlib.util.find_spec("wandb") is None:
        raise ConfigError("--wandb-project needs the package wandb: pip install wandb")
    refuse_impossible(arguments)


def override(config: AlgorithmConfig, arguments: argparse.Namespace) -> None:
    """Let the flags overrule the config, then check the result."""
    apply_settings(config, arguments.config)
    if arguments.env:
        config.environment(arguments.env)
    if arguments.log_info or arguments.log_debug:
        config.debugging(log_level="DEBUG" if arguments.log_debug else "INFO")
    validate(config)


def flat_stop(stop: Mapping[str, object], prefix: str = "") -> dict[str, float]:
    """Stop criteria with nested keys joined by slashes, as Tune compares them.

    Raises:
        ConfigError: A value is not a number.
    """
    flat: dict[str, float] = {}
    for key, value in stop.items():
        if isinstance(value, Mapping):
            flat |= flat_stop(value, f"{prefix}{key}/")
        elif isinstance(value, int | float) and not isinstance(value, bool):
            flat[prefix + key] = value
        else:
            raise ConfigError(
                f"stop criterion {prefix + key!r}: {value!r} is not a number"
            )
    return flat


def run(plan: TrainingPlan, arguments: argparse.Namespace) -> int:
    """Run the plan under Tune, showing progress; 0 if every trial went through."""
    from ray import tune
    from ray.tune.experiment import Trial

    from rllib_gigpo.cli.progress import ProgressDisplay
    from rllib_gigpo.cli.results import print_results

    # Tune's newer output prints its tables even when asked to be silent.
    os.environ.setdefault("RAY_AIR_NEW_OUTPUT", "0")
    scheduler = make_scheduler(arguments)
    start = arguments.restore and checkpoint_path(arguments.restore)
    display = ProgressDisplay(plan.stop)
    with ray_session(arguments):
        check_resources(plan.config, arguments)
        analysis = tune.run(
            algorithm_name(plan.config),
            name=plan.experiment,
            config=plan.config.to_dict(),
            stop=dict(plan.stop),
            num_samples=arguments.num_samples,
            storage_path=arguments.storage_path,
            checkpoint_config=checkpoint_config(arguments),
            scheduler=scheduler,
            restore=start,
            resume="AUTO" if arguments.resume else None,
            callbacks=[display, *make_loggers(arguments)],
            raise_on_failed_trial=False,
            verbose=0,
        )
        print_results(analysis.trials, analysis.experiment_path)
    if display.is_interrupted:
        print("interrupted: the same command with --resume goes on")
        return 1
    done = all(trial.status == Trial.TERMINATED for trial in analysis.trials)
    return 0 if done and analysis.trials else 1


def check_resources(config: AlgorithmConfig, arguments: argparse.Namespace) -> None:
    """Refuse a run that would wait for ever for CPUs or GPUs that are not there.

    Raises:
        ConfigError: A trial asks for more than this machine has.
    """
    import ray

    # A cluster that was joined may grow; with a search space only Tune knows.
    if arguments.ray_address or has_search_space(config) or config.algo_class is None:
        return
    request = config.algo_class.default_resource_request(config)
    available = ray.cluster_resources()
    for kind, wanted in request.required_resources.items():
        if wanted > available.get(kind, 0):
            raise ConfigError(
                f"one trial asks for {wanted:g} {kind}, Ray has "
                f"{available.get(kind, 0):g}: lower num_env_runners or num_learners by "
                f"--config, or claim more by --ray-num-{kind.lower()}s {wanted:.0f}"
            )


def checkpoint_path(place: str) -> str:
    """The checkpoint to start from; of a folder on this machine, the newest in it.

    Raises:
        CheckpointError: There is none.
    """
    from rllib_gigpo.cli.evaluate import find_checkpoint

    return place if "://" in place else str(find_checkpoint(Path(place)))


def checkpoint_config(arguments: argparse.Namespace) -> CheckpointConfig:
    """What the checkpoint flags mean to Tune."""
    from ray.tune import CheckpointConfig

    attribute = arguments.checkpoint_score_attr
    return CheckpointConfig(
        checkpoint_frequency=arguments.checkpoint_freq or 0,
        checkpoint_at_end=arguments.checkpoint_at_end,
        num_to_keep=arguments.keep_checkpoints_num,
        checkpoint_score_attribute=attribute.removeprefix("min-"),
        checkpoint_score_order="min" if attribute.startswith("min-") else "max",
    )


def make_loggers(arguments: argparse.Namespace) -> list[Callback]:
    """Weights & Biases if asked for, beside the files that Tune writes in any case."""
    if not arguments.wandb_project:
        return []
    from ray.air.integrations.wandb import WandbLoggerCallback

    return [
        WandbLoggerCallback(
            project=arguments.wandb_project,
            api_key=arguments.wandb_key,
            name=arguments.wandb_run_name,
        )
    ]
