"""A tiny Qwen2 that plays the corridor, as a Hugging Face folder."""

from __future__ import annotations

from pathlib import Path

import torch
from transformers import Qwen2Config, Qwen2ForCausalLM

from tests import fakes


def save_corridor_model(folder: Path, *, seed: int = 0, **overrides: object) -> Path:
    """Write model and tokenizer; random weights that depend on ``seed`` alone."""
    settings = {
        "vocab_size": len(fakes.WORDS),
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 128,
        "tie_word_embeddings": True,
        "eos_token_id": fakes.EOS,
        "pad_token_id": 0,
        "dtype": "float32",
    }
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = Qwen2ForCausalLM(Qwen2Config(**settings | overrides))
    model.save_pretrained(folder)
    fakes.corridor_tokenizer().save_pretrained(folder)
    return folder
