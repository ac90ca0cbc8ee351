"""One optimizer step's gradient: the same however rows are split, and the right one."""

import dataclasses
from collections.abc import Sequence

import numpy as np
import pytest
import torch
from transformers import PreTrainedModel

from rllib_gigpo.learning.losses import LOSS_AGGREGATIONS, LossConfig
from rllib_gigpo.learning.rows import TrainingRows
from rllib_gigpo.learning.update import (
    Forward,
    StepFigures,
    accumulate_gradients,
    row_logprobs,
)
from rllib_gigpo.learning.update_plan import PlanSettings, micro_batches, plan_update
from rllib_gigpo.modules.token_logprobs import token_logprobs
from tests.learning.reference_update import reference_logprobs, reference_loss
from tests.learning.tiny_model import random_rows, tiny_model

CPU = torch.device("cpu")
WHOLE = 1 << 20
"""A micro-batch budget that holds all rows."""

# Every term is on, and some tokens are clipped on each side, capped and bounded.
EVERYTHING = LossConfig(
    clip_low=0.15,
    clip_high=0.25,
    dual_clip=1.4,
    kl_coeff=0.1,
    kl_estimator="k3-unbiased",
    entropy_coeff=0.05,
    importance_cap=1.1,
    loss_constant=12.0,
)
Logprobs = Sequence[np.ndarray]


def forward_of(model: PreTrainedModel, temperature: float = 1.0) -> Forward:
    return lambda packed: token_logprobs(model, packed, temperature=temperature)


def nearby(rows: TrainingRows, spread: float, seed: int) -> list[np.ndarray]:
    """Logprobs of the policy, moved at random: as of older or other weights."""
    with torch.no_grad():
        logprobs, _ = reference_logprobs(tiny_model("eager"), rows)
    rng = np.random.default_rng(seed)
    return [
        (x.numpy() + spread * rng.normal(size=len(x))).astype(np.float32)
        for x in logprobs
    ]


def make_rows(num_rows: int = 13) -> TrainingRows:
    """Rows with an engine drift; one is carried along, one has an empty response."""
    rows = random_rows(num_rows)
    rows.loss_weight[4] = 0.0
    for columns in (rows.response_ids, rows.sampled_logprobs):
        columns[7] = columns[7][:0]
    return dataclasses.replace(rows, sampled_logprobs=nearby(rows, 0.2, seed=3))


ROWS = make_rows()
OLD = nearby(ROWS, 0.3, seed=1)
REFERENCE = nearby(ROWS, 0.5, seed=2)


def sum_over_shards(
    rows: TrainingRows,
    *,
    old: Logprobs | None,
    reference: Logprobs | None,
    loss_config: LossConfig = EVERYTHING,
    num_shards: int = 1,
    budget: int = WHOLE,
    step: int = 0,
    settings: PlanSettings | None = None,
) -> tuple[torch.Tensor, list[StepFigures]]:
    """Gradient of an optimizer step, summed over learners as an all-reduce would."""
    settings = settings or PlanSettings(
        max_tokens_per_micro_batch=budget,
        loss_aggregation=loss_config.loss_aggregation,
        loss_constant=loss_config.loss_constant,
    )
    model = tiny_model(dtype=torch.float64)
    figures = []
    for plan in plan_update(rows, num_shards, settings):
        own = plan.rows.tolist()
        figures.append(
            accumulate_gradients(
                forward_of(model),
                rows.take(plan.rows),
                plan.steps[step],
                loss_config=loss_config,
                old_logprobs=None if old is None else [old[i] for i in own],
                reference_logprobs=(
                    None if reference is None else [reference[i] for i in own]
                ),
                device=CPU,
            )
        )
    return gradient_of(model), figures


def gradient_of(model: PreTrainedModel) -> torch.Tensor:
    return torch.cat([p.grad.flatten() for p in model.parameters()])


def reference_gradient(
    rows: TrainingRows,
    loss_config: LossConfig,
    old: Logprobs | None,
    reference: Logprobs | None,
) -> tuple[torch.Tensor, float]:
    def tensors(logprobs: Logprobs | None) -> list[torch.Tensor] | None:
        return logprobs and [torch.from_numpy(x).double() for x in logprobs]

    model = tiny_model("eager", dtype=torch.float64)
    loss = reference_loss(model, rows, loss_config, tensors(old), tensors(reference))
    loss.backward()
    return gradient_of(model), loss.item()


def assert_equal_gradients(one: torch.Tensor, other: torch.Tensor) -> None:
    """To one part in a million; float32 logprobs give a few in ten millions."""
    assert one.norm() > 0
    assert ((one - other).norm() / other.norm()).item() < 1e-6


