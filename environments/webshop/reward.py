"""How well a purchase fits a goal, from 0 to 1.

Source: WebShop (arXiv 2207.01206), section 2 and its program, whose quirks are kept:
they decide the published figures. One of them makes some goals unreachable (a value
such as ``"rectangular"`` counts as the colour ``"tan"``, which the goal does not ask
for); ``option_matching="exact"`` compares like with like instead.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias

from rapidfuzz.fuzz import token_set_ratio
from rapidfuzz.utils import default_process

from environments.webshop.goals import Goal
from environments.webshop.products import Product

OptionMatching: TypeAlias = Literal["official", "exact"]
OPTION_MATCHINGS = ("official", "exact")
NounsOf: TypeAlias = Callable[[str], Sequence[str]]

_LEAST_RATIO = 85
_LATIN_1_SUPPLEMENT = dict.fromkeys(range(128, 256))
# fmt: off
COLOURS = (
    "alabaster", "apricot", "aqua", "ash", "asphalt", "azure", "banana", "beige",
    "black", "blue", "blush", "bordeaux", "bronze", "brown", "burgundy", "camel",
    "camo", "caramel", "champagne", "charcoal", "cheetah", "chestnut", "chocolate",
    "christmas", "coffee", "cognac", "copper", "coral", "cranberry", "cream",
    "crystal", "dark", "denim", "eggplant", "elephant", "espresso", "fuchsia", "gold",
    "granite", "grape", "graphite", "grass", "gray", "green", "grey", "heather",
    "indigo", "ivory", "ivy", "khaki", "lavender", "lemon", "leopard", "light",
    "lilac", "lime", "magenta", "maroon", "mauve", "merlot", "midnight", "mint",
    "mocha", "multicolor", "mushroom", "mustard", "natural", "navy", "nude", "olive",
    "orange", "peach", "pewter", "pink", "plum", "purple", "rainbow", "red", "rose",
    "royal", "rust", "sand", "sapphire", "seashell", "silver", "skull", "slate",
    "steel", "stone", "stonewash", "sunflower", "tan", "taupe", "teal", "tiger",
    "turquoise", "violet", "walnut", "wheat", "white", "wine", "yellow",
)
# fmt: on


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """What a purchase earns, and why.

    Attributes:
        total: In [0, 1]; 1 when everything fits.
        num_attributes_matched: Of the goal's attributes.
        num_options_matched: Of the goal's options.
        is_price_kept: Whether the hidden price keeps the limit.
        type_factor: 1, 0.5, 0.1 or 0: whether it is the kind of thing asked for.
    """

    total: float
    num_attributes_matched: int
    num_options_matched: int
    is_price_kept: bool
    type_factor: float


def score_purchase(
    product: Product,
    goal: Goal,
    *,
    price: float,
    chosen: Mapping[str, str],
    nouns_of: NounsOf,
    option_matching: OptionMatching = "official",
) -> Score:
    """Score a purchase.

    Args:
        product: What was bought.
        goal: What was asked for.
        price: The product's hidden price in dollars.
        chosen: Option name to the value chosen.
        nouns_of: The lower-case nouns of a title, repeats included.
        option_matching: ``"official"``, or ``"exact"``: an option matches when its very
            value was chosen.
    """
    num_attributes = sum(_has(product, wanted) for wanted in goal.attributes)
    num_options = _num_options_matched(goal, chosen, option_matching)
    is_price_kept = price <= goal.price_limit
    factor = type_factor(product, goal, nouns_of)
    num_wanted = len(goal.attributes) + len(goal.options) + 1
    return Score(
        total=(num_attributes + num_options + is_price_kept) / num_wanted * factor,
        num_attributes_matched=num_attributes,
        num_options_matched=num_options,
        is_price_kept=is_price_kept,
        type_factor=factor,
    )


def type_factor(product: Product, goal: Goal, nouns_of: NounsOf) -> float:
    """How far the product is of the kind asked for, by query, category and title."""
    wanted_nouns = nouns_of(goal.title)
    title_score = 0.2
    if wanted_nouns:
        common = set(nouns_of(product.title)) & set(wanted_nouns)
        title_score = len(common) / len(wanted_nouns)
    if title_score == 0:
        return 0.0
    if title_score < 0.1:
        return 0.1
    num_common = len(_path(product.product_category) & _path(goal.product_category))
    is_of_type = product.query == goal.query or num_common >= 2 or title_score > 0.2
    return 1.0 if is_of_type else 0.5


def _path(product_category: str) -> set[str]:
    return {part.strip() for part in product_category.split("\u203a")}


def _has(product: Product, attribute: str) -> bool:
    """Whether the product lists the attribute, or mentions it anywhere."""
    return any(_alike(own, attribute) for own in product.attributes) or any(
        attribute in text.lower()
        for text in (product.title, " ".join(product.bullets), product.description)
    )


def _num_options_matched(
    goal: Goal, chosen: Mapping[str, str], option_matching: OptionMatching
) -> int:
    if option_matching == "exact":
        return sum(chosen.get(name) == value for name, value in goal.options.items())
    chosen_values = [_reduced_to_colour(value) for value in chosen.values()]
    return sum(
        any(_alike(value, wanted) for value in chosen_values)
        for wanted in map(_printed, goal.options.items())
    )


def _reduced_to_colour(value: str) -> str:
    return next((colour for colour in COLOURS if colour in value), value)


def _printed(option: tuple[str, str]) -> str:
    """An option as the official program compares it: a printed pair, or a colour."""
    return next((colour for colour in COLOURS if colour in option), str(option))


@lru_cache(maxsize=1 << 16)
def _alike(text: str, other: str) -> bool:
    # The official comparison rounds to a whole number first.
    return round(token_set_ratio(_words(text), _words(other))) > _LEAST_RATIO


def _words(text: str) -> str:
    return default_process(text.translate(_LATIN_1_SUPPLEMENT))
