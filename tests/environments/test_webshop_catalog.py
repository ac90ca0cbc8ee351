"""Products, prices, goals and rewards, on products made by hand."""

from __future__ import annotations

import json
import logging
import random

import pytest

from environments.errors import CatalogError, MissingDataError
from environments.webshop import title_nouns as nouns_module
from environments.webshop.catalog import Catalog
from environments.webshop.embedded_world import WORLD_SIZES, embedded_catalog
from environments.webshop.goals import NO_PRICE_LIMIT, Goal, draw_goals, draw_prices
from environments.webshop.products import read_products
from environments.webshop.reward import score_purchase, type_factor
from environments.webshop.title_nouns import plain_words, title_nouns


def row(asin="B000000001", **changes):
    fields = {
        "asin": asin,
        "name": "Warm Wool Scarf",
        "full_description": "A scarf for cold days.",
        "small_description": ["Hand washed only. ", "Made of wool."],
        "category": "fashion",
        "query": " Scarves ",
        "product_category": "Clothing \u203a Accessories \u203a Scarves",
        "pricing": "$11.99",
        "customization_options": {
            "Size": [{"value": "Small "}, {"value": "L/XL"}],
            "Color": [{"value": "Red"}],
            "Fit": None,
        },
    }
    return {**fields, **changes}


ENTRY = {
    "attributes": ["wool scarf", "hand wash"],
    "instruction": "Find me hand wash scarves",
    "instruction_attributes": ["hand wash"],
}


def product(**changes):
    (made,) = read_products([row(**changes)], {"B000000001": ENTRY})
    return made


def test_a_raw_row_is_cleaned_as_the_shop_does():
    scarf = product()
    assert scarf.options == {"size": ("small", "l | xl"), "color": ("red",)}
    assert (scarf.query, scarf.attributes) == ("scarves", ("wool scarf", "hand wash"))
    assert scarf.search_document == (
        "warm wool scarf a scarf for cold days. hand washed only.  "
        "size: small, l | xl, and color: red"
    )
    (bare,) = read_products([row(small_description="One.")], {})
    assert (bare.bullets, bare.attributes) == (("One.",), ("DUMMY_ATTR",))


PRICES = {
    "$11.99": ((11.99,), "$11.99"),
    "$34.00": ((34.0,), "$34.0"),
    "$19.99 - $27.99": ((19.99, 27.99), "$19.99 to $27.99"),
    "$1,234.50": ((1234.5,), "$1234.5"),
    "": ((100.0,), "$100.0"),
    None: ((100.0,), "$100.0"),
}


@pytest.mark.parametrize("text", PRICES)
def test_prices_are_read_from_text(text):
    made = product(pricing=text)
    assert (made.prices, made.price_tag) == PRICES[text]


def test_rows_without_a_proper_id_and_repeated_ones_are_left_out():
    rows = [row("nan"), row("B0000000012"), row(), row(name="again"), row("B2")]
    made = read_products(rows, {})
    assert [p.asin for p in made] == ["B000000001", "B2"]
    assert made[0].title == "Warm Wool Scarf"


@pytest.mark.parametrize(
    "broken",
    [{"query": None}, {"small_description": 3}, {"customization_options": "x"}, "B"],
)
def test_a_broken_row_is_named(broken):
    bad = row("b1") if broken == "B" else row(**broken)
    with pytest.raises(CatalogError, match=r"row 1 .*data get webshop"):
        read_products([row("B2"), bad], {})


def test_goals_are_one_per_choice_of_options_with_the_price_in_words():
    scarf = product()
    chance = random.Random(1)
    goals = draw_goals([scarf], draw_prices([scarf], chance), chance)
    assert [goal.options for goal in goals] == [
        {"color": "red", "size": "small"},
        {"color": "red", "size": "l | xl"},
    ]
    limit = goals[0].price_limit
    assert limit in (30.0, 40.0, 50.0)  # the larger of two of 20, 30, 40, 50
    assert goals[1].instruction == (
        "Find me hand wash scarves with color: red, and size: l | xl, and price lower "
        f"than {limit:.2f} dollars"
    )


