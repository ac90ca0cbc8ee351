"""The command ``rllib``: train and evaluate any RLlib algorithm, GiGPO included.

RLlib shipped this command up to Ray 2.40; the flags are the same. It imports little
until a command runs, so that ``--help`` is quick.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from rllib_gigpo.cli.evaluate_flags import add_evaluate_flags
from rllib_gigpo.cli.train_flags import add_train_file_flags, add_train_flags
from rllib_gigpo.errors import GiGPOError

REFUSED = 2
"""Exit status when nothing was started."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        argv: The words after ``rllib``; by default the process's own.

    Returns:
        The exit status: 0 done, 1 failed, 2 refused before anything was started.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    # argparse cannot have "train" with flags of its own beside "train file".
    if words[:2] == ["train", "file"]:
        words[:2] = ["train-file"]
    arguments = build_parser().parse_args(words)
    try:
        return run(arguments)
    except GiGPOError as error:
        print(f"rllib {arguments.command}: {error}", file=sys.stderr)
        return REFUSED


def run(arguments: argparse.Namespace) -> int:
    """Import and run the chosen command."""
    import rllib_gigpo  # noqa: F401 - registers our algorithms and environments

    if arguments.command == "train":
        from rllib_gigpo.cli.train import train

        return train(arguments)
    if arguments.command == "train-file":
        from rllib_gigpo.cli.train import train_file

        return train_file(arguments)
    if arguments.command == "evaluate":
        from rllib_gigpo.cli.evaluate import evaluate

        return evaluate(arguments)
    from ray.rllib.algorithms.registry import ALGORITHMS

    print("\n".join(sorted(ALGORITHMS)))
    return 0


def build_parser() -> argparse.ArgumentParser:
    """The parser of all commands."""
    parser = argparse.ArgumentParser(prog="rllib", description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    add_train_flags(
        commands.add_parser(
            "train",
            help="train an algorithm, or `train file FILE.py`",
            epilog="`rllib train file FILE.py` runs the config of a Python file: "
            "see `rllib train file --help`.",
        )
    )
    add_train_file_flags(commands.add_parser("train-file", prog="rllib train file"))
    add_evaluate_flags(
        commands.add_parser("evaluate", help="evaluate a checkpoint, without training")
    )
    commands.add_parser("algorithms", help="list the names that --algo takes")
    return parser


if __name__ == "__main__":
    sys.exit(main())
