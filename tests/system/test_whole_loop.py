"""The whole loop through Ray: sample, credit, learn, sync, save, restore."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import torch
from ray.rllib.core import DEFAULT_MODULE_ID

from environments.text_env import StepInfo
from rllib_gigpo import GiGPO, GiGPOConfig
from rllib_gigpo.checkpoints import MODULE_FOLDER, verify_checkpoint
from rllib_gigpo.errors import CheckpointError, ModelFolderError, RolloutError
from tests import fakes

MakeConfig = Callable[..., GiGPOConfig]


@contextmanager
def built(config: GiGPOConfig) -> Iterator[GiGPO]:
    algorithm = config.build_algo()
    try:
        yield algorithm
    finally:
        algorithm.stop()


def learner_figures(result: dict) -> dict[str, float]:
    return result["learners"][DEFAULT_MODULE_ID]


def weights_of(algorithm: GiGPO) -> dict[str, torch.Tensor]:
    (result,) = algorithm.learner_group.foreach_learner(
        lambda learner: learner.export_weights(),
        remote_actor_ids=None if algorithm.learner_group.is_local else [0],
    )
    return result.get()


def assert_equal_weights(
    one: dict[str, torch.Tensor], other: dict[str, torch.Tensor], tolerance: float = 0.0
) -> None:
    assert one.keys() == other.keys()
    for name, tensor in one.items():
        torch.testing.assert_close(tensor, other[name], rtol=0.0, atol=tolerance)


@pytest.mark.parametrize(("num_env_runners", "num_learners"), [(0, 0), (2, 1)])
def test_an_iteration_reports_under_rllibs_names(
    make_config: MakeConfig, num_env_runners: int, num_learners: int
) -> None:
    config = make_config(num_env_runners=num_env_runners, num_learners=num_learners)
    with built(config) as algorithm:
        before = weights_of(algorithm)
        result = algorithm.train()
        after = weights_of(algorithm)
    sampled = result["env_runners"]
    assert sampled["num_episodes"] == 24
    assert sampled["num_env_steps_sampled_lifetime"] == sampled["num_env_steps_sampled"]
    for name in ("episode_return_mean", "episode_len_mean", "success_rate"):
        assert name in sampled
    learned = learner_figures(result)
    assert learned["num_rows_trained"] == sampled["num_env_steps_sampled"]
    assert learned["policy_ratio_mean"] == pytest.approx(1.0, abs=1e-6)
    assert learned["engine_drift_max"] < 1e-5
    assert any(not torch.equal(before[name], after[name]) for name in before)


def test_runners_sample_with_the_learners_weights(make_config: MakeConfig) -> None:
    with built(make_config(num_env_runners=1)) as algorithm:
        for _ in range(3):
            # Drift would be of the size of the update if the weights came too late.
            assert learner_figures(algorithm.train())["engine_drift_max"] < 1e-5


def test_with_learning_rate_0_nothing_moves(make_config: MakeConfig) -> None:
    config = make_config(lr=0.0, num_epochs=1, num_minibatches=3, kl_coeff=0.1)
    config.training(weight_decay=0.0)
    with built(config) as algorithm:
        before = weights_of(algorithm)
        for _ in range(3):
            learned = learner_figures(algorithm.train())
            assert learned["policy_ratio_mean"] == pytest.approx(1.0, abs=1e-6)
            assert learned["clip_low_fraction"] == learned["clip_high_fraction"] == 0.0
            assert learned["mean_kl_loss"] == pytest.approx(0.0, abs=1e-9)
            assert learned["engine_drift_max"] < 1e-5
        assert_equal_weights(before, weights_of(algorithm))


def test_same_seed_same_run(make_config: MakeConfig) -> None:
    def run() -> tuple[list[float], dict[str, torch.Tensor]]:
        with built(make_config()) as algorithm:
            figures = [
                learner_figures(algorithm.train())["total_loss"] for _ in range(3)
            ]
            return figures, weights_of(algorithm)

    first, second = run(), run()
    assert first[0] == second[0]
    assert_equal_weights(first[1], second[1])


def test_the_number_of_runners_and_learners_changes_no_gradient(
    make_config: MakeConfig,
) -> None:
    results = []
    for num_env_runners, num_learners in ((0, 0), (2, 2)):
        config = make_config(num_env_runners=num_env_runners, num_learners=num_learners)
        with built(config) as algorithm:
            figures = learner_figures(algorithm.train())
            results.append((figures, weights_of(algorithm)))
    for name in ("total_loss", "policy_loss", "entropy", "engine_drift_mean"):
        assert results[0][0][name] == pytest.approx(results[1][0][name], abs=1e-5)
    # AdamW's first step is nearly the sign of the gradient: an entry near 0 may differ
    # by twice the learning rate, all others agree.
    differences = torch.cat(
        [(a - results[1][1][n]).abs().flatten() for n, a in results[0][1].items()]
    )
    assert differences.max() <= 2 * 3e-3 + 1e-6
    assert (differences > 1e-4).float().mean() < 0.01


def test_restoring_continues_bit_for_bit(
    make_config: MakeConfig, tmp_path: Path
) -> None:
    config = make_config(num_minibatches=2, lr_warmup_steps=6)
    with built(config) as unbroken:
        for _ in range(2):
            unbroken.train()
        path = unbroken.save_to_path(tmp_path / "checkpoint")
        result = unbroken.train()
        expected = weights_of(unbroken)
    restored = GiGPO.from_checkpoint(path)
    try:
        again = restored.train()
        assert_equal_weights(expected, weights_of(restored))
    finally:
        restored.stop()
    assert again["training_iteration"] == result["training_iteration"] == 3
    for name in ("num_env_steps_sampled_lifetime", "episode_return_mean"):
        assert again["env_runners"][name] == result["env_runners"][name]
    for name in ("total_loss", "learning_rate"):
        assert learner_figures(again)[name] == learner_figures(result)[name]


def test_a_checkpoint_holds_a_hugging_face_folder(
    make_config: MakeConfig, tmp_path: Path
) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    with built(make_config()) as algorithm:
        algorithm.train()
        path = Path(algorithm.save_to_path(tmp_path / "checkpoint"))
        expected = weights_of(algorithm)
    model = AutoModelForCausalLM.from_pretrained(path / MODULE_FOLDER)
    assert AutoTokenizer.from_pretrained(path / MODULE_FOLDER).chat_template
    loaded = model.state_dict()
    assert_equal_weights(expected, {name: loaded[name] for name in expected})


def test_a_checkpoint_is_whole_or_not_there(
    make_config: MakeConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "checkpoint"
    with built(make_config()) as algorithm:
        algorithm.save_to_path(path)
        monkeypatch.setattr(
            "rllib_gigpo.modules.llm_rl_module.save_model", lambda *a, **k: None
        )
        with pytest.raises(CheckpointError, match="safetensors"):
            algorithm.save_to_path(path)
    verify_checkpoint(path)  # The one before is still there.
    assert [p.name for p in tmp_path.iterdir()] == ["checkpoint"]


def test_the_evaluation_panel_gives_the_same_result_for_any_number_of_runners(
    make_config: MakeConfig,
) -> None:
    results, tables = [], []
    for num_env_runners in (0, 2):
        config = make_config(num_env_runners=num_env_runners)
        config.evaluation(evaluation_episodes_per_task=2, evaluation_temperature=1.0)
        with built(config) as algorithm:
            results.append(algorithm.evaluate()["env_runners"])
            tasks = [e.task_id for e in algorithm.last_evaluation.episodes]
            assert tasks == [f"test/{i}" for i in range(6) for _ in range(2)]
            table = Path(algorithm.logdir, "evaluation_tasks", "000000.jsonl")
            tables.append(table.read_text())
    for name in ("success_rate", "episode_len_mean", "num_generated_tokens"):
        assert results[0][name] == results[1][name]
    assert tables[0] == tables[1]
    rows = [json.loads(line) for line in tables[0].splitlines()]
    assert [row["task_id"] for row in rows] == tasks
    assert np.mean([row["success"] for row in rows]) == results[0]["success_rate"]
    for kind, rate in results[0]["success_rate_by_kind"].items():
        own = [row["success"] for row in rows if row["task_kind"] == kind]
        assert len(own) == 6 and np.mean(own) == rate


def test_too_many_failures_stop_the_run_with_the_reason(
    make_config: MakeConfig,
) -> None:
    config = make_config().environment(fakes.NaNEnv)
    config.env_runners(max_failed_episode_fraction=0.0)
    with (
        built(config) as algorithm,
        pytest.raises(RolloutError, match=r"6 of \d+ episodes failed.*reward nan"),
    ):
        for _ in range(3):
            algorithm.train()


@pytest.mark.parametrize("num_env_runners", [0, 1])
def test_group_members_that_start_differently_stop_the_run(
    make_config: MakeConfig, num_env_runners: int
) -> None:
    config = make_config(num_env_runners=num_env_runners)
    config.environment(fakes.DriftingEnv)
    with (
        built(config) as algorithm,
        pytest.raises(RolloutError, match="start in different states"),
    ):
        algorithm.train()


def test_prompts_that_never_fit_stop_the_run_with_the_reason(
    make_config: MakeConfig,
) -> None:
    with (
        built(make_config().llm(max_prompt_tokens=1)) as algorithm,
        pytest.raises(RolloutError, match="longer than max_prompt_tokens=1"),
    ):
        algorithm.train()


def test_rllibs_way_of_sampling_ends_when_every_episode_fails(
    make_config: MakeConfig,
) -> None:
    class NoReset(fakes.CorridorEnv):
        def reset(self, **kwargs: object) -> tuple[str, StepInfo]:
            raise RuntimeError("the corridor is closed")

    with (
        built(make_config().environment(NoReset)) as algorithm,
        pytest.raises(RolloutError, match="the corridor is closed"),
    ):
        algorithm.env_runner.sample(num_timesteps=1)


def test_a_few_failures_are_counted_and_the_run_goes_on(
    make_config: MakeConfig,
) -> None:
    config = make_config(groups_per_iteration=6).environment(fakes.RaisingEnv)
    config.env_runners(max_failed_episode_fraction=0.5)
    with built(config) as algorithm:
        sampled = algorithm.train()["env_runners"]
    assert sampled["num_failed_episodes"] == 6
    assert sampled["num_episodes"] == 30


def test_a_bad_model_folder_is_refused_before_anything_starts(
    make_config: MakeConfig, tmp_path: Path
) -> None:
    config = make_config().llm(model_name_or_path=str(tmp_path / "nothing" / "here"))
    with pytest.raises(ModelFolderError, match="warm-start"):
        config.build_algo()


def test_a_context_beyond_the_models_is_refused(make_config: MakeConfig) -> None:
    config = make_config().llm(max_prompt_tokens=200)
    with pytest.raises(ModelFolderError, match="context of 128"):
        config.build_algo()


def test_it_learns(make_config: MakeConfig) -> None:
    """Two cells, one word a step, four steps: chance gets about one in ten there."""
    config = make_config(group_size=8, groups_per_iteration=8, lr=1e-2)
    config.llm(max_response_tokens=1)
    with built(config) as algorithm:
        rates = [algorithm.train()["env_runners"]["success_rate"] for _ in range(20)]
    assert rates[0] < 0.3
    assert sum(rates[-3:]) / 3 > 0.9
