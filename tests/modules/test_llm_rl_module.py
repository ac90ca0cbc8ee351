"""The RLModule: float32 at heart, a Hugging Face folder on disk."""

import asyncio
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from rllib_gigpo.errors import WeightSyncError
from rllib_gigpo.inference.transformers_engine import TransformersEngine
from rllib_gigpo.modules.llm_config import LLMConfig
from rllib_gigpo.modules.llm_rl_module import (
    ENTROPY,
    LOGPROB,
    PACKED_TOKENS,
    TEMPERATURE,
    LLMRLModule,
)
from rllib_gigpo.modules.packed_tokens import PackedTokens, pack_tokens
from rllib_gigpo.weight_sync.base import checkpoint_weights
from tests.inference.vllm_fixtures import logprobs_of, make_request, perturb
from tests.learning.reference_update import reference_logprobs
from tests.learning.tiny_model import random_rows, tiny_folder, tiny_model

ROWS = random_rows().take(np.argsort(-random_rows().num_tokens, kind="stable"))
IDS = torch.arange(2, 40)[None]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_folder(tmp_path_factory.mktemp("model"))


def make_module(folder: Path, **settings: object) -> LLMRLModule:
    config = LLMConfig(
        model_name_or_path=str(folder), **{"dtype": "float32"} | settings
    )
    return LLMRLModule(
        observation_space=None, action_space=None, model_config=config.to_dict()
    )


def packed_rows() -> PackedTokens:
    return pack_tokens(ROWS.prompt_ids, ROWS.response_ids)


def forward(
    module: LLMRLModule, temperature: float = 1.0
) -> tuple[torch.Tensor, torch.Tensor]:
    batch = {PACKED_TOKENS: packed_rows(), TEMPERATURE: temperature}
    outputs = module.forward_train(batch)
    return outputs[LOGPROB], outputs[ENTROPY]


def assert_same_weights(module: LLMRLModule, weights: dict[str, torch.Tensor]) -> None:
    own = checkpoint_weights(module.model)
    assert own.keys() == weights.keys()
    assert all(torch.equal(own[name], weights[name]) for name in own)


@pytest.mark.parametrize("temperature", [1.0, 0.5, 1.7])
def test_logprobs_and_entropies_are_those_at_the_sampling_temperature(
    folder: Path, temperature: float
) -> None:
    logprob, entropy = forward(make_module(folder), temperature)
    with torch.no_grad():
        expected = reference_logprobs(tiny_model("eager"), ROWS, temperature)
    torch.testing.assert_close(logprob, torch.cat(expected[0]), atol=1e-5, rtol=0)
    torch.testing.assert_close(entropy, torch.cat(expected[1]), atol=1e-5, rtol=0)


def test_with_bfloat16_products_weights_gradients_and_logprobs_stay_float32(
    tmp_path: Path,
) -> None:
    folder = tiny_folder(tmp_path, initializer_range=0.1)
    low, high = make_module(folder, dtype="bfloat16"), make_module(folder)
    logprob, entropy = forward(low)
    assert logprob.dtype == entropy.dtype == torch.float32
    (logprob.sum() + entropy.sum()).backward()
    assert {p.dtype for p in low.parameters()} == {torch.float32}
    assert {p.grad.dtype for p in low.parameters()} == {torch.float32}
    assert {t.dtype for t in low.get_state().values()} == {torch.float32}
    gap = (logprob - forward(high)[0]).abs().max()
    assert 0.0 < gap < 0.1
    # An optimizer step of 1e-6 is not rounded away.
    before = low.get_state()
    torch.optim.SGD(low.parameters(), lr=1e-6).step()
    changed = [not torch.equal(before[n], t) for n, t in low.get_state().items()]
    assert all(changed)


def test_the_engine_takes_the_exported_weights_and_samples_with_them(
    folder: Path,
) -> None:
    module = make_module(folder)
    perturb(module.model, seed=1)
    engine = TransformersEngine(tiny_model("sdpa"), max_model_len=64)
    engine.load_weights(module.export_weights(), policy_version=1)
    request = make_request("0", ROWS.prompt_ids[0], temperature=0.8, max_tokens=12)
    completion = asyncio.run(engine.generate(request))
    rows = random_rows(1)
    rows.prompt_ids[0], rows.response_ids[0] = request.prompt_ids, completion.token_ids
    packed = pack_tokens(rows.prompt_ids, rows.response_ids)
    outputs = module.forward_train({PACKED_TOKENS: packed, TEMPERATURE: 0.8})
    np.testing.assert_allclose(
        completion.logprobs, outputs[LOGPROB].detach(), atol=1e-5, rtol=0
    )


