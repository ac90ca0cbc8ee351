"""The retrievers by name, as settings give them."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

from environments.search.corpus import Corpus
from environments.search.dense import DenseRetriever, load_encoder
from environments.search.http_client import HttpRetriever
from environments.search.index_cache import open_bm25
from environments.search.retrieval import Retriever

RetrieverSetting: TypeAlias = Retriever | Mapping[str, Any] | None


def make_retriever(setting: Retriever | Mapping[str, Any]) -> Retriever:
    """The retriever that a setting describes.

    Args:
        setting: A retriever, or ``{"kind": ...}`` with what that kind takes:
            ``"bm25"``: ``corpus``, a file (shared in this process, its index kept on
            disk); ``"http"``: what :class:`HttpRetriever` takes; ``"dense"``:
            ``model`` and either ``index``, a folder written by
            :meth:`DenseRetriever.save`, or ``corpus``, a file to be encoded now.

    Raises:
        ValueError: The kind is unknown or settings do not fit it.
        MissingDataError: A file is not there.
    """
    if not isinstance(setting, Mapping):
        return setting
    settings = dict(setting)
    kind = settings.pop("kind", None)
    if kind not in RETRIEVERS:
        near = get_close_matches(str(kind), RETRIEVERS, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ValueError(
            f"retriever kind {kind!r}: choose one of {sorted(RETRIEVERS)}{hint}"
        )
    make = RETRIEVERS[kind]
    try:
        inspect.signature(make).bind(**settings)
    except TypeError as error:
        raise ValueError(f"retriever {dict(setting)!r}: {error}") from error
    return make(**settings)


@lru_cache(maxsize=2)
def _open_dense(
    model: str, index: str | None = None, corpus: str | None = None
) -> DenseRetriever:
    if (index is None) == (corpus is None):
        raise ValueError("a dense retriever takes either `index` or `corpus`")
    encoder = load_encoder(model)
    if index is not None:
        return DenseRetriever.open(Path(index).expanduser(), encoder)
    return DenseRetriever.build(Corpus.read(os.fspath(corpus or "")), encoder)


RETRIEVERS: dict[str, Callable[..., Retriever]] = {
    "bm25": open_bm25,
    "dense": _open_dense,
    "http": HttpRetriever,
}
