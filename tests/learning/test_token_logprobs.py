"""Packed logprobs against one plain, unpadded forward pass per row."""

import numpy as np
import pytest
import torch

import rllib_gigpo.modules.token_logprobs as token_logprobs_module
from rllib_gigpo.modules.packed_layout import MAX_PADDING, lay_out
from rllib_gigpo.modules.packed_tokens import pack_tokens
from rllib_gigpo.modules.token_logprobs import logprobs_of_logits, token_logprobs
from tests.learning.tiny_model import VOCABULARY, random_rows, tiny_model


def longest_first(rows):
    return rows.take(np.argsort(-rows.num_tokens, kind="stable"))


def pack(rows):
    return pack_tokens(rows.prompt_ids, rows.response_ids)


def plain(model, rows, temperature):
    """Row by row, no packing, logits of every place, float64 softmax."""
    logprobs, entropies = [], []
    for prompt, response in zip(rows.prompt_ids, rows.response_ids, strict=True):
        ids = torch.from_numpy(np.concatenate([prompt, response]).astype(np.int64))
        logits = model(input_ids=ids[None]).logits[0, len(prompt) - 1 : -1]
        full = torch.log_softmax(logits.double() / temperature, -1)
        logprobs.append(full.gather(1, ids[len(prompt) :, None])[:, 0])
        entropies.append(-(full.exp() * full).sum(-1))
    return torch.cat(logprobs), torch.cat(entropies)


@pytest.mark.parametrize("temperature", [1.0, 0.6])
@pytest.mark.parametrize("window", [None, 4])
def test_packed_rows_equal_rows_alone(temperature, window):
    others = {}
    if window:
        others = {"use_sliding_window": True, "sliding_window": window}
        others |= {"max_window_layers": 1}
    rows = longest_first(random_rows())
    packed = token_logprobs(tiny_model(**others), pack(rows), temperature=temperature)
    alone = plain(tiny_model("eager", **others), rows, temperature)
    torch.testing.assert_close(packed.logprob.double(), alone[0], atol=1e-5, rtol=0)
    torch.testing.assert_close(packed.entropy.double(), alone[1], atol=1e-5, rtol=0)


def test_gradients_of_packed_rows_equal_those_of_rows_alone():
    rows = longest_first(random_rows())
    weight = torch.linspace(-1, 1, sum(map(len, rows.response_ids)))
    packed_model, plain_model = tiny_model(), tiny_model("eager")
    packed = token_logprobs(packed_model, pack(rows), temperature=0.7)
    (weight * packed.logprob + 0.3 * packed.entropy).sum().backward()
    logprob, entropy = plain(plain_model, rows, 0.7)
    (weight * logprob + 0.3 * entropy).sum().backward()
    for (name, ours), theirs in zip(
        packed_model.named_parameters(), plain_model.parameters(), strict=True
    ):
        scale = theirs.grad.abs().max()
        assert (ours.grad - theirs.grad).abs().max() < 1e-4 * scale, name


def test_changing_one_row_leaves_every_other_bit_alone():
    model = tiny_model()
    rows = longest_first(random_rows())
    before = token_logprobs(model, pack(rows), temperature=1.0)
    for changed in (0, 5, len(rows) - 1):
        prompts = list(rows.prompt_ids)
        prompts[changed] = (prompts[changed] + 1) % VOCABULARY
        packed = pack_tokens(prompts, rows.response_ids)
        after = token_logprobs(model, packed, temperature=1.0)
        is_other = packed.row != changed
        assert torch.equal(after.logprob[is_other], before.logprob[is_other])
        assert not torch.equal(after.logprob[~is_other], before.logprob[~is_other])


def test_a_model_sure_of_the_right_token_gives_logprob_zero():
    """The shift: logits at one place predict the next place's token."""

    class NextToken(torch.nn.Module):
        config = tiny_model().config

        def forward(self, input_ids, logits_to_keep, **kwargs):
            following = torch.roll(input_ids[0], -1)
            logits = 1e4 * torch.nn.functional.one_hot(following, VOCABULARY).float()
            return type("Output", (), {"logits": logits[None, logits_to_keep]})

    rows = longest_first(random_rows())
    result = token_logprobs(NextToken(), pack(rows), temperature=1.0)
    assert result.logprob.abs().max() == 0.0
    assert result.entropy.abs().max() < 1e-6


