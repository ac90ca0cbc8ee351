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
    parser = argparse.ArgumentParser(
        prog="rllib-gigpo",
        description="Check a set-up, get data, make small models, export checkpoints. "
        "Training is `rllib train`.",
    )
    subparsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    modules = {}
    for name in COMMANDS:
        module = importlib.import_module(f"rllib_gigpo.cli.{name}")
        module.add_parser(subparsers)
        modules[name.replace("_", "-")] = module
    arguments = parser.parse_args(argv)
    try:
        return int(modules[arguments.command].run(arguments) or 0)
    except GiGPOError as error:
        print(f"rllib-gigpo {arguments.command}: {error}", file=sys.stderr)
        return REFUSED


if __name__ == "__main__":
    sys.exit(main())
