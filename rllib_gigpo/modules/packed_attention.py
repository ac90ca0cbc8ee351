"""Causal attention over packed rows, as a transformers attention function.

A model loaded with ``attn_implementation="packed_sdpa"`` calls :func:`packed_sdpa` in
every layer with queries, keys and values of one packed line, and with the
``packed_layout`` that was passed to the model's ``forward``. Rows cannot see one
another: each is its own row of the batch given to ``scaled_dot_product_attention``.

Shapes: T tokens of the line, B rows of a segment padded to L tokens, H query heads,
K key-value heads, D head width.
"""

from __future__ import annotations

import torch
from torch.nn.functional import scaled_dot_product_attention
from transformers import AttentionInterface, AttentionMaskInterface

from rllib_gigpo.modules.packed_layout import PackedLayout, Segment

PACKED_SDPA = "packed_sdpa"

_UNSUPPORTED = ("softcap", "s_aux", "position_bias")


def packed_sdpa(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    *,
    scaling: float | None = None,
    dropout: float = 0.0,
    sliding_window: int | None = None,
    packed_layout: PackedLayout | None = None,
    **kwargs: object,
) -> tuple[torch.Tensor, None]:
    """Attention of each row over itself, causal.

    Args:
        module: The attention layer; unused.
        query: [1, H, T, D].
        key: [1, K, T, D]; H is a multiple of K.
        value: [1, K, T, D].
        attention_mask: Must be None; the layout takes its place.
        scaling: Of the scores; None is 1/sqrt(D).
        dropout: Must be 0.
        sliding_window: A token sees this many last tokens, itself included.
        packed_layout: Of the line.
        **kwargs: What else the model passes on.

    Returns:
        [1, T, H, D], and None for the attention weights.

    Raises:
        ValueError: No layout, a mask, dropout, or a kind of attention that is not
            plain scaled dot products.
    """
    del module
    if packed_layout is None or attention_mask is not None or query.shape[0] != 1:
        raise ValueError(
            "packed_sdpa takes one packed line with its packed_layout and no mask; to "
            "generate text load the model with attn_implementation='sdpa'"
        )
    if dropout:
        raise ValueError(f"packed_sdpa needs dropout 0, got {dropout}")
    if found := [name for name in _UNSUPPORTED if kwargs.get(name) is not None]:
        raise ValueError(
            f"packed_sdpa does not support {', '.join(found)}, which this model uses; "
            "use attention='flash_attention_2'"
        )
    # Token-major: gathering tokens then moves whole vectors.
    query_T, key_T, value_T = (x[0].transpose(0, 1) for x in (query, key, value))
    output = [
        _attend(segment, query_T, key_T, value_T, scaling, sliding_window)
        for segment in packed_layout.segments
    ]
    return (output[0] if len(output) == 1 else torch.cat(output)).unsqueeze(0), None


def _attend(
    segment: Segment,
    query_T: torch.Tensor,
    key_T: torch.Tensor,
    value_T: torch.Tensor,
    scaling: float | None,
    sliding_window: int | None,
) -> torch.Tensor:
    """One segment, from [T, heads, D] to [tokens of the segment, H, D]."""
    query_B, key_B, value_B = (
        _to_rows(x[segment.start : segment.end], segment)
        for x in (query_T, key_T, value_T)
    )
    mask_L_L = None
    if sliding_window is not None and segment.max_length > sliding_window:
        mask_L_L = _window_mask(segment.max_length, sliding_window, query_T.device)
    # Right padding needs no mask: a real token never sees what comes after it.
    output_B = scaled_dot_product_attention(
        query_B,
        key_B,
        value_B,
        attn_mask=mask_L_L,
        is_causal=mask_L_L is None,
        scale=scaling,
        enable_gqa=query_B.shape[1] != key_B.shape[1],
    )
    output = output_B.transpose(1, 2).reshape(-1, *query_T.shape[1:])
    if segment.token_slot is None:
        return output
    return output.index_select(0, segment.token_slot)


def _to_rows(x: torch.Tensor, segment: Segment) -> torch.Tensor:
    """[tokens of the segment, heads, D] to [B, heads, L, D], padded on the right."""
    if segment.slot_token is not None:
        x = x.index_select(0, segment.slot_token)
    return x.unflatten(0, (segment.num_rows, segment.max_length)).transpose(1, 2)


def _window_mask(length: int, window: int, device: torch.device) -> torch.Tensor:
    """Which keys (second axis) each query sees: bool [L, L]."""
    place_L = torch.arange(length, device=device)
    distance_L_L = place_L[:, None] - place_L
    return (distance_L_L >= 0) & (distance_L_L < window)


def _no_mask(*args: object, **kwargs: object) -> None:
    """The layout says who sees whom; a T x T mask is never built."""


AttentionInterface.register(PACKED_SDPA, packed_sdpa)
AttentionMaskInterface.register(PACKED_SDPA, _no_mask)
