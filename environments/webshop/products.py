"""The products of a shop, read from WebShop's own files and checked once.

Enters: rows of ``items_shuffle*.json`` (as downloaded, or as the shop's program keeps
them after loading) and the matching ``items_ins_v2*.json``. Leaves :class:`Product`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from environments.errors import CatalogError

NO_PRICE = 100.0
_MAX_ASIN = 10
_NO_ATTRIBUTES = ("DUMMY_ATTR",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """What the shop sells.

    Attributes:
        asin: The id, unique, e.g. ``"B09NTCCVGX"``.
        title: Its name on all pages.
        description: Long text of the description page; may be empty.
        bullets: The lines of the features page.
        category: One of a few words, e.g. ``"garden"``.
        query: The search that the product was found by, lower case.
        product_category: Path from general to special, joined by ``" › "``.
        prices: One price in dollars, or the two ends of a range.
        options: Option name to its values, both lower case, e.g.
            ``{"size": ("small", "large")}``; in the order of the page.
        attributes: What the product has, for the reward, e.g. ``("non slip",)``.
        instruction: The sentence that asks for such a product, or None.
        instruction_attributes: The attributes that the sentence asks for.
    """

    asin: str
    title: str
    description: str
    bullets: tuple[str, ...]
    category: str
    query: str
    product_category: str
    prices: tuple[float, ...]
    options: Mapping[str, tuple[str, ...]]
    attributes: tuple[str, ...]
    instruction: str | None
    instruction_attributes: tuple[str, ...]

    @property
    def price_tag(self) -> str:
        """The price as pages show it, e.g. ``"$34.0"`` or ``"$19.99 to $27.99"``."""
        return " to ".join(f"${price}" for price in self.prices)

    @property
    def search_document(self) -> str:
        """The text that the search engine indexes."""
        options = ", and ".join(
            f"{name}: {', '.join(values)}" for name, values in self.options.items()
        )
        first_bullet = self.bullets[0] if self.bullets else ""
        parts = (self.title, self.description, first_bullet, options)
        return " ".join(parts).lower()


def read_products(
    rows: Iterable[Mapping[str, Any]], attributes: Mapping[str, Mapping[str, Any]]
) -> list[Product]:
    """The products of raw rows, in file order, as WebShop selects and cleans them.

    Rows without a proper id and repeated ids are dropped.

    Args:
        rows: The entries of ``items_shuffle*.json``.
        attributes: The contents of ``items_ins_v2*.json``, by id.

    Raises:
        CatalogError: A row lacks a field or holds something else there.
    """
    products: dict[str, Product] = {}
    for number, row in enumerate(rows):
        try:
            asin = row["asin"]
            if asin == "nan" or len(asin) > _MAX_ASIN or asin in products:
                continue
            products[asin] = _product(row, attributes.get(asin, {}))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise CatalogError(
                f"row {number} of the product file is not in WebShop's format "
                f"({type(error).__name__}: {error}); get the official files by "
                "`rllib-gigpo data get webshop`"
            ) from error
    return list(products.values())


def _product(row: Mapping[str, Any], entry: Mapping[str, Any]) -> Product:
    if row["asin"] != row["asin"].upper():
        # Links are followed in upper case, whatever the case of the click.
        raise ValueError(f"the id {row['asin']!r} is not in upper case")
    bullets = row["small_description"]
    return Product(
        asin=row["asin"],
        title=row["name"],
        description=row["full_description"],
        bullets=(bullets,) if isinstance(bullets, str) else tuple(bullets),
        category=row["category"],
        query=row["query"].lower().strip(),
        product_category=row["product_category"],
        prices=_prices(row.get("pricing")),
        options=_options(row["customization_options"]),
        attributes=tuple(entry.get("attributes", _NO_ATTRIBUTES)),
        instruction=entry.get("instruction"),
        instruction_attributes=tuple(entry.get("instruction_attributes") or ()),
    )


def _prices(pricing: str | list[float] | None) -> tuple[float, ...]:
    """Up to two prices of a text such as ``"$19.99 - $27.99"``, or of a list."""
    if not pricing:
        return (NO_PRICE,)
    if isinstance(pricing, str):
        pricing = [
            float(re.sub(r"[^\d.]", "", part)) for part in pricing.split("$")[1:]
        ]
    return tuple(float(price) for price in pricing[:2])


def _options(groups: Mapping[str, Any] | str | None) -> dict[str, tuple[str, ...]]:
    if not groups:
        return {}
    if isinstance(groups, str):
        raise TypeError(f"customization_options is the text {groups[:40]!r}")
    return {
        name.lower(): tuple(
            value["value"].strip().replace("/", " | ").lower() for value in values
        )
        for name, values in groups.items()
        if values is not None
    }
