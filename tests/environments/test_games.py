"""What holds for every generated game: one suite, run on each."""

from __future__ import annotations

import random
import subprocess
import sys
import warnings
from pathlib import Path

import gymnasium
import pytest
from gymnasium.utils.env_checker import check_env

import environments  # noqa: F401  (registers them)
from environments.registration import make_registered

GAMES = (
    "Sokoban-v0",
    "NumberLine-v0",
    "EZPoints-v0",
    "Points24-v0",
    "Blackjack-v0",
)
MALFORMED = (
    "",
    " ",
    "\n\t\0",
    "UP",
    "√" * 10_000,
    "1" * 5000,
    "(" * 3000,
    "__import__('os').abort()",
    "\ud800",
    "<action>up</action>",
)

pytestmark = pytest.mark.parametrize("name", GAMES)


def make(name, **settings):
    return make_registered(name, **settings).unwrapped


def test_gymnasium_accepts_the_environment(name):
    with warnings.catch_warnings():
        # Without a spec it cannot try render modes.
        warnings.filterwarnings("ignore", message=".*alternative render modes.*")
        check_env(make(name))


def test_malformed_actions_change_nothing_but_the_number_of_steps(name):
    env = make(name, max_episode_steps=len(MALFORMED))
    observation, info = env.reset(options={"task": "train/5"})
    for number, action in enumerate(MALFORMED, 1):
        told, _, terminated, truncated, after = env.step(action)
        assert not terminated and truncated == (number == len(MALFORMED))
        assert after["state_key"] == info["state_key"]
        assert after["admissible_actions"] == info["admissible_actions"]
        assert after["figures"]["num_rejected"] == number
        assert told != observation and told.endswith(observation)
        assert told in env.observation_space


def test_the_limit_of_steps_reaches_an_environment_made_by_name(name):
    assert make(name, max_episode_steps=3).max_episode_steps == 3


def test_a_step_without_a_running_episode_is_an_error(name):
    env = make(name, max_episode_steps=1)
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step("")
    env.reset()
    env.step("")
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step("")


def test_the_task_alone_decides_the_start_and_reset_goes_back_to_it(name):
    env = make(name)
    first = env.reset(seed=1, options={"task": "eval/65540"})
    env.step(first[1]["admissible_actions"][0])
    assert env.reset(seed=2, options={"task": "eval/65540"}) == first
    assert make(name).reset(options={"task": env.tasks("eval")[4]}) == first
    assert first[1]["task_id"] == "eval/65540"


def test_without_a_task_one_of_training_is_drawn_by_the_seed(name):
    drawn = [make(name).reset(seed=seed)[1]["task_id"] for seed in range(20)]
    assert drawn == [make(name).reset(seed=seed)[1]["task_id"] for seed in range(20)]
    assert len(set(drawn)) > 15
    assert all(task_id.startswith("train/") for task_id in drawn)


def test_splits_are_disjoint_and_sized(name):
    env = make(name, num_train_tasks=100, num_eval_tasks=20)
    train, panel = env.tasks("train"), env.tasks("eval")
    assert (len(train), len(panel)) == (100, 20)
    assert (train[0].id, panel[0].id) == ("train/0", "eval/65536")
    assert len(make(name).tasks("train")) == 65_535
    assert len(make(name).tasks("eval")) == 128


@pytest.mark.parametrize(
    "task_id",
    [
        "",
        "train",
        "train/",
        "train/-1",
        "train/01",
        "train/65535",
        "eval/65535",
        "eval/4294967295",
        "test/1",
        "train/1/2",
        "train/\u0661",
        "train/" + "9" * 5000,
    ],
)
def test_an_id_that_names_no_level_is_refused_with_an_example(name, task_id):
    with pytest.raises(ValueError, match="ids look like"):
        make(name).reset(options={"task": task_id})


def test_an_unknown_split_is_answered_with_the_known_ones(name):
    with pytest.raises(ValueError, match="eval"):
        make(name).tasks("test")


@pytest.mark.parametrize("style", ["full", "compact"])
@pytest.mark.parametrize("parsing", ["strict", "official"])
def test_the_prompt_reads_back_every_action_that_it_shows(name, style, parsing):
    prompt = {"style": style, "parsing": parsing}
    env = make(name, prompt=prompt)
    _, info = env.reset(options={"task": "train/1"})
    form = {
        "tags": "<think>so</think><action>{}</action>",
        "json": '{{"thoughts": "so", "action": "{}"}}',
    }[env.prompt.reply_format]
    for action in info["admissible_actions"]:
        parsed = env.prompt.parse(form.format(action), info["admissible_actions"])
        assert (parsed.action, parsed.is_valid, parsed.is_admissible) == (
            action,
            True,
            True,
        )


def play_at_random(name: str, task_id: str) -> str:
    """An episode in one text: every observation, outcome and info."""
    env = make(name)
    observation, info = env.reset(seed=3, options={"task": task_id})
    told = [repr((observation, info))]
    chance = random.Random(task_id)
    is_over = False
    while not is_over:
        action = chance.choice([*info["admissible_actions"], "dance"])
        outcome = env.step(action)
        told.append(repr(outcome))
        info, is_over = outcome[4], outcome[2] or outcome[3]
    return "\n".join(told)


def test_two_processes_give_identical_episodes(name):
    tasks = [f"train/{number}" for number in range(8)]
    program = (
        "from tests.environments.test_games import play_at_random as play; "
        f"print('\\n'.join(play({name!r}, task) for task in {tasks}), end='')"
    )
    told = [
        subprocess.run(
            [sys.executable, "-X", "utf8", "-c", program],
            cwd=Path(__file__).resolve().parents[2],
            env={"PYTHONHASHSEED": hash_seed},
            capture_output=True,
            encoding="utf-8",
            check=True,
        ).stdout
        for hash_seed in ("1", "2")
    ]
    here = "\n".join(play_at_random(name, task) for task in tasks)
    assert told[0] == told[1] == here
    assert len(here.split("\n")) > 20
