"""GiGPOLearner in this process, without a cluster."""

import dataclasses
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from gymnasium.spaces import Text
from ray.rllib.core import DEFAULT_MODULE_ID
from ray.tune.utils import flatten_dict
from transformers import AutoModelForCausalLM

from rllib_gigpo import GiGPOConfig
from rllib_gigpo.learning.learner import GiGPOLearner
from rllib_gigpo.learning.losses import LossConfig
from rllib_gigpo.learning.rows import TrainingRows
from rllib_gigpo.learning.training_data import GiGPOTrainingData
from rllib_gigpo.weight_sync.base import checkpoint_weights
from tests.learning.reference_update import reference_logprobs, reference_loss
from tests.learning.tiny_model import random_rows, tiny_folder, tiny_model

SPACES = (Text(1), Text(1))
Weights = dict[str, torch.Tensor]
MakeLearner = Callable[..., GiGPOLearner]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_folder(tmp_path_factory.mktemp("model"))


@pytest.fixture
def make_learner(folder: Path) -> MakeLearner:
    def make(**settings: object) -> GiGPOLearner:
        training = {"kl_coeff": 0.0, "weight_decay": 0.0, "entropy_coeff": 0.0}
        dtype = settings.pop("dtype", "float32")
        temperature = settings.pop("temperature", 1.0)
        config = (
            GiGPOConfig()
            .llm(model_name_or_path=str(folder), dtype=dtype)
            .inference(temperature=temperature)
            .training(**training | settings)
        )
        return config.build_learner(spaces={DEFAULT_MODULE_ID: SPACES})

    return make


def update(
    learner: GiGPOLearner, rows: TrainingRows | None = None, iteration: int = 0
) -> dict[str, float]:
    data = GiGPOTrainingData(
        rows=rows or random_rows(), settings=learner.config.plan_settings(iteration)
    )
    figures = learner.update(training_data=data)[DEFAULT_MODULE_ID]
    return {
        name: float(figure.peek()) for name, figure in flatten_dict(figures).items()
    }


def weights_of(learner: GiGPOLearner) -> Weights:
    return learner.module[DEFAULT_MODULE_ID].get_state()


def are_equal(one: Weights, other: Weights) -> bool:
    return all(torch.equal(one[name], other[name]) for name in one)


def test_one_update_is_one_adamw_step_on_the_loss_written_out(
    make_learner: MakeLearner, folder: Path
) -> None:
    # With an epsilon far above the gradient a step is in proportion to it; with a
    # small one it would be its sign, and hide errors of scale.
    settings = {
        "lr": 0.5,
        "adam_epsilon": 10.0,
        "weight_decay": 0.1,
        "grad_clip": 0.7,
        "entropy_coeff": 0.05,
        "importance_cap": 1.2,
        "loss_aggregation": "sequence-mean-token-mean",
    }
    learner = make_learner(
        **settings, temperature=0.7, max_tokens_per_micro_batch=60, kl_coeff=0.2
    )
    figures = update(learner)
    model = AutoModelForCausalLM.from_pretrained(folder).double()
    model.set_attn_implementation("eager")
    with torch.no_grad():
        reference, _ = reference_logprobs(model, random_rows(), 0.7)
    loss = reference_loss(
        model,
        random_rows(),
        LossConfig(
            kl_coeff=0.2,
            entropy_coeff=0.05,
            importance_cap=1.2,
            loss_aggregation="sequence-mean-token-mean",
        ),
        None,
        reference,
        temperature=0.7,
    )
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=0.5, eps=10.0, weight_decay=0.1
    )
    loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 0.7).item()
    optimizer.step()
    assert norm > 0.7
    assert figures["total_loss"] == pytest.approx(loss.item(), rel=1e-4)
    assert figures["gradients_default_optimizer_global_norm"] == pytest.approx(
        norm, rel=1e-4
    )
    before = checkpoint_weights(AutoModelForCausalLM.from_pretrained(folder))
    after = weights_of(learner)
    for name, expected in checkpoint_weights(model).items():
        moved = expected - before[name].double()
        error = after[name].double() - expected
        assert error.norm() < 1e-4 * moved.norm(), name


