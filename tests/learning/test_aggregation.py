import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rllib_gigpo.errors import ConfigError
from rllib_gigpo.learning.losses import LOSS_AGGREGATIONS, RowCounts, row_token_weights


def counts(num_tokens, trajectory=None, loss_weight=None):
    num_rows = len(num_tokens)
    return RowCounts(
        num_tokens=np.array(num_tokens),
        trajectory=np.arange(num_rows) if trajectory is None else np.array(trajectory),
        loss_weight=np.ones(num_rows) if loss_weight is None else np.array(loss_weight),
    )


# Two rows with token losses [1, 2, 3] and [10]:
#   token-mean                 (1 + 2 + 3 + 10) / 4        = 4
#   sequence-mean-token-mean   (6/3 + 10/1) / 2            = 6
#   sequence-sum-constant, C=8 (6/8 + 10/8) / 2            = 1
@pytest.mark.parametrize(
    ("aggregation", "constant", "expected"),
    [
        ("token-mean", None, 4.0),
        ("sequence-mean-token-mean", None, 6.0),
        ("sequence-sum-constant", 8.0, 1.0),
        ("trajectory-mean-token-mean", None, 6.0),
    ],
)
def test_each_aggregation_gives_the_value_worked_out_by_hand(
    aggregation, constant, expected
):
    weights = row_token_weights(counts([3, 1]), aggregation, constant)
    assert weights @ np.array([6.0, 10.0]) == pytest.approx(expected)


def test_a_long_trajectory_weighs_more_per_row_but_not_per_trajectory():
    # Trajectory 0 has one row of 4 tokens, trajectory 1 ten rows of 4 tokens.
    rows = counts([4] * 11, trajectory=[0] + [1] * 10)
    for aggregation in ("token-mean", "sequence-mean-token-mean"):
        weights = row_token_weights(rows, aggregation) * rows.num_tokens
        assert weights[0] == pytest.approx(1 / 11)
        assert weights[1:].sum() == pytest.approx(10 / 11)
    weights = row_token_weights(rows, "trajectory-mean-token-mean") * rows.num_tokens
    assert weights[0] == pytest.approx(1 / 2)
    assert weights[1:].sum() == pytest.approx(1 / 2)


@pytest.mark.parametrize("aggregation", LOSS_AGGREGATIONS)
def test_a_row_of_weight_zero_changes_no_other_row(aggregation):
    alone = row_token_weights(counts([3, 1], [0, 1]), aggregation, 8.0)
    padded = row_token_weights(
        counts([3, 7, 1], [0, 0, 1], [1.0, 0.0, 1.0]), aggregation, 8.0
    )
    assert padded[[0, 2]] == pytest.approx(alone)
    assert padded[1] == 0.0


@pytest.mark.parametrize("aggregation", LOSS_AGGREGATIONS)
def test_nothing_to_train_gives_zeros_and_no_nan(aggregation):
    for rows in (counts([3, 0], loss_weight=[0.0, 0.0]), counts([0, 0]), counts([])):
        weights = row_token_weights(rows, aggregation, 8.0)
        assert np.array_equal(weights * rows.num_tokens, np.zeros(len(weights)))


@given(
    st.lists(st.integers(0, 50), min_size=1, max_size=30),
    st.sampled_from(sorted(set(LOSS_AGGREGATIONS) - {"sequence-sum-constant"})),
)
def test_means_of_ones_are_one(num_tokens, aggregation):
    rows = counts(num_tokens, trajectory=[i // 3 for i in range(len(num_tokens))])
    total = row_token_weights(rows, aggregation) @ rows.num_tokens
    assert total == pytest.approx(1.0 if any(num_tokens) else 0.0)


def test_a_missing_constant_and_an_unknown_name_say_what_to_do():
    with pytest.raises(ConfigError, match="needs loss_constant > 0"):
        row_token_weights(counts([1]), "sequence-sum-constant")
    with pytest.raises(ConfigError, match="did you mean 'token-mean'"):
        row_token_weights(counts([1]), "token_mean")
