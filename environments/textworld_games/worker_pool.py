"""The parent's side of the worker processes: few of them play all games."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import selectors
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from environments.errors import GameProcessError

_MODULE = "environments.textworld_games.worker"
_IMPORT_ROOT = str(Path(__file__).resolve().parents[2])


class Worker:
    """One process, started at the first call and again after it has died.

    Args:
        timeout_s: Most seconds that an answer may take.
    """

    def __init__(self, timeout_s: float = 120.0) -> None:
        self._timeout_s = timeout_s
        self._process: subprocess.Popen[str] | None = None
        self._lock = threading.Lock()
        self.num_sessions = 0

    @property
    def is_running(self) -> bool:
        """Whether there is a process now."""
        return self._process is not None and self._process.poll() is None

    def call(self, method: str, **arguments: Any) -> Any:
        """The answer to a request; calls from several threads take turns.

        Raises:
            GameProcessError: The process reports an error, died, or did not answer in
                time and was ended; all its games are then over.
        """
        with self._lock:
            process = self._running()
            line = json.dumps({"method": method, **arguments}) + "\n"
            answer = self._exchange(process, line)
        if "error" in answer:
            raise GameProcessError(f"TextWorld could not {method}: {answer['error']}")
        return answer["result"]

    def close(self) -> None:
        """End the process, if it runs."""
        with self._lock:
            self._end()

    def _running(self) -> subprocess.Popen[str]:
        if self._process is not None and self.is_running:
            return self._process
        self._end()
        paths = (_IMPORT_ROOT, os.environ.get("PYTHONPATH"))
        # Games are made by the order of sets, too.
        environment = {
            **os.environ,
            "PYTHONHASHSEED": "0",
            "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        }
        self._process = subprocess.Popen(
            [sys.executable, "-m", _MODULE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
            env=environment,
        )
        return self._process

    def _exchange(self, process: subprocess.Popen[str], line: str) -> dict[str, Any]:
        assert process.stdin is not None and process.stdout is not None
        try:
            process.stdin.write(line)
            process.stdin.flush()
            with selectors.DefaultSelector() as selector:
                selector.register(process.stdout, selectors.EVENT_READ)
                is_ready = bool(selector.select(self._timeout_s))
            answer = process.stdout.readline() if is_ready else None
        except OSError:
            answer = ""
        if answer:
            return dict(json.loads(answer))
        self._end()
        if answer is None:
            raise GameProcessError(
                f"a TextWorld process gave no answer for {self._timeout_s:g} s and was "
                "ended; its games are over"
            )
        raise GameProcessError(
            f"a TextWorld process died with code {process.returncode}; its games are "
            "over, its last words are in the log"
        )

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                # What was not sent any more concerns nobody.
                with contextlib.suppress(BrokenPipeError):
                    stream.close()


class WorkerPool:
    """A fixed number of workers; each game stays with one of them."""

    def __init__(self, size: int) -> None:
        self.workers = [Worker() for _ in range(size)]
        self._lock = threading.Lock()

    def acquire(self) -> Worker:
        """The worker that has the fewest games, for one game more."""
        with self._lock:
            worker = min(self.workers, key=lambda worker: worker.num_sessions)
            worker.num_sessions += 1
            return worker

    def release(self, worker: Worker) -> None:
        """Count a game less."""
        with self._lock:
            worker.num_sessions -= 1

    def close(self) -> None:
        """End all processes."""
        for worker in self.workers:
            worker.close()


_shared_pool: WorkerPool | None = None
_shared_pool_lock = threading.Lock()


def shared_pool() -> WorkerPool:
    """The pool of this process, a worker per core."""
    global _shared_pool
    with _shared_pool_lock:
        if _shared_pool is None:
            _shared_pool = WorkerPool(os.cpu_count() or 1)
            atexit.register(_shared_pool.close)
        return _shared_pool
