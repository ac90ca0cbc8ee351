"""A small agent learns to shop on two CPU cores, from nothing, without data.

    rllib train file tuned_examples/webshop_tiny_gigpo.py

A model of a million parameters is taught by the environment's expert until it buys the
right thing in about two of five training goals of a made-up shop, then GiGPO takes
over. It is evaluated on 128 goals that neither ever sees.
"""

from rllib_gigpo import GiGPOConfig
from rllib_gigpo.warm_start import WarmStartSettings

ENV = "WebShop-v0"
ENV_CONFIG = {
    "world": "tiny",
    # Shows which options are chosen, and so needs less memory of what was done.
    "observation_mode": "text_rich",
    "reward": "success",
    "prompt": {"style": "compact"},
}

warm_start = WarmStartSettings(env=ENV, env_config=ENV_CONFIG, target_success=0.4)

config = (
    GiGPOConfig()
    .environment(ENV, env_config=ENV_CONFIG)
    .llm(
        model_name_or_path=str(warm_start.folder()),
        dtype="float32",
        max_prompt_tokens=warm_start.max_prompt_tokens,
        max_response_tokens=warm_start.max_response_tokens,
    )
    .inference(engine="transformers")
    .training(
        group_size=8,
        groups_per_iteration=16,
        lr=3e-4,
        kl_coeff=0.0,
        entropy_coeff=0.0,
        weight_decay=0.0,
    )
    # Sampling and learning take turns in one process; both cores are its own.
    .resources(num_cpus_for_main_process=2)
    .env_runners(num_env_runners=0, num_envs_per_env_runner=128)
    .learners(num_learners=0)
    .evaluation(
        evaluation_interval=10,
        evaluation_num_tasks=128,
        evaluate_at_start=True,
    )
    .debugging(seed=0)
)

stop = {"training_iteration": 30}
