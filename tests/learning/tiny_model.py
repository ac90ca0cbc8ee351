"""A two-layer model of 64 tokens with seeded weights, and rows for it."""

from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

from rllib_gigpo.learning.rows import TrainingRows
from rllib_gigpo.modules.packed_attention import PACKED_SDPA

VOCABULARY = 64
CHAT_TEMPLATE = "{% for m in messages %}{{ m['content'] }} {% endfor %}"


def tiny_config(**others) -> Qwen2Config:
    return Qwen2Config(
        **{
            "vocab_size": VOCABULARY,
            "hidden_size": 32,
            "intermediate_size": 64,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "max_position_embeddings": 256,
            "tie_word_embeddings": True,
            "bos_token_id": None,
            "eos_token_id": 1,
            "pad_token_id": 0,
            "initializer_range": 0.3,
            **others,
        }
    )


def tiny_model(attention=PACKED_SDPA, dtype=torch.float32, seed=0, **others):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = Qwen2ForCausalLM(tiny_config(**others))
        # Biases and norms start at constants; move them so that tests see them.
        for parameter in model.parameters():
            if parameter.ndim == 1:
                parameter.data += 0.1 * torch.randn_like(parameter)
    model.set_attn_implementation(attention)
    return model.to(dtype)


def tiny_folder(folder: Path, **others) -> Path:
    """The model and a tokenizer with a chat template as a Hugging Face folder."""
    words = {"<pad>": 0, "<eos>": 1} | {f"w{i}": i for i in range(2, VOCABULARY)}
    core = Tokenizer(WordLevel(words, unk_token="<pad>"))
    core.pre_tokenizer = Whitespace()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=core, eos_token="<eos>", pad_token="<pad>", unk_token="<pad>"
    )
    tokenizer.chat_template = CHAT_TEMPLATE
    tiny_model(attention="sdpa", **others).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def random_rows(num_rows=13, seed=0, *, max_prompt=20, max_response=12) -> TrainingRows:
    """Rows of different lengths that all train; the logprobs are made up."""
    rng = np.random.default_rng(seed)

    def ids(lengths):
        return [rng.integers(2, VOCABULARY, n).astype(np.int32) for n in lengths]

    num_response = rng.integers(1, max_response + 1, num_rows)
    return TrainingRows(
        prompt_ids=ids(rng.integers(1, max_prompt + 1, num_rows)),
        response_ids=ids(num_response),
        sampled_logprobs=[
            -rng.uniform(3, 5, n).astype(np.float32) for n in num_response
        ],
        advantage=rng.normal(size=num_rows),
        trajectory=np.arange(num_rows) // 3,
        policy_version=np.zeros(num_rows, np.int64),
        loss_weight=np.ones(num_rows),
    )
