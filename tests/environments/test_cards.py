"""The card games: rules, rewards, deals, experts, prompts and replies."""

from __future__ import annotations

import hashlib
from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from environments.cards.blackjack import BlackjackEnv, BlackjackGame
from environments.cards.blackjack_strategy import hand_total, should_hit, win_chance
from environments.cards.expression import formula_value
from environments.cards.formula_envs import (
    EZPOINTS_RULES,
    POINTS24_RULES,
    EZPointsEnv,
    Points24Env,
)
from environments.cards.formula_game import Card, FormulaExpert, FormulaGame
from environments.cards.number_line import NumberLineEnv, NumberLineGame
from environments.cards.replies import parse_official_json
from environments.cards.solutions import solutions
from environments.prompting import PromptContext

ENVS = {
    "NumberLine-v0": NumberLineEnv,
    "EZPoints-v0": EZPointsEnv,
    "Points24-v0": Points24Env,
    "Blackjack-v0": BlackjackEnv,
}
FULL_REWARDS = {"NumberLine-v0": 1.0, "EZPoints-v0": 10.0, "Points24-v0": 10.0}


def formula_game(*numbers, rules=EZPOINTS_RULES, arithmetic="exact"):
    cards = tuple(Card(f"H{number}", number) for number in numbers)
    return FormulaGame(cards, rules, arithmetic)


def play(game, actions):
    return [game.play(action) for action in actions]


def play_expert(env, task):
    env.reset(options={"task": task})
    expert, rewards, is_over = env.expert(), [], False
    while not is_over:
        _, reward, is_over, truncated, info = env.step(expert.next_action().action)
        assert not truncated
        rewards.append(reward)
    return rewards, info["success"]


@pytest.mark.parametrize("name", FULL_REWARDS)
def test_the_expert_gets_the_full_reward_of_every_evaluation_task(name):
    env = ENVS[name]()
    for task in env.tasks("eval"):
        rewards, success = play_expert(env, task)
        assert success and rewards[-1] == FULL_REWARDS[name]
        assert set(rewards[:-1]) <= {0.0}


PANEL_DIGESTS = {
    "NumberLine-v0": "5684078bb67ee471",
    "EZPoints-v0": "b3078d6044a24c1b",
    "Points24-v0": "4d025bbdb81479f0",
    "Blackjack-v0": "1eb7ea9fc89b63bf",
}


@pytest.mark.parametrize("name", ENVS)
def test_the_evaluation_panel_is_the_same_for_ever(name):
    """A new digest here means that old evaluation figures no longer compare."""
    env = ENVS[name]()
    digest = hashlib.sha256()
    for task in env.tasks("eval"):
        digest.update(env.reset(options={"task": task})[0].encode())
    assert digest.hexdigest()[:16] == PANEL_DIGESTS[name]


def test_number_line_rewards_steps_by_whether_they_come_closer():
    game = NumberLineGame(1, 3)
    assert game.observation() == "Target number: 3. Current number: 1"
    # Away to 0, against the border, back to 1, on to 2 (closer), then the target.
    assert [o.reward for o in play(game, "--+++")] == [-1.0, -1.0, 0.0, 0.0, 1.0]
    assert game.won
    assert NumberLineGame(5, 2).play("+").reward == -1.0


def test_number_line_starts_are_spread_over_all_pairs():
    env = NumberLineEnv()
    pairs = Counter()
    for task in env.tasks("train")[:3000]:
        env.reset(options={"task": task})
        pairs[env.game.current, env.game.target] += 1
    # Uniform 36 pairs, the six equal ones moved on: 0-3 to the next, 4 to 0, 5 to 1.
    moved_on = {(0, 1), (1, 2), (2, 3), (3, 4), (4, 0), (5, 1)}
    assert len(pairs) == 30
    for pair, number in pairs.items():
        expected = 3000 * (2 if pair in moved_on else 1) / 36
        assert abs(number - expected) < 5 * expected**0.5


def test_a_right_formula_of_all_cards_wins_at_the_equals_sign():
    game = formula_game(4, 8)
    assert game.observation() == (
        "Cards: ['H4', 'H8']. Numbers: [4, 8]. Current formula: ."
    )
    outcomes = play(game, ["8", "+", "4"])
    assert [outcome.reward for outcome in outcomes] == [0.0, 0.0, 0.0]
    assert game.observation().endswith("Current formula: 8+4.")
    last = game.play("=")
    assert (last.reward, last.is_over, game.won) == (10.0, True, True)


@pytest.mark.parametrize(
    "actions", [["="], ["8", "="], ["8", "*", "4", "="], ["8", "4", "="], ["+", "="]]
)
def test_a_wrong_formula_gives_nothing_and_ends_it(actions):
    game = formula_game(4, 8)
    outcome = play(game, actions)[-1]
    assert (outcome.reward, outcome.is_over, game.won) == (0.0, True, False)


