"""Whether engines hold the learner's weights, seen from what they generate.

Digests alone would not do: a layer may multiply by a packed copy that did not follow
its weight. So each engine also completes fixed prompts, and the learner says how likely
those completions are.
"""

from __future__ import annotations

import numpy as np
from ray.rllib.core.learner.learner_group import LearnerGroup

from rllib_gigpo.errors import WeightSyncError
from rllib_gigpo.inference.engine import Completion, GenerationRequest, SamplingParams
from rllib_gigpo.inference.engine_group import EngineGroup
from rllib_gigpo.weight_sync.base import checksum
from rllib_gigpo.weight_sync.object_store import on_first_learner

_NUM_PROBES = 4
_PROMPT_TOKENS = 32
_RESPONSE_TOKENS = 16

_TOLERANCE = {"float32": 1e-3, "bfloat16": 0.05}
"""Largest mean difference of a token's logprob that rounding can explain."""


class WeightVerifier:
    """Checks engines after each weight sync; remembers what they held before.

    Args:
        dtype: Of the engines' weights.
        vocab_size: Of the model.
        max_model_len: Of the engines.
        temperature: At which the learner computes logprobs.
    """

    def __init__(
        self, *, dtype: str, vocab_size: int, max_model_len: int, temperature: float
    ) -> None:
        self._tolerance = _TOLERANCE[dtype]
        self._requests = _probes(vocab_size, max_model_len, temperature)
        self._before: tuple[str, dict[str, str]] | None = None

    def verify(self, learner_group: LearnerGroup, engines: EngineGroup) -> float:
        """Compare every engine with the learner.

        Returns:
            The mean absolute difference of a token's logprob, of the worst engine.

        Raises:
            WeightSyncError: An engine holds other weights than the learner.
        """
        self._verify_digests(learner_group, engines)
        answers = engines.call_all("probe", self._requests)
        worst = 0.0
        for name, completions in zip(engines.actor_names, answers, strict=True):
            difference = _difference(learner_group, self._requests, completions)
            if not difference <= self._tolerance:
                raise WeightSyncError(
                    f"{name} does not generate with the learner's weights: logprobs of "
                    f"its tokens differ by {difference:.3g} on average, rounding "
                    f"explains {self._tolerance:g}"
                )
            worst = max(worst, difference)
        return worst

    def _verify_digests(
        self, learner_group: LearnerGroup, engines: EngineGroup
    ) -> None:
        learner_sum = on_first_learner(
            learner_group, lambda learner: checksum(learner.export_weights())
        )
        first, *others = engines.call_all("weight_digests")
        for name, digests in zip(engines.actor_names[1:], others, strict=True):
            if digests != first:
                differing = sorted(n for n in first if digests.get(n) != first[n])
                raise WeightSyncError(
                    f"{name} and {engines.actor_names[0]} hold different weights, "
                    f"among them {differing[:3]}"
                )
        if self._before is not None:
            sum_before, digests_before = self._before
            if (learner_sum == sum_before) != (first == digests_before):
                raise WeightSyncError(
                    "the learner's weights and those of the engines did not change "
                    "together: the engines hold the weights of an earlier sync"
                )
        self._before = (learner_sum, first)


def _probes(
    vocab_size: int, max_model_len: int, temperature: float
) -> list[GenerationRequest]:
    rng = np.random.default_rng(0)
    num_tokens = min(_PROMPT_TOKENS, max_model_len // 2)
    return [
        GenerationRequest(
            request_id=f"probe/{number}",
            prompt_ids=rng.integers(0, vocab_size, num_tokens).astype(np.int32),
            sampling=SamplingParams(
                max_tokens=_RESPONSE_TOKENS,
                stop_token_ids=(),
                temperature=temperature,
                seed=number,
            ),
        )
        for number in range(_NUM_PROBES)
    ]


def _difference(
    learner_group: LearnerGroup,
    requests: list[GenerationRequest],
    completions: list[Completion],
) -> float:
    prompts = [request.prompt_ids for request in requests]
    responses = [completion.token_ids for completion in completions]
    expected = on_first_learner(
        learner_group, lambda learner: learner.logprobs_of(prompts, responses)
    )
    sampled = [completion.logprobs for completion in completions]
    return float(np.abs(np.concatenate(expected) - np.concatenate(sampled)).mean())
