"""Which sequence is in which slot, and what each slot still holds from before.

The host's side of :class:`~rllib_gigpo.inference.slot_cache.SlotCache`: numpy columns
with one entry a slot. A slot keeps its tokens after its request has ended, so that the
next prompt with the same beginning need not be computed again.

Invariant: for ``p < num_held[slot]`` the cache holds the keys and values that the model
computes for ``tokens[slot, p]`` after ``tokens[slot, :p]``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rllib_gigpo.inference.engine import Completion, FinishReason, GenerationRequest

_NO_TOKEN = -1


class SlotTable:
    """The state of all slots.

    Attributes:
        tokens: int32 [num_slots, max_model_len], by position. For a live slot
            ``tokens[slot, num_held[slot]]`` is the token to feed next.
        logprobs: float32, same shape, of the sampled tokens.
        num_held: int64 [num_slots], positions computed.
        is_live: bool [num_slots], whether a request is running there.
        temperatures: float32 [num_slots].
        seeds: uint64 [num_slots].

    Args:
        num_slots: Sequences at once.
        max_model_len: Most tokens in a sequence, prompt included.
    """

    def __init__(self, num_slots: int, max_model_len: int) -> None:
        shape = (num_slots, max_model_len)
        self.tokens: NDArray[np.int32] = np.zeros(shape, dtype=np.int32)
        self.logprobs: NDArray[np.float32] = np.zeros(shape, dtype=np.float32)
        self.num_held: NDArray[np.int64] = np.zeros(num_slots, dtype=np.int64)
        self.is_live: NDArray[np.bool_] = np.zeros(num_slots, dtype=np.bool_)
        self.temperatures: NDArray[np.float32] = np.ones(num_slots, dtype=np.float32)
        self.seeds: NDArray[np.uint64] = np.zeros(num_slots, dtype=np.uint64)
        self._num_prompt = np.zeros(num_slots, dtype=np.int64)
        self._num_cached = np.zeros(num_slots, dtype=np.int64)
        self._max_length = np.zeros(num_slots, dtype=np.int64)
        self._last_use = np.zeros(num_slots, dtype=np.int64)
        self._stop_tokens = np.full((num_slots, 1), _NO_TOKEN, dtype=np.int64)
        self._requests: list[GenerationRequest | None] = [None] * num_slots
        self._clock = 0
        self._max_model_len = max_model_len

    @property
    def num_free(self) -> int:
        """Slots without a running request."""
        return int(np.count_nonzero(~self.is_live))

    @property
    def num_live(self) -> int:
        """Slots with a running request."""
        return int(np.count_nonzero(self.is_live))

    @property
    def span(self) -> int:
        """One past the last live slot: decoding works on slots 0 .. span - 1."""
        live = np.flatnonzero(self.is_live)
        return int(live[-1]) + 1 if len(live) else 0

    @property
    def steps(self) -> NDArray[np.uint64]:
        """uint64 [num_slots], index of the next token within its completion."""
        return (self.num_held + 1 - self._num_prompt).astype(np.uint64)

    def best_match(self, prompt_ids: NDArray[np.int32]) -> tuple[int, int]:
        """The slot that holds the longest beginning of a prompt, and how long it is.

        The prompt's last token never counts: it must be fed to get logits from it.
        Among equals a free slot is taken, which saves a copy.
        """
        length = len(prompt_ids) - 1
        differs = self.tokens[:, :length] != prompt_ids[:length]
        differs |= np.arange(length) >= self.num_held[:, None]
        first = np.argmax(differs, axis=1) if length else np.zeros(len(differs), int)
        has_difference = differs.any(axis=1)
        matched = np.where(has_difference, first, length)
        slot = int(np.argmax(2 * matched + ~self.is_live))
        return slot, int(matched[slot])

    def claim(self, request: GenerationRequest, source: int, num_shared: int) -> int:
        """Give a request a free slot.

        Args:
            request: To run there.
            source: The slot that holds the beginning of its prompt.
            num_shared: How much of it, which the caller copies over from ``source``.

        Returns:
            The slot; ``source`` itself where nothing of worth is lost by that.
        """
        keeps_most = 2 * num_shared >= self.num_held[source]
        if self.is_live[source] or not keeps_most:
            slot = self._least_recently_used()
        else:
            slot = source
        self._occupy(slot, request, num_shared)
        return slot

    def _least_recently_used(self) -> int:
        age = np.where(self.is_live, np.iinfo(np.int64).max, self._last_use)
        return int(np.argmin(age))

    def _occupy(self, slot: int, request: GenerationRequest, num_shared: int) -> None:
        num_prompt = len(request.prompt_ids)
        sampling = request.sampling
        self._clock += 1
        self.tokens[slot, :num_prompt] = request.prompt_ids
        self.num_held[slot] = num_shared
        self.is_live[slot] = True
        self.temperatures[slot] = sampling.temperature
        self.seeds[slot] = np.uint64(sampling.seed % 2**64)
        self._num_prompt[slot] = num_prompt
        self._num_cached[slot] = num_shared
        self._max_length[slot] = min(
            num_prompt + sampling.max_tokens, self._max_model_len
        )
        self._last_use[slot] = self._clock
        self._set_stop_tokens(slot, sampling.stop_token_ids)
        self._requests[slot] = request

    def _set_stop_tokens(self, slot: int, stop_token_ids: tuple[int, ...]) -> None:
        missing = len(stop_token_ids) - self._stop_tokens.shape[1]
        if missing > 0:
            self._stop_tokens = np.pad(
                self._stop_tokens, ((0, 0), (0, missing)), constant_values=_NO_TOKEN
            )
        self._stop_tokens[slot] = _NO_TOKEN
        self._stop_tokens[slot, : len(stop_token_ids)] = stop_token_ids

    def mark_prompt_held(self, slots: list[int]) -> None:
        """Record that all but the last prompt token of these slots are computed."""
        self.num_held[slots] = self._num_prompt[slots] - 1

    def append(
        self, token_ids: NDArray[np.int64], logprobs: NDArray[np.float32]
    ) -> NDArray[np.int64]:
        """Add one sampled token to every live slot.

        Args:
            token_ids: int64 [span]; entries of free slots are ignored.
            logprobs: float32 [span].

        Returns:
            int64, the live slots whose completion is now finished, ascending.
        """
        live = np.flatnonzero(self.is_live)
        sampled = token_ids[live]
        self.num_held[live] += 1
        positions = self.num_held[live]
        self.tokens[live, positions] = sampled
        self.logprobs[live, positions] = logprobs[live]
        is_stopped = (self._stop_tokens[live] == sampled[:, None]).any(axis=1)
        is_full = positions + 1 >= self._max_length[live]
        return live[is_stopped | is_full]

    def completion(self, slot: int, policy_version: int) -> Completion:
        """What was sampled in a slot whose request has finished."""
        request = self._requests[slot]
        assert request is not None
        sampled = slice(int(self._num_prompt[slot]), int(self.num_held[slot]) + 1)
        token_ids = self.tokens[slot, sampled].copy()
        is_stopped = int(token_ids[-1]) in request.sampling.stop_token_ids
        return Completion(
            request_id=request.request_id,
            token_ids=token_ids,
            logprobs=self.logprobs[slot, sampled].copy(),
            finish_reason=FinishReason.STOP if is_stopped else FinishReason.LENGTH,
            policy_version=policy_version,
            num_cached_tokens=int(self._num_cached[slot]),
        )

    def release(self, slot: int) -> None:
        """End a slot's request; what the slot holds stays usable as a prefix."""
        self.is_live[slot] = False
        self._requests[slot] = None
        self._clock += 1
        self._last_use[slot] = self._clock

    def slot_of(self, request_id: str) -> int | None:
        """Where a request runs, or None."""
        for slot, request in enumerate(self._requests):
            if request is not None and request.request_id == request_id:
                return slot
        return None

    def swaps_to_compact(self) -> list[tuple[int, int]]:
        """Pairs (free slot, live slot) to exchange so that live slots come first."""
        num_live = self.num_live
        free_below = np.flatnonzero(~self.is_live[:num_live])
        live_above = num_live + np.flatnonzero(self.is_live[num_live:])
        return list(zip(free_below.tolist(), live_above.tolist(), strict=True))

    def swap(self, one: int, other: int) -> None:
        """Exchange all that two slots are about."""
        columns = (
            self.tokens, self.logprobs, self.num_held, self.is_live,
            self.temperatures, self.seeds, self._num_prompt, self._num_cached,
            self._max_length, self._last_use, self._stop_tokens,
        )  # fmt: skip
        for column in columns:
            column[[one, other]] = column[[other, one]]
        requests = self._requests
        requests[one], requests[other] = requests[other], requests[one]
