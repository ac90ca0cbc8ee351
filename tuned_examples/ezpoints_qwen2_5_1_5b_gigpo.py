"""EZPoints in text with the settings of the published experiment: Qwen2.5-1.5B.

    rllib train file tuned_examples/ezpoints_qwen2_5_1_5b_gigpo.py

Hyper-parameters of arXiv 2505.10978 and its published scripts; laid out for 2 GPUs of
80 GB, one of which generates. The paper plays the same deals in pictures, with
Qwen2.5-VL-3B, and reports 100 % success; nothing is published for text, and these
settings have not been run. Replies are JSON, read by the published rules.
"""

from rllib_gigpo import GiGPOConfig

ENV_CONFIG = {
    "arithmetic": "official",
    "prompt": {"history_window": 0, "parsing": "official"},
}

config = (
    GiGPOConfig()
    .environment("EZPoints-v0", env_config=ENV_CONFIG)
    .llm(
        model_name_or_path="Qwen/Qwen2.5-1.5B-Instruct",
        dtype="bfloat16",
        gradient_checkpointing=True,
        max_prompt_tokens=1024,
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
        normalize="none",
        invalid_penalty=0.1,
        lr=1e-6,
        # About 600 rows an iteration, 128 an optimizer step.
        num_minibatches=5,
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

stop = {"training_iteration": 100}
