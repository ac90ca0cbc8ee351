"""The published WebShop experiment: Qwen2.5-1.5B-Instruct, 1,000 products.

    rllib-gigpo data get webshop
    rllib train file tuned_examples/webshop_qwen2_5_1_5b_gigpo.py

Hyper-parameters of arXiv 2505.10978, Appendix E.1, and its published scripts; laid out
for 2 GPUs of 80 GB, one of which generates. Trained on 6,410 goals, evaluated on the
500 others, each once. The paper reports 67.4 % success and a score of 83.5 (its variant
without division by the standard deviation, 3 seeds), which has not been reproduced with
these settings; about 93.4 % is the most that the official reward allows.
"""

from rllib_gigpo import GiGPOConfig

ENV_CONFIG = {"world": "official", "reward": "success", "win_reward": 10.0}

config = (
    GiGPOConfig()
    .environment("WebShop-v0", env_config=ENV_CONFIG)
    .llm(
        model_name_or_path="Qwen/Qwen2.5-1.5B-Instruct",
        dtype="bfloat16",
        gradient_checkpointing=True,
        max_prompt_tokens=4096,
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
        # About 1,000 rows an iteration, 64 an optimizer step.
        num_minibatches=16,
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
