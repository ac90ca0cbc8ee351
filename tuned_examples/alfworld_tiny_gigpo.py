"""The official ALFWorld games on two CPU cores, with a model made on the spot.

    rllib-gigpo data get alfworld      # or set ALFWORLD_DATA
    rllib train file tuned_examples/alfworld_tiny_gigpo.py

A model of a million parameters is taught by expert play of training games until it
solves about three in ten of them, then GiGPO takes over. It is evaluated on all 140
seen games. Against the paper's run: a prompt in a fraction of the words, 30 steps
instead of 50, a learning rate for a model trained from scratch, no KL term.
"""

from rllib_gigpo import GiGPOConfig
from rllib_gigpo.warm_start import WarmStartSettings

ENV = "ALFWorld-v0"
ENV_CONFIG = {"max_episode_steps": 30, "prompt": {"style": "compact"}}

warm_start = WarmStartSettings(
    env=ENV,
    env_config=ENV_CONFIG,
    vocabulary_size=1536,
    max_prompt_tokens=512,
    tokens_per_step=2048,
    check_every=250,
    max_steps=2500,
    target_success=0.3,
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
        num_minibatches=4,
        old_logprobs="engine",
        lr=4e-4,
        lr_warmup_steps=8,
        adam_betas=(0.9, 0.98),
        weight_decay=0.0,
        kl_coeff=0.0,
        entropy_coeff=0.0,
        penalize_inadmissible=True,
        invalid_penalty=0.3,
        max_tokens_per_micro_batch=4096,
    )
    # Sampling and learning take turns in one process; both cores are its own.
    .resources(num_cpus_for_main_process=2)
    .env_runners(num_env_runners=0, num_envs_per_env_runner=128)
    .learners(num_learners=0)
    .evaluation(
        evaluation_split="valid_seen",
        evaluation_interval=10,
        evaluate_at_start=True,
    )
    .debugging(seed=0)
)

stop = {"training_iteration": 60}
