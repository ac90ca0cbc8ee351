"""What a person sees while a run goes on: one line per training iteration.

Works for every RLlib algorithm with the metrics that it has: a figure that a result
does not hold is left out of the line. On a terminal a status line below the others
counts the seconds; elsewhere (files, CI) there are only plain lines.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ray.air.constants import TRAINING_ITERATION
from ray.tune import Callback
from ray.tune.result import TIME_TOTAL_S
from ray.tune.utils import flatten_dict
from rich.console import Console
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

if TYPE_CHECKING:
    from ray.tune.experiment import Trial

Result = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One figure of the line.

    Attributes:
        label: Format string of the text, e.g. ``"return {:.2f}"``.
        keys: Flat metric keys; the first one that a result holds is shown.
    """

    label: str
    keys: tuple[str, ...]


# The one place that knows metric names: ours first, then RLlib's own.
FIGURES = (
    Figure(label="success {:.1%}", keys=("env_runners/success_rate",)),
    Figure(label="eval {:.1%}", keys=("evaluation/env_runners/success_rate",)),
    Figure(label="return {:.2f}", keys=("env_runners/episode_return_mean",)),
    Figure(
        label="eval return {:.2f}", keys=("evaluation/env_runners/episode_return_mean",)
    ),
    Figure(label="length {:.1f}", keys=("env_runners/episode_len_mean",)),
    Figure(label="{:,.0f} tokens/s", keys=("env_runners/num_generated_tokens_per_s",)),
)
# Shares of an iteration's time, in the order in which it is spent.
STAGES = (
    Figure(
        label="sample {:.0%}",
        keys=("timers/sample_s", "timers/env_runner_sampling_timer"),
    ),
    Figure(label="credit {:.0%}", keys=("timers/credit_s",)),
    Figure(
        label="learn {:.0%}",
        keys=("timers/learner_update_s", "timers/learner_update_timer"),
    ),
    Figure(label="sync {:.0%}", keys=("timers/weight_sync_s", "timers/synch_weights")),
    Figure(label="eval {:.0%}", keys=("timers/evaluation_iteration",)),
)
ITERATION_SECONDS = "time_this_iter_s"


class ProgressDisplay(Callback):
    """Prints each trial's results as they come.

    Args:
        stop: Flat stop criteria, for the time that is left.
        console: Where to print; by default the standard output.
    """

    def __init__(
        self, stop: Mapping[str, float], console: Console | None = None
    ) -> None:
        self._stop = stop
        self._console = console or Console(highlight=False, soft_wrap=True)
        self._live: Live | None = None
        self._status = Spinner("dots", Text("starting"))
        self._last_event = time.monotonic()
        self._all_trials_ended = True

    @property
    def is_interrupted(self) -> bool:
        """Whether the run stopped while a trial had not ended, as after Ctrl-C.

        Tune ends such trials afterwards as if they had gone through.
        """
        return not self._all_trials_ended

    def setup(
        self,
        stop: Any = None,
        num_samples: int | None = None,
        total_num_samples: int | None = None,
        **info: Any,
    ) -> None:
        """Called once before the first trial: start the status line."""
        if self._console.is_terminal:
            self._live = Live(
                get_renderable=self._render, console=self._console, transient=True
            )
            self._live.start()

    def on_step_end(self, iteration: int, trials: list[Trial], **info: Any) -> None:
        """Called after each event of any trial: note whether some go on."""
        self._all_trials_ended = all(trial.is_finished() for trial in trials)

    def on_trial_start(
        self, iteration: int, trials: list[Trial], trial: Trial, **info: Any
    ) -> None:
        """Say that a trial starts, and where its results go."""
        self._say(f"{trial} starts; results: {trial.path}")

    def on_trial_result(
        self,
        iteration: int,
        trials: list[Trial],
        trial: Trial,
        result: dict[str, Any],
        **info: Any,
    ) -> None:
        """Print the line of one training iteration."""
        line = result_line(flatten_dict(result), self._stop)
        self._say(line if len(trials) == 1 else f"{trial}: {line}")

    def on_trial_error(
        self, iteration: int, trials: list[Trial], trial: Trial, **info: Any
    ) -> None:
        """Say that a trial failed, and where its traceback lies."""
        self._say(f"{trial} FAILED; traceback: {trial.error_file}")

    def on_experiment_end(self, trials: list[Trial], **info: Any) -> None:
        """Called once after the last trial: remove the status line."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _say(self, line: str) -> None:
        self._console.print(line, markup=False)
        self._last_event = time.monotonic()

    def _render(self) -> Spinner:
        waiting = time.monotonic() - self._last_event
        self._status.update(text=Text(f"working, {short_time(waiting)} since the last"))
        return self._status


def result_line(result: Result, stop: Mapping[str, float]) -> str:
    """One training iteration in a line.

    Args:
        result: Flat metric keys to values.
        stop: Flat stop criteria.
    """
    iteration = f"iteration {result.get(TRAINING_ITERATION, '?')}"
    if TRAINING_ITERATION in stop:
        iteration += f"/{stop[TRAINING_ITERATION]:g}"
    parts = [iteration, *shown(FIGURES, result, lambda value: value)]
    seconds = result.get(ITERATION_SECONDS)
    if seconds:
        # RLlib's timers are moving averages: together they may exceed this iteration.
        spent = [v for stage in STAGES if (v := value_of(stage, result)) is not None]
        whole = max(seconds, sum(spent))
        shares = shown(STAGES, result, lambda value: value / whole)
        split = f" ({', '.join(shares)})" if shares else ""
        parts.append(f"{short_time(seconds)}{split}")
    remaining = time_left_s(result, stop)
    if remaining:
        parts.append(f"ETA {short_time(remaining)}")
    return " | ".join(parts)


def shown(
    figures: tuple[Figure, ...], result: Result, scale: Callable[[float], float]
) -> list[str]:
    """The figures that the result holds, as text."""
    values = ((figure, value_of(figure, result)) for figure in figures)
    return [figure.label.format(scale(v)) for figure, v in values if v is not None]


def value_of(figure: Figure, result: Result) -> float | None:
    """The figure's first finite number in the result, or None."""
    for key in figure.keys:
        value = result.get(key)
        if isinstance(value, int | float) and math.isfinite(value):
            return float(value)
    return None


def time_left_s(result: Result, stop: Mapping[str, float]) -> float | None:
    """Seconds until the first countable criterion is met at the pace so far.

    Only what grows steadily is counted: iterations, seconds and lifetime sums. A
    criterion such as a success rate may end the run sooner.
    """
    elapsed = result.get(TIME_TOTAL_S)
    if not elapsed:
        return None
    estimates = [
        elapsed * (target / result[key] - 1)
        for key, target in stop.items()
        if is_steady(key) and result.get(key)
    ]
    return max(min(estimates), 0.0) if estimates else None


def is_steady(key: str) -> bool:
    """Whether a metric grows about evenly with time."""
    return key in (TRAINING_ITERATION, TIME_TOTAL_S) or key.endswith("_lifetime")


def short_time(seconds: float) -> str:
    """A duration for people: ``8.3 s``, ``4 min 05 s``, ``2 h 10 min``."""
    if seconds < 59.95:  # Beyond, the line would say 60.0 s.
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"
