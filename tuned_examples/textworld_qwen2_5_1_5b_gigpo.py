"""TextWorld's cooking games: Qwen2.5-1.5B-Instruct, the settings of ALFWorld.

    python -m environments.textworld_games.make_games --kind cooking --split train
    python -m environments.textworld_games.make_games --kind cooking --split eval
    rllib train file tuned_examples/textworld_qwen2_5_1_5b_gigpo.py

Hyper-parameters of arXiv 2505.10978 for ALFWorld; laid out for 2 GPUs of 80 GB, one of
which generates. Trained on 256 games, evaluated on 32 others, all made beforehand.
These settings have not been run.
"""

from rllib_gigpo import GiGPOConfig

ENV_CONFIG = {"kind": "cooking", "rewards": "dense"}

config = (
    GiGPOConfig()
    .environment("TextWorld-v0", env_config=ENV_CONFIG)
    .llm(
        model_name_or_path="Qwen/Qwen2.5-1.5B-Instruct",
        dtype="bfloat16",
        gradient_checkpointing=True,
        max_prompt_tokens=2048,
        max_response_tokens=512,
    )
    .inference(
        engine="vllm", num_engines=1, temperature=1.0, gpu_memory_utilization=0.85
    )
    .training(
        group_size=8,
        groups_per_iteration=16,
        gamma=0.95,
        step_weight=1.0,
        normalize="std",
        invalid_penalty=0.1,
        lr=1e-6,
        # At most 6,400 rows an iteration, 256 an optimizer step.
        num_minibatches=25,
        kl_coeff=0.01,
        entropy_coeff=0.001,
        weight_decay=0.01,
    )
    .env_runners(num_env_runners=2, num_envs_per_env_runner=64)
    .learners(num_learners=1, num_gpus_per_learner=1)
    .evaluation(
        evaluation_interval=5,
        evaluation_temperature=0.4,
        evaluate_at_start=True,
    )
    .debugging(seed=0)
)

stop = {"training_iteration": 150}
