"""The shop's site as a state machine: where a visitor is, and where an action leads.

Enters: a catalog, a goal and actions as text. Leaves pages, and a score at the end.
Nothing here is random but a search for ``<r>``, which the visit's seed decides. What
the site does not understand leaves everything as it is.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeAlias

from environments.webshop import pages
from environments.webshop.catalog import RESULTS_PER_SEARCH, Catalog
from environments.webshop.goals import Goal
from environments.webshop.pages import Page
from environments.webshop.products import Product
from environments.webshop.reward import OptionMatching, Score, score_purchase

RESULTS_PER_PAGE = 10
_ACTION = re.compile(r"(.+)\[(.+)\]")
_SUB_PAGES = {name.lower(): name for name in pages.SUB_PAGES}

StateKey: TypeAlias = tuple[
    str, tuple[str, ...], int, str, tuple[tuple[str, str], ...], str
]


class PageKind(StrEnum):
    """Where a visitor can be."""

    START = "start"
    RESULTS = "results"
    ITEM = "item"
    SUB_PAGE = "sub-page"
    DONE = "done"


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """Everything about a visit that changes.

    Attributes:
        kind: The kind of page.
        words: The query, split at single blanks; empty before the first search.
        number: The page of its results, from 1.
        asin: The product looked at; empty if none.
        chosen: Option names with the values chosen, in the order of the choices.
        sub_page: One of ``pages.SUB_PAGES`` on a sub-page, else empty.
        visited: Products looked at since the last start page. Only marks links in
            ``text_rich``.
    """

    kind: PageKind = PageKind.START
    words: tuple[str, ...] = ()
    number: int = 1
    asin: str = ""
    chosen: tuple[tuple[str, str], ...] = ()
    sub_page: str = ""
    visited: frozenset[str] = frozenset()


class Site:
    """One visit by a shopper with a goal.

    Args:
        catalog: What the shop sells.
        goal: What the shopper wants.
        seed: Decides what a search for ``<r>`` finds.
        option_matching: See :func:`environments.webshop.reward.score_purchase`.

    Attributes:
        visit: The present state; replaced, never changed.
        page: What the visitor sees.
        score: Of the purchase, or None before it.
    """

    def __init__(
        self,
        catalog: Catalog,
        goal: Goal,
        *,
        seed: int = 0,
        option_matching: OptionMatching = "official",
    ) -> None:
        self._catalog = catalog
        self._goal = goal
        self._seed = seed
        self._option_matching: OptionMatching = option_matching
        self._results: dict[tuple[str, ...], Sequence[Product]] = {}
        self.score: Score | None = None
        self.visit = Visit()
        self.page = self._page()

    @property
    def has_search_bar(self) -> bool:
        """Whether the page shows one; a search works everywhere until the purchase."""
        return self.visit.kind is PageKind.START

    def act(self, action: str) -> bool:
        """Play ``search[words]`` or ``click[what]``; whether it was understood."""
        visit = self._next(action)
        if visit is None or self.visit.kind is PageKind.DONE:
            return False
        if visit.kind is PageKind.DONE:
            self.score = self._score(visit)
        self.visit = visit
        self.page = self._page()
        return True

    def state_key(self) -> StateKey:
        """Equal exactly when the goal-independent state of the visit is equal."""
        visit = self.visit
        return (
            visit.kind.value,
            visit.words,
            visit.number,
            visit.asin,
            tuple(sorted(visit.chosen)),
            visit.sub_page,
        )

    def _next(self, action: str) -> Visit | None:
        """The state that an action leads to, or None if it means nothing here."""
        match = _ACTION.match(action)
        if match is None:
            return None
        name, argument = match[1], match[2].lower()
        if name == "search":
            return self._search(tuple(argument.split(" ")), 1)
        is_link = argument in self.page.clickables and argument != pages.SEARCH.lower()
        return self._click(argument) if name == "click" and is_link else None

    def _search(self, words: tuple[str, ...], number: int) -> Visit:
        return Visit(
            kind=PageKind.RESULTS,
            words=words,
            number=number,
            visited=self.visit.visited,
        )

    def _click(self, what: str) -> Visit | None:
        """The state that a click leads to; ``what`` is one of the clickables."""
        visit = self.visit
        if visit.kind is PageKind.RESULTS:
            return self._click_result(what)
        if what == pages.BACK_TO_SEARCH.lower():
            return Visit()
        if what == pages.PREVIOUS.lower():
            if visit.kind is PageKind.SUB_PAGE:
                return replace(visit, kind=PageKind.ITEM, sub_page="")
            return self._search(visit.words, visit.number)
        if visit.kind is not PageKind.ITEM:
            return None
        if what == pages.BUY_NOW.lower():
            return replace(visit, kind=PageKind.DONE)
        if what in _SUB_PAGES:
            return replace(visit, kind=PageKind.SUB_PAGE, sub_page=_SUB_PAGES[what])
        return self._choose(what)

    def _click_result(self, what: str) -> Visit:
        visit = self.visit
        if what == pages.BACK_TO_SEARCH.lower():
            return Visit()
        if what == pages.NEXT.lower():
            return replace(visit, number=visit.number + 1)
        if what == pages.PREVIOUS.lower():
            return replace(visit, number=visit.number - 1)
        asin = what.upper()
        return replace(
            visit, kind=PageKind.ITEM, asin=asin, visited=visit.visited | {asin}
        )

    def _choose(self, value: str) -> Visit:
        """The last group that has the value gets it, as on the site."""
        options = self._product(self.visit).options
        name = next(n for n in reversed(list(options)) if value in options[n])
        chosen = {**dict(self.visit.chosen), name: value}
        return replace(self.visit, chosen=tuple(chosen.items()))

    def _page(self) -> Page:
        visit, instruction = self.visit, self._goal.instruction
        if visit.kind is PageKind.START:
            return pages.start_page(instruction)
        if visit.kind is PageKind.RESULTS:
            found = self._found(visit.words)
            start = (visit.number - 1) * RESULTS_PER_PAGE
            return pages.results_page(
                instruction,
                found[start : start + RESULTS_PER_PAGE],
                number=visit.number,
                num_results=len(found),
                visited=visit.visited,
            )
        product = self._product(visit)
        if visit.kind is PageKind.ITEM:
            return pages.item_page(
                instruction,
                product,
                words=visit.words,
                number=visit.number,
                chosen=dict(visit.chosen),
            )
        if visit.kind is PageKind.SUB_PAGE:
            return pages.sub_page(instruction, product, visit.sub_page)
        reward = 0.0 if self.score is None else self.score.total
        return pages.done_page(product.asin, dict(visit.chosen), reward)

    def _product(self, visit: Visit) -> Product:
        return self._catalog.products[visit.asin]

    def _found(self, words: tuple[str, ...]) -> Sequence[Product]:
        """What a query finds, best first."""
        if words not in self._results:
            self._results[words] = self._look_up(words)
        return self._results[words]

    def _look_up(self, words: tuple[str, ...]) -> Sequence[Product]:
        products: Mapping[str, Product] = self._catalog.products
        prefix, rest = words[0], " ".join(words[1:]).strip()
        if prefix == "<r>":
            size = min(RESULTS_PER_SEARCH, len(products))
            return random.Random(self._seed).sample(list(products.values()), size)
        if prefix == "<a>":
            return [p for p in products.values() if rest in p.attributes]
        if prefix == "<c>":
            category = words[1] if len(words) > 1 else ""
            return [p for p in products.values() if p.category == category]
        if prefix == "<q>":
            return [p for p in products.values() if p.query == rest]
        return [products[asin] for asin in self._catalog.search(" ".join(words))]

    def _score(self, visit: Visit) -> Score:
        return score_purchase(
            self._product(visit),
            self._goal,
            price=self._catalog.prices[visit.asin],
            chosen=dict(visit.chosen),
            nouns_of=self._catalog.nouns_of,
            option_matching=self._option_matching,
        )
