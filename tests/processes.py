"""Looking at processes of actors, and waiting for what takes a moment."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import ray
from ray.actor import ActorHandle


def pid_of(actor: ActorHandle) -> int:
    return ray.get(actor.__ray_call__.remote(lambda self: os.getpid()))


def is_alive(pid: int) -> bool:
    status = Path(f"/proc/{pid}/status")
    return status.exists() and "zombie" not in status.read_text()


def wait_until(condition: Callable[[], object], timeout_s: float = 60.0) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.002)