def test_exported_weights_are_a_snapshot_in_the_engines_type(folder: Path) -> None:
    module = make_module(folder, dtype="bfloat16")
    exported = module.export_weights()
    assert {t.dtype for t in exported.values()} == {torch.bfloat16}
    assert "lm_head.weight" not in exported
    before = {name: tensor.clone() for name, tensor in exported.items()}
    perturb(module.model, seed=1)
    assert all(torch.equal(before[name], exported[name]) for name in before)


def test_states_for_runners_are_empty_and_an_empty_state_changes_nothing(
    folder: Path,
) -> None:
    module = make_module(folder)
    before = module.get_state()
    module.set_state(module.get_state(inference_only=True))
    assert module.get_state(inference_only=True) == {}
    assert_same_weights(module, before)


def test_a_state_is_taken_over_whole_or_not_at_all(folder: Path) -> None:
    module, other = make_module(folder), make_module(folder)
    perturb(other.model, seed=2)
    before, state = module.get_state(), other.get_state()
    incomplete = dict(list(state.items())[:-1])
    with pytest.raises(WeightSyncError, match="missing"):
        module.set_state(incomplete)
    assert_same_weights(module, before)
    module.set_state(state)
    assert_same_weights(module, state)
    torch.testing.assert_close(forward(module), forward(other), rtol=0, atol=0)


@pytest.mark.parametrize("is_tied", [True, False])
def test_a_saved_module_is_a_hugging_face_folder_with_the_same_logits(
    tmp_path: Path, is_tied: bool
) -> None:
    folder = tiny_folder(tmp_path / "base", tie_word_embeddings=is_tied)
    # Weights are saved in float32 whatever the computation is in.
    module = make_module(folder, dtype="bfloat16")
    perturb(module.model, seed=1)
    saved = module.save_to_path(tmp_path / "saved")
    loaded = AutoModelForCausalLM.from_pretrained(saved)
    assert loaded.dtype == torch.float32
    module.model.set_attn_implementation("sdpa")
    assert torch.equal(loaded(IDS).logits, module.model.eval()(IDS).logits)
    assert not torch.equal(
        loaded(IDS).logits,
        AutoModelForCausalLM.from_pretrained(folder)(IDS).logits,
    )
    assert AutoTokenizer.from_pretrained(saved).chat_template


def test_a_given_state_is_saved_instead_of_the_modules_own(
    folder: Path, tmp_path: Path
) -> None:
    module, other = make_module(folder), make_module(folder)
    perturb(other.model, seed=3)
    module.save_to_path(tmp_path / "saved", state=other.get_state())
    restored = make_module(tmp_path / "saved")
    assert_same_weights(restored, other.get_state())


def test_restoring_gives_the_saved_weights_bit_for_bit(
    folder: Path, tmp_path: Path
) -> None:
    module = make_module(folder)
    perturb(module.model, seed=4)
    path = module.save_to_path(tmp_path / "saved")
    fresh = make_module(folder)
    fresh.restore_from_path(path)
    assert_same_weights(fresh, module.get_state())
    assert_same_weights(LLMRLModule.from_checkpoint(path), module.get_state())


def test_a_folder_of_another_architecture_is_refused(
    folder: Path, tmp_path: Path
) -> None:
    module = make_module(folder)
    before = module.get_state()
    wider = make_module(tiny_folder(tmp_path / "wider", intermediate_size=96))
    path = wider.save_to_path(tmp_path / "saved")
    with pytest.raises(WeightSyncError, match="has shape"):
        module.restore_from_path(path)
    assert_same_weights(module, before)


def test_logprobs_of_the_module_are_those_that_sampling_reported(
    folder: Path,
) -> None:
    """The same tokens at another temperature have other logprobs: none is left out."""
    module = make_module(folder)
    row = 3
    at_half, _ = forward(module, 0.5)
    expected = logprobs_of(
        tiny_model("eager"), ROWS.prompt_ids[row], ROWS.response_ids[row], 0.5
    )
    packed = packed_rows()
    np.testing.assert_allclose(
        at_half[packed.row == row].detach(), expected, atol=1e-5, rtol=0
    )
    assert (at_half - forward(module, 1.0)[0]).abs().max() > 0.1
