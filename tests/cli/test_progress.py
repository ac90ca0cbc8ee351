"""The line of one training iteration, and where it is printed."""

import io
import math
from types import SimpleNamespace

import pytest
from rich.console import Console

from rllib_gigpo.cli.progress import (
    ProgressDisplay,
    result_line,
    short_time,
    time_left_s,
)

RESULT = {
    "training_iteration": 4,
    "env_runners/success_rate": 0.625,
    "env_runners/episode_return_mean": 6.25,
    "env_runners/episode_len_mean": 12.04,
    "env_runners/num_generated_tokens_per_s": 12345.6,
    "env_runners/num_env_steps_sampled_lifetime": 1000,
    "evaluation/env_runners/success_rate": 0.5,
    "timers/sample_s": 6.0,
    "timers/credit_s": 0.1,
    "timers/learner_update_s": 2.9,
    "timers/weight_sync_s": 0.5,
    "time_this_iter_s": 10.0,
    "time_total_s": 40.0,
}


def test_a_line_of_ours() -> None:
    assert result_line(RESULT, {"training_iteration": 10}) == (
        "iteration 4/10 | success 62.5% | eval 50.0% | return 6.25 | length 12.0 | "
        "12,346 tokens/s | 10.0 s (sample 60%, credit 1%, learn 29%, sync 5%) | "
        "ETA 1 min 00 s"
    )


def test_a_line_of_another_algorithm() -> None:
    ppo = {
        "training_iteration": 2,
        "env_runners/episode_return_mean": 21.5,
        "env_runners/episode_len_mean": 21.5,
        "timers/env_runner_sampling_timer": 1.0,
        "timers/learner_update_timer": 1.0,
        "time_this_iter_s": 4.0,
        "time_total_s": 8.0,
    }
    assert result_line(ppo, {}) == (
        "iteration 2 | return 21.50 | length 21.5 | 4.0 s (sample 25%, learn 25%)"
    )


def test_figures_without_a_value_are_left_out() -> None:
    result = RESULT | {
        "env_runners/success_rate": math.nan,
        "env_runners/episode_return_mean": None,
        "evaluation/env_runners/success_rate": "soon",
    }
    line = result_line(result, {})
    assert "success" not in line and "return" not in line and "eval" not in line
    assert "nan" not in line


def test_an_empty_result_still_gives_a_line() -> None:
    assert result_line({}, {}) == "iteration ?"


def test_shares_of_the_time_are_never_more_than_all_of_it() -> None:
    """RLlib's own timers are moving averages, which may exceed one iteration."""
    result = {
        "training_iteration": 1,
        "timers/env_runner_sampling_timer": 6.0,
        "timers/learner_update_timer": 2.0,
        "time_this_iter_s": 4.0,
    }
    assert "4.0 s (sample 75%, learn 25%)" in result_line(result, {})


@pytest.mark.parametrize(
    ("stop", "seconds"),
    [
        ({}, None),
        ({"training_iteration": 5}, 10.0),
        ({"time_total_s": 100}, 60.0),
        ({"env_runners/num_env_steps_sampled_lifetime": 2000}, 40.0),
        ({"training_iteration": 40, "time_total_s": 41}, 1.0),
        ({"training_iteration": 3}, 0.0),
        ({"env_runners/success_rate": 0.9}, None),
        ({"env_runners/success_rate": 0.9, "training_iteration": 8}, 40.0),
        ({"never/heard_of_lifetime": 3}, None),
    ],
)
def test_time_left(stop: dict[str, float], seconds: float | None) -> None:
    left = time_left_s(RESULT, stop)
    assert left == (None if seconds is None else pytest.approx(seconds))


def test_no_time_left_before_the_first_second() -> None:
    assert time_left_s({"training_iteration": 1}, {"training_iteration": 2}) is None


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0.0 s"),
        (8.31, "8.3 s"),
        (59.94, "59.9 s"),
        (59.97, "1 min 00 s"),
        (245.2, "4 min 05 s"),
        (3599.6, "1 h 00 min"),
        (7810.0, "2 h 10 min"),
    ],
)
def test_durations_for_people(seconds: float, text: str) -> None:
    assert short_time(seconds) == text


class FakeTrial(SimpleNamespace):
    def __str__(self) -> str:
        return self.name


def trial(name: str = "GiGPO_0", is_finished: bool = False) -> FakeTrial:
    return FakeTrial(
        name=name,
        path=f"/results/{name}",
        error_file=f"/{name}/error",
        is_finished=lambda: is_finished,
    )


def display(is_terminal: bool = False) -> tuple[ProgressDisplay, io.StringIO]:
    out = io.StringIO()
    console = Console(
        file=out, force_terminal=is_terminal, highlight=False, soft_wrap=True, width=40
    )
    return ProgressDisplay({"training_iteration": 9}, console), out


def test_plain_lines_where_there_is_no_terminal() -> None:
    shown, out = display()
    one = trial()
    shown.setup()
    shown.on_trial_start(0, [one], one)
    nested = {"training_iteration": 3, "env_runners": {"success_rate": 0.25}}
    shown.on_trial_result(1, [one], one, nested)
    shown.on_trial_error(2, [one], one)
    shown.on_experiment_end([one])
    assert out.getvalue().splitlines() == [
        "GiGPO_0 starts; results: /results/GiGPO_0",
        "iteration 3/9 | success 25.0%",
        "GiGPO_0 FAILED; traceback: /GiGPO_0/error",
    ]


def test_several_trials_are_told_apart() -> None:
    shown, out = display()
    trials = [trial("a"), trial("b")]
    shown.on_trial_result(0, trials, trials[1], {"training_iteration": 1})
    assert out.getvalue() == "b: iteration 1/9\n"


def test_brackets_are_not_taken_for_markup() -> None:
    shown, out = display()
    strange = trial("run[bold]")
    shown.on_trial_start(0, [strange], strange)
    assert "run[bold] starts" in out.getvalue()


def test_a_run_whose_trials_go_on_was_interrupted() -> None:
    shown, _ = display()
    assert not shown.is_interrupted
    shown.on_step_end(1, [trial("a", is_finished=True), trial("b")])
    assert shown.is_interrupted
    shown.on_step_end(2, [trial("a", is_finished=True), trial("b", is_finished=True)])
    assert not shown.is_interrupted


def test_a_terminal_has_a_status_line_that_goes_away() -> None:
    shown, out = display(is_terminal=True)
    shown.setup()
    one = trial()
    shown.on_trial_start(0, [one], one)
    shown.on_experiment_end([one])
    assert "GiGPO_0 starts" in out.getvalue()
    assert "since the last" in out.getvalue()
    assert shown._live is None
