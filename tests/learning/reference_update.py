"""The loss of an optimizer step written out row by row: slow, and nothing shared.

Each row has a forward pass of its own through eager attention, in float64; weights of
tokens, clipping, KL and entropy are spelled out in plain loops.
"""

from __future__ import annotations

import torch
from transformers import PreTrainedModel

from rllib_gigpo.learning.losses import LossConfig
from rllib_gigpo.learning.rows import TrainingRows

RowTensors = list[torch.Tensor]


def reference_logprobs(
    model: PreTrainedModel, rows: TrainingRows, temperature: float = 1.0
) -> tuple[RowTensors, RowTensors]:
    """Logprobs and entropies of every row's response."""
    logprobs, entropies = [], []
    for prompt, response in zip(rows.prompt_ids, rows.response_ids, strict=True):
        ids = torch.tensor([*prompt.tolist(), *response.tolist()])
        logits = model(input_ids=ids[None]).logits[0, len(prompt) - 1 : -1]
        full = torch.log_softmax(logits / temperature, -1)
        logprobs.append(full[torch.arange(len(response)), ids[len(prompt) :]])
        entropies.append(-(full.exp() * full).sum(-1))
    return logprobs, entropies


def reference_token_weights(rows: TrainingRows, config: LossConfig) -> list[float]:
    """What each token of a row weighs."""
    trains = [
        weight > 0 and len(ids) > 0
        for weight, ids in zip(rows.loss_weight, rows.response_ids, strict=True)
    ]
    lengths = [len(ids) for ids in rows.response_ids]
    num_rows = sum(trains)
    num_tokens = sum(n for n, t in zip(lengths, trains, strict=True) if t)
    tokens_of: dict[int, int] = {}
    for row, trajectory in enumerate(rows.trajectory.tolist()):
        if trains[row]:
            tokens_of[trajectory] = tokens_of.get(trajectory, 0) + lengths[row]
    weights = []
    for row, trajectory in enumerate(rows.trajectory.tolist()):
        if not trains[row]:
            weights.append(0.0)
        elif config.loss_aggregation == "token-mean":
            weights.append(1 / num_tokens)
        elif config.loss_aggregation == "sequence-mean-token-mean":
            weights.append(1 / (num_rows * lengths[row]))
        elif config.loss_aggregation == "sequence-sum-constant":
            weights.append(1 / (num_rows * config.loss_constant))
        else:
            weights.append(1 / (len(tokens_of) * tokens_of[trajectory]))
    return weights


def reference_loss(
    model: PreTrainedModel,
    rows: TrainingRows,
    config: LossConfig,
    old: RowTensors | None,
    reference: RowTensors | None,
    temperature: float = 1.0,
) -> torch.Tensor:
    """The loss of one optimizer step over ``rows``."""
    logprobs, entropies = reference_logprobs(model, rows, temperature)
    total = torch.zeros((), dtype=torch.float64)
    for row, weight in enumerate(reference_token_weights(rows, config)):
        if weight == 0.0:
            continue
        now = logprobs[row]
        before = now.detach() if old is None else old[row]
        if config.policy_ratio == "sequence":
            ratios = (now - before).mean().exp().expand(len(now))
        else:
            ratios = (now - before).exp()
        advantage = float(rows.advantage[row])
        for token in range(len(now)):
            ratio = ratios[token]
            clipped = ratio.clamp(1 - config.clip_low, 1 + config.clip_high)
            gain = torch.minimum(ratio * advantage, clipped * advantage)
            if advantage < 0 and config.dual_clip is not None:
                gain = torch.clamp(gain, min=config.dual_clip * advantage)
            if config.importance_cap is not None:
                sampled = float(rows.sampled_logprobs[row][token])
                gain = gain * min(
                    float((before[token] - sampled).exp()), config.importance_cap
                )
            loss = -gain - config.entropy_coeff * entropies[row][token]
            if config.kl_coeff:
                gap = now[token] - reference[row][token]
                if config.kl_estimator == "k2":
                    kl = gap**2 / 2
                else:
                    kl = torch.exp(-gap) - 1 + gap
                if config.kl_estimator == "k3-unbiased":
                    kl = kl * (now[token] - before[token]).exp()
                loss = loss + config.kl_coeff * kl
            total = total + weight * loss
    return total