@pytest.mark.parametrize("policy_ratio", ["token", "sequence"])
@pytest.mark.parametrize("aggregation", LOSS_AGGREGATIONS)
def test_the_gradient_is_that_of_the_loss_written_out_row_by_row(
    aggregation: str, policy_ratio: str
) -> None:
    config = dataclasses.replace(
        EVERYTHING, loss_aggregation=aggregation, policy_ratio=policy_ratio
    )
    expected, expected_loss = reference_gradient(ROWS, config, OLD, REFERENCE)
    gradient, (figures,) = sum_over_shards(
        ROWS, old=OLD, reference=REFERENCE, loss_config=config
    )
    assert_equal_gradients(gradient, expected)
    assert figures.total_loss == pytest.approx(expected_loss, rel=1e-5)
    if policy_ratio == "token":
        assert figures.num_clipped_low and figures.num_clipped_high
        assert figures.num_dual_clipped


@pytest.mark.parametrize("estimator", ["k2", "k3"])
def test_plain_kl_terms_have_the_gradient_written_out(estimator: str) -> None:
    config = LossConfig(kl_coeff=0.3, kl_estimator=estimator, dual_clip=None)
    expected, _ = reference_gradient(ROWS, config, None, REFERENCE)
    gradient, _ = sum_over_shards(
        ROWS, old=None, reference=REFERENCE, loss_config=config
    )
    assert_equal_gradients(gradient, expected)


@pytest.mark.parametrize("policy_ratio", ["token", "sequence"])
@pytest.mark.parametrize(
    ("num_shards", "budget", "aggregation"),
    [
        (1, 1, "token-mean"),
        (1, 40, "sequence-mean-token-mean"),
        (2, WHOLE, "trajectory-mean-token-mean"),
        (2, 40, "sequence-sum-constant"),
        (3, 25, "token-mean"),
        (3, 60, "trajectory-mean-token-mean"),
        (20, 40, "sequence-mean-token-mean"),
    ],
)
def test_no_split_over_micro_batches_and_learners_changes_the_gradient(
    num_shards: int, budget: int, aggregation: str, policy_ratio: str
) -> None:
    config = dataclasses.replace(
        EVERYTHING, loss_aggregation=aggregation, policy_ratio=policy_ratio
    )
    given = {"old": OLD, "reference": REFERENCE, "loss_config": config}
    whole, (of_all,) = sum_over_shards(ROWS, **given)
    split, of_each = sum_over_shards(
        ROWS, num_shards=num_shards, budget=budget, **given
    )
    assert_equal_gradients(split, whole)
    for name in ("total_loss", "policy_loss", "kl_loss", "weighted_entropy"):
        total = sum(getattr(figures, name) for figures in of_each)
        assert total == pytest.approx(getattr(of_all, name), rel=1e-5)
    for name in ("num_tokens", "num_clipped_low", "num_clipped_high"):
        assert sum(getattr(f, name) for f in of_each) == getattr(of_all, name)
    assert max(f.ratio_max for f in of_each) == pytest.approx(of_all.ratio_max)
    assert max(f.drift_max for f in of_each) == pytest.approx(of_all.drift_max)


def test_the_order_of_rows_does_not_matter() -> None:
    expected, _ = sum_over_shards(ROWS, old=OLD, reference=REFERENCE, budget=60)
    for seed in range(2):
        order = np.random.default_rng(seed).permutation(len(ROWS))
        shuffled, _ = sum_over_shards(
            ROWS.take(order),
            old=[OLD[i] for i in order],
            reference=[REFERENCE[i] for i in order],
            budget=60,
            num_shards=2,
        )
        assert_equal_gradients(shuffled, expected)


def test_rows_of_weight_zero_change_nothing_whatever_they_hold() -> None:
    """Logprobs and advantages that no float32 ratio could take included."""
    trains = np.flatnonzero(ROWS.loss_weight)
    expected, (figures,) = sum_over_shards(
        ROWS.take(trains),
        old=[OLD[i] for i in trains],
        reference=[REFERENCE[i] for i in trains],
    )
    extra = np.array([0, 0, 4, 9])
    padded = ROWS.take(np.concatenate([extra, trains]))
    padded.loss_weight[: len(extra)] = 0.0
    padded.advantage[:2] = [1e30, np.nan]
    old = [OLD[i] for i in (*extra, *trains)]
    old[0], old[2] = old[0] - 200, old[2] * np.nan
    reference = [REFERENCE[i] for i in (*extra, *trains)]
    reference[0] = reference[0] + 200
    for num_shards in (1, 2):
        gradient, of_each = sum_over_shards(
            padded, old=old, reference=reference, num_shards=num_shards, budget=60
        )
        assert_equal_gradients(gradient, expected)
        assert sum(f.num_tokens for f in of_each) == figures.num_tokens
        assert max(f.ratio_max for f in of_each) == pytest.approx(figures.ratio_max)


def test_where_nothing_trains_the_gradient_is_zero_and_finite() -> None:
    rows = dataclasses.replace(ROWS, loss_weight=np.zeros(len(ROWS)))
    gradient, of_each = sum_over_shards(
        rows, old=OLD, reference=REFERENCE, num_shards=2, budget=60
    )
    assert torch.equal(gradient, torch.zeros_like(gradient))
    assert [f.num_tokens for f in of_each] == [0, 0]