def test_the_dearest_products_have_no_price_limit():
    scarf = product(pricing="$985", customization_options="")
    (goal,) = draw_goals([scarf], {scarf.asin: 985.0}, random.Random(1))
    assert goal.price_limit == NO_PRICE_LIMIT
    assert goal.instruction == "Find me hand wash scarves"


def test_a_hidden_price_lies_in_its_range_and_follows_the_seed():
    scarf = product(pricing="$10 - $20")
    first, again, other = (
        draw_prices([scarf], random.Random(seed))[scarf.asin] for seed in (1, 1, 2)
    )
    assert first == again != other and 10 <= first <= 20


def goal_for(made, **changes):
    fields = {
        "asin": made.asin,
        "category": made.category,
        "query": made.query,
        "product_category": made.product_category,
        "title": made.title,
        "instruction": "",
        "attributes": ("hand wash", "machine wash"),
        "price_limit": 20.0,
        "options": {"size": "small", "color": "red"},
    }
    return Goal(**{**fields, **changes})


def total(made, goal, *, price=11.99, chosen, **settings):
    score = score_purchase(
        made, goal, price=price, chosen=chosen, nouns_of=plain_words, **settings
    )
    return score.total


def test_the_reward_counts_attributes_options_and_price():
    scarf = product()
    goal = goal_for(scarf)
    # Of 2 attributes 1, of 2 options 2, and the price: 4 of 5.
    assert total(scarf, goal, chosen={"size": "small", "color": "red"}) == 4 / 5
    assert total(scarf, goal, chosen={"size": "l | xl", "color": "red"}) == 3 / 5
    assert total(scarf, goal, chosen={}) == 2 / 5
    assert total(scarf, goal, price=20.01, chosen={}) == 1 / 5
    assert total(scarf, goal_for(scarf, options={}), chosen={"color": "red"}) == 2 / 3


def test_an_attribute_may_stand_anywhere_in_the_product():
    scarf = product()
    for wanted in ("wool scarf", "scarf wool", "warm", "cold days", "only.  made"):
        goal = goal_for(scarf, attributes=(wanted,), options={})
        assert total(scarf, goal, chosen={}) == 1.0
    goal = goal_for(scarf, attributes=("silk",), options={})
    assert total(scarf, goal, chosen={}) == 1 / 2


def test_a_chosen_value_is_reduced_to_a_colour_and_the_goal_is_not():
    scarf = product()
    goal = goal_for(scarf, attributes=("hand wash",), options={"color": "light blue"})
    # "dark blue" counts as "blue", which "light blue" holds.
    assert total(scarf, goal, chosen={"color": "dark blue"}) == 1.0
    shape = goal_for(scarf, attributes=("hand wash",), options={"shape": "rectangular"})
    # "rectangular" holds "tan", which the goal does not ask for.
    chosen = {"shape": "rectangular"}
    assert total(scarf, shape, chosen=chosen) == 2 / 3
    assert total(scarf, shape, chosen=chosen, option_matching="exact") == 1.0
    wrong = {"color": "dark blue"}
    assert total(scarf, goal, chosen=wrong, option_matching="exact") == 2 / 3


TYPES = {
    "the same title": ("Warm Wool Scarf", "scarves", "A \u203a B", 1.0),
    "no noun in common": ("Lamp", "scarves", "Clothing \u203a Accessories", 0.0),
    "one noun in eleven": ("w1 Lamp Wool", "x", "A", 0.1),
    "one in five, another kind": ("Wool Lamp", "x", "A", 0.5),
    "one in five, the same query": ("Wool Lamp", "scarves", "A", 1.0),
    "one in five, half the path": (
        "Wool Lamp",
        "x",
        "Accessories \u203a Clothing \u203a C",
        1.0,
    ),
}


