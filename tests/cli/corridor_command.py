"""Words of ``rllib train`` for the corridor, and what a finished run left."""

import contextlib
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rllib_gigpo.cli.rllib import main


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandRun:
    status: int
    out: str
    trial: Path

    @property
    def results(self) -> list[dict]:
        lines = (self.trial / "result.json").read_text().splitlines()
        return [json.loads(line) for line in lines]


def corridor_config(model: Path, **changes: object) -> dict[str, object]:
    return {
        "model_name_or_path": str(model),
        "dtype": "float32",
        "max_prompt_tokens": 60,
        "max_response_tokens": 3,
        "engine": "transformers",
        "env_config": {"length": 2, "max_steps": 4},
        "group_size": 6,
        "groups_per_iteration": 4,
        "lr": 3e-3,
        "kl_coeff": 0.0,
        "evaluation_temperature": 0.0,
        "num_envs_per_env_runner": 12,
        "seed": 3,
    } | changes


def train_words(
    model: Path, storage: Path, *, iterations: int, **config: object
) -> list[str]:
    settings = json.dumps(corridor_config(model, **config))
    stop = json.dumps({"training_iteration": iterations})
    return [
        *("train", "--algo", "GiGPO", "--env", "tests.fakes.CorridorEnv"),
        *("--config", settings, "--stop", stop),
        *("--storage-path", str(storage), "--experiment-name", "corridor"),
    ]


def run_command(words: Sequence[str], storage: Path) -> CommandRun:
    """Run in this process, on the Ray that it has."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        status = main(words)
    (trial,) = (path for path in storage.glob("corridor/*") if path.is_dir())
    return CommandRun(status=status, out=out.getvalue(), trial=trial)
