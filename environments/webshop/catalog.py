"""A shop's catalog: products, what they cost, goals, search, and nouns of titles."""

from __future__ import annotations

import json
import lzma
import os
import random
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import chain
from pathlib import Path
from typing import Any

from environments.errors import CatalogError, MissingDataError
from environments.webshop.goals import (
    DRAW_SEED,
    Goal,
    draw_goals,
    draw_prices,
    shuffle_goals,
)
from environments.webshop.products import Product, read_products
from environments.webshop.search_index import build_index
from environments.webshop.title_nouns import Tagger, plain_words, title_nouns

RESULTS_PER_SEARCH = 50
SIZES = ("1000", "all")
FILES = {
    "1000": ("items_shuffle_1000.json", "items_ins_v2_1000.json"),
    "all": ("items_shuffle.json", "items_ins_v2.json"),
}
_DATA_VARIABLE = "RLLIB_GIGPO_DATA"
_DEFAULT_DATA = Path("~/.cache/rllib-gigpo/data")
_GET_DATA = "get them by `rllib-gigpo data get webshop`"


class Catalog:
    """Everything that the visits to one shop share; never changed.

    Args:
        products: Their ids are unique.
        nouns: Title to its nouns, for the reward. A title that is not there gets its
            plain words.
        num_eval_goals: Goals ``0:num_eval_goals`` are for evaluation, the rest for
            training; 500 in the published runs.

    Attributes:
        products: By id, in file order.
        prices: Id to the hidden price in dollars that the reward goes by.
        goals: All goals, in the one order that indices refer to.
        num_eval_goals: As above.
    """

    def __init__(
        self,
        products: Sequence[Product],
        nouns: Mapping[str, Sequence[str]],
        *,
        num_eval_goals: int = 500,
    ) -> None:
        self.products: Mapping[str, Product] = {p.asin: p for p in products}
        # One generator for both, in this order, as in the original.
        chance = random.Random(DRAW_SEED)
        self.prices: Mapping[str, float] = draw_prices(products, chance)
        self.goals: Sequence[Goal] = shuffle_goals(
            draw_goals(products, self.prices, chance)
        )
        self.num_eval_goals = num_eval_goals
        self._nouns = nouns
        self._index = build_index([(p.asin, p.search_document) for p in products])
        self._search = lru_cache(maxsize=4096)(self._index.search)

    @classmethod
    def load(
        cls,
        folder: str | os.PathLike[str] | None = None,
        *,
        size: str = "1000",
        tagger: Tagger = "auto",
    ) -> Catalog:
        """The official catalog in a folder, shared by all who ask in this process.

        Args:
            folder: Holds ``items_shuffle_1000.json`` and ``items_ins_v2_1000.json``
                (for ``size="all"`` the same names without the number), each perhaps
                with the ending ``.xz``; or a folder ``webshop`` that does. By default
                :func:`folder_for_download`.
            size: ``"1000"`` products, as the published runs have it, or ``"all"``.
            tagger: See :func:`environments.webshop.title_nouns.title_nouns`.

        Raises:
            MissingDataError: The files are not there.
            CatalogError: They are not in WebShop's format.
            ValueError: The size is unknown.
            ModuleNotFoundError: ``tagger="spacy"``, and it is not installed.
        """
        if size not in SIZES:
            raise ValueError(f"size={size!r}: choose one of {list(SIZES)}")
        names = FILES[size]
        base = folder_for_download() if folder is None else Path(folder).expanduser()
        base = base.resolve()
        for place in (base, base / "webshop"):
            products, attributes = (_find(place, name) for name in names)
            if products is not None and attributes is not None:
                return _load(products, attributes, tagger)
        raise MissingDataError(f"{' and '.join(names)} are not in {base}: {_GET_DATA}")

    @cached_property
    def characters(self) -> frozenset[str]:
        """Every character that a page may show."""
        seen: set[str] = set()
        for goal in self.goals:
            seen.update(goal.instruction)
        for product in self.products.values():
            seen.update(product.title, product.description, *product.bullets)
            seen.update(
                product.asin, *product.options, *chain(*product.options.values())
            )
        return frozenset(seen)

    def search(self, query: str, k: int = RESULTS_PER_SEARCH) -> list[str]:
        """The ids of the ``k`` products that fit a query best, best first."""
        return list(self._search(query, k))

    def nouns_of(self, title: str) -> Sequence[str]:
        """The lower-case nouns of a title, repeats included."""
        nouns = self._nouns.get(title)
        return plain_words(title) if nouns is None else nouns


def folder_for_download() -> Path:
    """``$RLLIB_GIGPO_DATA/webshop``, by default under ``~/.cache/rllib-gigpo/data``."""
    base = Path(os.environ.get(_DATA_VARIABLE) or _DEFAULT_DATA)
    return base.expanduser() / "webshop"


def _find(folder: Path, name: str) -> Path | None:
    paths = (folder / name, folder / f"{name}.xz")
    return next((path for path in paths if path.is_file()), None)


@lru_cache(maxsize=2)
def _load(products_file: Path, attributes_file: Path, tagger: Tagger) -> Catalog:
    rows, attributes = _read_json(products_file), _read_json(attributes_file)
    if not isinstance(rows, list) or not isinstance(attributes, dict):
        raise CatalogError(
            f"{products_file} must hold a JSON list and {attributes_file} a JSON "
            f"object, not a {type(rows).__name__} and a {type(attributes).__name__}"
        )
    products = read_products(rows, attributes)
    return Catalog(products, title_nouns([p.title for p in products], tagger))


def _read_json(path: Path) -> Any:
    data = path.read_bytes()
    try:
        return json.loads(lzma.decompress(data) if path.suffix == ".xz" else data)
    except (lzma.LZMAError, ValueError) as error:
        raise CatalogError(f"{path} is no whole JSON file: {error}") from error
