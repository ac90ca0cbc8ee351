"""Where the results of a run lie, said at its end."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ray.tune.experiment import Trial

TABLES = ("progress.csv", "result.json", "params.json")


def print_results(trials: list[Trial], experiment: str) -> None:
    """Print each trial's status and files, then the commands that read them."""
    print()
    for trial in trials:
        for line in trial_lines(trial):
            print(line)
    print(f"TensorBoard: tensorboard --logdir {experiment}")


def trial_lines(trial: Trial) -> list[str]:
    """What one trial left behind; only files that exist are named."""
    from rllib_gigpo.algorithms.evaluation_table import TABLE_FOLDER

    iteration = (trial.last_result or {}).get("training_iteration", 0)
    lines = [f"{trial}: {trial.status.lower()} after {iteration} training iterations"]
    if trial.checkpoint is not None:
        path = trial.checkpoint.path
        lines += [f"  checkpoint: {path}", f"  evaluate:   rllib evaluate {path}"]
    folder = Path(trial.path or ".")
    tables = [name for name in TABLES if (folder / name).is_file()]
    if tables:
        # A shell takes one name without braces only, several with them.
        names = tables[0] if len(tables) == 1 else f"{{{','.join(tables)}}}"
        lines.append(f"  tables:     {folder}/{names}")
    if (folder / TABLE_FOLDER).is_dir():
        lines.append(f"  per task:   {folder}/{TABLE_FOLDER}")
    if trial.error_file:
        lines += [f"  traceback:  {trial.error_file}", *last_lines(trial.error_file)]
    return lines


def last_lines(path: str, count: int = 8) -> list[str]:
    """The end of an error file, indented."""
    text = Path(path).read_text(errors="replace").rstrip().splitlines()
    return [f"    {line}" for line in text[-count:]]
