"""Visits to the made-up shop: moves, odd actions, keys, prompts, the expert."""

from __future__ import annotations

import string

import gymnasium
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import environments  # noqa: F401  (registers it)
from environments.checker import check_text_env
from environments.prompting import HistoryEntry, PromptContext
from environments.webshop.catalog import Catalog
from environments.webshop.embedded_world import embedded_catalog
from environments.webshop.env import WebShopEnv
from environments.webshop.pages import PartKind, item_page, sub_page
from environments.webshop.products import Product
from environments.webshop.prompt import WebShopPrompt, bare_observation
from environments.webshop.site import PageKind

MUG = Product(
    asin="P1",
    title="plain mug",
    description="  ",
    bullets=("holds tea", "\n", ""),
    category="garden",
    query="mug",
    product_category="Home \u203a mug",
    prices=(9.0,),
    options={
        "color": ("red", "blue", "search", "buy now"),
        "handle": ("none", "red"),
    },
    attributes=("plain",),
    instruction="Find me plain mug",
    instruction_attributes=("plain",),
)


def mug_shop(**settings):
    shop = WebShopEnv(Catalog([MUG], {"plain mug": ["mug"]}), **settings)
    shop.reset(options={"task": "eval/0"})
    return shop


def play(env, *actions):
    return [env.step(action) for action in actions][-1]


def test_a_purchase_from_start_to_end():
    env = WebShopEnv(goal=_goal_of("eval/1"))
    observation, info = env.reset()
    assert (
        observation
        == f"WebShop [SEP] Instruction: [SEP] {info['instruction']} [SEP] Search"
    )
    assert info["admissible_actions"] == ("search[<your query>]",)
    expert = env.expert()
    rewards = []
    terminated = False
    while not terminated:
        observation, reward, terminated, truncated, info = env.step(
            expert.next_action().action
        )
        rewards.append(reward)
        assert not truncated
    assert rewards == [0, 0, 0, 0, 1.0]
    assert info["success"] and info["figures"] == {"score": 1.0, "num_rejected": 0}
    assert info["admissible_actions"] == ()
    assert observation.endswith("[SEP] 1.0 [SEP] Reward Details [SEP] None")
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step("click[buy now]")


def _goal_of(task_id):
    return embedded_catalog("tiny").goals[int(task_id.partition("/")[2])]


def test_options_outlive_sub_pages_and_not_the_way_back_to_the_results():
    env = mug_shop()
    play(env, "search[mug]", "click[p1]", "click[blue]", "click[features]")
    assert env.site.visit.kind is PageKind.SUB_PAGE
    play(env, "click[< prev]")
    assert dict(env.site.visit.chosen) == {"color": "blue"}
    play(env, "click[< prev]", "click[p1]")
    assert env.site.visit.chosen == ()


def test_a_later_choice_of_a_group_replaces_the_earlier_one():
    env = mug_shop()
    play(env, "search[mug]", "click[p1]", "click[none]", "click[blue]", "click[red]")
    # Both groups have "red"; the last one gets it.
    assert env.site.visit.chosen == (("handle", "red"), ("color", "blue"))


def test_an_option_that_is_called_like_a_button_gives_way_to_it():
    env = mug_shop()
    play(env, "search[mug]", "click[p1]", "click[search]")
    assert env.site.visit.chosen == ()
    assert play(env, "click[buy now]")[2]


def test_searching_works_everywhere_and_forgets_product_and_options():
    env = mug_shop()
    play(env, "search[mug]", "click[p1]", "click[blue]", "search[no such thing]")
    assert env.site.page.text.endswith("Page 1 (Total results: 0) [SEP] Next >")
    assert env.site.visit.asin == "" and env.site.visit.chosen == ()


def test_links_are_marked_as_visited_until_the_next_start_page():
    env = mug_shop(observation_mode="text_rich")
    observation = play(env, "search[mug]", "click[p1]", "click[< prev]")[0]
    assert "\n[clicked button] P1 [clicked button_]\n" in observation
    observation = play(env, "click[back to search]", "search[mug]")[0]
    assert "\n[button] P1 [button_]\n" in observation


