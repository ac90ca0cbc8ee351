"""Population based training of the learning rate and the clip range.

    python tuned_examples/household_pbt_gigpo.py

Every few iterations the worst trials take over weights and optimizer of the best ones,
with settings changed a little. All else is as in ``household_tiny_gigpo.py``.
"""

from household_tiny_gigpo import config as base
from household_tiny_gigpo import warm_start as warm_start_settings
from ray import tune
from ray.tune.schedulers import PopulationBasedTraining

from rllib_gigpo.warm_start import warm_start

METRIC = "env_runners/success_rate"


def build_tuner(
    num_iterations: int = 40, population: int = 4, perturbation_interval: int = 5
) -> tune.Tuner:
    """The population's run."""
    scheduler = PopulationBasedTraining(
        time_attr="training_iteration",
        perturbation_interval=perturbation_interval,
        hyperparam_mutations={
            "lr": tune.loguniform(1e-4, 1e-3),
            "clip_high": tune.uniform(0.2, 0.4),
        },
    )
    return tune.Tuner(
        "GiGPO",
        param_space=base.copy(copy_frozen=False).training(
            lr=tune.loguniform(1e-4, 1e-3), clip_high=tune.uniform(0.2, 0.4)
        ),
        tune_config=tune.TuneConfig(
            metric=METRIC, mode="max", num_samples=population, scheduler=scheduler
        ),
        run_config=tune.RunConfig(
            name="household_pbt_gigpo",
            stop={"training_iteration": num_iterations},
            checkpoint_config=tune.CheckpointConfig(
                checkpoint_frequency=perturbation_interval
            ),
        ),
    )


if __name__ == "__main__":
    warm_start(warm_start_settings)
    best = build_tuner().fit().get_best_result()
    print(best.config["lr"], best.config["clip_high"], best.metrics["env_runners"])
