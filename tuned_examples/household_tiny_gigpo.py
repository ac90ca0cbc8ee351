"""A small agent learns household tasks on two CPU cores, from nothing, without data.

    rllib train file tuned_examples/household_tiny_gigpo.py

A model of a million parameters is taught by a careless expert until it solves about a
quarter of its houses, then GiGPO takes over. It is evaluated, sampling as in training,
on 128 houses that neither ever sees.
"""

from rllib_gigpo import GiGPOConfig
from rllib_gigpo.warm_start import WarmStartSettings

ENV = "Household-v0"
# The expert needs 7.8 steps on average; who searches well is done in 12.
ENV_CONFIG = {"size": "tiny", "max_episode_steps": 12, "prompt": {"style": "compact"}}

warm_start = WarmStartSettings(
    env=ENV,
    env_config=ENV_CONFIG,
    noise=0.1,
    carelessness=0.25,
    target_success=0.3,
    max_steps=2000,
    check_every=500,
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
        # Four optimizer steps per iteration; the engine's logprobs, exact in float32,
        # are the denominator of the ratio.
        num_minibatches=4,
        old_logprobs="engine",
        lr=4e-4,
        lr_warmup_steps=8,
        adam_betas=(0.9, 0.98),
        weight_decay=0.0,
        kl_coeff=0.0,
        entropy_coeff=0.0,
        # A small model must also learn which commands are possible.
        penalize_inadmissible=True,
        invalid_penalty=0.3,
        max_tokens_per_micro_batch=4096,
    )
    # Sampling and learning take turns in one process; both cores are its own.
    .resources(num_cpus_for_main_process=2)
    .env_runners(num_env_runners=0, num_envs_per_env_runner=128)
    .learners(num_learners=0)
    .evaluation(
        evaluation_interval=8,
        evaluation_num_tasks=128,
        evaluation_temperature=1.0,
        evaluate_at_start=True,
    )
    .debugging(seed=0)
)

stop = {"training_iteration": 32}
