"""A small tokenizer of the environments' own words: Qwen2's, with its own vocabulary.

Conversations enter (rendered prompts with expert responses); a Hugging Face fast
tokenizer leaves. Invariants: decoding what was encoded gives the text back (in Unicode
normal form C, as Qwen2 has it); each tag of the response format is one token and not
a special one, so it survives ``decode(..., skip_special_tokens=True)``.

The class and the way of cutting text into words are Qwen2's because transformers
rebuilds both from the model type when it loads a folder. Qwen2 cuts numbers into
digits; what environments number ("cabinet 12") is therefore added as whole tokens.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from tokenizers import AddedToken, Tokenizer, pre_tokenizers
from tokenizers.models import BPE
from tokenizers.trainers import BpeTrainer
from transformers import Qwen2Tokenizer

from environments.prompting import ChatMessage
from rllib_gigpo.errors import ConfigError

END_OF_TEXT = "<|endoftext|>"
MESSAGE_START = "<|im_start|>"
MESSAGE_END = "<|im_end|>"
SPECIAL_TOKENS = (END_OF_TEXT, MESSAGE_START, MESSAGE_END)
FORMAT_TAGS = ("<think>", "</think>", "<action>", "</action>")

CHAT_TEMPLATE = (
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] }}"
    "{{ '<|im_end|>\\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)

_SMALLEST_VOCABULARY = 256 + len(SPECIAL_TOKENS) + len(FORMAT_TAGS)
_THING = re.compile(r" ?[A-Za-z]+ [0-9]{1,2}(?![A-Za-z0-9])")
_MIN_COUNT = 8

Pair: TypeAlias = tuple[str, str]


def train_tokenizer(
    conversations: Iterable[Sequence[ChatMessage]],
    *,
    vocabulary_size: int,
    max_length: int,
) -> Qwen2Tokenizer:
    """Learn a vocabulary; the same conversations give the same tokenizer.

    Args:
        conversations: Chat messages as a model will see them, responses included.
        vocabulary_size: Most tokens to have, with bytes, special tokens and tags;
            fewer when the texts hold no more pairs that occur twice.
        max_length: The model's context in tokens, kept as ``model_max_length``.

    Raises:
        ConfigError: ``vocabulary_size`` has no room beside the fixed tokens.
    """
    if vocabulary_size < _SMALLEST_VOCABULARY:
        raise ConfigError(
            f"vocabulary_size {vocabulary_size} is below {_SMALLEST_VOCABULARY}, the "
            "count of bytes, special tokens and tags; choose 1000 to 2000"
        )
    texts = list(_plain_texts(conversations))
    # Half the room is for words, so that numbered things cannot crowd them out.
    things = _numbered_things(texts, (vocabulary_size - _SMALLEST_VOCABULARY) // 2)
    added = [
        AddedToken(text, special=False, normalized=False)
        for text in (*FORMAT_TAGS, *things)
    ]
    vocabulary, merges = _train_bpe(texts, vocabulary_size - len(added))
    tokenizer = Qwen2Tokenizer(
        vocab=vocabulary,
        merges=merges,
        unk_token=None,
        eos_token=MESSAGE_END,
        pad_token=END_OF_TEXT,
        extra_special_tokens=[MESSAGE_START],
        chat_template=CHAT_TEMPLATE,
        clean_up_tokenization_spaces=False,
        model_max_length=max_length,
    )
    tokenizer.add_tokens(added)
    return tokenizer


def _plain_texts(conversations: Iterable[Sequence[ChatMessage]]) -> Iterator[str]:
    """What stands between special tokens and tags."""
    fixed = re.compile("|".join(map(re.escape, (*SPECIAL_TOKENS, *FORMAT_TAGS))))
    for conversation in conversations:
        for message in conversation:
            text = f"{message['role']}\n{message['content']}"
            yield from filter(None, fixed.split(text))


def _numbered_things(texts: Sequence[str], most: int) -> list[str]:
    """The most frequent "word number" pairs, with their leading blank if any."""
    counts = Counter(thing for text in texts for thing in _THING.findall(text))
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [thing for thing, count in ranked[:most] if count >= _MIN_COUNT]


def _train_bpe(texts: Sequence[str], size: int) -> tuple[dict[str, int], list[Pair]]:
    """Vocabulary and merges, special tokens first."""
    tokenizer = Tokenizer(BPE())
    qwen2 = Qwen2Tokenizer().backend_tokenizer
    tokenizer.normalizer = qwen2.normalizer
    tokenizer.pre_tokenizer = qwen2.pre_tokenizer
    trainer = BpeTrainer(
        vocab_size=size,
        min_frequency=2,
        special_tokens=[AddedToken(t, special=True) for t in SPECIAL_TOKENS],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    model = json.loads(tokenizer.to_str())["model"]
    return model["vocab"], [(left, right) for left, right in model["merges"]]
