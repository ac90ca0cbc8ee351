"""``tune.Tuner("GiGPO")``: grid search, ASHA, PBT, going on after an interruption.

The metric to compare trials by is their learning rate, so that who wins is known.
"""

import os
import pickle
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from ray import tune
from ray.tune.schedulers import ASHAScheduler, PopulationBasedTraining
from safetensors.torch import load_file

from rllib_gigpo import GiGPOConfig
from rllib_gigpo.checkpoints import MODULE_FOLDER

MakeConfig = Callable[..., GiGPOConfig]
LEARNING_RATE = "learners/default_policy/learning_rate"
BEST, WORST = 1e-2, 0.0


def make_tuner(
    config: GiGPOConfig,
    folder: Path,
    *,
    iterations: int,
    callbacks: list[tune.Callback] | None = None,
    **tune_config: object,
) -> tune.Tuner:
    return tune.Tuner(
        "GiGPO",
        param_space=config,
        tune_config=tune.TuneConfig(**tune_config),
        run_config=tune.RunConfig(
            name="corridor",
            storage_path=str(folder),
            stop={"training_iteration": iterations},
            checkpoint_config=tune.CheckpointConfig(
                checkpoint_frequency=1, checkpoint_at_end=True
            ),
            callbacks=callbacks,
            verbose=0,
        ),
    )


def by_learning_rate(results: tune.ResultGrid) -> dict[float, tune.Result]:
    assert not results.errors
    return {result.metrics["config"]["lr"]: result for result in results}


def weights_at(result: tune.Result, iteration: int) -> dict[str, torch.Tensor]:
    """Of the checkpoint that a trial wrote after this iteration, as it says itself."""
    (checkpoint,) = (
        folder
        for folder in Path(result.path).glob("checkpoint_*")
        if iteration_of(folder) == iteration
    )
    return load_file(checkpoint / MODULE_FOLDER / "model.safetensors")


def iteration_of(checkpoint: Path) -> int:
    state = pickle.loads((checkpoint / "algorithm_state.pkl").read_bytes())
    return state["training_iteration"]


def equal(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return all(torch.equal(one[name], other[name]) for name in other)


def test_grid_search(
    make_config: MakeConfig, corridor_model: Path, tmp_path: Path
) -> None:
    config = make_config(lr=tune.grid_search([BEST, WORST]), weight_decay=0.0)
    results = make_tuner(config, tmp_path, iterations=1).fit()
    trials = by_learning_rate(results)
    assert set(trials) == {BEST, WORST}
    initial = load_file(corridor_model / "model.safetensors")
    assert equal(weights_at(trials[WORST], 1), initial)
    assert not equal(weights_at(trials[BEST], 1), initial)
    # Before the first update both have sampled the same.
    sampled = [trial.metrics["env_runners"] for trial in trials.values()]
    for name in ("success_rate", "num_env_steps_sampled", "num_generated_tokens"):
        assert sampled[0][name] == sampled[1][name]


@pytest.mark.slow
def test_asha_stops_the_trial_that_lags_behind(
    make_config: MakeConfig, tmp_path: Path
) -> None:
    """One after the other, so that the second is compared with the first."""
    config = make_config(lr=tune.grid_search([BEST, WORST]))
    results = make_tuner(
        config,
        tmp_path,
        iterations=4,
        metric=LEARNING_RATE,
        mode="max",
        max_concurrent_trials=1,
        scheduler=ASHAScheduler(max_t=4, grace_period=2, reduction_factor=2),
    ).fit()
    trials = by_learning_rate(results)
    assert trials[BEST].metrics["training_iteration"] == 4
    assert trials[WORST].metrics["training_iteration"] == 2
    assert results.get_best_result().metrics["config"]["lr"] == BEST


@pytest.mark.slow
def test_pbt_hands_the_best_trials_weights_to_the_worst(
    make_config: MakeConfig, corridor_model: Path, tmp_path: Path
) -> None:
    """The worst trial learns nothing, before and after: what it has, it was given."""
    config = make_config(lr=tune.grid_search([BEST, WORST]), weight_decay=0.0)
    results = make_tuner(
        config,
        tmp_path,
        iterations=3,
        metric=LEARNING_RATE,
        mode="max",
        scheduler=PopulationBasedTraining(
            time_attr="training_iteration",
            perturbation_interval=2,
            quantile_fraction=0.5,
            synch=True,
            custom_explore_fn=lambda donor: donor | {"lr": WORST, "clip_high": 0.35},
        ),
    ).fit()
    trials = by_learning_rate(results)
    best, worst = trials[BEST], trials[WORST]
    assert best.metrics["training_iteration"] == 3
    assert worst.metrics["training_iteration"] == 3
    assert equal(weights_at(worst, 3), weights_at(best, 2))
    assert not equal(
        weights_at(best, 2), load_file(corridor_model / "model.safetensors")
    )
    # The settings are its own again, not the donor's: optimizer state came along too.
    assert worst.metrics["config"]["clip_high"] == 0.35
    learned = worst.metrics["learners"]["default_policy"]
    assert learned["learning_rate"] == WORST


class InterruptOnce(tune.Callback):
    """Presses Ctrl-C after the second iteration, unless it did so before."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def on_trial_result(self, iteration, trials, trial, result, **info) -> None:
        if result["training_iteration"] == 2 and not self.marker.exists():
            self.marker.touch()
            os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.slow
def test_a_tuner_restored_after_an_interruption_goes_on_as_if_nothing_happened(
    make_config: MakeConfig, tmp_path: Path
) -> None:
    config = make_config(num_minibatches=2, lr_warmup_steps=6)
    marker = tmp_path / "interrupted"
    interrupted = make_tuner(
        config, tmp_path, iterations=4, callbacks=[InterruptOnce(marker)]
    ).fit()
    assert marker.exists()
    assert 2 <= interrupted[0].metrics["training_iteration"] < 4
    (result,) = tune.Tuner.restore(
        str(tmp_path / "corridor"), trainable="GiGPO", resume_unfinished=True
    ).fit()
    assert result.error is None
    assert result.metrics["training_iteration"] == 4

    unbroken = make_config(num_minibatches=2, lr_warmup_steps=6).build_algo()
    try:
        for _ in range(4):
            expected = unbroken.train()
    finally:
        unbroken.stop()
    for name in ("success_rate", "num_env_steps_sampled_lifetime"):
        assert result.metrics["env_runners"][name] == expected["env_runners"][name]
    ours, theirs = (
        figures["learners"]["default_policy"] for figures in (result.metrics, expected)
    )
    assert ours["learning_rate"] == theirs["learning_rate"]
    assert ours["total_loss"] == pytest.approx(theirs["total_loss"], abs=1e-6)
