"""Commands as a user starts them, with a Ray of their own or an interruption."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from ray import tune

from rllib_gigpo.cli import train
from tests.cli.corridor_command import (
    corridor_config,
    run_command,
    train_words,
)

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
REPOSITORY = Path(__file__).parents[2]


def rllib_process(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "rllib_gigpo.cli.rllib", *map(str, words)],
        cwd=REPOSITORY,
        env=os.environ | {"RAY_USAGE_STATS_ENABLED": "0"},
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )


def test_ppo_on_cartpole(tmp_path: Path) -> None:
    """Trained, then evaluated, each with a Ray of its own."""
    config = {"num_env_runners": 0, "train_batch_size_per_learner": 200}
    config |= {"num_epochs": 1, "minibatch_size": 50}
    words = ("train", "--algo", "PPO", "--env", "CartPole-v1", "--ray-num-cpus", 2)
    done = rllib_process(
        *(*words, "--config", json.dumps(config)),
        *("--stop", '{"training_iteration": 1}', "--storage-path", tmp_path),
    )
    assert done.returncode == 0, done.stderr
    assert "iteration 1/1 | return" in done.stdout
    (checkpoint,) = tmp_path.glob("default/PPO_*/checkpoint_000000")
    assert f"rllib evaluate {checkpoint}" in done.stdout

    out = tmp_path / "episodes.jsonl"
    words = ("evaluate", checkpoint, "--episodes", 3, "--ray-num-cpus", 2)
    done = rllib_process(*words, "--out", out, "--track-progress")
    assert done.returncode == 0, done.stderr
    episodes = [json.loads(line) for line in out.read_text().splitlines()]
    assert len(episodes) >= 3
    for episode in episodes:
        assert len(episode["observations"][0]) == 4
        assert set(episode["actions"]) <= {0, 1}
        assert episode["episode_return"] == episode["episode_len"]
    assert "env_runners/episode_return_mean" in done.stdout


RUN_FILE = """
from rllib_gigpo import GiGPOConfig
from tests.fakes import CorridorEnv

class ShortCorridorEnv(CorridorEnv):
    def __init__(self):
        super().__init__(length=2, max_steps=4)

config = GiGPOConfig().environment(ShortCorridorEnv).update_from_dict({settings})
stop = {{"training_iteration": 2}}
"""


def test_a_run_file_with_an_environment_of_its_own(
    corridor_model: Path, tmp_path: Path
) -> None:
    """Workers import the file by its name; a flag overrules its stop."""
    settings = corridor_config(corridor_model, env_config={}, num_env_runners=1)
    path = tmp_path / "short_corridor.py"
    path.write_text(RUN_FILE.format(settings=settings))
    words = ("train", "file", path, "--storage-path", tmp_path / "results")
    done = rllib_process(
        *(*words, "--ray-num-cpus", 2, "--stop", '{"training_iteration": 1}')
    )
    assert done.returncode == 0, done.stderr
    assert "iteration 1/1 | success" in done.stdout
    assert (tmp_path / "results" / "short_corridor").is_dir()


def test_a_run_that_fails_says_why(
    ray_session: None, corridor_model: Path, tmp_path: Path
) -> None:
    words = train_words(
        corridor_model, tmp_path, iterations=2, max_failed_episode_fraction=0.0
    )
    words[words.index("tests.fakes.CorridorEnv")] = "tests.fakes.NaNEnv"
    words[words.index("--stop") + 1] = '{"training_iteration": 3}'
    failed = run_command(words, tmp_path)
    assert failed.status == 1
    assert "FAILED; traceback:" in failed.out
    assert "reward nan" in failed.out
    assert ": error after" in failed.out


class InterruptAt(tune.Callback):
    """Presses Ctrl-C after an iteration."""

    def __init__(self, iteration: int) -> None:
        self.iteration = iteration

    def on_trial_result(self, iteration, trials, trial, result, **info) -> None:
        if result["training_iteration"] == self.iteration:
            os.kill(os.getpid(), signal.SIGINT)


def test_resume_after_an_interruption(
    ray_session: None,
    corridor_model: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    words = train_words(corridor_model, tmp_path, iterations=4)
    words += ["--checkpoint-freq", "1"]
    with monkeypatch.context() as patch:
        patch.setattr(train, "make_loggers", lambda arguments: [InterruptAt(2)])
        interrupted = run_command(words, tmp_path)
    assert interrupted.status == 1
    assert interrupted.out.endswith("the same command with --resume goes on\n")
    assert 2 <= interrupted.results[-1]["training_iteration"] < 4
    resumed = run_command([*words, "--resume"], tmp_path)
    assert resumed.status == 0
    # The iteration after the last whole checkpoint may be there twice.
    iterations = [result["training_iteration"] for result in resumed.results]
    assert iterations in ([1, 2, 3, 4], [1, 2, 2, 3, 4])
    assert "iteration 4/4" in resumed.out and "iteration 1/4" not in resumed.out


def test_restore_goes_on_from_a_checkpoint(
    ray_session: None, corridor_model: Path, tmp_path: Path
) -> None:
    words = train_words(corridor_model, tmp_path / "first", iterations=1)
    first = run_command(words, tmp_path / "first")
    words = train_words(corridor_model, tmp_path / "second", iterations=2)
    second = run_command([*words, "--restore", str(first.trial)], tmp_path / "second")
    assert (first.status, second.status) == (0, 0)
    assert [r["training_iteration"] for r in second.results] == [2]
    steps = [
        run.results[-1]["env_runners"]["num_env_steps_sampled_lifetime"]
        for run in (first, second)
    ]
    assert steps[1] > steps[0]