@pytest.mark.parametrize("old_logprobs", ["auto", "recompute"])
def test_with_learning_rate_0_the_ratio_stays_1_and_nothing_moves(
    make_learner: MakeLearner, old_logprobs: str
) -> None:
    learner = make_learner(
        lr=0.0,
        num_epochs=2,
        num_minibatches=3,
        kl_coeff=0.1,
        old_logprobs=old_logprobs,
        max_tokens_per_micro_batch=60,
    )
    before = weights_of(learner)
    drift = []
    for iteration in range(3):
        figures = update(learner, iteration=iteration)
        assert figures["policy_ratio_mean"] == pytest.approx(1.0, abs=1e-5)
        assert figures["policy_ratio_max"] == pytest.approx(1.0, abs=1e-4)
        assert figures["clip_low_fraction"] == figures["clip_high_fraction"] == 0.0
        assert figures["mean_kl_loss"] == pytest.approx(0.0, abs=1e-7)
        drift.append(figures["engine_drift_mean"])
    assert are_equal(before, weights_of(learner))
    # The means are over mini-batches of other rows each time.
    assert drift == pytest.approx([drift[0]] * 3, rel=0.05)


def test_old_logprobs_come_from_where_the_setting_says(
    make_learner: MakeLearner,
) -> None:
    rows = random_rows()
    with torch.no_grad():
        now, _ = reference_logprobs(tiny_model("eager"), rows)
    sampled = [
        (x.numpy() + 0.1 * np.sin(np.arange(len(x)))).astype(np.float32) for x in now
    ]
    rows = dataclasses.replace(rows, sampled_logprobs=sampled)
    ratios = np.concatenate(
        [np.exp(x.numpy() - s) for x, s in zip(now, sampled, strict=True)]
    )
    for old_logprobs in ("auto", "recompute"):
        figures = update(make_learner(old_logprobs=old_logprobs), rows)
        assert figures["policy_ratio_mean"] == pytest.approx(1.0, abs=1e-6)
    figures = update(make_learner(old_logprobs="engine"), rows)
    assert figures["policy_ratio_mean"] == pytest.approx(ratios.mean(), abs=1e-5)
    assert figures["policy_ratio_max"] == pytest.approx(ratios.max(), abs=1e-5)


def test_old_logprobs_stay_those_before_the_first_of_several_steps(
    make_learner: MakeLearner,
) -> None:
    settings = {"lr": 1e-2, "num_epochs": 2}
    given, recomputed = (
        make_learner(**settings),
        make_learner(**settings, old_logprobs="recompute"),
    )
    assert update(given) == update(recomputed)
    assert are_equal(weights_of(given), weights_of(recomputed))
    # The mean over both steps: 1 in the first, another in the second.
    assert abs(update(given)["policy_ratio_mean"] - 1.0) > 1e-3


def test_a_step_without_finite_gradient_is_skipped_and_counted(
    make_learner: MakeLearner,
) -> None:
    learner = make_learner(lr=1e-2)
    before = weights_of(learner)
    broken = random_rows()
    broken.advantage[3] = np.nan
    assert update(learner, broken)["skipped_step_fraction"] == 1.0
    assert are_equal(before, weights_of(learner))
    assert update(learner)["skipped_step_fraction"] == 0.0
    assert not are_equal(before, weights_of(learner))


def test_the_reference_is_the_initial_policy_also_after_a_restore(
    make_learner: MakeLearner,
) -> None:
    learner = make_learner(lr=1e-2, kl_coeff=0.01)
    kl = [update(learner)["mean_kl_loss"] for _ in range(3)]
    assert kl[0] == pytest.approx(0.0, abs=1e-7)
    assert kl[2] > kl[1] > 0.0
    restored = make_learner(lr=1e-2, kl_coeff=0.01)
    restored.set_state(learner.get_state())
    assert update(restored) == update(learner)


def test_a_restored_learner_continues_bit_for_bit(make_learner: MakeLearner) -> None:
    settings = {
        "lr": 1e-2,
        "num_minibatches": 2,
        "lr_schedule": "cosine",
        "lr_warmup_steps": 3,
        "lr_total_steps": 20,
    }
    learner, restored = make_learner(**settings), make_learner(**settings)
    for iteration in range(2):
        update(learner, iteration=iteration)
    restored.set_state(learner.get_state())
    for iteration in range(2, 4):
        figures = update(learner, iteration=iteration)
        assert update(restored, iteration=iteration) == figures
    assert are_equal(weights_of(learner), weights_of(restored))
    # Steps 6 and 7, after 3 of warm-up, of a cosine over 17.
    expected = [1e-2 * (1 + np.cos(np.pi * (n - 3) / 17)) / 2 for n in (6, 7)]
    assert figures["learning_rate"] == pytest.approx(np.mean(expected))
    assert figures["num_optimizer_steps_lifetime"] == 8


