"""From logits to tokens, with random numbers that depend on nothing but the request.

Invariant: a row's token depends on that row's logits, temperature, seed and step only,
never on the rows beside it.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

_GOLDEN_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_NUM_RANDOM_BITS = 48


def uniform_numbers(
    seeds: NDArray[np.uint64], steps: NDArray[np.uint64]
) -> NDArray[np.float64]:
    """One uniform number for each (seed, step), by a counter-based generator.

    A generator with state would tie a row's numbers to when it was asked; here the
    numbers are a hash of their address.

    Args:
        seeds: uint64 [N].
        steps: uint64 [N], index of the token within its completion.

    Returns:
        float64 [N], strictly between 0 and 1.

    Source: splitmix64's output function (Steele, Lea and Flood 2014, "Fast splittable
    pseudorandom number generators"), applied to the seed and again to seed and step.
    """
    key = _mix(seeds + _GOLDEN_GAMMA)
    bits = _mix(key + (steps + np.uint64(1)) * _GOLDEN_GAMMA)
    top_bits = bits >> np.uint64(64 - _NUM_RANDOM_BITS)
    return (top_bits.astype(np.float64) + 0.5) / float(1 << _NUM_RANDOM_BITS)


def _mix(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def sample_tokens(
    logits: torch.Tensor, temperatures: torch.Tensor, uniforms: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Draw one token a row from softmax(logits / temperature).

    Args:
        logits: [N, V], any float type.
        temperatures: float32 [N], >= 0; a row with 0 takes its likeliest token and
            reports the logprob at temperature 1.
        uniforms: float64 [N] in (0, 1), mapped through the inverse of the cumulative
            distribution.

    Returns:
        Token ids, int64 [N], and their logprobs, float32 [N].
    """
    is_greedy = temperatures == 0
    divisors = torch.where(is_greedy, torch.ones_like(temperatures), temperatures)
    logprobs = torch.log_softmax(logits.float() / divisors[:, None], dim=-1)
    cumulative = torch.cumsum(logprobs.double().exp_(), dim=-1)
    # Scaled by the row's own total, which rounding keeps from being exactly 1.
    targets = uniforms[:, None] * cumulative[:, -1:]
    sampled = torch.searchsorted(cumulative, targets, right=True)[:, 0]
    # Of the logits: logprobs that round alike could make another one the first.
    likeliest = logits.argmax(dim=-1)
    token_ids = torch.where(is_greedy, likeliest, sampled)
    return token_ids, logprobs.gather(1, token_ids[:, None])[:, 0]
