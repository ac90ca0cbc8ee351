"""Make games beforehand, a worker a core.

Run: ``python -m environments.textworld_games.make_games --kind cooking --split train``.
"""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from environments.textworld_games.env import TextWorldEnv
from environments.textworld_games.game_files import GAME_KINDS, GameSpec
from environments.textworld_games.worker_pool import WorkerPool, shared_pool


def make_games(specs: Iterable[GameSpec]) -> list[Path]:
    """The files of the games; those that are there already are left as they are."""
    pool = shared_pool()
    with ThreadPoolExecutor(len(pool.workers)) as threads:
        return list(threads.map(lambda spec: _make_game(pool, spec), specs))


def main() -> None:
    """Make what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kind", choices=GAME_KINDS, default="coin_collector")
    parser.add_argument("--split", choices=TextWorldEnv.splits, default="train")
    parser.add_argument("--num-tasks", type=int, default=None)
    parser.add_argument("--setting", action="append", default=[], metavar="NAME=NUMBER")
    parser.add_argument("--no-hints", action="store_true")
    arguments = parser.parse_args()
    settings = dict(_setting(text) for text in arguments.setting)
    env = TextWorldEnv(
        kind=arguments.kind, settings=settings, is_hinted=not arguments.no_hints
    )
    tasks = env.tasks(arguments.split)[: arguments.num_tasks]
    files = make_games(env.spec_of(task.id) for task in tasks)
    print(f"{len(files)} games, the first of them {files[0]}")


def _make_game(pool: WorkerPool, spec: GameSpec) -> Path:
    file = spec.game_file()
    worker = pool.acquire()
    try:
        worker.call("make", spec=dataclasses.asdict(spec), file=str(file))
    finally:
        pool.release(worker)
    return file


def _setting(text: str) -> tuple[str, int]:
    name, _, number = text.partition("=")
    return name, int(number)


if __name__ == "__main__":
    main()
