"""Evaluation on the fixed panel, pooled per episode whatever the number of runners."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pyarrow.fs
from ray.rllib.env.env_runner_group import EnvRunnerGroup
from ray.rllib.utils.metrics import ENV_RUNNER_RESULTS, EVALUATION_RESULTS

from rllib_gigpo.algorithms.evaluation_table import table_rows, write_table
from rllib_gigpo.algorithms.metrics import log_tree
from rllib_gigpo.algorithms.sampling import check_failures, play_on_runners
from rllib_gigpo.rollout.sampling_metrics import sampling_metrics
from rllib_gigpo.rollout.task_sampling import evaluation_panel

if TYPE_CHECKING:
    from rllib_gigpo.algorithms.gigpo import GiGPO


def evaluate_panel(
    algorithm: GiGPO, eval_env_runner_group: EnvRunnerGroup | None
) -> tuple[dict[str, Any], int, int]:
    """Play the evaluation panel; RLlib's ``custom_evaluation_function``.

    Runs on the evaluation runners where there are any, else on the training ones. Each
    episode's outcome is in ``algorithm.last_evaluation`` and in a file of the trial's
    folder, see ``evaluation_table``.

    Returns:
        RLlib's triple: results (logged under ``evaluation/env_runners`` too), and the
        number of steps twice.
    """
    config = algorithm.config
    specs = evaluation_panel(
        algorithm.evaluation_tasks,
        seed=config.evaluation_seed,
        num_tasks=config.evaluation_num_tasks,
        episodes_per_task=config.evaluation_episodes_per_task,
        temperature=config.evaluation_temperature,
    )
    start = time.perf_counter()
    rollout = play_on_runners(
        eval_env_runner_group or algorithm.env_runner_group,
        specs,
        timeout_s=config.evaluation_sample_timeout_s,
    )
    check_failures(rollout, config.max_failed_episode_fraction)
    results = sampling_metrics(
        rollout.episodes, rollout.failures, time.perf_counter() - start
    )
    algorithm.last_evaluation = rollout
    filesystem, folder = _trial_folder(algorithm)
    write_table(
        table_rows(specs, rollout), filesystem, folder, algorithm.policy_version
    )
    log_tree(algorithm.metrics, (EVALUATION_RESULTS, ENV_RUNNER_RESULTS), results)
    num_steps = sum(len(episode.steps) for episode in rollout.episodes)
    return results, num_steps, num_steps


def _trial_folder(algorithm: GiGPO) -> tuple[pyarrow.fs.FileSystem, str]:
    """Where Tune keeps the trial's results; without Tune RLlib's log folder."""
    storage = algorithm._storage
    if storage is None:
        return pyarrow.fs.LocalFileSystem(), algorithm.logdir
    return storage.storage_filesystem, storage.trial_fs_path
