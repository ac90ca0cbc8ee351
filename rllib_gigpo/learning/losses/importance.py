"""Truncated importance correction between the engine and the learner."""

from __future__ import annotations

import torch


def engine_ratio(
    old_logprob_N: torch.Tensor, sampled_logprob_N: torch.Tensor
) -> torch.Tensor:
    """Learner before the update over engine, per token, [N], without gradient."""
    return torch.exp(old_logprob_N.detach() - sampled_logprob_N)


def importance_weight(engine_ratio_N: torch.Tensor, cap: float) -> torch.Tensor:
    """What to multiply a token's policy loss with, in (0, cap].

    Samples come from the engine, whose numerics differ and whose weights may be older;
    the ratio makes their mean that of the learner's policy, and the cap bounds its
    variance at the price of a bias for tokens the engine underrates.

    Source: Yao et al., "Your efficient RL framework secretly brings you off-policy RL
    training" (2025), truncated importance sampling; truncation: Ionides (2008).
    """
    return engine_ratio_N.clamp(max=cap)
