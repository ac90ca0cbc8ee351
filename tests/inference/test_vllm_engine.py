"""The vLLM engine, in this process, against plain transformers."""

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from rllib_gigpo.errors import EngineError, WeightSyncError
from rllib_gigpo.inference.engine import Completion, FinishReason, GenerationRequest
from rllib_gigpo.inference.vllm_engine import VLLMEngine
from rllib_gigpo.rollout.group_scheduler import EnvPool, play_groups
from rllib_gigpo.rollout.prompts import PromptRenderer
from rllib_gigpo.rollout.records import GroupSpec
from rllib_gigpo.rollout.settings import RolloutSettings
from rllib_gigpo.weight_sync.base import checkpoint_weights, copy_to_cpu
from tests import fakes
from tests.inference.vllm_fixtures import (
    MAX_MODEL_LEN,
    greedy_tokens,
    load_reference,
    logprobs_of,
    make_prompt,
    make_request,
    needs_vllm,
    perturb,
    save_vllm_model,
    vllm_settings,
)

pytestmark = [pytest.mark.vllm, needs_vllm]


@pytest.fixture(scope="module")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_vllm_model(tmp_path_factory.mktemp("vllm_model"))


@pytest.fixture(scope="module")
def shared_engine(model_folder: Path) -> Iterator[VLLMEngine]:
    engine = VLLMEngine(vllm_settings(model_folder))
    yield engine
    engine.close()


@pytest.fixture
def engine(shared_engine: VLLMEngine, model_folder: Path) -> VLLMEngine:
    """The one engine of this file, with the weights that are on disk."""
    weights = checkpoint_weights(load_reference(model_folder))
    shared_engine.load_weights(weights, shared_engine.policy_version + 1)
    return shared_engine


def complete(
    engine: VLLMEngine, requests: Sequence[GenerationRequest]
) -> list[Completion]:
    async def gather() -> list[Completion]:
        return await asyncio.gather(*(engine.generate(r) for r in requests))

    return asyncio.run(gather())


def test_greedy_equals_transformers_token_for_token(
    engine: VLLMEngine, model_folder: Path
) -> None:
    reference = load_reference(model_folder)
    requests = [make_request(str(n), make_prompt(n, seed=n)) for n in range(1, 100, 5)]
    for request, completion in zip(requests, complete(engine, requests), strict=True):
        tokens, logprobs = greedy_tokens(reference, request)
        assert completion.token_ids.tolist() == tokens
        np.testing.assert_allclose(completion.logprobs, logprobs, atol=1e-4)


def test_logprobs_agree_with_a_forward_pass_over_whole_episodes(
    engine: VLLMEngine, model_folder: Path
) -> None:
    renderer = PromptRenderer(fakes.corridor_tokenizer(), 100, [fakes.EOS])
    spec = GroupSpec(
        group_id="0/0",
        task_id="train/0",
        task_kind="",
        env_seed=1,
        sampling_seed=7,
        group_size=8,
        temperature=0.7,
    )
    rollout = asyncio.run(
        play_groups(
            [spec],
            # No history is dropped, so that prompts grow at their end only.
            envs=EnvPool(lambda: fakes.CorridorEnv(history_window=8), 8, 10.0),
            engine=engine,
            renderer=renderer,
            settings=RolloutSettings(max_prompt_tokens=100, max_response_tokens=4),
        )
    )
    assert not rollout.failures
    steps = [step for episode in rollout.episodes for step in episode.steps]
    assert len(steps) > 8
    assert sum(step.num_cached_tokens for step in steps) > 0
    reference = load_reference(model_folder)
    for step in steps:
        expected = logprobs_of(reference, step.prompt_ids, step.response_ids, 0.7)
        np.testing.assert_allclose(step.sampled_logprobs, expected, atol=1e-4)
        assert step.policy_version == engine.policy_version


def test_a_seed_gives_the_same_tokens_whatever_else_is_sampled(
    engine: VLLMEngine,
) -> None:
    request = make_request("one", make_prompt(40), temperature=1.0, seed=5)
    others = [
        make_request(str(n), make_prompt(30, seed=n), temperature=1.0, seed=n)
        for n in range(12)
    ]
    (alone,) = complete(engine, [request])
    together = complete(engine, [*others, request])[-1]
    assert together.token_ids.tolist() == alone.token_ids.tolist()
    np.testing.assert_allclose(together.logprobs, alone.logprobs, atol=1e-5)
    other_seed = make_request("two", make_prompt(40), temperature=1.0, seed=6)
    (different,) = complete(engine, [other_seed])
    assert different.token_ids.tolist() != alone.token_ids.tolist()


def test_prompts_of_more_tokens_than_a_step_takes_wait_their_turn(
    engine: VLLMEngine,
) -> None:
    requests = [
        make_request(str(n), make_prompt(100, seed=n), temperature=1.0, seed=n)
        for n in range(40)
    ]
    together = complete(engine, requests)
    (alone,) = complete(engine, requests[-1:])
    assert together[-1].token_ids.tolist() == alone.token_ids.tolist()


def test_the_stop_token_is_kept_and_no_other_token_stops(engine: VLLMEngine) -> None:
    (free,) = complete(
        engine, [make_request("free", make_prompt(20), stop_token_ids=())]
    )
    assert free.finish_reason is FinishReason.LENGTH
    assert len(free.token_ids) == 16
    stop = int(free.token_ids[3])
    first = free.token_ids.tolist().index(stop)
    (stopped,) = complete(
        engine, [make_request("stopped", make_prompt(20), stop_token_ids=(stop,))]
    )
    assert stopped.finish_reason is FinishReason.STOP
    assert stopped.token_ids.tolist() == free.token_ids[: first + 1].tolist()


