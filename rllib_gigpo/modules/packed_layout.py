"""Where the rows of a packed micro-batch lie, and how attention may batch them.

A packed micro-batch is one line of T tokens: rows of different lengths joined end to
end, longest first. Linear layers see it as it is, without padding. Attention needs
rows apart, so neighbouring rows of nearly equal length form a *segment*, which is
padded to its longest row; at most ``MAX_PADDING`` of a segment is padding.

Shapes: R rows, T tokens of the line, B rows of a segment, L its longest row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray

MAX_PADDING = 0.05


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Segment:
    """B neighbouring rows that attention takes as one padded batch.

    Attributes:
        start: First token of the segment in the line.
        end: One past its last token.
        num_rows: B.
        max_length: L.
        slot_token: int64 [B * L], the token of the segment in each slot, rows padded
            on the right; padding slots repeat the row's last token. None when all
            rows are L long.
        token_slot: int64 [end - start], the slot of each token; None likewise.
    """

    start: int
    end: int
    num_rows: int
    max_length: int
    slot_token: torch.Tensor | None
    token_slot: torch.Tensor | None

    def to(self, device: torch.device) -> Segment:
        """The same on another device."""
        if self.slot_token is None or self.token_slot is None:
            return self
        return replace(
            self,
            slot_token=self.slot_token.to(device, non_blocking=True),
            token_slot=self.token_slot.to(device, non_blocking=True),
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PackedLayout:
    """The rows of a line and the segments that attention works in.

    Attributes:
        cu_seq_lens: int32 [R + 1], where rows begin, and T at the end.
        max_length: Tokens of the longest row.
        segments: Cover the line in order.

    Example:
        Rows of 5, 5 and 2 tokens: ``cu_seq_lens=[0, 5, 10, 12]`` and two segments,
        the first of two rows without padding.
    """

    cu_seq_lens: torch.Tensor
    max_length: int
    segments: tuple[Segment, ...]

    @property
    def num_slots(self) -> int:
        """Slots that attention works on, padding included."""
        return sum(s.num_rows * s.max_length for s in self.segments)

    def to(self, device: torch.device) -> PackedLayout:
        """The same on another device."""
        return replace(
            self,
            cu_seq_lens=self.cu_seq_lens.to(device, non_blocking=True),
            segments=tuple(segment.to(device) for segment in self.segments),
        )


def lay_out(lengths: Sequence[int] | NDArray[np.int64]) -> PackedLayout:
    """The layout of rows with these token counts.

    Args:
        lengths: [R], each >= 1, never rising.

    Raises:
        ValueError: No row, an empty row, or rows not sorted.
    """
    length_R = np.asarray(lengths, np.int64)
    if length_R.size == 0 or length_R[-1] < 1 or np.any(np.diff(length_R) > 0):
        raise ValueError(
            f"rows must be non-empty and sorted, longest first; got {length_R[:20]}"
        )
    offset_R = np.concatenate([[0], np.cumsum(length_R)])
    segments = []
    first = 0
    while first < len(length_R):
        last = _segment_end(length_R, first)
        segments.append(_segment(length_R[first:last], int(offset_R[first])))
        first = last
    return PackedLayout(
        cu_seq_lens=torch.from_numpy(offset_R.astype(np.int32)),
        max_length=int(length_R[0]),
        segments=tuple(segments),
    )


def _segment_end(length_R: NDArray[np.int64], first: int) -> int:
    """One past the last row that fits the segment which starts at row ``first``."""
    tail_R = length_R[first:]
    slots_R = tail_R[0] * np.arange(1, len(tail_R) + 1)
    too_empty_R = np.cumsum(tail_R) < (1 - MAX_PADDING) * slots_R
    # Sorted rows only get shorter, so once the share is exceeded it stays so.
    return first + (int(too_empty_R.argmax()) if too_empty_R.any() else len(tail_R))


def _segment(length_B: NDArray[np.int64], start: int) -> Segment:
    longest = int(length_B[0])
    num_tokens = int(length_B.sum())
    slot_token = token_slot = None
    if length_B[-1] < longest:
        offset_B = np.cumsum(length_B) - length_B
        place_L = np.arange(longest)
        inside_B_L = place_L < length_B[:, None]
        token_B_L = offset_B[:, None] + np.minimum(place_L, length_B[:, None] - 1)
        slot_token = torch.from_numpy(token_B_L.reshape(-1))
        token_slot = torch.from_numpy(np.flatnonzero(inside_B_L))
    return Segment(
        start=start,
        end=start + num_tokens,
        num_rows=len(length_B),
        max_length=longest,
        slot_token=slot_token,
        token_slot=token_slot,
    )
