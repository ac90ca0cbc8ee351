"""Running a command that should be refused: exit status 2 and a sentence, no more."""

from collections.abc import Callable, Sequence

import pytest

from rllib_gigpo.cli import main, rllib

Main = Callable[[Sequence[str]], int]


def refusal(
    capsys: pytest.CaptureFixture[str], *words: object, command: Main = rllib.main
) -> str:
    """What a refused command says; one line, and Ray was not started for it."""
    import ray

    was_running = ray.is_initialized()
    capsys.readouterr()
    assert command([str(word) for word in words]) == 2
    assert ray.is_initialized() == was_running
    said = capsys.readouterr()
    assert said.out == ""
    # Other packages' warnings may come before.
    (line,) = (line for line in said.err.splitlines() if line.startswith("rllib"))
    assert said.err.endswith(f"{line}\n") and "Traceback" not in said.err
    return line.partition(": ")[2]


def gigpo_refusal(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    """The same for ``rllib-gigpo``."""
    return refusal(capsys, *words, command=main.main)


def usage_error(
    capsys: pytest.CaptureFixture[str], *words: object, command: Main = rllib.main
) -> str:
    """What argparse says about words that do not parse; its exit status is 2 too."""
    with pytest.raises(SystemExit) as exit_:
        command([str(word) for word in words])
    assert exit_.value.code == 2
    return capsys.readouterr().err
