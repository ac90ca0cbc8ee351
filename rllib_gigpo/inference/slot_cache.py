"""Keys and values of many sequences of different lengths, one slot a sequence.

What enters: the keys and values of new tokens, through ``Cache.update`` as any Hugging
Face decoder calls it. What leaves: those of every position to attend to. Where they go
and what is read is set before each forward pass by :meth:`SlotCache.aim`.

Invariant: a position holds what was written there last; memory never written reads as
zero, so that a masked position adds exactly nothing (0 times NaN would be NaN).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from transformers.cache_utils import Cache, CacheLayerMixin

GROWTH_BLOCK = 64
"""Capacity and read lengths are multiples of this many positions."""


def round_up_to_block(length: int) -> int:
    """The least multiple of :data:`GROWTH_BLOCK` that is >= ``length``."""
    return -(-length // GROWTH_BLOCK) * GROWTH_BLOCK


@dataclass(slots=True)
class _Aim:
    """Where one forward pass writes and what it reads; shared by all layers.

    Attributes:
        rows: int64 [N] slots; N is the batch size of the pass.
        columns: int64 [N, T], the position of each new token in its slot.
        read_length: Positions 0 .. read_length - 1 are attended to, under the mask.
        are_leading_rows: Whether ``rows`` is 0 .. N - 1, so that no gather is needed.
        capacity: Positions every slot must have room for.
    """

    rows: torch.Tensor
    columns: torch.Tensor
    read_length: int
    are_leading_rows: bool
    capacity: int


class _SlotLayer(CacheLayerMixin):
    """Keys and values of one model layer, [num_slots, capacity, heads, head_dim].

    Positions come before heads so that writing a token and copying a prefix touch
    contiguous memory.
    """

    is_sliding = False

    def __init__(self, num_slots: int, aim: _Aim) -> None:
        super().__init__()
        self._num_slots = num_slots
        self._aim = aim

    def lazy_initialization(
        self, key_states: torch.Tensor, value_states: torch.Tensor
    ) -> None:
        self.keys = self._zeros_like(key_states)
        self.values = self._zeros_like(value_states)
        self.is_initialized = True

    def _zeros_like(self, states: torch.Tensor) -> torch.Tensor:
        _, num_heads, _, head_dim = states.shape
        return states.new_zeros(
            self._num_slots, self._aim.capacity, num_heads, head_dim
        )

    def update(
        self,
        key_states: torch.Tensor,
        value_states: torch.Tensor,
        *args: object,
        **kwargs: object,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Write the new tokens, return all that may be attended to.

        Args:
            key_states: [N, heads, T, head_dim].
            value_states: [N, heads, T, head_dim].
            args: Ignored.
            kwargs: Ignored.

        Returns:
            Keys and values, each [N, heads, read_length, head_dim].
        """
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        self.grow()
        aim = self._aim
        where = (aim.rows[:, None], aim.columns)
        self.keys[where] = key_states.transpose(1, 2)
        self.values[where] = value_states.transpose(1, 2)
        return self._read(self.keys), self._read(self.values)

    def _read(self, states: torch.Tensor) -> torch.Tensor:
        aim = self._aim
        visible = states[:, : aim.read_length]
        if aim.are_leading_rows:
            return visible[: len(aim.rows)].transpose(1, 2)
        return visible[aim.rows].transpose(1, 2)

    def grow(self) -> None:
        """Make room for ``capacity`` positions, if there is less."""
        missing = self._aim.capacity - self.keys.shape[1]
        if missing > 0:
            padding = (0, 0, 0, 0, 0, missing)
            self.keys = torch.nn.functional.pad(self.keys, padding)
            self.values = torch.nn.functional.pad(self.values, padding)

    def copy_prefix(self, source: int, target: int, length: int) -> None:
        if self.is_initialized:
            self.keys[target, :length] = self.keys[source, :length]
            self.values[target, :length] = self.values[source, :length]

    def swap(self, one: int, other: int) -> None:
        if self.is_initialized:
            for states in (self.keys, self.values):
                states[[one, other]] = states[[other, one]]

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        return self._aim.read_length, 0

    def get_seq_length(self) -> int:
        return self._aim.read_length

    def get_max_length(self) -> int:
        return -1


class SlotCache(Cache):
    """A key-value cache whose batch rows are slots of their own length.

    The caller passes ``position_ids`` and a 4-D attention mask with each forward pass,
    since the lengths that a cache reports by itself hold for no single row.

    Args:
        num_layers: Of the model.
        num_slots: Sequences held at once.
        device: Where the model is.
    """

    def __init__(self, num_layers: int, num_slots: int, device: torch.device) -> None:
        self._aim = _Aim(
            rows=torch.zeros(0, dtype=torch.int64, device=device),
            columns=torch.zeros(0, 0, dtype=torch.int64, device=device),
            read_length=0,
            are_leading_rows=False,
            capacity=GROWTH_BLOCK,
        )
        layers = [_SlotLayer(num_slots, self._aim) for _ in range(num_layers)]
        super().__init__(layers=layers)

    @property
    def capacity(self) -> int:
        """Positions every slot has room for."""
        return self._aim.capacity

    def aim(
        self,
        rows: torch.Tensor,
        columns: torch.Tensor,
        read_length: int,
        *,
        are_leading_rows: bool,
    ) -> None:
        """Set where the next forward pass writes and what it reads.

        Args:
            rows: int64 [N] slots, no two alike.
            columns: int64 [N, T], positions of the new tokens, < capacity.
            read_length: Positions to attend to, <= capacity.
            are_leading_rows: Whether ``rows`` is 0 .. N - 1.
        """
        self._aim.rows = rows
        self._aim.columns = columns
        self._aim.read_length = read_length
        self._aim.are_leading_rows = are_leading_rows

    def reserve(self, num_positions: int) -> None:
        """Make room for ``num_positions`` in every slot; what is held is kept."""
        if num_positions > self._aim.capacity:
            grown = max(num_positions, self._aim.capacity * 3 // 2)
            self._aim.capacity = round_up_to_block(grown)
            for layer in self.layers:
                if layer.is_initialized:
                    layer.grow()

    def copy_prefix(self, source: int, target: int, length: int) -> None:
        """Copy positions 0 .. length - 1 of one slot to another."""
        for layer in self.layers:
            layer.copy_prefix(source, target, length)

    def swap(self, one: int, other: int) -> None:
        """Exchange what two slots hold."""
        for layer in self.layers:
            layer.swap(one, other)
