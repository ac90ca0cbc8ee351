"""Which rows go where: each exactly once per pass, under the budget, in balance."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rllib_gigpo.learning.losses import LOSS_AGGREGATIONS
from rllib_gigpo.learning.rows import TrainingRows
from rllib_gigpo.learning.update_plan import PlanSettings, ShardPlan, plan_update


def rows_of(num_prompt: list[int], num_response: list[int]) -> TrainingRows:
    number = len(num_prompt)
    return TrainingRows(
        prompt_ids=[np.ones(n, np.int32) for n in num_prompt],
        response_ids=[np.ones(n, np.int32) for n in num_response],
        sampled_logprobs=[np.zeros(n, np.float32) for n in num_response],
        advantage=np.ones(number),
        trajectory=np.arange(number) // 4,
        policy_version=np.zeros(number, np.int64),
        loss_weight=np.ones(number),
    )


def global_rows(plan: ShardPlan, step: int) -> list[int]:
    """The rows that a learner trains in a step, as indices into all rows."""
    return [
        int(plan.rows[local])
        for batch in plan.steps[step].micro_batches
        for local, weight in zip(batch.rows, batch.token_weight, strict=True)
        if weight > 0
    ]


LENGTHS = st.lists(
    st.tuples(st.integers(1, 300), st.integers(1, 60)), min_size=1, max_size=40
)


@settings(max_examples=60, deadline=None)
@given(
    lengths=LENGTHS,
    num_shards=st.integers(1, 5),
    num_minibatches=st.integers(1, 5),
    num_epochs=st.integers(1, 2),
    budget=st.integers(1, 900),
    aggregation=st.sampled_from(sorted(LOSS_AGGREGATIONS)),
    seed=st.integers(0, 9),
)
def test_plans_cover_every_row_once_per_epoch_and_keep_learners_in_step(
    lengths: list[tuple[int, int]],
    num_shards: int,
    num_minibatches: int,
    num_epochs: int,
    budget: int,
    aggregation: str,
    seed: int,
) -> None:
    rows = rows_of(*map(list, zip(*lengths, strict=True)))
    plans = plan_update(
        rows,
        num_shards,
        PlanSettings(
            num_epochs=num_epochs,
            num_minibatches=num_minibatches,
            max_tokens_per_micro_batch=budget,
            loss_aggregation=aggregation,
            loss_constant=60.0,
            seed=seed,
        ),
    )
    steps_per_epoch = min(num_minibatches, len(rows))
    trained: list[list[int]] = []
    for step in range(num_epochs * steps_per_epoch):
        of_step = [row for plan in plans for row in global_rows(plan, step)]
        assert len(of_step) == len(set(of_step))
        trained.append(of_step)
        own_steps = [plan.steps[step] for plan in plans]
        assert len({len(own.micro_batches) for own in own_steps}) == 1
        num_tokens = sum(len(rows.response_ids[row]) for row in of_step)
        assert {own.num_tokens for own in own_steps} == {num_tokens}
    assert {len(plan.steps) for plan in plans} == {len(trained)}
    for epoch in range(num_epochs):
        of_epoch = trained[epoch * steps_per_epoch : (epoch + 1) * steps_per_epoch]
        counts = Counter(row for of_step in of_epoch for row in of_step)
        assert counts == dict.fromkeys(range(len(rows)), 1)
        sizes = [len(of_step) for of_step in of_epoch]
        assert max(sizes) - min(sizes) <= 1
    for plan in plans:
        own_lengths = rows.num_tokens[plan.rows]
        for step in plan.steps:
            for batch in step.micro_batches:
                batch_lengths = own_lengths[batch.rows]
                assert (np.diff(batch_lengths) <= 0).all()
                assert batch_lengths.sum() <= budget or len(batch.rows) == 1


@given(lengths=LENGTHS, num_shards=st.integers(1, 6))
def test_tokens_are_spread_evenly_over_learners(
    lengths: list[tuple[int, int]], num_shards: int
) -> None:
    rows = rows_of(*map(list, zip(*lengths, strict=True)))
    plans = plan_update(rows, num_shards, PlanSettings())
    loads = [
        sum(int(rows.num_tokens[row]) for row in global_rows(plan, 0)) for plan in plans
    ]
    assert max(loads) - min(loads) <= rows.num_tokens.max()


# Rows of 1 + 3, 1 + 1 and 1 + 2 tokens, a budget of 6 tokens: the longest first, and
# beside it only what fits: [4], then [3, 2].
def test_micro_batches_by_hand() -> None:
    rows = rows_of([1, 1, 1], [3, 1, 2])
    (plan,) = plan_update(rows, 1, PlanSettings(max_tokens_per_micro_batch=6))
    batches = plan.steps[0].micro_batches
    assert [batch.rows.tolist() for batch in batches] == [[0], [2, 1]]
    for batch in batches:
        assert batch.token_weight == pytest.approx(1 / 6)


def test_a_learner_without_rows_runs_idle_micro_batches_of_weight_zero() -> None:
    rows = rows_of([5, 5], [2, 2])
    settings = PlanSettings(max_tokens_per_micro_batch=7)
    busy, other, idle = plan_update(rows, 3, settings)
    assert global_rows(busy, 0) + global_rows(other, 0) == [0, 1]
    assert global_rows(idle, 0) == []
    (batch,) = idle.steps[0].micro_batches
    assert batch.rows.tolist() == [0]
    assert batch.token_weight.tolist() == [0.0]


def test_shuffles_depend_on_the_seed_alone_and_differ_between_epochs() -> None:
    rows = rows_of([3] * 12, [2] * 12)

    def order(seed: int) -> list[list[int]]:
        (plan,) = plan_update(
            rows, 1, PlanSettings(num_minibatches=3, num_epochs=2, seed=seed)
        )
        return [sorted(global_rows(plan, step)) for step in range(6)]

    assert order(1) == order(1)
    assert order(1) != order(2)
    assert order(1)[:3] != order(1)[3:]


def test_no_rows_are_refused() -> None:
    with pytest.raises(ValueError, match="no rows"):
        plan_update(rows_of([], []), 1, PlanSettings())
