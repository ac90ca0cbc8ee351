"""How much likelier the present policy makes what was sampled: now over old."""

from __future__ import annotations

from collections.abc import Callable

import torch

from rllib_gigpo.learning.losses.inputs import LossInputs, sum_by_row


def token_ratio(inputs: LossInputs) -> torch.Tensor:
    """One ratio per token, [N]. Source: PPO (arXiv 1707.06347), section 3."""
    return torch.exp(inputs.logprob - inputs.old_logprob)


def sequence_ratio(inputs: LossInputs) -> torch.Tensor:
    """The geometric mean over the row's tokens, repeated for each of them, [N].

    The gradient of a row's summed loss is that of GSPO-token: each token's score is
    weighted by the row's ratio. Source: GSPO (arXiv 2507.18071), equation 7.
    """
    log_ratio_N = inputs.logprob - inputs.old_logprob
    total_R = sum_by_row(log_ratio_N, inputs.row, inputs.num_rows)
    count_R = sum_by_row(torch.ones_like(log_ratio_N), inputs.row, inputs.num_rows)
    return torch.exp(total_R / count_R.clamp(min=1.0))[inputs.row]


POLICY_RATIOS: dict[str, Callable[[LossInputs], torch.Tensor]] = {
    "token": token_ratio,
    "sequence": sequence_ratio,
}
