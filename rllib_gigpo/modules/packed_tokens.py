"""Ragged prompts and responses to one packed line, and which logits predict what.

The shift between logits and labels lives here and nowhere else: the logits at a token
predict the token after it.

Shapes: R rows, T tokens of the line, N response tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray

from rllib_gigpo.modules.packed_layout import PackedLayout, lay_out


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PackedTokens:
    """Rows joined end to end, longest first.

    Attributes:
        input_ids: int64 [1, T].
        position_ids: int64 [1, T], 0 at each row's first token.
        layout: Where the rows lie.
        predict_index: int64 [N], places in [0, T) whose logits predict a response
            token.
        target_ids: int64 [N], the response tokens, row after row.
        row: int64 [N], the row of each of them.

    Example:
        Prompt [5, 6] with response [7, 2]: ``input_ids=[[5, 6, 7, 2]]``,
        ``predict_index=[1, 2]``, ``target_ids=[7, 2]``. The logits after the last
        token predict nothing.
    """

    input_ids: torch.Tensor
    position_ids: torch.Tensor
    layout: PackedLayout
    predict_index: torch.Tensor
    target_ids: torch.Tensor
    row: torch.Tensor

    @property
    def num_rows(self) -> int:
        """R."""
        return len(self.layout.cu_seq_lens) - 1

    def to(self, device: torch.device | str) -> PackedTokens:
        """The same on another device."""
        device = torch.device(device)
        tensors = ("input_ids", "position_ids", "predict_index", "target_ids", "row")
        moved = {n: getattr(self, n).to(device, non_blocking=True) for n in tensors}
        return replace(self, layout=self.layout.to(device), **moved)


def pack_tokens(
    prompt_ids: Sequence[NDArray[np.int32]], response_ids: Sequence[NDArray[np.int32]]
) -> PackedTokens:
    """Join rows; those with the most tokens must come first.

    Args:
        prompt_ids: R arrays, each with at least one token.
        response_ids: R arrays; may be empty.

    Raises:
        ValueError: No row, a row without prompt, or rows not sorted by length.
    """
    prompt_R = np.array([len(ids) for ids in prompt_ids], np.int64)
    response_R = np.array([len(ids) for ids in response_ids], np.int64)
    if prompt_R.size and prompt_R.min() < 1:
        raise ValueError(
            f"row {int(prompt_R.argmin())} has no prompt token, so nothing predicts "
            "its first response token"
        )
    length_R = prompt_R + response_R
    layout = lay_out(length_R)
    pieces = [ids for row in zip(prompt_ids, response_ids, strict=True) for ids in row]
    row_N = np.repeat(np.arange(len(length_R)), response_R)
    first_R = np.cumsum(response_R) - response_R
    place_N = np.arange(len(row_N)) - first_R[row_N]
    start_R = np.cumsum(length_R) - length_R
    predict_N = start_R[row_N] + prompt_R[row_N] + place_N - 1
    input_ids = torch.from_numpy(np.concatenate(pieces).astype(np.int64))
    predict_index = torch.from_numpy(predict_N)
    position_T = np.arange(length_R.sum()) - np.repeat(start_R, length_R)
    return PackedTokens(
        input_ids=input_ids[None],
        position_ids=torch.from_numpy(position_T)[None],
        layout=layout,
        predict_index=predict_index,
        target_ids=input_ids[predict_index + 1],
        row=torch.from_numpy(row_N),
    )
