"""Dense retrieval: passages and queries as vectors of one sentence encoder.

Needs the extra ``dense`` (sentence-transformers and FAISS). Vectors are of unit
length, so that the inner product is the cosine; the search is exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from environments.errors import MissingDataError
from environments.search.corpus import Corpus
from environments.search.retrieval import ScoredPassage

_PASSAGES = "passages.arrow"
_VECTORS = "vectors.faiss"
_PASSAGES_PER_CHUNK = 4096
_EXTRA = "dense retrieval needs the extra: pip install 'rllib-gigpo[dense]'"


class Encoder(Protocol):
    """What turns texts into vectors; sentence-transformers' models do."""

    def encode(
        self, sentences: list[str], /, *, normalize_embeddings: bool, batch_size: int
    ) -> NDArray[np.float32]:
        """Float32 [num_sentences, width], each of unit length when normalised."""
        ...


class DenseRetriever:
    """Exact nearest passages by cosine.

    Attributes:
        runs_inline: False: encoding a query takes tens of milliseconds on a CPU.

    Args:
        corpus: The passages.
        vectors: A FAISS inner-product index over them, in the same order.
        encoder: That made it.
        query_prefix: Put before each query, as the encoder was trained; E5's by
            default.
    """

    runs_inline = False

    def __init__(
        self,
        corpus: Corpus,
        vectors: Any,
        encoder: Encoder,
        *,
        query_prefix: str = "query: ",
    ) -> None:
        self.corpus = corpus
        self._vectors = vectors
        self._encoder = encoder
        self._query_prefix = query_prefix

    @classmethod
    def build(
        cls,
        corpus: Corpus,
        encoder: Encoder,
        *,
        query_prefix: str = "query: ",
        passage_prefix: str = "passage: ",
        batch_size: int = 64,
    ) -> DenseRetriever:
        """Encode all passages; on a GPU where torch finds one.

        Raises:
            ImportError: The extra is not installed.
            ValueError: The corpus is empty.
        """
        if not len(corpus):
            raise ValueError("a corpus without passages cannot be indexed")
        faiss = _faiss()
        vectors = None
        for start in range(0, len(corpus), _PASSAGES_PER_CHUNK):
            texts = [
                passage_prefix + passage.contents
                for passage in corpus[start : start + _PASSAGES_PER_CHUNK]
            ]
            rows = _encode(encoder, texts, batch_size)
            if vectors is None:
                vectors = faiss.IndexFlatIP(rows.shape[1])
            vectors.add(rows)
        return cls(corpus, vectors, encoder, query_prefix=query_prefix)

    @classmethod
    def open(
        cls, folder: Path, encoder: Encoder, *, query_prefix: str = "query: "
    ) -> DenseRetriever:
        """Read what :meth:`save` wrote; ``encoder`` must be the same as then.

        Raises:
            ImportError: The extra is not installed.
            MissingDataError: The folder holds no index.
        """
        if not (folder / _VECTORS).is_file():
            raise MissingDataError(f"{folder} holds no dense index ({_VECTORS})")
        vectors = _faiss().read_index(str(folder / _VECTORS))
        corpus = Corpus.open(folder / _PASSAGES)
        return cls(corpus, vectors, encoder, query_prefix=query_prefix)

    def save(self, folder: Path) -> None:
        """Write vectors and passages into a folder."""
        folder.mkdir(parents=True, exist_ok=True)
        _faiss().write_index(self._vectors, str(folder / _VECTORS))
        self.corpus.save(folder / _PASSAGES)

    def search(self, queries: Sequence[str], top_k: int) -> list[list[ScoredPassage]]:
        """See :meth:`Retriever.search`; all queries are encoded together."""
        if not queries or top_k < 1:
            return [[] for _ in queries]
        texts = [self._query_prefix + query for query in queries]
        rows = _encode(self._encoder, texts, len(texts))
        scores, found = self._vectors.search(rows, min(top_k, len(self.corpus)))
        return [
            [
                ScoredPassage(passage=self.corpus[int(row)], score=float(score))
                for score, row in zip(own_scores, own_found, strict=True)
            ]
            for own_scores, own_found in zip(scores, found, strict=True)
        ]


def load_encoder(model: str) -> Encoder:
    """A sentence-transformers model by folder or hub id, e.g. ``intfloat/e5-base-v2``.

    Raises:
        ImportError: The extra is not installed.
    """
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError as error:
        raise ImportError(_EXTRA) from error
    return cast(Encoder, SentenceTransformer(model))


def _encode(encoder: Encoder, texts: list[str], batch_size: int) -> NDArray[np.float32]:
    rows = encoder.encode(texts, normalize_embeddings=True, batch_size=batch_size)
    return np.ascontiguousarray(rows, np.float32)


def _faiss() -> Any:
    try:
        import faiss
    except ImportError as error:
        raise ImportError(_EXTRA) from error
    return faiss
