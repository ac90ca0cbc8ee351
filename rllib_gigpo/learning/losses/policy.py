"""The clipped policy loss, per token."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from rllib_gigpo.learning.losses.config import LossConfig
from rllib_gigpo.learning.losses.inputs import LossInputs
from rllib_gigpo.learning.losses.policy_ratio import POLICY_RATIOS
from rllib_gigpo.learning.losses.registry import look_up


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyTerm:
    """The policy loss of N tokens and what the clipping did.

    Attributes:
        loss: float32 [N], with gradient.
        ratio: float32 [N], the policy ratio, detached.
        is_clipped_low: bool [N], negative advantage and ratio below the range.
        is_clipped_high: bool [N], positive advantage and ratio above the range.
        is_dual_clipped: bool [N], bounded by the dual clip.
    """

    loss: torch.Tensor
    ratio: torch.Tensor
    is_clipped_low: torch.Tensor
    is_clipped_high: torch.Tensor
    is_dual_clipped: torch.Tensor


def policy_loss(inputs: LossInputs, config: LossConfig) -> PolicyTerm:
    """Minus the smaller of ratio times advantage and its clipped form.

    With ``dual_clip`` c the loss of a negative advantage A is at most c times -A.

    Source: PPO (arXiv 1707.06347), equation 7; separate ranges: DAPO (arXiv
    2503.14476), equation 10; dual clip: arXiv 1912.09729, equation 5.
    """
    ratio_N = look_up(POLICY_RATIOS, config.policy_ratio, "policy_ratio")(inputs)
    advantage_N = inputs.advantage
    clipped_N = ratio_N.clamp(1.0 - config.clip_low, 1.0 + config.clip_high)
    loss_N = torch.maximum(-advantage_N * ratio_N, -advantage_N * clipped_N)
    is_negative = advantage_N < 0
    is_dual_clipped = torch.zeros_like(is_negative)
    if config.dual_clip is not None:
        bound_N = -advantage_N * config.dual_clip
        is_dual_clipped = is_negative & (ratio_N > config.dual_clip)
        loss_N = torch.where(is_negative, torch.minimum(loss_N, bound_N), loss_N)
    return PolicyTerm(
        loss=loss_N,
        ratio=ratio_N.detach(),
        is_clipped_low=is_negative & (ratio_N < 1.0 - config.clip_low),
        is_clipped_high=(advantage_N > 0) & (ratio_N > 1.0 + config.clip_high),
        is_dual_clipped=is_dual_clipped,
    )
