"""The flags of ``rllib evaluate``, as RLlib had them up to 2.40."""

from __future__ import annotations

import argparse
from pathlib import Path

from rllib_gigpo.cli.ray_session import add_ray_flags
from rllib_gigpo.cli.train_flags import json_object


def add_evaluate_flags(parser: argparse.ArgumentParser) -> None:
    """The flags of ``rllib evaluate``."""
    add = parser.add_argument
    add(
        "checkpoint",
        type=Path,
        help="a checkpoint, or the folder of a trial (its newest checkpoint is taken)",
    )
    add("--algo", "--run", "-a", "-r", help="only checked: the checkpoint knows it")
    add("--env", "-e", help="evaluate on another environment")
    add(
        "--config",
        "-c",
        type=json_object,
        default={},
        metavar="JSON",
        help="settings that differ from the checkpoint's",
    )
    duration = parser.add_mutually_exclusive_group()
    duration.add_argument(
        "--steps", type=int, metavar="N", help="environment steps to play"
    )
    duration.add_argument(
        "--episodes",
        type=int,
        metavar="N",
        help="episodes to play; with GiGPO and its kin, of the first N tasks (default: "
        "the evaluation of the checkpoint's config)",
    )
    add("--out", type=Path, help="write every episode to this file, one JSON per line")
    add(
        "--save-info",
        action="store_true",
        help="with --out: also each step's info",
    )
    add("--track-progress", action="store_true", help="print a line per episode")
    add("--render", action="store_true", help="show a Gymnasium environment on screen")
    add("--use-shelve", action="store_true", help=argparse.SUPPRESS)
    add_ray_flags(parser)
