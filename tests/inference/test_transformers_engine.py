"""The transformers engine against Hugging Face's own generate and forward."""

import asyncio
from collections.abc import Coroutine, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM, PreTrainedModel

from rllib_gigpo.errors import ConfigError, EngineError, WeightSyncError
from rllib_gigpo.inference.engine import Completion, FinishReason, GenerationRequest
from rllib_gigpo.inference.slot_table import SlotTable
from rllib_gigpo.inference.transformers_engine import TransformersEngine
from rllib_gigpo.weight_sync.base import checkpoint_weights, copy_to_cpu
from tests.inference.vllm_fixtures import logprobs_of, make_request, perturb
from tests.learning.tiny_model import VOCABULARY, tiny_folder, tiny_model

MAX_MODEL_LEN = 96


def make_engine(max_batch_size: int = 8, **model: Any) -> TransformersEngine:
    return TransformersEngine(
        tiny_model("sdpa", **model),
        max_model_len=MAX_MODEL_LEN,
        max_batch_size=max_batch_size,
    )


@pytest.fixture
def engine() -> Iterator[TransformersEngine]:
    engine = make_engine()
    yield engine
    engine.close()


def make_prompt(length: int, *, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.integers(2, VOCABULARY, length).astype(np.int32)


def mixed_requests(number: int, temperature: float) -> list[GenerationRequest]:
    """Long and short ones, some with a beginning in common."""
    common = make_prompt(40, seed=99)
    return [
        make_request(
            f"{n:02d}",
            np.concatenate([common, make_prompt(1 + n, seed=n)])
            if n % 3
            else make_prompt(1 + 5 * n, seed=n),
            max_tokens=2 + (7 * n) % 23,
            temperature=temperature,
            seed=n,
        )
        for n in range(number)
    ]


def complete(
    engine: TransformersEngine, requests: Sequence[GenerationRequest]
) -> list[Completion]:
    async def gather() -> list[Completion]:
        return await asyncio.gather(*(engine.generate(r) for r in requests))

    return asyncio.run(gather())


async def ticks(number: int) -> None:
    for _ in range(number):
        await asyncio.sleep(0)


def generate(model: PreTrainedModel, request: GenerationRequest) -> list[int]:
    """What Hugging Face's ``generate`` makes of a greedy request."""
    ids = torch.from_numpy(request.prompt_ids.astype(np.int64))[None]
    output = model.generate(
        ids,
        attention_mask=torch.ones_like(ids),
        do_sample=False,
        max_new_tokens=request.sampling.max_tokens,
        eos_token_id=list(request.sampling.stop_token_ids),
        pad_token_id=0,
    )
    return output[0, ids.shape[1] :].tolist()


def assert_same(one: Completion, other: Completion) -> None:
    assert one.token_ids.tolist() == other.token_ids.tolist()
    assert one.finish_reason is other.finish_reason
    np.testing.assert_allclose(one.logprobs, other.logprobs, atol=1e-5)


@pytest.mark.parametrize(
    "model", [{}, {"tie_word_embeddings": False}, {"num_key_value_heads": 4}], ids=str
)
def test_greedy_equals_hugging_face_generate_token_for_token(model: dict) -> None:
    requests = mixed_requests(10, temperature=0.0)
    reference = tiny_model("sdpa", **model).eval()
    for request, completion in zip(
        requests, complete(make_engine(**model), requests), strict=True
    ):
        assert completion.token_ids.tolist() == generate(reference, request)


@pytest.mark.parametrize("temperature", [0.0, 0.5, 1.0, 1.7])
def test_logprobs_are_those_of_a_full_forward_pass(
    engine: TransformersEngine, temperature: float
) -> None:
    reference = tiny_model("eager")
    requests = mixed_requests(8, temperature)
    for request, completion in zip(requests, complete(engine, requests), strict=True):
        expected = logprobs_of(
            reference, request.prompt_ids, completion.token_ids, temperature or 1.0
        )
        np.testing.assert_allclose(completion.logprobs, expected, atol=1e-5, rtol=0)


def test_bfloat16_logprobs_are_near_those_of_float32() -> None:
    low = {"dtype": torch.bfloat16, "initializer_range": 0.1}
    engine, reference = make_engine(**low), tiny_model("eager", **low).float()
    requests = mixed_requests(6, temperature=1.0)
    for request, completion in zip(requests, complete(engine, requests), strict=True):
        assert completion.logprobs.dtype == np.float32
        expected = logprobs_of(reference, request.prompt_ids, completion.token_ids, 1.0)
        np.testing.assert_allclose(completion.logprobs, expected, atol=0.1)


@pytest.mark.parametrize("max_batch_size", [1, 3, 64])
def test_joining_and_leaving_a_running_batch_changes_no_completion(
    max_batch_size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests = mixed_requests(14, temperature=1.0)
    alone = [complete(make_engine(), [request])[0] for request in requests]
    swapped = []
    swap = SlotTable.swap
    monkeypatch.setattr(
        SlotTable, "swap", lambda *a: (swapped.append(a[1:]), swap(*a))[1]
    )
    engine = make_engine(max_batch_size)

    async def staggered(place: int, request: GenerationRequest) -> Completion:
        await ticks(5 * place % 17)
        return await engine.generate(request)

    async def run() -> list[Completion]:
        return await asyncio.gather(*(staggered(*item) for item in enumerate(requests)))

    for one, other in zip(alone, asyncio.run(run()), strict=True):
        assert_same(one, other)
    # Slots that became free amid running ones were closed up.
    assert bool(swapped) == (max_batch_size > 1)


def test_the_seed_of_a_request_decides_and_nothing_else(
    engine: TransformersEngine,
) -> None:
    prompt = make_prompt(12)
    first, same, other = complete(
        engine,
        [
            make_request(name, prompt, temperature=1.0, seed=seed)
            for name, seed in (("c", 5), ("a", 5), ("b", 6))
        ],
    )
    assert_same(first, same)
    assert first.token_ids.tolist() != other.token_ids.tolist()


def test_a_prompt_seen_before_is_not_computed_again_and_gives_the_same(
    engine: TransformersEngine,
) -> None:
    prompt = make_prompt(30)
    (first,) = complete(engine, [make_request("0", prompt)])
    (again,) = complete(engine, [make_request("1", prompt)])
    longer = np.concatenate([prompt, first.token_ids, make_prompt(3, seed=1)])
    (grown,) = complete(engine, [make_request("2", longer)])
    assert first.num_cached_tokens == 0
    assert again.num_cached_tokens == len(prompt) - 1
    assert grown.num_cached_tokens >= len(prompt) + len(first.token_ids) - 1
    assert_same(first, again)
    assert grown.token_ids.tolist() == generate(
        tiny_model("sdpa"), make_request("2", longer)
    )


def test_the_stop_token_is_kept_with_its_logprob(engine: TransformersEngine) -> None:
    prompt = make_prompt(9, seed=3)
    (free,) = complete(engine, [make_request("0", prompt, stop_token_ids=())])
    assert free.finish_reason is FinishReason.LENGTH
    assert len(free.token_ids) == len(free.logprobs) == 16
    third = int(free.token_ids[2])
    place = free.token_ids.tolist().index(third)
    (stopped,) = complete(
        engine, [make_request("1", prompt, stop_token_ids=(VOCABULARY - 1, third))]
    )
    assert stopped.finish_reason is FinishReason.STOP
    assert stopped.token_ids.tolist() == free.token_ids[: place + 1].tolist()
    np.testing.assert_allclose(stopped.logprobs, free.logprobs[: place + 1], atol=1e-5)


def test_a_stop_token_at_the_limit_counts_as_a_stop(engine: TransformersEngine) -> None:
    prompt = make_prompt(9, seed=3)
    (free,) = complete(engine, [make_request("0", prompt, max_tokens=1)])
    stop = (int(free.token_ids[0]),)
    (stopped,) = complete(
        engine, [make_request("1", prompt, max_tokens=1, stop_token_ids=stop)]
    )
    assert stopped.finish_reason is FinishReason.STOP


def test_the_context_bounds_prompt_and_response(engine: TransformersEngine) -> None:
    last = make_request("0", make_prompt(MAX_MODEL_LEN - 1), stop_token_ids=())
    (completion,) = complete(engine, [last])
    assert len(completion.token_ids) == 1
    assert completion.finish_reason is FinishReason.LENGTH
    for length in (0, MAX_MODEL_LEN):
        with pytest.raises(ValueError, match=f"{length} prompt tokens.*fit"):
            complete(engine, [make_request("1", make_prompt(length))])
    with pytest.raises(ValueError, match="max_tokens=0"):
        complete(engine, [make_request("2", make_prompt(3), max_tokens=0)])
    with pytest.raises(ValueError, match="already in flight"):
        complete(engine, [make_request("3", make_prompt(3))] * 2)
    # The failed ones left nothing behind.
    complete(engine, [last])


@pytest.mark.parametrize("is_tied", [True, False])
def test_loaded_weights_take_effect_and_nothing_old_stays(is_tied: bool) -> None:
    engine = make_engine(tie_word_embeddings=is_tied)
    requests = mixed_requests(6, temperature=0.0)
    before = complete(engine, requests)
    reference = tiny_model("sdpa", tie_word_embeddings=is_tied).eval()
    weights = perturb(reference, seed=1)
    assert ("lm_head.weight" in weights) == (not is_tied)
    engine.load_weights(weights, policy_version=7)
    after = complete(engine, requests)
    for request, completion in zip(requests, after, strict=True):
        assert completion.token_ids.tolist() == generate(reference, request)
        assert completion.policy_version == 7
    assert after[0].num_cached_tokens == 0
    assert any(
        one.token_ids.tolist() != other.token_ids.tolist()
        for one, other in zip(before, after, strict=True)
    )


@pytest.mark.parametrize("problem", ["missing", "unknown", "shape"])
def test_weights_that_do_not_fit_are_refused_and_change_nothing(
    engine: TransformersEngine, problem: str
) -> None:
    request = make_request("0", make_prompt(20))
    (before,) = complete(engine, [request])
    weights = perturb(tiny_model("sdpa"), seed=1)
    last = list(weights)[-1]
    if problem == "missing":
        del weights[last]
    elif problem == "unknown":
        weights["model.adapter.weight"] = torch.zeros(2)
    else:
        weights[last] = weights[last][:-1]
    message = last if problem != "unknown" else "model.adapter.weight"
    with pytest.raises(WeightSyncError, match=message):
        engine.load_weights(weights, policy_version=3)
    (after,) = complete(engine, [request])
    assert_same(before, after)
    assert after.policy_version == engine.policy_version == 0


def test_weights_are_not_loaded_under_running_requests(
    engine: TransformersEngine,
) -> None:
    weights = copy_to_cpu(checkpoint_weights(tiny_model("sdpa")))

    async def run() -> Completion:
        task = asyncio.create_task(engine.generate(make_request("0", make_prompt(9))))
        await ticks(3)
        with pytest.raises(WeightSyncError, match="1 requests are in flight"):
            engine.load_weights(weights, policy_version=1)
        return await task

    assert asyncio.run(run()).policy_version == 0


@pytest.mark.parametrize("num_ticks", range(8))
def test_a_cancelled_request_frees_its_slot_at_any_moment(num_ticks: int) -> None:
    """The moment right before its last token included."""
    engine = make_engine(max_batch_size=2)
    kept = make_request("kept", make_prompt(9), max_tokens=8, stop_token_ids=())
    given_up = make_request("given up", make_prompt(5), max_tokens=4, stop_token_ids=())

    async def run() -> Completion:
        doomed = asyncio.create_task(engine.generate(given_up))
        survivor = asyncio.create_task(engine.generate(kept))
        await ticks(num_ticks)
        doomed.cancel()
        waiting = [
            asyncio.create_task(
                engine.generate(make_request(f"{n}", make_prompt(4), max_tokens=3))
            )
            for n in range(3)
        ]
        await asyncio.gather(*waiting)
        assert doomed.done()
        return await survivor

    completion = asyncio.run(run())
    assert_same(completion, complete(make_engine(), [kept])[0])
    assert engine.num_running == 0
    assert engine._decoder.table.num_free == 2


def test_a_request_cancelled_while_it_waits_never_runs() -> None:
    engine = make_engine(max_batch_size=1)

    async def run() -> None:
        running = asyncio.create_task(
            engine.generate(make_request("0", make_prompt(9)))
        )
        await ticks(2)
        waiting = asyncio.create_task(
            engine.generate(make_request("1", make_prompt(9)))
        )
        await ticks(1)
        waiting.cancel()
        await running
        with pytest.raises(asyncio.CancelledError):
            await waiting

    asyncio.run(run())
    assert engine.num_running == 0
    assert not engine._waiting


def in_flight(engine: TransformersEngine, *then: Coroutine) -> None:
    async def run() -> None:
        task = asyncio.create_task(engine.generate(make_request("0", make_prompt(9))))
        await ticks(2)
        for coroutine in then:
            await coroutine
        await task

    asyncio.run(run())


def test_closing_fails_what_is_in_flight(engine: TransformersEngine) -> None:
    async def close() -> None:
        engine.close()

    with pytest.raises(EngineError, match="closed"):
        in_flight(engine, close())
    with pytest.raises(EngineError, match="start another one"):
        complete(engine, [make_request("1", make_prompt(9))])
    engine.close()


def test_a_failing_model_fails_its_requests_with_the_cause_and_no_others(
    engine: TransformersEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests = mixed_requests(3, temperature=0.0)
    expected = complete(make_engine(), requests)

    def fail(*args: object, **kwargs: object) -> None:
        raise MemoryError("no room for keys")

    with monkeypatch.context() as patch:
        patch.setattr(engine._decoder, "_forward", fail)
        with pytest.raises(EngineError, match="MemoryError: no room for keys"):
            complete(engine, requests)
    for one, other in zip(expected, complete(engine, requests), strict=True):
        assert_same(one, other)


def test_a_model_that_slides_within_the_context_is_refused() -> None:
    window = {"use_sliding_window": True, "max_window_layers": 1}
    with pytest.raises(ConfigError, match="sliding_window=8"):
        make_engine(**window, sliding_window=8)
    make_engine(**window, sliding_window=MAX_MODEL_LEN)


def test_an_engine_from_a_folder_equals_generate(tmp_path: Path) -> None:
    folder = tiny_folder(tmp_path)
    engine = TransformersEngine.from_folder(folder, max_batch_size=4)
    reference = AutoModelForCausalLM.from_pretrained(folder)
    requests = mixed_requests(3, temperature=0.0)
    assert engine.max_model_len == reference.config.max_position_embeddings
    for request, completion in zip(requests, complete(engine, requests), strict=True):
        assert completion.token_ids.tolist() == generate(reference, request)
