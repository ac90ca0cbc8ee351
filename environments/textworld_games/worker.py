"""The process that plays: requests in, one JSON object a line, answers out.

TextWorld is not thread-safe and now and then brings its process down; here it can do
no harm. The process ends when its parent does, since its input then ends.
"""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any, TextIO

from environments.textworld_games.game_files import GameSpec, make_game_file
from environments.textworld_games.session import Session


def main() -> None:
    """Answer requests until there are no more."""
    # An interrupt is the parent's affair.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Whatever libraries print must not get among the answers.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    serve(sys.stdin, answers)


def serve(requests: TextIO, answers: TextIO) -> None:
    """Answer each line of ``requests`` by a line of ``answers``."""
    sessions: dict[str, Session] = {}
    for line in requests:
        try:
            answer = {"result": _answer(sessions, json.loads(line))}
        except Exception as error:
            # The boundary of the process: the parent raises it again.
            answer = {"error": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def _answer(sessions: dict[str, Session], request: dict[str, Any]) -> Any:
    name = request.get("session", "")
    match request["method"]:
        case "make":
            make_game_file(_spec(request), Path(request["file"]))
            return None
        case "start":
            session = sessions.setdefault(name, Session())
            return dataclasses.asdict(session.start(_spec(request), request["file"]))
        case "step":
            session = sessions.get(name, Session())
            return dataclasses.asdict(session.step(request["command"]))
        case "end":
            sessions.pop(name, None)
            return None
    raise ValueError(f"unknown method {request['method']!r}")


def _spec(request: dict[str, Any]) -> GameSpec:
    spec = request["spec"]
    settings = tuple((name, value) for name, value in spec.pop("settings"))
    return GameSpec(settings=settings, **spec)


if __name__ == "__main__":
    main()