def test_results_go_on_past_their_end():
    env = WebShopEnv()
    env.reset(options={"task": "eval/0"})
    play(env, "search[soap shampoo]", "click[next >]")
    assert "Page 2 (Total results: 12) [SEP] < Prev [SEP] Next >" in env.site.page.text
    play(env, "click[next >]", "click[next >]")
    assert env.site.page.clickables == ("back to search", "< prev", "next >")
    play(env, *["click[< prev]"] * 3)
    assert env.site.visit.number == 1


PREFIXED = {
    "<q> soap": {"soap"},
    "<c> beauty": {"soap", "shampoo"},
    "<a> herbal": {"soap", "shampoo"},
    "<q>": set(),
    "<c>": set(),
    "<a> nothing": set(),
}


@pytest.mark.parametrize("words", PREFIXED)
def test_prefixes_select_without_the_search_engine(words):
    env = WebShopEnv()
    env.reset(options={"task": "eval/0"})
    env.step(f"search[{words}]")
    links = [p.text for p in env.site.page.parts if p.kind is PartKind.PRODUCT_LINK]
    found = {env.catalog.products[asin].query for asin in links}
    assert found == PREFIXED[words]


def test_random_results_follow_the_seed_and_stay_the_same_within_a_visit():
    env = WebShopEnv()
    pages = []
    for seed in (1, 1, 2):
        env.reset(seed=seed, options={"task": "eval/0"})
        pages.append(env.step("search[<r>]")[0])
        assert play(env, "click[next >]", "click[< prev]")[0] == pages[-1]
    assert pages[0] == pages[1] != pages[2]


ODD = ("", " ", "buy", "search", "search[]", "click[]", "click[", "CLICK[buy now]")
ODD += ("Search[mug]", "click[buy now", "click[p9]", "click[search]", "x search[mug]")
ODD += ("search[mug\n]", "[]", "][", "\ud800", "click[\ud800]", "click[p1]]", "\x00")


@pytest.mark.parametrize("action", ODD)
def test_what_is_not_understood_changes_nothing_and_costs_a_step(action):
    for before in ([], ["search[mug]"], ["search[mug]", "click[p1]", "click[blue]"]):
        env = mug_shop()
        page = env.site.page if not before else (play(env, *before), env.site.page)[1]
        key = env.site.state_key()
        observation, reward, terminated, _, info = env.step(action)
        assert (env.site.page, info["state_key"]) == (page, key)
        assert observation == page.text
        assert (reward, terminated, info["figures"]["num_rejected"]) == (0, False, 1)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.text(max_size=20),
            st.builds("search[{}]".format, st.text(max_size=12)),
            st.sampled_from(
                ["click[p1]", "click[red]", "click[< prev]", "search[mug]"]
            ),
        ),
        max_size=12,
    )
)
def test_no_text_crashes_a_visit(actions):
    for mode in ("text", "text_rich"):
        env = mug_shop(observation_mode=mode)
        for action in actions:
            observation, reward, terminated, _, _ = env.step(action)
            assert isinstance(observation, str) and not terminated and reward == 0


def test_text_after_the_last_bracket_and_the_case_of_the_target_are_ignored():
    env = mug_shop()
    play(env, "search[MUG] please")
    assert env.site.visit.words == ("mug",)
    play(env, "click[P1]")
    assert env.site.visit.kind is PageKind.ITEM


def test_an_episode_is_truncated_at_its_limit_but_a_last_purchase_counts():
    env = mug_shop(max_episode_steps=3)
    assert [env.step("")[3] for _ in range(3)] == [False, False, True]
    env.reset(options={"task": "eval/0"})
    _, reward, terminated, truncated, _ = play(
        env, "search[mug]", "click[p1]", "click[buy now]"
    )
    assert (terminated, truncated) == (True, False) and reward > 0


def test_the_reward_may_be_success_alone():
    env = mug_shop(reward="success", win_reward=7.0)
    _, reward, _, _, info = play(env, "search[mug]", "click[p1]", "click[buy now]")
    assert (reward, info["success"]) == (0.0, False) and info["figures"]["score"] > 0
    env = WebShopEnv(reward="success", win_reward=7.0)
    env.reset(options={"task": "eval/3"})
    expert, terminated = env.expert(), False
    while not terminated:
        _, reward, terminated, _, info = env.step(expert.next_action().action)
    assert (reward, info["figures"]["score"]) == (7.0, 1.0)


