"""Dense retrieval with FAISS, by an encoder made here and by a real, tiny one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from environments.errors import MissingDataError
from environments.search.corpus import Corpus, Passage
from environments.search.dense import DenseRetriever
from environments.search.retrievers import make_retriever

pytest.importorskip("faiss", reason="needs the extra: dense")

_WORDS = ("fox", "wine", "tea", "query", "passage")
_TEXTS = ("fox", "fox fox wine", "tea", "wine wine fox")
_CORPUS = Corpus.of(
    Passage(id=str(i), contents=f'"T"\n{text}') for i, text in enumerate(_TEXTS)
)


class _WordCounts:
    """Encodes a text as the counts of a few words."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []

    def encode(
        self, sentences: list[str], *, normalize_embeddings: bool, batch_size: int
    ) -> NDArray[np.float32]:
        self.batches.append(sentences)
        rows = np.array([[s.count(word) for word in _WORDS] for s in sentences], float)
        assert normalize_embeddings
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def test_the_nearest_by_cosine_come_first() -> None:
    encoder = _WordCounts()
    retriever = DenseRetriever.build(
        _CORPUS, encoder, query_prefix="", passage_prefix=""
    )
    fox, tea = retriever.search(["fox", "tea"], 3)
    assert [hit.passage.id for hit in fox] == ["0", "1", "3"]
    assert [hit.score for hit in fox] == pytest.approx([1, 2 / 5**0.5, 1 / 5**0.5])
    assert tea[0].passage.id == "2"
    assert encoder.batches[-1] == ["fox", "tea"], "queries are encoded together"


def test_prefixes_tell_queries_from_passages() -> None:
    encoder = _WordCounts()
    DenseRetriever.build(_CORPUS, encoder).search(["fox"], 1)
    assert encoder.batches == [
        [f"passage: {passage.contents}" for passage in _CORPUS],
        ["query: fox"],
    ]


def test_more_than_there_is_gives_all_there_is() -> None:
    retriever = DenseRetriever.build(_CORPUS, _WordCounts())
    assert len(retriever.search(["fox"], 100)[0]) == len(_CORPUS)
    assert retriever.search([], 3) == []


def test_a_saved_index_finds_the_same(tmp_path: Path) -> None:
    built = DenseRetriever.build(_CORPUS, _WordCounts())
    built.save(tmp_path)
    opened = DenseRetriever.open(tmp_path, _WordCounts())
    assert opened.search(["fox", "tea wine"], 4) == built.search(["fox", "tea wine"], 4)
    with pytest.raises(MissingDataError, match="no dense index"):
        DenseRetriever.open(tmp_path / "other", _WordCounts())


@pytest.mark.slow
def test_a_sentence_transformers_model_is_named_by_its_folder(tmp_path: Path) -> None:
    sentence_transformers = pytest.importorskip("sentence_transformers")
    from transformers import BertConfig, BertModel, BertTokenizer

    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ":", '"', "t", *_WORDS]
    vocabulary = tmp_path / "vocab.txt"
    vocabulary.write_text("\n".join(words))
    bert = tmp_path / "bert"
    BertTokenizer(str(vocabulary)).save_pretrained(bert)
    shape = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = BertConfig(vocab_size=len(words), intermediate_size=16, **shape)
    BertModel(config).save_pretrained(bert)
    sentence_transformers.SentenceTransformer(str(bert)).save(str(tmp_path / "model"))
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text("\n".join(f'{{"contents": "{text}"}}' for text in _TEXTS))
    setting = {"kind": "dense", "model": str(tmp_path / "model"), "corpus": str(corpus)}
    retriever = make_retriever(setting)
    hits = retriever.search(["fox", "tea"], 2)
    assert [len(found) for found in hits] == [2, 2]
    assert all(-1.001 <= hit.score <= 1.001 for found in hits for hit in found)
    assert make_retriever(setting) is retriever
