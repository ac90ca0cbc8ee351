"""The flags are those that RLlib's command had up to 2.40."""

import argparse

import pytest

from rllib_gigpo.cli.rllib import build_parser, main
from tests.cli.refusals import refusal, usage_error

RAY_FLAGS = (
    "--ray-address --ray-ui --ray-num-cpus --ray-num-gpus --ray-num-nodes "
    "--ray-object-store-memory --local-mode"
)
OLD_FLAGS = {
    "train": "--algo --run -a -r --env -e --config -c --stop -s --experiment-name -n "
    "--num-samples --checkpoint-freq --checkpoint-at-end --keep-checkpoints-num "
    "--checkpoint-score-attr --storage-path --restore --resources-per-trial "
    "--framework --log-info -v --log-debug -vv --trace --resume --scheduler "
    f"--scheduler-config --local-dir --upload-dir {RAY_FLAGS}",
    "train-file": "--stop -s --env -e --checkpoint-freq --checkpoint-at-end "
    "--keep-checkpoints-num --checkpoint-score-attr -v -vv --framework --trace "
    "--resume --scheduler --scheduler-config --wandb-key --wandb-project "
    f"--wandb-run-name {RAY_FLAGS}",
    "evaluate": "--algo --run -a -r --env -e --config -c --steps --episodes --out "
    "--save-info --use-shelve --track-progress --render --local-mode",
}


def parse(*words: str) -> argparse.Namespace:
    return build_parser().parse_args(words)


@pytest.mark.parametrize("command", OLD_FLAGS)
def test_every_old_flag_is_there(command: str) -> None:
    (commands,) = (
        action.choices
        for action in build_parser()._actions
        if isinstance(action, argparse._SubParsersAction)
    )
    known = set(commands[command]._option_string_actions)
    assert set(OLD_FLAGS[command].split()) <= known


def test_old_defaults() -> None:
    flags = parse("train", "--algo", "PPO")
    assert flags.config == {} and flags.stop is None
    assert flags.experiment_name == "default"
    assert flags.num_samples == 1
    assert flags.checkpoint_at_end is True
    assert flags.checkpoint_score_attr == "training_iteration"
    assert (flags.scheduler, flags.scheduler_config) == ("FIFO", {})
    assert parse("train-file", "some.py").stop is None


@pytest.mark.parametrize("flag", ["--algo", "--run", "-a", "-r"])
def test_four_names_of_the_algorithm(flag: str) -> None:
    assert parse("train", flag, "PPO").algo == "PPO"
    assert parse("evaluate", "somewhere", flag, "PPO").algo == "PPO"


def test_values_reach_their_places() -> None:
    words = 'train -a GRPO -e Household-v0 -c {"lr":0.1} -s {"training_iteration":3}'
    words += " --no-checkpoint-at-end --checkpoint-freq 2 --keep-checkpoints-num 4 -vv"
    flags = parse(*words.split())
    assert (flags.algo, flags.env) == ("GRPO", "Household-v0")
    assert flags.config == {"lr": 0.1} and flags.stop == {"training_iteration": 3}
    assert (flags.checkpoint_freq, flags.keep_checkpoints_num) == (2, 4)
    assert not flags.checkpoint_at_end and flags.log_debug and not flags.log_info


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["train"], "--algo"),
        (["train", "-a", "PPO", "-c", "{lr: 1}"], "is not JSON"),
        (["train", "-a", "PPO", "-s", "[1]"], "must be a JSON object"),
        (["train", "-a", "PPO", "--framework", "jax"], "invalid choice"),
        (["train", "file"], "file"),
        (["evaluate", "x", "--steps", "3", "--episodes", "3"], "not allowed with"),
        (["teach"], "invalid choice"),
    ],
)
def test_words_that_do_not_parse(
    words: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert says in usage_error(capsys, *words)


def test_train_file_is_a_command_of_its_own(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(["train", "file", "--help"])
    assert exit_.value.code == 0
    assert "usage: rllib train file" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("--framework tf2", "torch only"),
        ("--trace", "drop it"),
        ("--local-dir results", "--storage-path"),
        ("--upload-dir s3://results", "--storage-path"),
        ('--resources-per-trial {"cpu":2}', "num_env_runners"),
        ("--local-mode", '"num_env_runners": 0'),
        ("--ray-address auto --ray-num-cpus 4", "drop --ray-num-cpus"),
        ("--wandb-project mine", "pip install wandb"),
    ],
)
def test_flags_that_cannot_be_served_say_what_to_do(
    words: str,
    says: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert says in refusal(capsys, "train", "--algo", "PPO", *words.split())


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("--use-shelve", "--out"),
        ("--save-info", "--out FILE"),
        ("--local-mode", "num_env_runners"),
        ("--out nowhere/at/all.jsonl", "no such folder"),
    ],
)
def test_evaluation_flags_that_cannot_be_served(
    words: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert says in refusal(capsys, "evaluate", "checkpoint", *words.split())


def test_algorithms_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["algorithms"]) == 0
    listed = capsys.readouterr().out.split()
    assert listed == sorted(listed)
    ours = {"GiGPO", "GRPO", "RLOO", "DAPO", "DrGRPO", "GSPO", "REINFORCE++"}
    assert ours | {"PPO", "SAC"} <= set(listed)