def test_a_right_value_without_every_card_is_not_enough():
    game = formula_game(3, 4, 12 - 2, 1, rules=POINTS24_RULES)
    assert play(game, ["10", "+", "10"])[-1].is_rejected
    game = formula_game(6, 4, 1, 1, rules=POINTS24_RULES)
    assert play(game, ["6", "*", "4", "="])[-1].reward == 0.0


def test_a_number_can_be_used_once_a_card():
    game = formula_game(6, 6)
    assert [o.is_rejected for o in play(game, ["6", "6", "6", "5"])] == [
        *(False, False, True),
        True,
    ]
    assert game.formula == ("6", "6")
    assert game.admissible_actions() == ("+", "*", "=")


def test_too_many_tokens_truncate_and_do_not_terminate():
    env = EZPointsEnv(max_episode_steps=50)
    env.reset(seed=0)
    outcomes = [env.step("+")[1:4] for _ in range(7)]
    assert outcomes == [(0.0, False, False)] * 6 + [(0.0, False, True)]


def test_ezpoints_deals_are_as_frequent_as_the_official_ones():
    env, deals = EZPointsEnv(), Counter()
    for task in env.tasks("train")[:4000]:
        env.reset(options={"task": task})
        deals[tuple(sorted(card.number for card in env.game.cards))] += 1
    official = {(2, 10): 38, (5, 7): 16, (3, 9): 12, (4, 8): 12, (3, 4): 9}
    official |= {(2, 6): 8, (6, 6): 4}
    assert set(deals) == set(official)
    for deal, percent in official.items():
        assert abs(deals[deal] / 40 - percent) < 3


def test_points24_deals_can_all_be_solved_unless_asked_otherwise():
    official = Points24Env(is_always_solvable=False)
    solvable = Points24Env()
    num_solvable = 0
    for task in official.tasks("train")[:300]:
        official.reset(options={"task": task})
        is_solvable = official._can_be_solved(official.game.cards)
        num_solvable += is_solvable
        solvable.reset(options={"task": task})
        assert solvable._can_be_solved(solvable.game.cards)
        if is_solvable:
            assert solvable.game.cards == official.game.cards
    assert 0.65 < num_solvable / 300 < 0.81  # 73.1 % of all deals


@pytest.mark.slow
def test_exactly_as_many_deals_can_be_solved_as_are_known_to_be():
    values = [min(rank, 10) for rank in range(1, 14)]
    deals = Counter(tuple(sorted(deal)) for deal in product(values, repeat=4))
    solvable = sum(
        number for deal, number in deals.items() if solutions(deal, 24, "+-*/", "exact")
    )
    assert (solvable, deals.total()) == (20_876, 28_561)


def test_solutions_use_every_number_and_need_their_brackets():
    for numbers in [(1, 2, 3, 4), (3, 3, 8, 8), (1, 5, 5, 5), (6, 6, 6, 6)]:
        found = solutions(numbers, 24, "+-*/", "exact")
        assert found and list(found) == sorted(found, key=lambda t: (len(t), t))
        for tokens in found:
            used = sorted(int(token) for token in tokens if token.isdigit())
            assert used == list(numbers)
            assert formula_value(tokens, "exact") == 24
            assert not (tokens[0] == "(" and ")" == tokens[-1] == tokens[2])
            bare = [token for token in tokens if token not in "()"]
            if "(" in tokens and tokens.count("(") == 1:
                assert formula_value(bare, "exact") != 24
    assert solutions((1, 1, 1, 1), 24, "+-*/", "exact") == ()
    assert solutions((3, 4), 12, "+*", "exact") == (("3", "*", "4"), ("4", "*", "3"))


@pytest.mark.parametrize(
    ("formula", "exact", "official"),
    [
        ("8 / ( 3 - 8 / 3 )", 24, None),
        ("2 4 * 1 * 1", None, 24),
        ("1 0 + 2", None, 12),
        ("2 * * 3", None, 8),
        ("7 / / 2", None, 3),
        ("1 / 3 * 3", 1, 1),
        ("- ( - 5 ) + 7", 12, 12),
        ("5 +", None, None),
        ("", None, None),
        ("( )", None, None),
        ("3 ( 4 )", None, None),
        ("1 / ( 2 - 2 )", None, None),
        ("9 * * 9 * * 9 * * 9", None, None),
        ("( - 8 ) * * ( 1 / 3 )", None, None),
        ("10 * * ( 10 * 10 )", None, None),
        (") (", None, None),
        ("( 5 + 7", None, None),
    ],
)
def test_formulas_are_valued_exactly_or_as_text_in_floating_point(
    formula, exact, official
):
    tokens = formula.split()
    assert formula_value(tokens, "exact") == exact
    value = formula_value(tokens, "official")
    if formula.startswith("8 /"):
        assert value != 24 and value == pytest.approx(24)
    else:
        assert value == official
    assert exact is None or isinstance(formula_value(tokens, "exact"), Fraction)


