"""Tokens drawn by hashed random numbers, against the distribution they come from."""

import asyncio

import numpy as np
import pytest
import torch
from scipy import stats

from rllib_gigpo.inference.sampling import sample_tokens, uniform_numbers
from rllib_gigpo.inference.transformers_engine import TransformersEngine
from tests.inference.vllm_fixtures import make_request
from tests.learning.tiny_model import tiny_model

# Far below what chance gives: the seeds are fixed, so the tests are too.
LEAST_P_VALUE = 1e-3


def uint64(values: object) -> np.ndarray:
    return np.asarray(values, np.uint64)


@pytest.mark.parametrize("temperature", [0.4, 1.0, 2.0])
def test_frequencies_follow_the_softmax_at_the_temperature(temperature: float) -> None:
    logits = torch.tensor([0.3, -1.2, 0.8, 0.1, -0.4, 1.5, -torch.inf, 0.0])
    number = 50_000
    uniforms = uniform_numbers(uint64(range(number)), uint64(np.zeros(number)))
    tokens, logprobs = sample_tokens(
        logits.expand(number, -1),
        torch.full((number,), temperature),
        torch.from_numpy(uniforms),
    )
    expected = torch.softmax(logits.double() / temperature, 0)
    counts = np.bincount(tokens.numpy(), minlength=len(logits))
    assert counts[6] == 0
    possible = np.arange(len(logits)) != 6
    assert (
        stats.chisquare(counts[possible], number * expected.numpy()[possible]).pvalue
        > LEAST_P_VALUE
    )
    torch.testing.assert_close(logprobs.double().exp(), expected[tokens])


def test_numbers_of_neighbouring_seeds_and_steps_are_independent() -> None:
    seeds, steps = np.meshgrid(np.arange(300), np.arange(300), indexing="ij")
    uniforms = uniform_numbers(uint64(seeds).ravel(), uint64(steps).ravel())
    uniforms = uniforms.reshape(seeds.shape)
    assert 0.0 < uniforms.min() < uniforms.max() < 1.0
    for one, next_one in (
        (uniforms[:-1], uniforms[1:]),
        (uniforms[:, :-1], uniforms[:, 1:]),
        (uniforms[1:, :-1], uniforms[:-1, 1:]),
    ):
        cells = (one * 10).astype(int) * 10 + (next_one * 10).astype(int)
        counts = np.bincount(cells.ravel(), minlength=100)
        assert stats.chisquare(counts).pvalue > LEAST_P_VALUE


def test_a_row_depends_on_no_row_beside_it() -> None:
    generator = torch.Generator().manual_seed(0)
    logits = 3 * torch.randn(50, 20, generator=generator)
    temperatures = torch.rand(50, generator=generator) * 2
    temperatures[::7] = 0.0
    uniforms = torch.rand(50, generator=generator, dtype=torch.float64)
    together = sample_tokens(logits, temperatures, uniforms)
    for row in range(50):
        one = slice(row, row + 1)
        token, logprob = sample_tokens(logits[one], temperatures[one], uniforms[one])
        assert torch.equal(token, together[0][one])
        assert torch.equal(logprob, together[1][one])


@pytest.mark.parametrize("uniform", [2.0**-49, 1.0 - 2.0**-49])
def test_extreme_numbers_give_tokens_of_the_vocabulary(uniform: float) -> None:
    logits = torch.tensor([[-torch.inf, 0.0, -80.0, 0.0, -torch.inf]])
    tokens, logprobs = sample_tokens(
        logits, torch.ones(1), torch.tensor([uniform], dtype=torch.float64)
    )
    assert tokens.item() == (1 if uniform < 0.5 else 3)
    assert torch.isfinite(logprobs).all()


def test_greedy_takes_the_first_of_equals_and_the_logprob_at_temperature_one() -> None:
    logits = torch.tensor([[1.0, 2.0, 2.0, 0.0]])
    tokens, logprobs = sample_tokens(
        logits, torch.zeros(1), torch.tensor([0.99], dtype=torch.float64)
    )
    assert tokens.item() == 1
    torch.testing.assert_close(logprobs[0], torch.log_softmax(logits[0], 0)[1])


def test_what_the_engine_samples_follows_the_models_softmax() -> None:
    model = tiny_model("sdpa", vocab_size=12, initializer_range=0.2)
    prompt = np.array([3, 7, 2, 9], np.int32)
    number, temperature = 1500, 1.3
    with torch.no_grad():
        logits = model(torch.from_numpy(prompt.astype(np.int64))[None]).logits[0, -1]
    expected = torch.softmax(logits.double() / temperature, 0).numpy()
    engine = TransformersEngine(model, max_model_len=8, max_batch_size=250)

    async def first_tokens() -> list[int]:
        requests = [
            make_request(str(n), prompt, max_tokens=1, temperature=temperature, seed=n)
            for n in range(number)
        ]
        completions = await asyncio.gather(*(engine.generate(r) for r in requests))
        return [int(c.token_ids[0]) for c in completions]

    counts = np.bincount(asyncio.run(first_tokens()), minlength=len(expected))
    assert stats.chisquare(counts, number * expected).pvalue > LEAST_P_VALUE
