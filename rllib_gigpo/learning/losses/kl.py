"""KL divergence from the reference policy, estimated from sampled tokens.

With d = logprob - reference_logprob at tokens sampled from the policy, k1 = d,
k2 = d^2 / 2 and k3 = exp(-d) - 1 + d all estimate KL(policy || reference), k1 and k3
without bias (Schulman, "Approximating KL divergence", 2020). Their *gradients* are
another matter, since the sampled tokens depend on the policy too:

- k1 as a loss has expected gradient 0.
- k2 as a loss has the gradient of KL(policy || reference).
- k3 as a loss has that of KL(reference || policy).
- k3 times the policy ratio has that of KL(policy || reference), with less noise
  than k2 near the reference; it stays right when the policy has moved from the old one.

None is clamped: a clamp ends the gradient exactly where the policy is furthest away.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from rllib_gigpo.learning.losses.inputs import LossInputs, sum_by_row
from rllib_gigpo.learning.losses.policy_ratio import token_ratio
from rllib_gigpo.learning.losses.registry import look_up


def k1(log_ratio_N: torch.Tensor) -> torch.Tensor:
    """d: unbiased, may be negative."""
    return log_ratio_N


def k2(log_ratio_N: torch.Tensor) -> torch.Tensor:
    """d^2 / 2: biased, never negative."""
    return log_ratio_N.square() / 2


def k3(log_ratio_N: torch.Tensor) -> torch.Tensor:
    """exp(-d) - 1 + d: unbiased and never negative."""
    return torch.expm1(-log_ratio_N) + log_ratio_N


@dataclass(frozen=True, slots=True, kw_only=True)
class KLEstimator:
    """An estimator and where it may be used.

    Attributes:
        value: [N] log ratios policy/reference to [N] estimates.
        is_loss: Whether its gradient is that of a divergence.
        is_ratio_weighted: Whether the loss is multiplied with the token's policy ratio.
    """

    value: Callable[[torch.Tensor], torch.Tensor]
    is_loss: bool = True
    is_ratio_weighted: bool = False


KL_ESTIMATORS: dict[str, KLEstimator] = {
    "k1": KLEstimator(value=k1, is_loss=False),
    "k2": KLEstimator(value=k2),
    "k3": KLEstimator(value=k3),
    "k3-unbiased": KLEstimator(value=k3, is_ratio_weighted=True),
}


def kl_loss(inputs: LossInputs, estimator: str) -> torch.Tensor:
    """KL from the reference as a loss, [N], with gradient.

    Raises:
        ConfigError: Unknown estimator.
        ValueError: There are no reference logprobs.
    """
    if inputs.reference_logprob is None:
        raise ValueError("the KL term needs reference logprobs; got None")
    entry = look_up(KL_ESTIMATORS, estimator, "kl_estimator")
    loss_N = entry.value(inputs.logprob - inputs.reference_logprob)
    return token_ratio(inputs) * loss_N if entry.is_ratio_weighted else loss_N


def kl_per_row(
    logprob_N: torch.Tensor,
    reference_logprob_N: torch.Tensor,
    row_N: torch.Tensor,
    num_rows: int,
    estimator: str = "k1",
) -> torch.Tensor:
    """KL of each row's response, [num_rows], to be subtracted from its reward.

    Raises:
        ConfigError: Unknown estimator.
    """
    entry = look_up(KL_ESTIMATORS, estimator, "kl_estimator")
    return sum_by_row(entry.value(logprob_N - reference_logprob_N), row_N, num_rows)