def test_the_state_key_sees_options_and_query_and_not_the_instruction():
    env = WebShopEnv()
    keys = set()
    for task in ("eval/0", "eval/1"):
        _, info = env.reset(options={"task": task})
        keys.add(info["state_key"])
    assert len(keys) == 1
    mug = mug_shop()
    play(mug, "search[mug]", "click[p1]", "click[blue]", "click[none]")
    one = mug.site.state_key()
    play(mug, "click[< prev]", "click[p1]", "click[none]")
    less = mug.site.state_key()
    play(mug, "click[blue]")
    assert mug.site.state_key() == one != less
    play(mug, "search[plain]", "click[p1]", "click[blue]", "click[none]")
    assert mug.site.state_key() != one


def test_the_published_anchor_takes_states_that_differ_in_options_for_one():
    env = mug_shop(anchor="observation")
    plain = play(env, "search[mug]", "click[p1]")[4]["state_key"]
    assert play(env, "click[blue]")[4]["state_key"] == plain
    assert plain.startswith("Back to Search [SEP] < Prev [SEP] color [SEP] red")


def test_blank_parts_are_kept_or_dropped_as_in_html():
    page = sub_page("buy it", MUG, "Features")
    assert page.text.split(" [SEP] ")[4:] == ["holds tea", ""]
    assert page.text_rich.endswith("\n holds tea\n \n")
    page = sub_page("buy it", MUG, "Description")
    assert (
        page.text
        == "Instruction: [SEP] buy it [SEP] Back to Search [SEP] < Prev [SEP] "
    )


def test_a_value_in_quotes_in_the_query_shows_as_clicked():
    page = item_page("x", MUG, words=('"red"',), number=1, chosen={"color": "blue"})
    clicked = [part.text for part in page.parts if part.is_clicked]
    assert clicked == ["red", "blue", "red"]
    assert page.text_rich.startswith(
        "You have clicked red.\nYou have clicked blue.\nYou have clicked red.\n"
    )


@pytest.mark.parametrize(
    "task", ["eval/128", "train/127", "train/672", "eval/01", "eval/", "x/1", "eval/-1"]
)
def test_ids_outside_of_their_panel_are_refused(task):
    with pytest.raises(ValueError, match="'eval/0' to 'eval/127' and 'train/128'"):
        WebShopEnv().reset(options={"task": task})


@pytest.mark.parametrize(
    "bad",
    [
        {"world": "huge"},
        {"observation_mode": "html"},
        {"reward": "x"},
        {"option_matching": "x"},
        {"anchor": "x"},
        {"tagger": "x"},
        {"max_episode_steps": 0},
        {"goal": {"asin": "P1"}},
        {"prompt": {"style": "x"}},
        {"catalog": embedded_catalog("tiny"), "data": "x"},
        {"catalog": embedded_catalog("tiny"), "world": "tiny"},
        {"world": "tiny", "data": "x"},
    ],
)
def test_settings_out_of_range_are_refused(bad):
    with pytest.raises(ValueError):
        WebShopEnv(**bad)


