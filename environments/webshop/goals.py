"""What shoppers are asked for: the synthetic goals, drawn as WebShop draws them.

Source: WebShop (arXiv 2207.01206), its program. Every draw comes from one seeded
generator, so a seed decides all hidden prices, price limits and the order of the goals,
in any process. (The published GiGPO runs seeded each worker by itself, which gave one
index different goals and let evaluation goals into training.)
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from environments.webshop.products import Product

DRAW_SEED = 42
SHUFFLE_SEED = 233
NO_PRICE_LIMIT = 1_000_000.0
_PRICE_LIMITS = tuple(10.0 * tens for tens in range(1, 100))


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """What one shopper is asked for.

    Attributes:
        asin: The product that the sentence was made from; others may do as well.
        category, query, product_category: Of that product.
        title: Its title.
        instruction: The whole sentence.
        attributes: What the product must have.
        price_limit: Highest price in dollars.
        options: Option name to the value asked for.
    """

    asin: str
    category: str
    query: str
    product_category: str
    title: str
    instruction: str
    attributes: tuple[str, ...]
    price_limit: float
    options: Mapping[str, str]

    @classmethod
    def from_dict(cls, goal: Mapping[str, Any]) -> Goal:
        """A goal in WebShop's own form (``name``, ``instruction_text``, …).

        Raises:
            ValueError: A field is missing.
        """
        try:
            return cls(
                asin=goal["asin"],
                category=goal["category"],
                query=goal["query"],
                product_category=goal["product_category"],
                title=goal["name"],
                instruction=goal["instruction_text"],
                attributes=tuple(goal["attributes"]),
                price_limit=float(goal["price_upper"]),
                options=dict(goal["goal_options"]),
            )
        except KeyError as error:
            raise ValueError(f"the goal has no field {error}") from error


def draw_prices(products: Sequence[Product], chance: random.Random) -> dict[str, float]:
    """The hidden price of each product: its own, or uniform within its range."""
    return {
        product.asin: (
            product.prices[0]
            if len(product.prices) == 1
            else chance.uniform(*product.prices)
        )
        for product in products
    }


def draw_goals(
    products: Sequence[Product],
    prices: Mapping[str, float],
    chance: random.Random,
) -> list[Goal]:
    """All goals: one per product with an instruction and choice of its options."""
    goals: list[Goal] = []
    for product in products:
        if product.instruction is None:
            continue
        price_limit, price_text = _draw_price_limit(prices[product.asin], chance)
        names = sorted(product.options)
        for values in itertools.product(*(product.options[name] for name in names)):
            options = dict(zip(names, values, strict=True))
            wanted = ", and ".join(f"{name}: {options[name]}" for name in names)
            goals.append(
                Goal(
                    asin=product.asin,
                    category=product.category,
                    query=product.query,
                    product_category=product.product_category,
                    title=product.title,
                    instruction=product.instruction
                    + (f" with {wanted}" if wanted else "")
                    + price_text,
                    attributes=product.instruction_attributes,
                    price_limit=price_limit,
                    options=options,
                )
            )
    return goals


def _draw_price_limit(price: float, chance: random.Random) -> tuple[float, str]:
    """A limit above the price, and its words; none for the dearest products."""
    above = [limit for limit in _PRICE_LIMITS if limit > price][:4]
    if len(above) < 2:
        return NO_PRICE_LIMIT, ""
    limit = max(chance.sample(above, 2))
    return limit, f", and price lower than {limit:.2f} dollars"


def shuffle_goals(goals: Sequence[Goal]) -> list[Goal]:
    """The goals in the one order that indices and panels refer to."""
    shuffled = list(goals)
    random.Random(SHUFFLE_SEED).shuffle(shuffled)
    return shuffled
