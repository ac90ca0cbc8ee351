"""The command ``rllib-gigpo``: everything beside training and evaluating."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence

from rllib_gigpo.errors import GiGPOError

COMMANDS = ("doctor", "data", "warm_start", "export", "serve_search")
"""Modules of this package, each with ``add_parser(subparsers)`` and ``run(args)``."""

REFUSED = 2
"""Exit status when a command could not do its work for a reason it states."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        argv: The words after ``rllib-gigpo``; by default the process's own.

    Returns:
        The exit status: 0 done, 1 failed, 2 refused.
    """
    arguments = build_parser().parse_args(argv)
    module = importlib.import_module(_module_of(arguments.command.replace("-", "_")))
    try:
        return int(module.run(arguments) or 0)
    except GiGPOError as error:
        print(f"rllib-gigpo {arguments.command}: {error}", file=sys.stderr)
        return REFUSED


def build_parser() -> argparse.ArgumentParser:
    """The parser of all commands."""
    parser = argparse.ArgumentParser(
        prog="rllib-gigpo",
        description="Check a set-up, get data, make small models, export checkpoints. "
        "Training is `rllib train`.",
    )
    subparsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name in COMMANDS:
        importlib.import_module(_module_of(name)).add_parser(subparsers)
    return parser


def _module_of(name: str) -> str:
    return f"rllib_gigpo.cli.{name}"


if __name__ == "__main__":
    sys.exit(main())