@pytest.mark.parametrize(
    "tokens",
    [
        ["__import__('os')"],
        ["a"],
        ["'x'*9"],
        ["[1]"],
        ["1.5"],
        ["True"],
        ["lambda:0"],
        ["f(1)"],
        ["1<2"],
    ],
)
def test_nothing_but_numbers_and_signs_has_a_value(tokens):
    assert formula_value(tokens, "exact") is None
    assert formula_value(tokens, "official") is None


def test_the_expert_goes_on_from_what_is_written_and_gives_up_on_a_slip():
    game = formula_game(6, 10, 10, 3, rules=POINTS24_RULES)
    play(game, ["6", "*"])
    expert = FormulaExpert(game)
    while not game.play(expert.next_action().action).is_over:
        pass
    assert game.won
    lost = formula_game(4, 8)
    play(lost, ["*"])
    advice = FormulaExpert(lost).next_action()
    assert (advice.action, advice.thought) == ("=", "no way left")


def test_blackjack_rewards_a_win_and_nothing_else():
    outcomes = Counter()
    for seed in range(2000):
        game = BlackjackGame(seed)
        outcome = game.play("stand")
        values = [
            [{"A": 1, "J": 10, "Q": 10, "K": 10}.get(c) or int(c) for c in hand]
            for hand in (game.player, game.dealer)
        ]
        player, dealer = (hand_total(hand)[0] for hand in values)
        assert dealer >= 17 and outcome.is_over
        assert game.won == (dealer > 21 or player > dealer)
        assert outcome.reward == float(game.won)
        outcomes["bust" if dealer > 21 else (player > dealer) - (player < dealer)] += 1
    assert set(outcomes) == {"bust", 1, 0, -1}


def test_blackjack_hits_until_bust():
    game = BlackjackGame(3)
    first = list(game.player)
    outcome = game.play("hit")
    while not outcome.is_over:
        outcome = game.play("hit")
    assert (outcome.reward, game.won) == (0.0, False)
    assert game.player[:2] == first and len(game.player) > 2
    assert game.figures()["player_total"] > 21


def threshold_win_share(threshold, num_hands):
    wins = 0
    for seed in range(num_hands):
        game = BlackjackGame(seed)
        is_over = False
        while not is_over:
            action = "hit" if game.figures()["player_total"] < threshold else "stand"
            is_over = game.play(action).is_over
        wins += game.won
    return wins / num_hands


@pytest.mark.parametrize(("threshold", "known"), [(0, 0.381), (12, 0.415), (17, 0.407)])
def test_simple_ways_to_play_win_as_often_as_they_are_known_to(threshold, known):
    # 10,000 hands: standard error 0.005.
    assert threshold_win_share(threshold, 10_000) == pytest.approx(known, abs=0.02)


def test_the_blackjack_expert_wins_as_often_as_its_strategy_says():
    weights = {value: (4 if value == 10 else 1) / 13 for value in range(1, 11)}
    expected = sum(
        weights[a] * weights[b] * weights[d] * win_chance(*hand_total([a, b]), d)
        for a, b, d in product(weights, repeat=3)
    )
    assert expected > 0.417 + 0.01  # The best threshold, and more.
    env = BlackjackEnv()
    tasks = env.tasks("train")[:5000]
    wins = sum(play_expert(env, task)[1] for task in tasks)
    assert wins / len(tasks) == pytest.approx(expected, abs=0.021)  # 3 standard errors


def test_the_strategy_is_basic_strategy_where_that_is_beyond_doubt():
    assert all(should_hit(total, False, d) for total in range(4, 12) for d in (1, 6))
    assert not any(should_hit(total, False, 6) for total in range(12, 22))
    assert should_hit(16, False, 7) and not should_hit(20, True, 10)
    assert should_hit(18, True, 9) and not should_hit(18, True, 6)


def test_a_blackjack_state_is_told_from_one_with_other_cards_to_come():
    keys = {BlackjackGame(seed).state_key() for seed in range(50)}
    assert len(keys) == 50
    game, same = BlackjackGame(7), BlackjackGame(7)
    game.play("jump")
    assert game.state_key() == same.state_key()
    game.play("hit")
    assert game.state_key() != same.state_key()


KEYWORDS = EZPOINTS_RULES.keywords