@pytest.mark.parametrize("num_minibatches", [3, 5])
def test_each_minibatch_has_the_gradient_of_its_own_rows(num_minibatches: int) -> None:
    """13 rows make unequal mini-batches: each is divided by its own counts."""
    settings = PlanSettings(
        num_minibatches=num_minibatches, max_tokens_per_micro_batch=50, seed=4
    )
    (plan,) = plan_update(ROWS, 1, settings)
    for step, planned in enumerate(plan.steps):
        chosen = np.concatenate([b.rows for b in planned.micro_batches])
        expected, _ = reference_gradient(
            ROWS.take(chosen),
            EVERYTHING,
            [OLD[i] for i in chosen],
            [REFERENCE[i] for i in chosen],
        )
        for num_shards in (1, 2):
            gradient, _ = sum_over_shards(
                ROWS,
                old=OLD,
                reference=REFERENCE,
                num_shards=num_shards,
                settings=settings,
                step=step,
            )
            assert_equal_gradients(gradient, expected)


def test_without_old_logprobs_the_ratio_is_one_and_nothing_is_clipped() -> None:
    config = LossConfig(kl_coeff=0.0, clip_low=0.0, clip_high=0.0)
    gradient, (figures,) = sum_over_shards(
        ROWS, old=None, reference=None, loss_config=config
    )
    assert figures.ratio_sum == figures.num_tokens
    assert figures.ratio_max == 1.0
    assert figures.num_clipped_low == figures.num_clipped_high == 0
    expected, _ = reference_gradient(ROWS, LossConfig(kl_coeff=0.0), None, None)
    assert_equal_gradients(gradient, expected)


def test_the_gradient_scale_multiplies_the_gradient_and_no_figure() -> None:
    figures, gradients = [], []
    (plan,) = plan_update(ROWS, 1, PlanSettings())
    for scale in (1.0, 3.0):
        model = tiny_model()
        figures.append(
            accumulate_gradients(
                forward_of(model),
                ROWS.take(plan.rows),
                plan.steps[0],
                loss_config=LossConfig(kl_coeff=0.0),
                old_logprobs=None,
                reference_logprobs=None,
                device=CPU,
                gradient_scale=scale,
            )
        )
        gradients.append(gradient_of(model))
    assert figures[0] == figures[1]
    torch.testing.assert_close(3.0 * gradients[0], gradients[1])


def test_gradients_are_exchanged_in_the_last_micro_batch_only() -> None:
    entered = []

    class Counting:
        def __enter__(self) -> None:
            entered.append(True)

        def __exit__(self, *args: object) -> None:
            pass

    settings = PlanSettings(max_tokens_per_micro_batch=40)
    for plan in plan_update(ROWS, 2, settings):
        entered.clear()
        accumulate_gradients(
            forward_of(tiny_model()),
            ROWS.take(plan.rows),
            plan.steps[0],
            loss_config=LossConfig(kl_coeff=0.0),
            old_logprobs=None,
            reference_logprobs=None,
            device=CPU,
            without_sync=Counting,
        )
        assert len(entered) == len(plan.steps[0].micro_batches) - 1 > 0


@pytest.mark.parametrize("temperature", [1.0, 0.6])
@pytest.mark.parametrize("budget", [1, 30, WHOLE])
def test_row_logprobs_come_back_to_their_rows(budget: int, temperature: float) -> None:
    with torch.no_grad():
        expected, _ = reference_logprobs(tiny_model("eager"), ROWS, temperature)
    batches = micro_batches(np.arange(len(ROWS)), ROWS.num_tokens, budget)
    result = row_logprobs(forward_of(tiny_model(), temperature), ROWS, batches, CPU)
    for one, other in zip(result, expected, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)


def test_rows_in_no_batch_get_logprobs_that_no_loss_can_overlook() -> None:
    result = row_logprobs(forward_of(tiny_model()), ROWS, [np.array([2])], CPU)
    assert np.isfinite(result[2]).all()
    assert all(np.isnan(x).all() for i, x in enumerate(result) if i != 2)


def test_recomputed_logprobs_give_a_ratio_of_one_under_any_packing() -> None:
    for budget in (1, 30, WHOLE):
        batches = micro_batches(np.arange(len(ROWS)), ROWS.num_tokens, budget)
        old = row_logprobs(forward_of(tiny_model()), ROWS, batches, CPU)
        _, (figures,) = sum_over_shards(
            ROWS,
            old=old,
            reference=None,
            loss_config=LossConfig(kl_coeff=0.0),
            budget=60,
        )
        assert figures.ratio_max == pytest.approx(1.0, abs=1e-5)
        assert figures.num_clipped_low == figures.num_clipped_high == 0
