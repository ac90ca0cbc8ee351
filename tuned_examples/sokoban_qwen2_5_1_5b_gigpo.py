"""Sokoban in text with the settings of the published experiment: Qwen2.5-1.5B-Instruct.

    rllib train file tuned_examples/sokoban_qwen2_5_1_5b_gigpo.py

Hyper-parameters of arXiv 2505.10978 and its published scripts; laid out for 2 GPUs of
80 GB, one of which generates. The paper plays the same rooms in pictures, with
Qwen2.5-VL-3B, and reports 81.0 % success without division by the standard deviation (3
seeds); nothing is published for text, and these settings have not been run.
"""

from rllib_gigpo import GiGPOConfig

config = (
    GiGPOConfig()
    .environment("Sokoban-v0")
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
        groups_per_iteration=32,
        gamma=0.95,
        step_weight=1.0,
        normalize="none",
        invalid_penalty=0.1,
        lr=1e-6,
        # About 2,000 rows an iteration, 64 an optimizer step.
        num_minibatches=32,
        kl_coeff=0.01,
        entropy_coeff=0.001,
        weight_decay=0.01,
    )
    .env_runners(num_env_runners=2, num_envs_per_env_runner=128)
    .learners(num_learners=1, num_gpus_per_learner=1)
    .evaluation(
        evaluation_interval=5,
        evaluation_temperature=0.4,
        evaluate_at_start=True,
    )
    .debugging(seed=0)
)

stop = {"training_iteration": 150}
