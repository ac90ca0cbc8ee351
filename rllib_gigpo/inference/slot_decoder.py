"""One model, many running completions: admit requests, decode a token for all of them.

Synchronous and single-threaded; :class:`TransformersEngine` wraps it for coroutines.
Each call of :meth:`SlotDecoder.decode` feeds the newest token of every live slot and
samples the next one, whatever the slots' lengths. A prompt is computed up to its last
token on admission; the last one is fed by the first ``decode``, so there is a single
place where tokens are sampled.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import PreTrainedModel

from rllib_gigpo.errors import ConfigError
from rllib_gigpo.inference.decode_attention import use_decode_attention
from rllib_gigpo.inference.engine import Completion, GenerationRequest
from rllib_gigpo.inference.sampling import sample_tokens, uniform_numbers
from rllib_gigpo.inference.slot_cache import SlotCache, round_up_to_block
from rllib_gigpo.inference.slot_table import SlotTable

MAX_PREFILL_TOKENS = 4096
"""Most padded prompt tokens in one forward pass, to bound its memory."""

_WORTH_WAITING_FOR = 16
"""Tokens a request must gain from a prompt admitted with it to be computed after it."""


class SlotDecoder:
    """Continuous batching over a fixed number of slots.

    Args:
        model: A decoder whose layers all attend to the whole context.
        max_batch_size: Number of slots.
        max_model_len: Most tokens in a sequence, prompt included.
        device: Where the model is.

    Raises:
        ConfigError: The model has layers that do not attend to the whole context.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        *,
        max_batch_size: int,
        max_model_len: int,
        device: torch.device,
    ) -> None:
        check_full_attention(model, max_model_len)
        use_decode_attention(model)
        self._model = model
        self._device = device
        self._num_slots = max_batch_size
        self._max_model_len = max_model_len
        self.reset()

    def reset(self) -> None:
        """Drop everything: running requests and all that was computed."""
        num_layers = self._model.config.get_text_config().num_hidden_layers
        self.table = SlotTable(self._num_slots, self._max_model_len)
        self._cache = SlotCache(num_layers, self._num_slots, self._device)

    @torch.inference_mode()
    def admit(self, requests: list[GenerationRequest]) -> None:
        """Take in requests, at most as many as there are free slots.

        Prompts that share a beginning with one admitted beside them wait until that
        one is computed and then copy it: a group starts from one prompt.
        """
        while requests:
            wave, requests = self._split_off_wave(requests)
            self._prefill(wave)

    def _split_off_wave(
        self, requests: list[GenerationRequest]
    ) -> tuple[list[int], list[GenerationRequest]]:
        wave: list[int] = []
        waiting: list[GenerationRequest] = []
        leaders: list[NDArray[np.int32]] = []
        for request in requests:
            prompt_ids = request.prompt_ids
            source, num_held = self.table.best_match(prompt_ids)
            num_shared = max(
                (_shared_length(prompt_ids, leader) for leader in leaders), default=0
            )
            if num_shared >= num_held + _WORTH_WAITING_FOR:
                waiting.append(request)
                continue
            slot = self.table.claim(request, source, num_held)
            if slot != source and num_held:
                self._cache.copy_prefix(source, slot, num_held)
            wave.append(slot)
            leaders.append(prompt_ids)
        return wave, waiting

    def _prefill(self, slots: list[int]) -> None:
        """Compute the prompts of these slots up to their last token."""
        starts = self.table.num_held[slots].copy()
        self.table.mark_prompt_held(slots)
        ends = self.table.num_held[slots]
        self._cache.reserve(int(ends.max()) + 1)
        order = np.argsort(starts - ends, kind="stable")  # longest remainder first
        for batch in _batches_within(MAX_PREFILL_TOKENS, (ends - starts)[order]):
            chosen = order[batch]
            self._prefill_batch(np.asarray(slots)[chosen], starts[chosen], ends[chosen])

    def _prefill_batch(
        self,
        slots: NDArray[np.int64],
        starts: NDArray[np.int64],
        ends: NDArray[np.int64],
    ) -> None:
        """Feed positions starts .. ends - 1 of each slot, padded on the right.

        Padding is written past the end of its row, where tokens to come overwrite it
        before they are read.
        """
        width = int((ends - starts).max())
        last_position = min(self._cache.capacity, self._max_model_len) - 1
        positions = starts[:, None] + np.arange(width)
        positions = np.minimum(positions, last_position)
        token_ids = self.table.tokens[slots[:, None], positions]
        read_length = min(round_up_to_block(int(ends.max())), self._cache.capacity)
        self._forward(slots, token_ids, positions, read_length, are_leading_rows=False)

    @torch.inference_mode()
    def decode(self, policy_version: int) -> list[Completion]:
        """Sample the next token of every live slot.

        Returns:
            The completions that this token finished; their slots are free again.
        """
        self._compact()
        table = self.table
        span = table.span
        rows = np.arange(span)
        positions = table.num_held[:span, None]
        longest = int(table.num_held[table.is_live].max()) + 1
        self._cache.reserve(int(positions.max()) + 1)
        logits = self._forward(
            rows,
            table.tokens[rows, table.num_held[:span]][:, None],
            positions,
            min(round_up_to_block(longest), self._cache.capacity),
            are_leading_rows=True,
        )
        uniforms = uniform_numbers(table.seeds[:span], table.steps[:span])
        token_ids, logprobs = sample_tokens(
            logits,
            torch.from_numpy(table.temperatures[:span]).to(self._device),
            torch.from_numpy(uniforms).to(self._device),
        )
        finished = table.append(token_ids.cpu().numpy(), logprobs.cpu().numpy())
        completions = [table.completion(slot, policy_version) for slot in finished]
        for slot in finished:
            table.release(slot)
        return completions

    def _compact(self) -> None:
        """Move live slots to the front once half of the decoded rows are free."""
        if self.table.span >= 2 * self.table.num_live:
            for free, live in self.table.swaps_to_compact():
                self.table.swap(free, live)
                self._cache.swap(free, live)

    def _forward(
        self,
        rows: NDArray[np.int64],
        token_ids: NDArray[np.int32],
        positions: NDArray[np.int64],
        read_length: int,
        *,
        are_leading_rows: bool,
    ) -> torch.Tensor:
        """Feed tokens [N, T] at positions [N, T]; logits of the last column, [N, V]."""
        positions_N_T = torch.from_numpy(positions).to(self._device)
        rows_N = torch.from_numpy(rows).to(self._device)
        token_ids_N_T = torch.from_numpy(token_ids).to(self._device, torch.int64)
        self._cache.aim(
            rows_N, positions_N_T, read_length, are_leading_rows=are_leading_rows
        )
        columns_L = torch.arange(read_length, device=self._device)
        mask_N_1_T_L = columns_L <= positions_N_T[:, None, :, None]
        output = self._model(
            input_ids=token_ids_N_T,
            attention_mask=self._as_model_mask(mask_N_1_T_L),
            position_ids=positions_N_T,
            past_key_values=self._cache,
            use_cache=True,
            logits_to_keep=1,
        )
        return output.logits[:, -1]

    def _as_model_mask(self, is_visible: torch.Tensor) -> torch.Tensor:
        """Additive, which every attention implementation understands."""
        dtype = self._model.dtype
        mask = torch.zeros(is_visible.shape, dtype=dtype, device=self._device)
        return mask.masked_fill_(~is_visible, torch.finfo(dtype).min)