@pytest.mark.parametrize(
    ("text", "action", "reason"),
    [
        ('{"thoughts": "5+7", "action": "10"}', "10", ""),
        ('{"thoughts": "5+7", "action": "1"}', "1", ""),
        ('{"ACTION": "+"}', "+", ""),
        ('{"action": "1 or 10"}', "", "several actions"),
        ('{"action": "10 10"}', "10", ""),
        ('{"action": "nothing"}', "", "no action tag"),
        ("I say =", "=", ""),
        ("= I say", "", "no action tag"),
        ("", "", "no action tag"),
    ],
)
def test_official_replies_hold_exactly_one_keyword(text, action, reason):
    parsed = parse_official_json(text, None, keywords=KEYWORDS)
    assert (parsed.action, parsed.reason) == (action, reason)
    assert parsed.is_valid is (not reason)


def test_an_official_reply_is_told_from_an_admissible_one():
    parsed = parse_official_json('{"action": "9"}', ("5", "7", "+"), keywords=KEYWORDS)
    assert parsed.is_valid and not parsed.is_admissible


# Danger: a change below is a change of the prompt. Raise the wording's version, since
# results of different prompts must not be compared.
PROMPTS = {
    "NumberLine-v0": (
        "You stand on a number line from 0 to 5. The action '-' takes you one to the "
        "left, '+' one to the right.\n\n"
        "Your task: reach the target number\n\n"
        "Step 1. What you see now:\n{seen}\n\n"
        "Actions that are possible now: '-', '+'"
    ),
    "EZPoints-v0": (
        "You see two cards and write a formula that makes 12, one number or sign at a "
        "time. J, Q and K count 10, A counts 1. Each card's number must be used "
        "exactly once; the signs are + *. The action '=' ends the game and has the "
        "formula judged.\n\n"
        "Your task: make 12 using the number of every card exactly once\n\n"
        "Step 1. What you see now:\n{seen}\n\n"
        "Actions that are possible now: {actions}"
    ),
    "Points24-v0": (
        "You see four cards and write a formula that makes 24, one number or sign at a "
        "time. J, Q and K count 10, A counts 1. Each card's number must be used "
        "exactly once; the signs are + - * / ( ). The action '=' ends the game and has "
        "the formula judged.\n\n"
        "Your task: make 24 using the number of every card exactly once\n\n"
        "Step 1. What you see now:\n{seen}\n\n"
        "Actions that are possible now: {actions}"
    ),
    "Blackjack-v0": (
        "You play one hand of blackjack against the dealer, of whose cards you see "
        "one. J, Q and K count 10; A counts 11, or 1 if 11 would take the hand over "
        "21. 'hit' gives you a card; with more than 21 you lose. After 'stand' the "
        "dealer draws to 17 or more, and the higher hand wins; a draw is no win.\n\n"
        "Your task: beat the dealer\n\n"
        "Step 1. What you see now:\n{seen}\n\n"
        "Actions that are possible now: 'stand', 'hit'"
    ),
}
DEMANDS = {
    "strict": (
        "First think step by step about what to do, between <think> and </think>. "
        "Then give exactly one of these actions between <action> and </action>."
    ),
    "official": (
        "Answer with one JSON object and nothing else: "
        '{"thoughts": "your reasoning, step by step", "action": "one of these '
        'actions"}'
    ),
}


@pytest.mark.parametrize("parsing", DEMANDS)
@pytest.mark.parametrize("name", ENVS)
def test_prompts_are_word_for_word_those_of_their_version(name, parsing):
    env = ENVS[name](prompt={"parsing": parsing})
    observation, info = env.reset(seed=0)
    context = PromptContext(
        instruction=info["instruction"],
        observation=observation,
        admissible_actions=info["admissible_actions"],
        history=(),
        num_steps_taken=0,
    )
    (message,) = env.prompt.messages(context)
    actions = ", ".join(f"'{action}'" for action in info["admissible_actions"])
    text = PROMPTS[name].format(seen=observation, actions=actions)
    assert message["content"] == f"{text}\n\n{DEMANDS[parsing]}"
    assert env.prompt.version.split("/")[0].endswith("-full-1")


def test_an_unknown_arithmetic_is_refused():
    with pytest.raises(ValueError, match="arithmetic"):
        EZPointsEnv(arithmetic="floating")


def test_a_formula_with_an_exact_value_has_it_officially_too():
    rng = np.random.default_rng(0)
    tokens = ["1", "2", "10", *"+-*/()"]
    for _ in range(3000):
        chosen = [str(t) for t in rng.choice(tokens, size=rng.integers(1, 12))]
        exact = formula_value(chosen, "exact")
        if exact is not None:
            assert formula_value(chosen, "official") == pytest.approx(float(exact))
