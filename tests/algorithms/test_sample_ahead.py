"""Batches sampled one ahead of the learner."""

import threading
from itertools import count

import numpy as np
import pytest

from rllib_gigpo.algorithms.sample_ahead import SampleAhead, policy_lag


def test_without_lag_a_batch_is_sampled_when_it_is_taken() -> None:
    numbers = count()
    batches = SampleAhead(numbers.__next__, 0)
    batches.start()
    batches.wait()
    assert next(numbers) == 0
    assert [batches.take(), batches.take()] == [1, 2]


def test_with_lag_the_next_batch_is_sampled_meanwhile() -> None:
    may_go_on = threading.Event()
    numbers = count()

    def sample() -> int:
        number = next(numbers)
        if number:
            assert may_go_on.wait(10)
        return number

    batches = SampleAhead(sample, 1)
    assert batches.take() == 0
    batches.start()  # Returns although the batch is not there yet.
    may_go_on.set()
    batches.wait()
    assert next(numbers) == 2
    assert batches.take() == 1
    batches.close()


def test_an_iteration_sees_weights_of_at_most_one_version_before() -> None:
    version = 0
    batches = SampleAhead(lambda: version, 1)
    lags = []
    for _ in range(5):
        sampled_with = batches.take()
        batches.start()
        lags.append(version - sampled_with)
        batches.wait()  # Only then may weights change.
        version += 1
    assert lags == [0, 1, 1, 1, 1]
    batches.close()


def test_an_error_comes_with_the_batch_it_belongs_to() -> None:
    def sample() -> None:
        raise RuntimeError("no runner left")

    batches = SampleAhead(sample, 1)
    batches.start()
    batches.wait()
    with pytest.raises(RuntimeError, match="no runner left"):
        batches.take()
    batches.close()


def test_a_dropped_batch_is_sampled_again() -> None:
    batches = SampleAhead(count().__next__, 1)
    batches.start()
    batches.drop()
    assert batches.take() == 1
    batches.close()


def test_lag_is_counted_in_updates() -> None:
    lag = policy_lag(np.array([3, 3, 4, 4]), 4)
    assert lag == {"policy_lag_mean": 0.5, "policy_lag_max": 1}
