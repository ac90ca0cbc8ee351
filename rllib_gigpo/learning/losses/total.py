"""The whole loss of a micro-batch: policy, KL and entropy."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from rllib_gigpo.learning.losses.config import LossConfig
from rllib_gigpo.learning.losses.importance import engine_ratio, importance_weight
from rllib_gigpo.learning.losses.inputs import LossInputs
from rllib_gigpo.learning.losses.kl import kl_loss
from rllib_gigpo.learning.losses.policy import PolicyTerm, policy_loss


@dataclass(frozen=True, slots=True, kw_only=True)
class LossOutputs:
    """The loss of one micro-batch, a summand of the mini-batch's.

    Attributes:
        total: float32 scalar with gradient:
            policy + kl_coeff * kl - entropy_coeff * entropy.
        policy: float32 scalar, detached, like the next two.
        kl: float32 scalar; 0 without KL.
        entropy: float32 scalar.
        term: What the clipping did, per token.
        engine_ratio: float32 [N], before any cap.
    """

    total: torch.Tensor
    policy: torch.Tensor
    kl: torch.Tensor
    entropy: torch.Tensor
    term: PolicyTerm
    engine_ratio: torch.Tensor


def total_loss(inputs: LossInputs, config: LossConfig) -> LossOutputs:
    """Each term is summed with the same token weights."""
    term = policy_loss(inputs, config)
    engine_ratio_N = engine_ratio(inputs.old_logprob, inputs.sampled_logprob)
    policy_N = term.loss
    if config.importance_cap is not None:
        policy_N = policy_N * importance_weight(engine_ratio_N, config.importance_cap)
    policy = torch.sum(inputs.token_weight * policy_N)
    total = policy
    kl = policy.new_zeros(())
    if config.kl_coeff > 0:
        kl_N = kl_loss(inputs, config.kl_estimator)
        kl = torch.sum(inputs.token_weight * kl_N)
        total = total + config.kl_coeff * kl
    # Without a bonus the entropy must not enter the graph: 0 * inf would be NaN.
    entropy_N = inputs.entropy if config.entropy_coeff else inputs.entropy.detach()
    entropy = torch.sum(inputs.token_weight * entropy_N)
    if config.entropy_coeff:
        total = total - config.entropy_coeff * entropy
    return LossOutputs(
        total=total,
        policy=policy.detach(),
        kl=kl.detach(),
        entropy=entropy.detach(),
        term=term,
        engine_ratio=engine_ratio_N,
    )