@pytest.mark.parametrize("name", TYPES)
def test_the_kind_is_judged_by_title_query_and_category(name):
    title, query, path, factor = TYPES[name]
    wanted = "Warm Wool Scarf"
    if name.startswith("one noun in eleven"):
        wanted = "Wool " + " ".join("bcdefghijk")
    elif name.startswith("one in five"):
        wanted = "Wool " + " ".join("bcde")
    bought = product(name=title, query=query, product_category=path)
    goal = goal_for(product(), title=wanted)
    words = {wanted: wanted.lower().split(), title: title.lower().split()}
    assert type_factor(bought, goal, words.__getitem__) == factor


def test_a_goal_without_nouns_counts_as_one_in_five():
    goal = goal_for(product(), title="with 2", query="x", product_category="x")
    assert type_factor(product(), goal, plain_words) == 0.5


def write(folder, rows, entries):
    folder.mkdir(parents=True)
    (folder / "items_shuffle_1000.json").write_text(json.dumps(rows))
    (folder / "items_ins_v2_1000.json").write_text(json.dumps(entries))


def test_a_folder_is_loaded_once_and_also_from_above(tmp_path):
    write(tmp_path / "webshop", [row()], {"B000000001": ENTRY})
    catalog = Catalog.load(tmp_path, tagger="words")
    assert catalog is Catalog.load(tmp_path / "webshop", tagger="words")
    assert catalog.search("a WARM scarf") == ["B000000001"]
    assert len(catalog.goals) == 2


def test_missing_and_broken_files_say_what_to_do(tmp_path):
    with pytest.raises(MissingDataError, match="rllib-gigpo data get webshop"):
        Catalog.load(tmp_path)
    write(tmp_path / "a", {}, {})
    with pytest.raises(CatalogError, match="JSON list"):
        Catalog.load(tmp_path / "a")
    write(tmp_path / "b", [], {})
    (tmp_path / "b" / "items_ins_v2_1000.json").write_text("{")
    with pytest.raises(CatalogError, match="no whole JSON"):
        Catalog.load(tmp_path / "b")
    with pytest.raises(ValueError, match="size='10'"):
        Catalog.load(tmp_path / "b", size="10")


def test_nouns_are_read_back_from_disk_without_the_tagger(
    tmp_path, monkeypatch, caplog
):
    monkeypatch.setenv(nouns_module.CACHE_VARIABLE, str(tmp_path))
    monkeypatch.setattr(nouns_module, "_installed_model", lambda: "a model")
    monkeypatch.setattr(nouns_module, "_tag", lambda titles, model: {"b": ["x"]})
    assert title_nouns(["b"]) == {"b": ["x"]}
    monkeypatch.setattr(nouns_module, "_installed_model", lambda: None)
    assert title_nouns(["b", "b"], "spacy") == {"b": ["x"]}
    with pytest.raises(ModuleNotFoundError, match=r"rllib-gigpo\[webshop\]"):
        title_nouns(["another"], "spacy")
    with caplog.at_level(logging.WARNING):
        assert title_nouns(["Red Lamp"]) == {"Red Lamp": ["lamp"]}
    assert "rllib-gigpo[webshop]" in caplog.text


@pytest.mark.parametrize("size", WORLD_SIZES)
def test_the_made_up_world_tells_its_products_apart(size):
    catalog = embedded_catalog(size)
    products = catalog.products.values()
    num_kinds = 5 * WORLD_SIZES[size].num_kinds
    assert len(products) == num_kinds * WORLD_SIZES[size].num_variants
    pairs = {(p.query, frozenset(p.instruction_attributes)) for p in products}
    assert len(pairs) == len(products)
    sentences = {goal.instruction for goal in catalog.goals}
    assert len(sentences) == len(catalog.goals) > 4 * catalog.num_eval_goals
