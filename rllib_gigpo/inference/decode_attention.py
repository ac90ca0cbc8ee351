"""Attention of one new token a row, without copying keys for grouped query heads.

Hugging Face's ``sdpa`` repeats keys and values for every query head of a group when
there is a mask: for one new token that copy costs more than the attention itself. With
a single query position the heads of a group can stand in as positions instead, since
all of them see the same keys under the same mask.
"""

from __future__ import annotations

import torch
from transformers import AttentionInterface, AttentionMaskInterface, PreTrainedModel
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

DECODE_ATTENTION = "sdpa_grouped_decode"
"""Its name among Hugging Face attention implementations; elsewhere equal to sdpa."""


def use_decode_attention(model: PreTrainedModel) -> None:
    """Let a model that runs ``sdpa`` run this instead; others stay as they are."""
    if model.config._attn_implementation == "sdpa":
        AttentionInterface.register(DECODE_ATTENTION, grouped_decode_attention)
        AttentionMaskInterface.register(DECODE_ATTENTION, sdpa_mask)
        model.set_attn_implementation(DECODE_ATTENTION)


def grouped_decode_attention(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    **kwargs: object,
) -> tuple[torch.Tensor, None]:
    """Attend; the signature is Hugging Face's.

    Args:
        module: The attention layer.
        query: [N, query heads, T, head_dim].
        key: [N, key heads, L, head_dim].
        value: [N, key heads, L, head_dim].
        attention_mask: [N, 1, T, L], boolean or additive.
        dropout: 0 whenever this applies.
        scaling: Of the scores.
        kwargs: Handed on to sdpa.

    Returns:
        [N, T, query heads, head_dim], and None for the attention weights.
    """
    num_rows, num_query_heads, num_queries, head_dim = query.shape
    num_key_heads = key.shape[1]
    is_plain = dropout == 0.0 and kwargs.get("position_bias") is None
    if num_queries != 1 or num_key_heads == num_query_heads or not is_plain:
        return sdpa_attention_forward(
            module, query, key, value, attention_mask, dropout, scaling, **kwargs
        )
    group_size = num_query_heads // num_key_heads
    grouped = query.view(num_rows, num_key_heads, group_size, head_dim)
    output = torch.nn.functional.scaled_dot_product_attention(
        grouped, key, value, attn_mask=attention_mask, scale=scaling
    )
    return output.reshape(num_rows, 1, num_query_heads, head_dim), None
