"""A sweep over the weight of the step advantage and the learning rate, with ASHA.

    python tuned_examples/household_asha_gigpo.py

Trials whose success lags behind are stopped early; what they have in common (model,
houses, seeds) is that of ``household_tiny_gigpo.py``. Trials run side by side as far as
there are CPUs, two each.
"""

from household_tiny_gigpo import config as base
from household_tiny_gigpo import warm_start as warm_start_settings
from ray import tune
from ray.tune.schedulers import ASHAScheduler

from rllib_gigpo.warm_start import warm_start

METRIC = "env_runners/success_rate"

config = base.copy(copy_frozen=False).training(
    step_weight=tune.grid_search([0.0, 0.5, 1.0, 1.5]),
    lr=tune.loguniform(1e-4, 1e-3),
)


def build_tuner(num_iterations: int = 40, num_samples: int = 4) -> tune.Tuner:
    """The sweep: ``num_samples`` learning rates for each of four weights."""
    return tune.Tuner(
        "GiGPO",
        param_space=config,
        tune_config=tune.TuneConfig(
            metric=METRIC,
            mode="max",
            num_samples=num_samples,
            scheduler=ASHAScheduler(
                max_t=num_iterations,
                grace_period=max(1, num_iterations // 5),
                reduction_factor=2,
            ),
        ),
        run_config=tune.RunConfig(
            name="household_asha_gigpo",
            stop={"training_iteration": num_iterations},
        ),
    )


if __name__ == "__main__":
    warm_start(warm_start_settings)
    best = build_tuner().fit().get_best_result()
    print(best.config["step_weight"], best.config["lr"], best.metrics["env_runners"])
