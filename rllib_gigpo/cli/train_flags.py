"""The flags of ``rllib train`` and ``rllib train file``, as RLlib 2.40 had them."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from rllib_gigpo.cli.ray_session import add_ray_flags

STOP_EXAMPLE = "'{\"training_iteration\": 100}'"


def add_train_flags(parser: argparse.ArgumentParser) -> None:
    """The flags of ``rllib train``."""
    parser.add_argument(
        "--algo", "--run", "-a", "-r", required=True, help="e.g. GiGPO, GRPO, PPO"
    )
    add_shared_flags(parser, default_name="default")


def add_train_file_flags(parser: argparse.ArgumentParser) -> None:
    """The flags of ``rllib train file``."""
    parser.add_argument(
        "file", type=Path, help="a Python file with a module-level `config` and `stop`"
    )
    add_shared_flags(parser, default_name=None)


def add_shared_flags(
    parser: argparse.ArgumentParser, *, default_name: str | None
) -> None:
    """What both commands take; flags override what a file says."""
    add = parser.add_argument
    add("--env", "-e", help="e.g. Household-v0, ALFWorld-v0, CartPole-v1")
    add(
        "--config",
        "-c",
        type=json_object,
        default={},
        metavar="JSON",
        help="settings of the algorithm; unknown keys are refused",
    )
    add(
        "--stop",
        "-s",
        type=json_object,
        metavar="JSON",
        help=f"when to stop, whichever comes first, e.g. {STOP_EXAMPLE}",
    )
    add("--num-samples", type=int, default=1, help="repetitions of each trial")
    add("--framework", choices=("torch", "tf", "tf2"), default="torch")
    add("-v", "--log-info", action="store_true", help="show RLlib's INFO messages")
    add("-vv", "--log-debug", action="store_true", help="and its DEBUG messages")
    add("--trace", action="store_true", help=argparse.SUPPRESS)
    add_storage_flags(parser, default_name)
    add_schedule_flags(parser)
    add_wandb_flags(parser)
    add_ray_flags(parser)


def add_storage_flags(
    parser: argparse.ArgumentParser, default_name: str | None
) -> None:
    """Where results go, and which checkpoints are kept."""
    add = parser.add_argument_group("results").add_argument
    add(
        "--experiment-name",
        "-n",
        default=default_name,
        help="folder below the storage path (default: "
        f"{default_name or 'the name of the file'})",
    )
    add("--storage-path", help="default: ~/ray_results")
    add("--checkpoint-freq", type=int, metavar="ITERATIONS", help="0: only at the end")
    add("--checkpoint-at-end", action=argparse.BooleanOptionalAction, default=True)
    add("--keep-checkpoints-num", type=int, metavar="N", help="keep the N best ones")
    add(
        "--checkpoint-score-attr",
        default="training_iteration",
        metavar="METRIC",
        help="what makes a checkpoint good; min-METRIC if less is better",
    )
    add(
        "--restore",
        metavar="CHECKPOINT",
        help="continue from a checkpoint, or from a trial's newest one",
    )
    add("--resume", action="store_true", help="continue an interrupted experiment")
    add("--local-dir", help=argparse.SUPPRESS)
    add("--upload-dir", help=argparse.SUPPRESS)


def add_schedule_flags(parser: argparse.ArgumentParser) -> None:
    """How Tune runs several trials."""
    add = parser.add_argument_group("trials").add_argument
    add("--scheduler", default="FIFO", help="e.g. AsyncHyperBand, pbt")
    add("--scheduler-config", type=json_object, default={}, metavar="JSON")
    add("--resources-per-trial", metavar="JSON", help=argparse.SUPPRESS)


def add_wandb_flags(parser: argparse.ArgumentParser) -> None:
    """Weights & Biases, if its package is installed."""
    add = parser.add_argument_group("Weights & Biases").add_argument
    add("--wandb-key")
    add("--wandb-project")
    add("--wandb-run-name")


def json_object(text: str) -> dict[str, object]:
    """A JSON object from the command line.

    Raises:
        ArgumentTypeError: The text is not JSON, or JSON but not an object.
    """
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise argparse.ArgumentTypeError(f"{text!r} must be a JSON object like {{}}")
    return value