def test_the_end_of_the_context_stops(engine: VLLMEngine) -> None:
    prompt = make_prompt(MAX_MODEL_LEN - 3)
    (completion,) = complete(engine, [make_request("x", prompt, stop_token_ids=())])
    assert completion.finish_reason is FinishReason.LENGTH
    assert len(completion.token_ids) == 3


def test_a_prompt_that_does_not_fit_harms_nobody_else(engine: VLLMEngine) -> None:
    async def run() -> list[Completion | BaseException]:
        return await asyncio.gather(
            engine.generate(make_request("short", make_prompt(20))),
            engine.generate(make_request("long", make_prompt(MAX_MODEL_LEN))),
            return_exceptions=True,
        )

    short, too_long = asyncio.run(run())
    assert isinstance(short, Completion)
    assert isinstance(too_long, ValueError)
    assert "max_model_len=128" in str(too_long)


def test_after_new_weights_greedy_is_that_of_the_new_weights(
    engine: VLLMEngine, model_folder: Path
) -> None:
    reference = load_reference(model_folder)
    requests = [make_request(str(n), make_prompt(70, seed=n)) for n in range(6)]
    old = complete(engine, requests)
    assert complete(engine, requests)[0].num_cached_tokens >= 64  # The cache is warm.
    for version in (101, 102):
        engine.load_weights(perturb(reference, seed=version), version)
        new = complete(engine, requests)
        for request, completion in zip(requests, new, strict=True):
            tokens, logprobs = greedy_tokens(reference, request)
            assert completion.token_ids.tolist() == tokens
            np.testing.assert_allclose(completion.logprobs, logprobs, atol=1e-4)
            assert completion.policy_version == version
    assert any(
        a.token_ids.tolist() != b.token_ids.tolist()
        for a, b in zip(old, new, strict=True)
    )


def test_the_salt_alone_keeps_stale_prefixes_away(
    engine: VLLMEngine, model_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine._llm, "reset_prefix_cache", lambda: True)
    request = make_request("x", make_prompt(70))
    complete(engine, [request])
    assert complete(engine, [request])[0].num_cached_tokens == 64
    reference = load_reference(model_folder)
    engine.load_weights(perturb(reference, seed=1), 201)
    (completion,) = complete(engine, [request])
    assert completion.num_cached_tokens == 0
    assert completion.token_ids.tolist() == greedy_tokens(reference, request)[0]


def test_the_reset_alone_keeps_stale_prefixes_away(
    engine: VLLMEngine, model_folder: Path
) -> None:
    request = make_request("x", make_prompt(70))
    complete(engine, [request])
    # The same version again, hence the same salt.
    engine.load_weights(
        perturb(load_reference(model_folder), seed=1), engine.policy_version
    )
    assert complete(engine, [request])[0].num_cached_tokens == 0


def test_incomplete_weights_are_refused_and_the_old_ones_stay(
    engine: VLLMEngine, model_folder: Path
) -> None:
    reference = load_reference(model_folder)
    weights = copy_to_cpu(checkpoint_weights(reference))
    weights.pop("model.layers.1.self_attn.k_proj.weight")
    with pytest.raises(WeightSyncError, match="k_proj"):
        engine.load_weights(weights, 301)
    request = make_request("x", make_prompt(30))
    (completion,) = complete(engine, [request])
    assert completion.token_ids.tolist() == greedy_tokens(reference, request)[0]
    assert completion.policy_version != 301


def test_an_engine_whose_load_failed_refuses_until_a_load_succeeds(
    engine: VLLMEngine, model_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reference = load_reference(model_folder)
    weights = copy_to_cpu(checkpoint_weights(reference))
    request = make_request("x", make_prompt(30))
    with monkeypatch.context() as patch:

        def fail(*args: object, **kwargs: object) -> None:
            raise RuntimeError("out of memory")

        patch.setattr(engine._llm, "collective_rpc", fail)
        with pytest.raises(WeightSyncError, match="out of memory"):
            engine.load_weights(weights, 401)
    with pytest.raises(EngineError, match="no usable weights"):
        complete(engine, [request])
    engine.load_weights(weights, 402)
    (completion,) = complete(engine, [request])
    assert completion.token_ids.tolist() == greedy_tokens(reference, request)[0]


def test_a_cancelled_request_is_given_up_and_its_id_free_again(
    engine: VLLMEngine, model_folder: Path
) -> None:
    request = make_request("x", make_prompt(8), max_tokens=110, stop_token_ids=())

    async def run() -> Completion:
        task = asyncio.create_task(engine.generate(request))
        await asyncio.sleep(0.01)
        assert engine.num_running == 1
        with pytest.raises(WeightSyncError, match="in flight"):
            engine.load_weights({}, 501)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert engine.num_running == 0
        return await engine.generate(request)

    assert len(asyncio.run(run()).token_ids) == 110


def test_digests_follow_the_weights(engine: VLLMEngine, model_folder: Path) -> None:
    reference = load_reference(model_folder)
    before = engine.weight_digests()
    engine.load_weights(perturb(reference, seed=2), 601)
    after = engine.weight_digests()
    assert before.keys() == after.keys()
    changed = {name for name in before if before[name] != after[name]}
    assert any("qkv_proj" in name for name in changed)
    assert any("embed_tokens" in name for name in changed)
    engine.load_weights(checkpoint_weights(load_reference(model_folder)), 602)
    assert engine.weight_digests() == before