def test_the_end_token_is_trained_even_when_it_is_the_pad_token():
    end = np.array([1], np.int32)
    packed = pack_tokens([np.array([5, 1], np.int32)], [np.concatenate([end, end])])
    assert packed.target_ids.tolist() == [1, 1]
    assert packed.predict_index.tolist() == [1, 2]
    result = token_logprobs(tiny_model(pad_token_id=1), packed, temperature=1.0)
    assert len(result.logprob) == 2


def test_prompt_tokens_and_the_last_logits_predict_nothing():
    rows = longest_first(random_rows())
    packed = pack(rows)
    assert packed.target_ids.tolist() == np.concatenate(rows.response_ids).tolist()
    starts = packed.layout.cu_seq_lens[:-1].long()[packed.row]
    prompt = torch.tensor([len(p) for p in rows.prompt_ids])[packed.row]
    assert (packed.predict_index >= starts + prompt - 1).all()


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
@pytest.mark.parametrize("limit", [1, 100, 1 << 22])
def test_chunks_of_any_size_give_autograds_logprobs_and_gradients(
    dtype, limit, monkeypatch
):
    monkeypatch.setattr(token_logprobs_module, "MAX_FLOAT32_LOGITS", limit)
    generator = torch.Generator().manual_seed(0)
    logits = 3 * torch.randn(11, 17, generator=generator)
    target = torch.randint(17, (11,), generator=generator)
    ours = logits.to(dtype).requires_grad_()
    theirs = ours.detach().float().requires_grad_()
    logprob, entropy = logprobs_of_logits(ours, target, 0.5)
    full = torch.log_softmax(theirs / 0.5, -1)
    expected = full.gather(1, target[:, None])[:, 0]
    expected_entropy = -(full.exp() * full).sum(-1)
    torch.testing.assert_close(logprob, expected, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(entropy, expected_entropy, atol=1e-5, rtol=1e-5)
    weight = torch.linspace(-1, 2, 11)
    (weight * logprob - weight * entropy).sum().backward()
    (weight * expected - weight * expected_entropy).sum().backward()
    tolerance = 1e-2 if dtype == torch.bfloat16 else 1e-5
    torch.testing.assert_close(
        ours.grad.float(), theirs.grad, atol=tolerance, rtol=tolerance
    )


def test_bfloat16_logprobs_are_near_float32_ones():
    rows = longest_first(random_rows())
    low = tiny_model(dtype=torch.bfloat16, initializer_range=0.1)
    high = tiny_model(dtype=torch.bfloat16, initializer_range=0.1).float()
    packed = pack(rows)
    gap = (
        token_logprobs(low, packed, temperature=1.0).logprob
        - token_logprobs(high, packed, temperature=1.0).logprob
    )
    assert gap.dtype == torch.float32
    assert 0 < gap.abs().max() < 0.1


def test_at_most_a_twentieth_of_any_segment_is_padding():
    rng = np.random.default_rng(0)
    for _ in range(50):
        lengths = np.sort(rng.integers(1, 200, rng.integers(1, 60)))[::-1]
        layout = lay_out(lengths)
        tokens = np.array([s.end - s.start for s in layout.segments])
        slots = np.array([s.num_rows * s.max_length for s in layout.segments])
        assert tokens.sum() == lengths.sum()
        assert (1 - tokens / slots <= MAX_PADDING + 1e-12).all()


@pytest.mark.parametrize("lengths", [[], [3, 0], [2, 3]])
def test_lengths_that_cannot_be_laid_out_are_refused(lengths):
    with pytest.raises(ValueError, match="sorted"):
        lay_out(lengths)


def test_what_cannot_be_computed_is_refused_with_the_reason():
    rows = longest_first(random_rows())
    with pytest.raises(ValueError, match="temperature=0"):
        token_logprobs(tiny_model(), pack(rows), temperature=0.0)
    with pytest.raises(ValueError, match="no prompt token"):
        pack_tokens([np.array([], np.int32)], [np.array([1], np.int32)])
    with pytest.raises(ValueError, match="attn_implementation='sdpa'"):
        tiny_model()(input_ids=torch.ones(1, 4, dtype=torch.long))
    dropping = tiny_model(attention_dropout=0.1).train()
    with pytest.raises(ValueError, match="dropout 0"):
        token_logprobs(dropping, pack(rows), temperature=1.0)
