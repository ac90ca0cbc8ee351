"""A made-up catalog in plain words, so that everything runs without WebShop's data.

Every product has two attributes in its title and a third among its features; no two of
a kind share both of the first, so that a title tells whether a product is the one. All
goals can be met in full.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from environments.webshop.catalog import Catalog
from environments.webshop.products import Product

_SEED = 20_250_516
_COLOURS = ("black", "white", "red", "blue", "green", "yellow", "pink", "brown")
_PATH_MARK = " \u203a "


@dataclass(frozen=True, slots=True, kw_only=True)
class Department:
    """A part of the shop.

    Attributes:
        category: Its name, as in the official data.
        path: Head of the product category.
        kinds: What it sells.
        attributes: What its products can be.
        options: Option name to the values that its products choose from.
        lowest, highest: Prices in whole dollars.
    """

    category: str
    path: str
    kinds: tuple[str, ...]
    attributes: tuple[str, ...]
    options: dict[str, tuple[str, ...]]
    lowest: int
    highest: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldSize:
    """How much of the shop there is.

    Attributes:
        num_kinds: Kinds of each department.
        num_variants: Products of each kind.
        num_values: Values of each option of a product.
        num_eval_goals: Size of the evaluation panel.
    """

    num_kinds: int
    num_variants: int
    num_values: int
    num_eval_goals: int


WORLD_SIZES = {
    "tiny": WorldSize(num_kinds=2, num_variants=6, num_values=4, num_eval_goals=128),
    "full": WorldSize(num_kinds=7, num_variants=12, num_values=4, num_eval_goals=500),
}
DEPARTMENTS = (
    Department(
        category="fashion",
        path="Clothing, Shoes & Jewelry",
        kinds=("jacket", "sweater", "shirt", "skirt", "scarf", "boots", "sandals"),
        attributes=("warm", "waterproof", "soft", "slim", "loose", "knitted", "lined"),
        options={"color": _COLOURS, "size": ("small", "medium", "large", "huge")},
        lowest=15,
        highest=150,
    ),
    Department(
        category="garden",
        path="Home & Kitchen",
        kinds=("lamp", "rug", "chair", "table", "mirror", "curtain", "pillow"),
        attributes=("modern", "wooden", "foldable", "washable", "round", "rustic"),
        options={"color": _COLOURS},
        lowest=20,
        highest=400,
    ),
    Department(
        category="beauty",
        path="Beauty & Personal Care",
        kinds=("shampoo", "soap", "lotion", "perfume", "cream", "balm", "powder"),
        attributes=("gentle", "organic", "vegan", "herbal", "soothing", "moist"),
        options={
            "scent": ("sage", "citrus", "vanilla", "cedar", "jasmine"),
            "size": ("travel", "regular", "family", "salon"),
        },
        lowest=5,
        highest=60,
    ),
    Department(
        category="electronics",
        path="Electronics",
        kinds=(
            "speaker",
            "headphones",
            "keyboard",
            "camera",
            "charger",
            "clock",
            "fan",
        ),
        attributes=("wireless", "compact", "loud", "fast", "silent", "rugged"),
        options={"color": _COLOURS},
        lowest=10,
        highest=300,
    ),
    Department(
        category="grocery",
        path="Grocery & Gourmet Food",
        kinds=("tea", "coffee", "cookies", "honey", "crackers", "jam", "soup"),
        attributes=("sweet", "spicy", "salted", "roasted", "raw", "crunchy"),
        options={
            "flavor": ("ginger", "almond", "apple", "cocoa", "pepper"),
            "pack": ("single", "double", "dozen", "bulk"),
        },
        lowest=3,
        highest=45,
    ),
)


@lru_cache(maxsize=len(WORLD_SIZES))
def embedded_catalog(size: str = "tiny") -> Catalog:
    """The made-up catalog of a size, the same in every process.

    Args:
        size: ``"tiny"`` (60 products) or ``"full"`` (420).

    Raises:
        ValueError: The size is unknown.
    """
    if size not in WORLD_SIZES:
        raise ValueError(f"world={size!r}: choose one of {list(WORLD_SIZES)}")
    world = WORLD_SIZES[size]
    chance = random.Random(_SEED)
    products = [
        product
        for department in DEPARTMENTS
        for product in _department_products(department, world, chance)
    ]
    # Ids that can be spoken: a small model's tokenizer makes one token of each.
    syllables = [f"{first}{second}" for first in "BDFLMNRSTV" for second in "AEIOU"]
    ids = ["".join(pair) for pair in itertools.permutations(syllables, 2)]
    named = [
        replace(product, asin=asin)
        for product, asin in zip(
            products, chance.sample(ids, len(products)), strict=True
        )
    ]
    nouns = {product.title: [product.query] for product in named}
    return Catalog(named, nouns, num_eval_goals=world.num_eval_goals)


def _department_products(
    department: Department, world: WorldSize, chance: random.Random
) -> Iterator[Product]:
    """The products of a department, without ids yet."""
    pairs = list(itertools.permutations(department.attributes, 2))
    for kind in department.kinds[: world.num_kinds]:
        chance.shuffle(pairs)
        # One order of each pair, so that its attributes name one product of the kind.
        distinct = {frozenset(pair): pair for pair in pairs}
        for first, second in list(distinct.values())[: world.num_variants]:
            others = [a for a in department.attributes if a not in (first, second)]
            third = chance.choice(others)
            dollars = chance.randint(department.lowest, department.highest)
            yield Product(
                asin="",
                title=f"{first} {second} {kind}",
                description=f"A {kind} that is {first}, {second} and {third}.",
                bullets=(f"It is {third}.", f"Made for those who like {kind}."),
                category=department.category,
                query=kind,
                product_category=f"{department.path}{_PATH_MARK}{kind}",
                prices=(dollars + 0.99,),
                options={
                    name: tuple(chance.sample(values, world.num_values))
                    for name, values in department.options.items()
                },
                attributes=(first, second, third),
                instruction=f"Find me {first}, {second} {kind}",
                instruction_attributes=(first, second),
            )
