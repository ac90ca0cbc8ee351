"""The same episodes in any process, whatever Python's hash seed is.

Run as a program it plays, and writes its episodes to a file.
"""

from __future__ import annotations

import importlib
import json
import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from environments.checking.declaration import sample_tasks
from environments.checking.episodes import Episode
from environments.checking.repeats import first_difference, play_sample
from environments.checking.requirement import require
from environments.errors import ContractError
from environments.text_env import TextEnv

_NUM_TASKS = 2
_MAX_STEPS = 1_000
_HASH_SEEDS = ("1", "2")


def check_processes(
    entry_point: str, settings: Mapping[str, Any], *, actions: Sequence[str] = ()
) -> None:
    """Play the same in two fresh processes and compare.

    Args:
        entry_point: ``"module:Class"``, importable from the present folder.
        settings: Its keyword arguments, as JSON has them.
        actions: As in :func:`environments.checker.check_text_env`.

    Raises:
        ContractError: The episodes differ, or a process fails.
    """
    with ThreadPoolExecutor(len(_HASH_SEEDS)) as pool:
        one, other = pool.map(
            lambda hash_seed: _episodes_elsewhere(
                entry_point, settings, actions, hash_seed
            ),
            _HASH_SEEDS,
        )
    require(
        len(one) == len(other)
        and [e.actions for e in one] == [e.actions for e in other],
        "two processes list different tasks or admissible actions",
        "sort whatever comes from a set or a folder",
    )
    for a, b in zip(one, other, strict=True):
        difference = first_difference(a, b)
        require(
            not difference,
            f"two processes play task {a.task_id!r} differently: {difference}",
            "never use hash(), the order of a set, the clock or a process id",
        )


def make_env(entry_point: str, settings: Mapping[str, Any]) -> TextEnv:
    """The environment of a class named ``"module:Class"``.

    Raises:
        ContractError: The name has another form, or names no :class:`TextEnv`.
    """
    module, _, name = entry_point.partition(":")
    if not name:
        raise ContractError(f"{entry_point!r}: name the class as 'module:Class'")
    env = getattr(importlib.import_module(module), name)(**settings)
    if not isinstance(env, TextEnv):
        raise ContractError(f"{entry_point} is no TextEnv: derive it from TextEnv")
    return env


def _episodes_elsewhere(
    entry_point: str,
    settings: Mapping[str, Any],
    actions: Sequence[str],
    hash_seed: str,
) -> list[Episode]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "episodes.pickle"
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                __name__,
                entry_point,
                json.dumps(dict(settings)),
                json.dumps(list(actions)),
                str(path),
            ],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise ContractError(
                f"{entry_point} fails in a process of its own:\n{done.stderr}"
            )
        episodes: list[Episode] = pickle.loads(path.read_bytes())
        return episodes


def _play_and_write(entry_point: str, settings: str, actions: str, path: str) -> None:
    env = make_env(entry_point, json.loads(settings))
    tasks = sample_tasks(env, _NUM_TASKS)
    episodes = play_sample(
        env, tasks, 0, tuple(json.loads(actions)), _MAX_STEPS, num_episodes=1
    )
    Path(path).write_bytes(pickle.dumps(episodes))


if __name__ == "__main__":
    _play_and_write(*sys.argv[1:])