@pytest.mark.parametrize("world", ["tiny", "full"])
def test_the_expert_earns_the_full_reward_in_the_made_up_world(world):
    env = WebShopEnv(world=world, max_episode_steps=8)
    for split in ("eval", "train"):
        tasks = env.tasks(split)
        for task in tasks[:: max(1, len(tasks) // 128)]:
            env.reset(options={"task": task})
            expert, is_over = env.expert(), False
            while not is_over:
                advice = expert.next_action()
                _, reward, terminated, truncated, _ = env.step(advice.action)
                is_over = terminated or truncated
            assert (reward, terminated) == (1.0, True), task


@pytest.mark.parametrize("mode", ["text", "text_rich"])
@pytest.mark.parametrize("style", ["full", "compact"])
@pytest.mark.parametrize("parsing", ["strict", "official"])
def test_every_kind_of_prompt_keeps_the_contract(mode, style, parsing):
    prompt = {"style": style, "parsing": parsing}
    check_text_env(WebShopEnv(observation_mode=mode, prompt=prompt), num_tasks=1)


INSTRUCTION = "Find me plain mug with color: red, and price lower than 20.00 dollars"
ITEM = item_page(INSTRUCTION, MUG, words=("mug",), number=1, chosen={"color": "blue"})


@pytest.mark.parametrize("text", [ITEM.text, ITEM.text_rich])
def test_prompts_leave_the_instruction_out_of_the_page(text):
    bare = bare_observation(text, INSTRUCTION)
    assert INSTRUCTION in text and INSTRUCTION not in bare
    assert "Back to Search" in bare and bare.endswith(text[-20:])
    assert bare_observation(bare, INSTRUCTION) == bare


# Danger: a change below is a change of the prompt. Raise its number in
# PROMPT_VERSIONS, since results of different prompts must not be compared.
SNAPSHOTS = {
    "webshop-full-1": (
        "You are shopping on the web site WebShop. Find the product that is asked for, "
        "choose the right options and buy it.\n\n"
        f"Your task: {INSTRUCTION}\n\n"
        "Steps taken so far: 3. The last 1:\n"
        "[Observation 3: 'WebShop [SEP] Search', Action 3: 'search[mug]']\n\n"
        "Step 4. The page you see now:\n"
        "Back to Search [SEP] < Prev [SEP] color [SEP] red [SEP] blue [SEP] search "
        "[SEP] buy now [SEP] handle [SEP] none [SEP] red [SEP] plain mug [SEP] Price: "
        "$9.0 [SEP] Rating: N.A. [SEP] Description [SEP] Features [SEP] Reviews [SEP] "
        "Buy Now\n\n"
        "Actions that are possible now:\n'click[< prev]'\n'click[red]'\n\n"
        "First think step by step about what to do, between <think> and </think>. Then "
        "give exactly one of these actions between <action> and </action>."
    ),
    "webshop-compact-1": (
        f"task: {INSTRUCTION}\n"
        "past: search[mug]\n"
        "see: back to search | < prev | color | red | *blue | search | buy now "
        "| handle | none | red | plain mug | price: $9.0 | buy now"
    ),
}


@pytest.mark.parametrize("style", ["full", "compact"])
def test_prompts_are_these_words(style):
    prompt = WebShopPrompt(style=style)
    start = f"WebShop [SEP] Instruction: [SEP] {INSTRUCTION} [SEP] Search"
    context = PromptContext(
        instruction=INSTRUCTION,
        observation=ITEM.text if style == "full" else ITEM.text_rich,
        admissible_actions=("click[< prev]", "click[red]"),
        history=(HistoryEntry(observation=start, action="search[mug]"),),
        num_steps_taken=3,
    )
    (message,) = prompt.messages(context)
    assert message["content"] == SNAPSHOTS[prompt.version.partition("/")[0]]


def test_any_query_is_admissible_where_a_search_is_listed():
    prompt = WebShopPrompt()
    reply = prompt.response("look", "search[red mug]")
    assert prompt.parse(reply, ("search[<your query>]",)).is_admissible
    assert not prompt.parse(reply, ("click[p1]",)).is_admissible
    empty = prompt.response("look", "search[]")
    assert not prompt.parse(empty, ("search[<your query>]",)).is_admissible
    assert prompt.parse(prompt.response("x", "click[P1]"), ("click[p1]",)).action == (
        "click[p1]"
    )


def test_official_rules_take_the_last_twenty_characters():
    prompt = WebShopPrompt(parsing="official")
    parsed = prompt.parse("I would now like to search[Red Mug]", None)
    assert (parsed.action, parsed.is_valid) == ("like to search[red mug]"[-20:], False)


def test_pages_stay_within_the_observation_space():
    env = WebShopEnv()
    assert set(string.printable) <= set(env.observation_space.character_set)
    observation, _ = env.reset(options={"task": "eval/0"})
    assert env.observation_space.contains(observation)