def check_full_attention(model: PreTrainedModel, max_model_len: int) -> None:
    """Refuse models whose layers forget or slide within the context.

    Raises:
        ConfigError: Naming the layer type.
    """
    config = model.config.get_text_config()
    for layer_type in sorted(set(getattr(config, "layer_types", None) or ())):
        if layer_type == "full_attention":
            continue
        window = getattr(config, "sliding_window", None) or 0
        if layer_type == "sliding_attention" and window >= max_model_len:
            continue
        raise ConfigError(
            f"{type(model).__name__} has {layer_type!r} layers (sliding_window="
            f"{window}, max_model_len={max_model_len}), which the transformers engine "
            "cannot serve; use engine='vllm' or a max_model_len within the window"
        )


def _shared_length(one: NDArray[np.int32], other: NDArray[np.int32]) -> int:
    length = min(len(one), len(other))
    differs = one[:length] != other[:length]
    return int(np.argmax(differs)) if differs.any() else length


def _batches_within(budget: int, widths: NDArray[np.int64]) -> list[slice]:
    """Consecutive slices of descending widths, each padded to at most ``budget``.

    Rows of width 0 are left out; a single row may exceed the budget.
    """
    num_rows = int(np.count_nonzero(widths))
    batches: list[slice] = []
    start = 0
    while start < num_rows:
        stop = min(start + max(1, budget // int(widths[start])), num_rows)
        batches.append(slice(start, stop))
        start = stop
    return batches
