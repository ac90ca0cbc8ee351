"""Every example can be imported and is a valid configuration; nothing is started."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from rllib_gigpo.cli.run_file import load_run_file

FOLDER = Path(__file__).parents[2] / "tuned_examples"
RUN_FILES = sorted(
    path
    for path in FOLDER.glob("*_gigpo.py")
    if not path.stem.endswith(("asha_gigpo", "pbt_gigpo"))
)
SWEEPS = ("household_asha_gigpo", "household_pbt_gigpo")


@pytest.fixture(autouse=True)
def import_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.setenv("PYTHONPATH", "")


@pytest.mark.parametrize("path", RUN_FILES, ids=lambda path: path.stem)
def test_run_file_is_valid(path: Path) -> None:
    file = load_run_file(path)
    file.config.copy(copy_frozen=False).validate()
    assert file.stop["training_iteration"] > 0
    if file.warm_start is not None:
        # By name only: the folder above it is that of whoever imported the file first.
        assert (
            Path(file.config.model_name_or_path).name == file.warm_start.folder().name
        )
        assert file.config.env == file.warm_start.env
        assert file.config.env_config == file.warm_start.env_config
        limit = file.warm_start.max_prompt_tokens
        assert file.config.max_prompt_tokens == limit


@pytest.mark.parametrize("name", SWEEPS)
def test_sweep_builds_its_tuner(name: str) -> None:
    module = importlib.import_module(name)
    assert module.build_tuner(num_iterations=2) is not None
    assert name in sys.modules
