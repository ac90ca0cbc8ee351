"""What the site's pages hold, and their two text forms.

Enters: products and the visitor's state; leaves :class:`Page`. Pure. The wording is
WebShop's, so that models trained on the one read the other.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

from environments.webshop.products import Product

BACK_TO_SEARCH = "Back to Search"
NEXT = "Next >"
PREVIOUS = "< Prev"
BUY_NOW = "Buy Now"
SEARCH = "Search"
SUB_PAGES = ("Description", "Features", "Reviews")
SEPARATOR = " [SEP] "
_HTML_BLANKS = " \n\t\f\r"


class PartKind(Enum):
    """What a part of a page is."""

    TEXT = "text"
    BUTTON = "button"
    PRODUCT_LINK = "product link"
    OPTION = "option"


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A piece of a page.

    Attributes:
        text: As shown.
        kind: What it is.
        is_clicked: A link that was followed before, or an option that is chosen.
    """

    text: str
    kind: PartKind = PartKind.TEXT
    is_clicked: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A page as a visitor sees it.

    Attributes:
        parts: Top to bottom.
        clickables: What can be clicked, lower case: buttons, products, option values.
    """

    parts: tuple[Part, ...]
    clickables: tuple[str, ...]

    @property
    def text(self) -> str:
        """All parts in a line, separated by ``[SEP]``."""
        return SEPARATOR.join(part.text.strip() for part in self.parts)

    @property
    def text_rich(self) -> str:
        """A part a line, with what can be clicked and what was marked as such."""
        lines = [_rich(part) for part in self.parts]
        clicked = [
            f"You have clicked {part.text}.\n"
            for part in self.parts
            if part.kind is PartKind.OPTION and part.is_clicked
        ]
        return "".join((*reversed(clicked), *lines))


def start_page(instruction: str) -> Page:
    """The page with the search bar."""
    return _page(
        Part(text="WebShop"),
        Part(text="Instruction: "),
        Part(text=instruction),
        _button(SEARCH),
    )


def results_page(
    instruction: str,
    products: Iterable[Product],
    *,
    number: int,
    num_results: int,
    visited: frozenset[str],
) -> Page:
    """A page of search results.

    Args:
        instruction: The goal in words.
        products: Those of this page.
        number: Of the page, from 1.
        num_results: Of the whole search.
        visited: Ids of the products looked at since the last start page.
    """
    parts = [
        *_head(instruction),
        Part(text=f"Page {number} (Total results: {num_results})"),
    ]
    if number > 1:
        parts.append(_button(PREVIOUS))
    parts.append(_button(NEXT))
    for product in products:
        is_visited = product.asin in visited
        parts += [
            Part(text=product.asin, kind=PartKind.PRODUCT_LINK, is_clicked=is_visited),
            Part(text=product.title),
            Part(text=product.price_tag),
        ]
    return _page(*parts)


def item_page(
    instruction: str,
    product: Product,
    *,
    words: Sequence[str],
    number: int,
    chosen: Mapping[str, str],
) -> Page:
    """The page of a product, with its options.

    Args:
        instruction: The goal in words.
        product: The product.
        words: The query that led here, and
        number: the page of its results.
        chosen: Option name to the value chosen, in the order of the choices.
    """
    # The shop marks a value as chosen when it stands in quotes in the page's address,
    # so a value that JSON escapes is never marked, and a quoted search word may be.
    address = f"{'+'.join(words)}/{number}/{json.dumps(chosen)}"
    parts = [*_head(instruction), _button(PREVIOUS)]
    for name, values in product.options.items():
        parts.append(Part(text=name))
        parts += [
            Part(text=value, kind=PartKind.OPTION, is_clicked=f'"{value}"' in address)
            for value in values
        ]
    parts += [
        Part(text=product.title),
        Part(text=f"Price: {product.price_tag}"),
        Part(text="Rating: N.A."),
        *map(_button, SUB_PAGES),
        _button(BUY_NOW),
    ]
    return _page(*parts)


def sub_page(instruction: str, product: Product, name: str) -> Page:
    """The page of a product's description, features or reviews (of which it has none).

    Args:
        instruction: The goal in words.
        product: The product.
        name: One of :data:`SUB_PAGES`.
    """
    texts: dict[str, tuple[str, ...]] = {
        "Description": (product.description,),
        "Features": tuple(f" {bullet}" for bullet in product.bullets),
        "Reviews": (),
    }
    contents = (Part(text=text) for text in texts[name])
    return _page(*_head(instruction), _button(PREVIOUS), *contents)


def done_page(asin: str, chosen: Mapping[str, str], reward: float) -> Page:
    """The page after a purchase."""
    options = json.dumps(chosen, sort_keys=True)
    for sign in "<>&'":
        options = options.replace(sign, f"\\u{ord(sign):04x}")
    texts = (
        *("Thank you for shopping with us!", "Your code:", "None"),
        *("(Paste it in your MTurk interface.)", "Purchased", "asin", asin),
        *("options", options, "attrs", "None", "category", "None", "query", "None"),
        *("product category", "None", "Target", "asin", "options", "attrs"),
        *("price upper", "instuction text", "category", "product category", "query"),
        *("Goal", "None", "Reward", "Your score (min 0.0, max 1.0)", str(reward)),
        *("Reward Details", "None"),
    )
    return _page(*(Part(text=text) for text in texts))


def _page(*parts: Part) -> Page:
    kept = tuple(_as_html_keeps(parts))
    buttons = _texts(kept, PartKind.BUTTON)
    links = _texts(kept, PartKind.PRODUCT_LINK)
    options = (part.text for part in kept if part.kind is PartKind.OPTION)
    clickables = tuple(dict.fromkeys((*buttons, *links, *options)))
    return Page(parts=kept, clickables=clickables)


def _as_html_keeps(parts: Iterable[Part]) -> Iterator[Part]:
    """The parts that survive in HTML: a run of blanks is one blank, or nothing."""
    for part in parts:
        if part.text.strip(_HTML_BLANKS):
            yield part
        elif part.text and "\n" not in part.text:
            yield Part(text=" ", kind=part.kind, is_clicked=part.is_clicked)


def _head(instruction: str) -> tuple[Part, ...]:
    return (
        Part(text="Instruction:"),
        Part(text=instruction),
        _button(BACK_TO_SEARCH),
    )


@lru_cache(maxsize=16)
def _button(text: str) -> Part:
    return Part(text=text, kind=PartKind.BUTTON)


def _texts(parts: Iterable[Part], kind: PartKind) -> Iterator[str]:
    return (part.text.lower() for part in parts if part.kind is kind)


def _rich(part: Part) -> str:
    if part.kind is PartKind.TEXT:
        return f"{part.text}\n"
    tag = "clicked button" if part.is_clicked else "button"
    margin = {PartKind.PRODUCT_LINK: "\n", PartKind.OPTION: "  "}.get(part.kind, "")
    return f"{margin}[{tag}] {part.text} [{tag}_]\n"
