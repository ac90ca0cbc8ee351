"""That engines with other weights than the learner's are found out, without vLLM."""

import copy
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from transformers import PreTrainedModel

from rllib_gigpo.errors import WeightSyncError
from rllib_gigpo.inference.engine import Completion, FinishReason, GenerationRequest
from rllib_gigpo.weight_sync.base import checkpoint_weights, checksum
from rllib_gigpo.weight_sync.verify import WeightVerifier
from tests import fakes
from tests.inference.vllm_fixtures import load_reference, logprobs_of, save_vllm_model

TEMPERATURE = 0.8


class Learners:
    """A learner group of one, on a plain model."""

    is_local = True

    def __init__(self, model: PreTrainedModel) -> None:
        self._learner = SimpleNamespace(
            export_weights=lambda: checkpoint_weights(model),
            logprobs_of=lambda prompts, responses: [
                logprobs_of(model, *pair, TEMPERATURE)
                for pair in zip(prompts, responses, strict=True)
            ],
        )

    def foreach_learner(
        self, function: Callable[..., object], remote_actor_ids: object
    ) -> list[SimpleNamespace]:
        return [SimpleNamespace(get=lambda: function(self._learner))]


class Engines:
    """Two engines, each with a model that digests describe and one that generates."""

    actor_names = ("engine-0", "engine-1")

    def __init__(self, model: PreTrainedModel) -> None:
        self.stored = [copy.deepcopy(model) for _ in self.actor_names]
        self.packed = list(self.stored)

    def call_all(self, method: str, *args: object) -> list[object]:
        if method == "weight_digests":
            return [
                {name: checksum({name: t}) for name, t in checkpoint_weights(m).items()}
                for m in self.stored
            ]
        return [_complete(model, *args) for model in self.packed]


def _complete(
    model: PreTrainedModel, requests: Sequence[GenerationRequest]
) -> list[Completion]:
    completions = []
    for request in requests:
        rng = np.random.default_rng(request.sampling.seed)
        ids = rng.integers(0, len(fakes.WORDS), request.sampling.max_tokens)
        completions.append(
            Completion(
                request_id=request.request_id,
                token_ids=ids.astype(np.int32),
                logprobs=logprobs_of(model, request.prompt_ids, ids, TEMPERATURE),
                finish_reason=FinishReason.LENGTH,
                policy_version=0,
            )
        )
    return completions


@pytest.fixture
def model(tmp_path: Path) -> PreTrainedModel:
    return load_reference(save_vllm_model(tmp_path))


@pytest.fixture
def verifier() -> WeightVerifier:
    return WeightVerifier(
        dtype="float32",
        vocab_size=len(fakes.WORDS),
        max_model_len=64,
        temperature=TEMPERATURE,
    )


@torch.no_grad()
def change(model: PreTrainedModel, amount: float = 0.1) -> None:
    model.get_input_embeddings().weight.add_(amount * torch.randn(1, 64))


def test_equal_weights_pass_sync_after_sync(
    model: PreTrainedModel, verifier: WeightVerifier
) -> None:
    engines = Engines(model)
    assert verifier.verify(Learners(model), engines) < 1e-6
    assert verifier.verify(Learners(model), engines) < 1e-6
    change(model)
    assert verifier.verify(Learners(model), Engines(model)) < 1e-6


def test_one_engine_with_other_weights_is_named(
    model: PreTrainedModel, verifier: WeightVerifier
) -> None:
    engines = Engines(model)
    change(engines.stored[1])
    with pytest.raises(WeightSyncError, match=r"engine-1 and engine-0.*embed_tokens"):
        verifier.verify(Learners(model), engines)


def test_engines_that_miss_a_tiny_update_are_found_by_their_digests(
    model: PreTrainedModel, verifier: WeightVerifier
) -> None:
    engines = Engines(model)
    verifier.verify(Learners(model), engines)
    change(model, amount=1e-6)  # Far too little for any logprob to show.
    with pytest.raises(WeightSyncError, match="an earlier sync"):
        verifier.verify(Learners(model), engines)


def test_a_packed_copy_that_did_not_follow_is_found_by_what_it_generates(
    model: PreTrainedModel, verifier: WeightVerifier
) -> None:
    engines = Engines(model)
    verifier.verify(Learners(model), engines)
    change(model)
    updated = Engines(model)
    updated.packed = engines.packed
    with pytest.raises(WeightSyncError, match="engine-0 does not generate"):
        verifier.verify(Learners(model), updated)