def test_bfloat16_products_lose_no_small_update(make_learner: MakeLearner) -> None:
    learner = make_learner(dtype="bfloat16", lr=1e-6)
    before = weights_of(learner)
    figures = update(learner)
    after = weights_of(learner)
    assert {t.dtype for t in after.values()} == {torch.float32}
    moved = torch.cat([(after[n] - before[n]).abs().flatten() for n in before])
    # Adam's first step is the learning rate, wherever there is a gradient.
    assert moved.max() == pytest.approx(1e-6, rel=0.2)
    assert (moved > 0).float().mean() > 0.5
    assert np.isfinite(figures["total_loss"])
    assert {t.dtype for t in learner.export_weights().values()} == {torch.bfloat16}


def test_other_ways_to_learn_are_refused(make_learner: MakeLearner) -> None:
    learner = make_learner()
    with pytest.raises(TypeError, match="GiGPOTrainingData"):
        learner.compute_loss_for_module(
            module_id="x", config=None, batch={}, fwd_out={}
        )
    with pytest.raises(ValueError, match="needs rows"):
        learner.update(training_data=GiGPOTrainingData())


@pytest.mark.parametrize("old_logprobs", ["auto", "engine"])
def test_the_kl_for_the_reward_is_the_log_ratio_of_each_response(
    make_learner: MakeLearner, folder: Path, old_logprobs: str
) -> None:
    learner = make_learner(
        lr=1e-2,
        kl_coeff=0.1,
        kl_placement="reward",
        old_logprobs=old_logprobs,
        temperature=0.7,
        max_tokens_per_micro_batch=60,
    )
    rows = random_rows()
    if old_logprobs == "auto":
        _, before = learner.reference_kl(GiGPOTrainingData(rows=rows))
        assert (before == 0.0).all()
    assert update(learner)["mean_kl_loss"] == 0.0
    places, kl = learner.reference_kl(GiGPOTrainingData(rows=rows))
    assert places.tolist() == list(range(13))
    model = AutoModelForCausalLM.from_pretrained(folder).double()
    model.set_attn_implementation("eager")
    with torch.no_grad():
        reference, _ = reference_logprobs(model, rows, 0.7)
        model.load_state_dict(weights_of(learner), strict=False)
        now, _ = reference_logprobs(model, rows, 0.7)
    policy = now if old_logprobs == "auto" else rows.sampled_logprobs
    expected = [
        float((torch.as_tensor(p) - r).sum())
        for p, r in zip(policy, reference, strict=True)
    ]
    assert max(map(abs, expected)) > 0.1
    assert kl.tolist() == pytest.approx(expected, abs=1e-4)


def test_each_of_several_optimizer_steps_shows_its_own_ratio(
    make_learner: MakeLearner,
) -> None:
    figures = update(make_learner(lr=1e-2, num_epochs=3))
    own = [
        figures[f"by_optimizer_step/{index:03d}/policy_ratio_mean"]
        for index in range(3)
    ]
    assert own[0] == pytest.approx(1.0, abs=1e-6)
    assert min(abs(ratio - 1.0) for ratio in own[1:]) > 1e-3
    assert figures["policy_ratio_mean"] == pytest.approx(np.mean(own))
    clipped = [
        figures[f"by_optimizer_step/{index:03d}/clip_{side}_fraction"]
        for index in range(3)
        for side in ("low", "high")
    ]
    assert clipped[:2] == [0.0, 0.0] and max(clipped) > 0.0
    assert not any("by_optimizer_step" in name for name in update(make_learner()))


def test_without_a_token_that_trains_no_step_is_taken(
    make_learner: MakeLearner,
) -> None:
    learner = make_learner(lr=0.1, weight_decay=0.1, kl_coeff=0.1, entropy_coeff=0.1)
    update(learner)  # Fills the optimizer's momentum.
    before = weights_of(learner)
    rows = random_rows()
    idle = dataclasses.replace(rows, loss_weight=np.zeros(len(rows)))
    assert update(learner, idle)["skipped_step_fraction"] == 1.0
    assert are_equal(before, weights_of(learner))
