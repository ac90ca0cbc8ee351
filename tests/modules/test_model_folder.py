"""Model folders: what is read from them, and what is said when something is missing."""

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoTokenizer

from rllib_gigpo.errors import ModelFolderError
from rllib_gigpo.modules.llm_config import LLMConfig
from rllib_gigpo.modules.model_folder import (
    check_model,
    checkpoint_shapes,
    load_model,
    load_tokenizer,
    stop_token_ids,
)
from tests.learning.tiny_model import tiny_folder, tiny_model


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tiny_folder(tmp_path / "model")


def config_of(folder: Path, **settings: object) -> LLMConfig:
    sizes = {"max_prompt_tokens": 200, "max_response_tokens": 56}
    return LLMConfig(model_name_or_path=str(folder), **sizes | settings)


def edit_json(path: Path, **values: object) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def test_a_good_folder_passes_up_to_the_models_context(folder: Path) -> None:
    check_model(config_of(folder))
    with pytest.raises(ModelFolderError, match=r"make 257 tokens.*context of 256"):
        check_model(config_of(folder, max_response_tokens=57))


@pytest.mark.parametrize("function", [check_model, load_model, load_tokenizer])
def test_a_folder_that_is_not_there_is_refused(tmp_path: Path, function) -> None:
    with pytest.raises(ModelFolderError, match=r"config\.json.*warm-start"):
        function(config_of(tmp_path / "nothing"))


def test_a_folder_without_tokenizer_is_refused(folder: Path) -> None:
    for file in folder.glob("tokenizer*"):
        file.unlink()
    with pytest.raises(ModelFolderError, match=r"no tokenizer.*save_pretrained"):
        check_model(config_of(folder))


def test_a_tokenizer_without_chat_template_is_refused(folder: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.chat_template = None
    (folder / "chat_template.jinja").unlink()
    tokenizer.save_pretrained(folder)
    with pytest.raises(ModelFolderError, match=r"no chat template.*instruct model"):
        check_model(config_of(folder))


def test_a_tokenizer_without_end_token_is_refused(folder: Path) -> None:
    edit_json(folder / "tokenizer_config.json", eos_token=None)
    with pytest.raises(ModelFolderError, match="end-of-sequence"):
        check_model(config_of(folder))


def test_a_folder_without_weights_is_refused(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    with pytest.raises(ModelFolderError, match="safetensors files"):
        load_model(config_of(folder))


def test_weights_that_are_missing_are_not_made_up(folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    del weights["model.layers.1.mlp.up_proj.weight"]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ModelFolderError, match=r"lacks 1 .*layers\.1\.mlp\.up_proj"):
        load_model(config_of(folder))


def test_weights_of_another_shape_are_refused(folder: Path) -> None:
    edit_json(folder / "config.json", intermediate_size=48)
    with pytest.raises(ModelFolderError, match="cannot be loaded"):
        load_model(config_of(folder))


def test_dropout_of_the_folder_is_switched_off(tmp_path: Path) -> None:
    folder = tiny_folder(tmp_path, attention_dropout=0.5)
    model = load_model(config_of(folder, dtype="float32")).train()
    ids = torch.arange(2, 20)[None]
    assert torch.equal(model(ids).logits, model(ids).logits)


@pytest.mark.parametrize("is_tied", [True, False])
def test_shapes_are_those_of_the_checkpoint(tmp_path: Path, is_tied: bool) -> None:
    folder = tiny_folder(tmp_path, tie_word_embeddings=is_tied)
    saved = load_file(folder / "model.safetensors")
    assert checkpoint_shapes(str(folder)) == {n: t.shape for n, t in saved.items()}
    assert ("lm_head.weight" in saved) == (not is_tied)


def test_responses_end_at_the_tokenizers_and_the_generation_configs_tokens(
    folder: Path,
) -> None:
    config = config_of(folder)
    tokenizer = load_tokenizer(config)
    edit_json(folder / "generation_config.json", eos_token_id=[7, 3])
    assert stop_token_ids(config, tokenizer) == (1, 3, 7)
    edit_json(folder / "generation_config.json", eos_token_id=5)
    assert stop_token_ids(config, tokenizer) == (1, 5)
    (folder / "generation_config.json").unlink()
    assert stop_token_ids(config, tokenizer) == (1,)


def test_gradient_checkpointing_recomputes_and_gives_the_same_gradient(
    folder: Path,
) -> None:
    gradients, num_calls = [], []
    ids = torch.arange(2, 20)[None]
    for is_on in (False, True):
        config = config_of(folder, dtype="float32", gradient_checkpointing=is_on)
        model = load_model(config).train()
        calls: list[bool] = []
        model.model.layers[0].self_attn.register_forward_hook(
            lambda *args, calls=calls: calls.append(True)
        )
        model(ids).logits.logsumexp(-1).sum().backward()
        gradients.append([p.grad for p in model.parameters()])
        num_calls.append(len(calls))
    assert num_calls == [1, 2]
    torch.testing.assert_close(gradients[0], gradients[1])


def test_the_loaded_model_computes_what_was_saved(folder: Path) -> None:
    ids = torch.arange(2, 20)[None]
    loaded = load_model(config_of(folder, dtype="float32"))
    assert torch.equal(loaded(ids).logits, tiny_model("sdpa").eval()(ids).logits)
    assert load_model(config_of(folder)).dtype == torch.bfloat16
