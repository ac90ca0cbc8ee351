"""What is said at the end of a run: only files that exist, with the next command."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from rllib_gigpo.cli.results import print_results, trial_lines


class FakeTrial(SimpleNamespace):
    def __str__(self) -> str:
        return "GiGPO_0"


def trial(folder: Path, **changes: object) -> FakeTrial:
    given = {
        "status": "TERMINATED",
        "last_result": {"training_iteration": 7},
        "checkpoint": None,
        "path": str(folder),
        "error_file": None,
    }
    return FakeTrial(**given | changes)


def test_a_finished_trial(tmp_path: Path) -> None:
    for name in ("progress.csv", "result.json"):
        (tmp_path / name).touch()
    checkpoint = SimpleNamespace(path=f"{tmp_path}/checkpoint_000001")
    assert trial_lines(trial(tmp_path, checkpoint=checkpoint)) == [
        "GiGPO_0: terminated after 7 training iterations",
        f"  checkpoint: {tmp_path}/checkpoint_000001",
        f"  evaluate:   rllib evaluate {tmp_path}/checkpoint_000001",
        f"  tables:     {tmp_path}/{{progress.csv,result.json}}",
    ]


def test_one_table_needs_no_braces(tmp_path: Path) -> None:
    (tmp_path / "result.json").touch()
    assert trial_lines(trial(tmp_path))[-1] == f"  tables:     {tmp_path}/result.json"


def test_a_failed_trial_shows_the_end_of_its_traceback(tmp_path: Path) -> None:
    error = tmp_path / "error.txt"
    error.write_text("\n".join(f"line {n}" for n in range(20)) + "\n\n")
    lines = trial_lines(
        trial(tmp_path, status="ERROR", last_result=None, error_file=str(error))
    )
    assert lines[:2] == [
        "GiGPO_0: error after 0 training iterations",
        f"  traceback:  {error}",
    ]
    assert lines[2:] == [f"    line {n}" for n in range(12, 20)]


def test_the_command_for_tensorboard_comes_last(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    print_results([trial(tmp_path), trial(tmp_path)], "/results/mine")
    out = capsys.readouterr().out.splitlines()
    assert out[-1] == "TensorBoard: tensorboard --logdir /results/mine"
    assert sum("terminated" in line for line in out) == 2
