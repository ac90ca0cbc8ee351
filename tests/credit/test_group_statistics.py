"""Sums that neither the order of the rows nor other groups can change."""

import math

import numpy as np
import pytest

from rllib_gigpo.credit.group_statistics import group_statistics


def statistics_of(values, group, **settings):
    return group_statistics(
        np.asarray(values, float),
        np.asarray(group),
        **{"ddof": 1, "constant_tolerance": 1e-5} | settings,
    )


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_mean_and_std_are_right_to_the_last_digits(scale):
    rng = np.random.default_rng(0)
    values = scale * (rng.normal(size=3_000) + 5.0)
    group = rng.integers(0, 3, 3_000)
    statistics = statistics_of(values, group)
    for code in range(3):
        members = values[group == code].tolist()
        mean = math.fsum(members) / len(members)
        squares = math.fsum((value - mean) ** 2 for value in members)
        assert statistics.count[code] == len(members)
        assert statistics.mean[code] == pytest.approx(mean, rel=3e-16, abs=0)
        assert statistics.std[code] == pytest.approx(
            math.sqrt(squares / (len(members) - 1)), rel=1e-15, abs=0
        )


def test_order_of_rows_does_not_change_the_last_bit():
    rng = np.random.default_rng(1)
    values = rng.normal(size=500) * 10.0 ** rng.integers(-8, 8, 500)
    group = rng.integers(0, 7, 500)
    expected = statistics_of(values, group)
    for _ in range(20):
        order = rng.permutation(500)
        actual = statistics_of(values[order], group[order])
        np.testing.assert_array_equal(actual.mean, expected.mean)
        np.testing.assert_array_equal(actual.std, expected.std)


def test_ddof_and_single_values():
    # Group 0 holds 10 and 0, group 1 a single 5.
    sample = statistics_of([10, 0, 5], [0, 0, 1])
    assert sample.mean.tolist() == [5.0, 5.0]
    assert sample.std.tolist() == [math.sqrt(50.0), 0.0]
    assert sample.is_constant.tolist() == [False, True]
    assert statistics_of([10, 0, 5], [0, 0, 1], ddof=0).std.tolist() == [5.0, 0.0]


def test_tolerance_is_relative_above_one_and_absolute_below():
    values = [1000.0, 1000.009, 1000.0, 1000.011, 0.0, 9e-6, 0.0, 1.1e-5]
    statistics = statistics_of(values, np.arange(8) // 2)
    assert statistics.is_constant.tolist() == [True, False, True, False]
