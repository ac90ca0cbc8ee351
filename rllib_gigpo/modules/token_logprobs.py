"""Exact log-probabilities and entropies of response tokens, in float32.

Logits exist for the places that predict a response token only, and in the model's own
type; their float32 form exists for a few tokens at a time, in the forward pass and in
the backward pass, so that a vocabulary of 150 000 does not decide the peak of memory.

Shapes: N response tokens, V vocabulary.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch.autograd.function import once_differentiable
from transformers import PreTrainedModel

from rllib_gigpo.modules.packed_attention import PACKED_SDPA
from rllib_gigpo.modules.packed_tokens import PackedTokens

MAX_FLOAT32_LOGITS = 1 << 22
"""Logits held in float32 at a time: 16 MiB, small enough to stay in a CPU's cache."""

MAX_FLOAT32_LOGITS_CUDA = 1 << 26
"""The same on a GPU: 256 MiB, so that few kernels are launched."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TokenLogprobs:
    """Of N response tokens, under softmax(logits / temperature).

    Attributes:
        logprob: float32 [N], of the token itself.
        entropy: float32 [N], of the distribution it was drawn from, in nats.
    """

    logprob: torch.Tensor
    entropy: torch.Tensor


def token_logprobs(
    model: PreTrainedModel, packed: PackedTokens, *, temperature: float
) -> TokenLogprobs:
    """One forward pass over a packed line.

    Args:
        model: A causal LM with packed or flash attention.
        packed: On the model's device.
        temperature: > 0, that of sampling.

    Raises:
        ValueError: ``temperature`` is not positive.
    """
    if not temperature > 0:
        raise ValueError(
            f"temperature={temperature}: log-probabilities need a temperature above 0 "
            "(greedy sampling has none to train on)"
        )
    logits_N_V = model(
        input_ids=packed.input_ids,
        position_ids=packed.position_ids,
        use_cache=False,
        logits_to_keep=packed.predict_index,
        **_attention_arguments(model, packed),
    ).logits[0]
    if len(logits_N_V) != len(packed.predict_index):
        raise ValueError(
            f"{type(model).__name__} does not support logits_to_keep with an index: "
            f"{len(logits_N_V)} rows of logits for {len(packed.predict_index)} tokens"
        )
    logprob, entropy = logprobs_of_logits(logits_N_V, packed.target_ids, temperature)
    return TokenLogprobs(logprob=logprob, entropy=entropy)


def logprobs_of_logits(
    logits_N_V: torch.Tensor, target_N: torch.Tensor, temperature: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """Log-probability of each target and entropy of each distribution, float32 [N].

    Differentiable once in the logits. The float32 copies are bounded in size.
    """
    return _LogprobAndEntropy.apply(logits_N_V, target_N, temperature)


def _attention_arguments(
    model: PreTrainedModel, packed: PackedTokens
) -> dict[str, Any]:
    layout = packed.layout
    if model.config._attn_implementation == PACKED_SDPA:
        return {"packed_layout": layout}
    return {
        "cu_seq_lens_q": layout.cu_seq_lens,
        "cu_seq_lens_k": layout.cu_seq_lens,
        "max_length_q": layout.max_length,
        "max_length_k": layout.max_length,
    }


class _LogprobAndEntropy(torch.autograd.Function):
    """With z = logits / T, p = softmax(z), H the entropy and t the target.

    d logprob / d z_j = [j = t] - p_j and d H / d z_j = -p_j (log p_j + H).
    """

    @staticmethod
    def forward(
        ctx: Any, logits_N_V: torch.Tensor, target_N: torch.Tensor, temperature: float
    ) -> tuple[torch.Tensor, torch.Tensor]:
        parts = []
        for chunk in _chunks(logits_N_V):
            z = logits_N_V[chunk].float() / temperature
            log_total = torch.logsumexp(z, -1)
            logprob = z.gather(1, target_N[chunk, None])[:, 0] - log_total
            probability = (z - log_total[:, None]).exp_()
            entropy = log_total - probability.mul_(z).sum(-1)
            parts.append(torch.stack([logprob, entropy, log_total]))
        joined = torch.cat(parts, 1) if parts else logits_N_V.new_zeros(3, 0).float()
        logprob_N, entropy_N, log_total_N = joined.unbind()
        ctx.save_for_backward(logits_N_V, target_N, log_total_N, entropy_N)
        ctx.temperature = temperature
        ctx.set_materialize_grads(False)
        return logprob_N.clone(), entropy_N.clone()

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any, grad_logprob: torch.Tensor | None, grad_entropy: torch.Tensor | None
    ) -> tuple[torch.Tensor, None, None]:
        logits_N_V, target_N, log_total_N, entropy_N = ctx.saved_tensors
        gradient = torch.zeros_like(logits_N_V)
        for chunk in _chunks(logits_N_V):
            log_p = logits_N_V[chunk].float() / ctx.temperature
            log_p -= log_total_N[chunk, None]
            p = log_p.exp()
            part = torch.zeros_like(p)
            if grad_logprob is not None:
                part -= grad_logprob[chunk, None] * p
                part.scatter_add_(1, target_N[chunk, None], grad_logprob[chunk, None])
            if grad_entropy is not None:
                slope = p.mul_(log_p.add_(entropy_N[chunk, None]))
                part -= grad_entropy[chunk, None] * slope
            gradient[chunk] = part.div_(ctx.temperature).to(gradient.dtype)
        return gradient, None, None


def _chunks(logits_N_V: torch.Tensor) -> list[slice]:
    limit = MAX_FLOAT32_LOGITS_CUDA if logits_N_V.is_cuda else MAX_FLOAT32_LOGITS
    size = max(1, limit // max(1, logits_N_V.shape[1]))
    return [slice(at, at + size) for at in range(0, len(logits_N_V), size)]
