"""A small agent learns Sokoban on two CPU cores, from nothing, without data.

    rllib train file tuned_examples/sokoban_tiny_gigpo.py

A model of a million parameters is taught by the environment's expert until it solves
about a quarter of its training rooms, then GiGPO takes over. It is evaluated on 128
rooms of other seeds.
"""

from rllib_gigpo import GiGPOConfig
from rllib_gigpo.warm_start import WarmStartSettings

ENV = "Sokoban-v0"
ENV_CONFIG = {
    "board_format": "compact",
    # The board says everything, so that the past need not be shown.
    "prompt": {"style": "compact", "history_window": 0},
}

warm_start = WarmStartSettings(
    env=ENV, env_config=ENV_CONFIG, target_success=0.25, max_steps=2000
)

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
        max_tokens_per_micro_batch=4096,
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
