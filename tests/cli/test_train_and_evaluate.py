"""From ``rllib train`` over ``rllib evaluate`` to an exported model: the corridor."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from rllib_gigpo.checkpoints import MODULE_FOLDER
from rllib_gigpo.cli.main import main as gigpo_main
from rllib_gigpo.cli.rllib import main
from tests.cli.corridor_command import CommandRun, run_command, train_words
from tests.cli.refusals import gigpo_refusal, refusal

Evaluate = Callable[..., dict[str, float]]


@pytest.fixture(scope="module")
def trained(
    ray_session: None, corridor_model: Path, tmp_path_factory: pytest.TempPathFactory
) -> CommandRun:
    """Two iterations, a checkpoint after each."""
    storage = tmp_path_factory.mktemp("results")
    words = train_words(corridor_model, storage, iterations=2)
    return run_command([*words, "--checkpoint-freq", "1"], storage)


@pytest.fixture
def evaluate(trained: CommandRun, capsys: pytest.CaptureFixture[str]) -> Evaluate:
    def run(*words: object) -> dict[str, float]:
        capsys.readouterr()
        assert main(["evaluate", str(trained.trial), *map(str, words)]) == 0
        out = capsys.readouterr().out
        return json.loads(out[out.index("{\n") : out.index("\n}") + 2])

    return run


def test_training_shows_each_iteration_and_where_the_results_lie(
    trained: CommandRun,
) -> None:
    assert trained.status == 0
    lines = trained.out.splitlines()
    first, second = (line for line in lines if line.startswith("iteration"))
    for part in ("iteration 1/2", "success", "return", "length", "tokens/s", "ETA"):
        assert part in first
    for part in ("sample", "credit", "learn", "sync"):
        assert f"{part} " in first.partition("(")[2]
    assert "iteration 2/2" in second and "ETA" not in second
    checkpoint = trained.trial / "checkpoint_000001"
    assert f"  evaluate:   rllib evaluate {checkpoint}" in lines
    tables = "{progress.csv,result.json,params.json}"
    assert f"  tables:     {trained.trial}/{tables}" in lines
    assert lines[-1] == f"TensorBoard: tensorboard --logdir {trained.trial.parent}"
    assert list(trained.trial.glob("events.out.tfevents.*"))
    assert [r["training_iteration"] for r in trained.results] == [1, 2]
    assert [p.name for p in sorted(trained.trial.glob("checkpoint_*"))] == [
        "checkpoint_000000",
        "checkpoint_000001",
    ]


def test_evaluation_writes_every_episode(evaluate: Evaluate, tmp_path: Path) -> None:
    path = tmp_path / "episodes.jsonl"
    figures = evaluate("--out", path)
    episodes = [json.loads(line) for line in path.read_text().splitlines()]
    assert len(episodes) == figures["env_runners/num_episodes"] == 6
    won = [episode["terminated"] for episode in episodes]
    assert figures["env_runners/success_rate"] == pytest.approx(sum(won) / 6)
    for episode in episodes:
        assert episode["episode_return"] == sum(episode["rewards"])
        assert episode["episode_len"] == len(episode["actions"])
        assert len(episode["observations"]) == len(episode["actions"]) + 1
        assert episode["observations"][0] == "cell 0 of 2"
        assert "infos" not in episode
    # A second evaluation replaces the file, and the panel is the same.
    assert (
        evaluate("--out", path, "--save-info")["env_runners/success_rate"]
        == (figures["env_runners/success_rate"])
    )
    again = [json.loads(line) for line in path.read_text().splitlines()]
    assert {e["infos"][0]["task_id"] for e in again} == {f"test/{i}" for i in range(6)}


def test_evaluation_of_a_few_episodes_with_other_settings(
    evaluate: Evaluate, tmp_path: Path
) -> None:
    path = tmp_path / "episodes.jsonl"
    longer = json.dumps({"env_config": {"length": 9, "max_steps": 3}})
    figures = evaluate("--episodes", 2, "--config", longer, "--out", path)
    assert figures["env_runners/num_episodes"] == 2
    assert figures["env_runners/success_rate"] == 0.0
    episodes = [json.loads(line) for line in path.read_text().splitlines()]
    assert [e["observations"][0] for e in episodes] == ["cell 0 of 9"] * 2
    assert all(e["truncated"] and e["episode_len"] == 3 for e in episodes)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--algo", "PPO"), "one of GiGPO, not of PPO"),
        (("--steps", "10"), "use --episodes N"),
        (("--config", '{"evaluation_temprature": 0}'), "'evaluation_temperature'"),
        (("--env", "Household-v9"), "'Household-v0'"),
    ],
)
def test_evaluation_that_cannot_be(
    words: tuple[str, str],
    says: str,
    trained: CommandRun,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert says in refusal(capsys, "evaluate", trained.trial, *words)


def test_a_folder_without_a_checkpoint(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "checkpoint_000000").mkdir()  # Cut off before it was whole.
    assert "is no RLlib checkpoint" in refusal(capsys, "evaluate", tmp_path)
    assert "is no RLlib checkpoint" in refusal(
        capsys, "train", "-a", "PPO", "--env", "CartPole-v1", "--restore", tmp_path
    )
    assert "is no RLlib checkpoint" in gigpo_refusal(
        capsys, "export", tmp_path, tmp_path / "model"
    )


def test_an_exported_model_has_the_checkpoints_weights(
    trained: CommandRun, corridor_model: Path, tmp_path: Path, capsys
) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder = tmp_path / "models" / "corridor"
    assert gigpo_main(["export", str(trained.trial), str(folder)]) == 0
    assert "loads with transformers" in capsys.readouterr().out
    newest = trained.trial / "checkpoint_000001" / MODULE_FOLDER
    saved = load_file(newest / "model.safetensors")
    loaded = AutoModelForCausalLM.from_pretrained(folder, dtype="auto").state_dict()
    for name, tensor in saved.items():
        assert torch.equal(loaded[name], tensor)
    initial = load_file(corridor_model / "model.safetensors")
    assert any(not torch.equal(saved[name], initial[name]) for name in initial)
    assert AutoTokenizer.from_pretrained(folder).chat_template
    assert not [p for p in folder.iterdir() if p.suffix == ".pkl"]
    assert folder.stat().st_mode == folder.parent.stat().st_mode
    # What is there is not overwritten.
    assert "exists" in gigpo_refusal(capsys, "export", trained.trial, folder)


def test_weights_that_do_not_load_are_not_exported(
    trained: CommandRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import shutil

    from safetensors.torch import save_file

    checkpoint = tmp_path / "checkpoint"
    shutil.copytree(trained.trial / "checkpoint_000001", checkpoint)
    weights = checkpoint / MODULE_FOLDER / "model.safetensors"
    kept = load_file(weights)
    kept.pop("model.norm.weight")
    save_file(kept, weights, metadata={"format": "pt"})
    target = tmp_path / "model"
    sentence = gigpo_refusal(capsys, "export", checkpoint, target)
    assert "model.norm.weight" in sentence
    assert not target.exists() and len(list(tmp_path.iterdir())) == 1


def test_a_checkpoint_without_a_language_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "class_and_ctor_args.pkl").touch()
    sentence = gigpo_refusal(capsys, "export", tmp_path, tmp_path / "model")
    assert "only checkpoints of GiGPO and its presets" in sentence


def test_more_cpus_than_there_are(
    ray_session: None,
    corridor_model: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Six CPUs; a trial takes one beside its environment runners."""
    words = train_words(corridor_model, tmp_path, iterations=1, num_env_runners=8)
    assert refusal(capsys, *words) == (
        "one trial asks for 9 CPU, Ray has 6: lower num_env_runners or num_learners "
        "by --config, or claim more by --ray-num-cpus 9"
    )
    assert list(tmp_path.iterdir()) == []
