import pytest

from rllib_gigpo.errors import ConfigError
from rllib_gigpo.learning.schedule import LearningRate


def rates(steps: range, **settings: object) -> list[float]:
    rate = LearningRate(peak=8.0, **settings)
    return [rate.at(step) for step in steps]


def test_a_constant_rate_is_the_peak_after_its_warm_up() -> None:
    assert rates(range(3)) == [8.0, 8.0, 8.0]
    # Warm-up of four steps: a quarter, a half, three quarters, all of it.
    assert rates(range(6), num_warmup_steps=4) == [2.0, 4.0, 6.0, 8.0, 8.0, 8.0]


# Two steps of warm-up, then four from the peak to 0 at step 6.
#   linear: 8 * (1, 3/4, 1/2, 1/4, 0);  cosine: 8 * (1 + cos(pi * k / 4)) / 2
@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        ("linear", [8.0, 6.0, 4.0, 2.0, 0.0, 0.0, 0.0]),
        ("cosine", [8.0, 6.82842712, 4.0, 1.17157288, 0.0, 0.0, 0.0]),
        ("constant", [8.0] * 7),
    ],
)
def test_each_schedule_by_hand(schedule: str, expected: list[float]) -> None:
    settings = {"num_warmup_steps": 2, "num_total_steps": 6}
    found = rates(range(9), schedule=schedule, **settings)
    assert found == pytest.approx([4.0, 8.0, *expected])


def test_a_warm_up_as_long_as_the_run_never_decays_below_its_steps() -> None:
    settings = {"num_warmup_steps": 3, "num_total_steps": 3, "schedule": "linear"}
    assert rates(range(4), **settings) == pytest.approx([8 / 3, 16 / 3, 8.0, 8.0])


def test_an_unknown_schedule_names_the_nearest() -> None:
    with pytest.raises(ConfigError, match="did you mean 'cosine'"):
        LearningRate(peak=1.0, schedule="cosinus").at(0)
