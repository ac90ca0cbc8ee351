"""Recorded vectors and data sets that the repository does not hold."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_VARIABLE = "RLLIB_GIGPO_TEST_DATA"
_DEFAULT = Path(__file__).resolve().parents[2] / "shared"


def shared_file(relative: str) -> Path:
    """A file below the test data folder; skips the test if it is not there.

    Args:
        relative: E.g. ``"vectors/gigpo_advantages.json"``. The folder is named by
            RLLIB_GIGPO_TEST_DATA; by default it is ``shared``, beside the repository.
    """
    path = Path(os.environ.get(_VARIABLE, _DEFAULT)) / relative
    if not path.is_file():
        pytest.skip(f"no test data {path}; {_VARIABLE} names the folder that has it")
    return path
