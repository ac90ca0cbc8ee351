"""An expert shopper: demonstrations, and a scripted bound for agents.

It reads the instruction and the pages and knows nothing else. In the made-up world it
always earns the full reward; in the official catalog titles tell too little for that.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from environments.webshop import pages
from environments.webshop.pages import Page, PartKind
from environments.webshop.site import PageKind, Site

_MAX_RESULT_PAGES = 3
_PRICE_CLAUSE = re.compile(r", and price lower than ([0-9.]+) dollars$")
_OPTION_CLAUSE = re.compile(r" with (?:(?! with )[^:,])+: .*$", re.DOTALL)
_OPTION_NAME = re.compile(r"(?: with |, and )(?:(?! with )[^:,])+: ")
_WORD = re.compile(r"[^\s,]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class ShopperStep:
    """One action of the expert and why.

    Attributes:
        action: A search or a click.
        thought: A few words, fit for a think block.
    """

    action: str
    thought: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Result:
    """A product of a results page; of a price range, the lower end."""

    asin: str
    title: str
    price: float


class ShoppingExpert:
    """Plays one episode; make a new one for the next.

    It searches for what the instruction says but the price, takes the first product
    within the price whose title holds all the words before the options, or else the
    first within the price, chooses the options and buys. Products that lack an option
    are passed over while there are others; one that somebody else looked up is left
    unless its title holds all the words.

    Args:
        site: Gives the visit as it is now.
        instruction: The goal in words.
    """

    def __init__(self, site: Callable[[], Site], instruction: str) -> None:
        self._site = site
        price = _PRICE_CLAUSE.search(instruction)
        self._price_limit = float(price[1]) if price else float("inf")
        wanted = instruction[: price.start()] if price else instruction
        options = _OPTION_CLAUSE.search(wanted)
        self._options = options[0] if options else ""
        thing = wanted.removesuffix(self._options).removeprefix("Find me ")
        self._words = frozenset(_WORD.findall(thing.lower()))
        values = _OPTION_NAME.sub(" ", self._options)
        self._query = " ".join(_WORD.findall(f"{thing} {values}".lower()))
        self._passed_over: set[str] = set()
        self._picked = ""
        self._is_content = False

    def next_action(self) -> ShopperStep:
        """The action to take now, and why.

        Raises:
            ValueError: The purchase is made; there is nothing left to do.
        """
        site = self._site()
        visit, page = site.visit, site.page
        if visit.kind is PageKind.DONE:
            raise ValueError("the purchase is made; there is nothing left to do")
        if visit.kind is PageKind.START:
            return _step(f"search[{self._query}]", "search")
        if visit.kind is PageKind.RESULTS:
            return self._pick(page, visit.number)
        if visit.kind is PageKind.SUB_PAGE:
            return _click(pages.PREVIOUS, "back")
        return self._choose(page, visit.asin, dict(visit.chosen))

    def _pick(self, page: Page, number: int) -> ShopperStep:
        """The best product of a results page, or another page."""
        results = list(_results(page))
        fitting = [
            result
            for result in results
            if result.price <= self._price_limit
            and result.asin not in self._passed_over
        ]
        if fitting:
            best = next((r for r in fitting if self._is_held(r.title)), fitting[0])
            self._picked = best.asin
            return _click(best.asin, "this fits")
        if results and number < _MAX_RESULT_PAGES:
            return _click(pages.NEXT, "look on")
        # Nothing fits in full, so the next round takes what fits best.
        self._passed_over.clear()
        self._is_content = True
        return _click(pages.BACK_TO_SEARCH, "start over")

    def _choose(self, page: Page, asin: str, chosen: dict[str, str]) -> ShopperStep:
        """The next option to choose, or buying, or back from a product unfit."""
        is_held = any(self._is_held(part.text) for part in page.parts[2:])
        if asin != self._picked and not is_held:
            return _click(pages.PREVIOUS, "not this")
        untold = f"{self._options}, and"
        missing = []
        for name, values in _option_groups(page).items():
            for value in sorted(values, key=len, reverse=True):
                told = f"{name}: {value}, and"
                if told in untold:
                    untold = untold.replace(told, "", 1)
                    missing += [value] if chosen.get(name) != value else []
                    break
        if ":" in untold and not self._is_content:
            self._passed_over.add(asin)
            return _click(pages.PREVIOUS, "not this")
        if missing:
            return _click(missing[0], f"choose {missing[0]}")
        return _click(pages.BUY_NOW, "buy")

    def _is_held(self, title: str) -> bool:
        return self._words <= set(_WORD.findall(title.lower()))


def _results(page: Page) -> Iterator[_Result]:
    for number, part in enumerate(page.parts):
        if part.kind is PartKind.PRODUCT_LINK:
            title, price_tag = page.parts[number + 1 : number + 3]
            price = float(price_tag.text.removeprefix("$").partition(" ")[0])
            yield _Result(asin=part.text, title=title.text, price=price)


def _option_groups(page: Page) -> dict[str, list[str]]:
    """Option name to the values on offer."""
    groups: dict[str, list[str]] = {}
    for before, part in zip(page.parts, page.parts[1:], strict=False):
        if part.kind is PartKind.OPTION:
            if before.kind is not PartKind.OPTION:
                name = before.text
            groups.setdefault(name, []).append(part.text)
    return groups


def _click(what: str, thought: str) -> ShopperStep:
    return _step(f"click[{what.lower()}]", thought)


def _step(action: str, thought: str) -> ShopperStep:
    return ShopperStep(action=action, thought=thought)
