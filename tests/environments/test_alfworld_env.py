"""ALFWorld as a Gymnasium environment: episodes, rewards, limits, keys, determinism."""

from __future__ import annotations

import random
import subprocess
import sys
import warnings
from pathlib import Path

import gymnasium
import pytest
from gymnasium.utils.env_checker import check_env

from environments.alfworld.env import AlfworldEnv
from environments.alfworld.wording import NOTHING_HAPPENS
from tests.environments.hand_made_house import game_text, write_game

_WIN = (
    "go to desk 1",
    "take book 1 from desk 1",
    "go to shelf 1",
    "move book 1 to shelf 1",
)
_TASK = "train/pick_and_place_simple-Book-None-Shelf-1/trial_a"


@pytest.fixture
def game(tmp_path: Path) -> Path:
    text = game_text("pick_and_place_simple", "Book", "Shelf")
    return write_game(tmp_path / _TASK, text)


@pytest.fixture
def split_folder(tmp_path: Path) -> Path:
    for number in range(8):
        text = game_text("pick_and_place_simple", "Book", "Shelf")
        name = f"pick_and_place_simple-Book-None-Shelf-{number}/trial_a"
        write_game(tmp_path / "train" / name, text)
    return tmp_path


def test_gymnasium_accepts_the_environment(game: Path) -> None:
    with warnings.catch_warnings():
        # Without a spec it cannot try render modes, and there are none.
        warnings.filterwarnings("ignore", message=".*alternative render modes.*")
        check_env(AlfworldEnv(game=game))


def test_only_the_winning_step_is_rewarded_and_ends_the_episode(game: Path) -> None:
    env = AlfworldEnv(game=game)
    env.reset()
    outcomes = [env.step(command)[1:4] for command in _WIN]
    going_on = (0.0, False, False)
    assert outcomes == [going_on, going_on, going_on, (10.0, True, False)]


def test_the_reward_of_winning_can_be_set(game: Path) -> None:
    env = AlfworldEnv(game=game, win_reward=1.0)
    env.reset()
    assert [env.step(command)[1] for command in _WIN][-1] == 1.0


def test_an_episode_is_truncated_at_its_limit(game: Path) -> None:
    env = AlfworldEnv(game=game, max_episode_steps=3)
    env.reset()
    outcomes = [env.step("look")[2:4] for _ in range(3)]
    assert outcomes == [(False, False), (False, False), (False, True)]


def test_the_limit_is_fifty_steps_unless_set(game: Path) -> None:
    env = AlfworldEnv(game=game)
    env.reset()
    assert [env.step("look")[3] for _ in range(50)] == [False] * 49 + [True]


def test_a_win_at_the_last_step_is_no_truncation(game: Path) -> None:
    env = AlfworldEnv(game=game, max_episode_steps=len(_WIN))
    env.reset()
    outcomes = [env.step(command)[2:4] for command in _WIN]
    assert outcomes[-1] == (True, False)


def test_a_step_without_a_running_episode_is_an_error(game: Path) -> None:
    env = AlfworldEnv(game=game, max_episode_steps=1)
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step("look")
    env.reset()
    env.step("look")
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step("look")


def test_reset_goes_back_to_the_start(game: Path) -> None:
    env = AlfworldEnv(game=game)
    first = env.reset()
    for command in _WIN:
        env.step(command)
    assert env.reset() == first


def test_a_rejected_command_costs_a_step_and_is_counted(game: Path) -> None:
    env = AlfworldEnv(game=game, max_episode_steps=3)
    env.reset()
    observation, reward, *_, info = env.step("dance")
    assert (observation, reward) == (NOTHING_HAPPENS, 0.0)
    assert info["figures"]["num_rejected"] == 1
    assert env.step("look")[4]["figures"]["num_rejected"] == 1
    assert env.step("")[3], "the third step is the last one"


def test_the_info_names_the_task_and_states_it_in_words(game: Path) -> None:
    _, info = AlfworldEnv(game=game).reset()
    assert info["task_id"] == _TASK
    assert info["instruction"] == "do pick_and_place_simple with book and shelf."
    assert info["success"] is False


def test_success_is_told_at_the_winning_step(game: Path) -> None:
    env = AlfworldEnv(game=game)
    env.reset()
    assert [env.step(command)[4]["success"] for command in _WIN] == [
        *(False, False, False),
        True,
    ]


def test_the_state_key_ignores_the_way_and_the_observation_key_is_the_text(
    game: Path,
) -> None:
    keys = {}
    for anchor in ("state", "observation"):
        env = AlfworldEnv(game=game, anchor=anchor)  # type: ignore[arg-type]
        env.reset()
        arrival = env.step("go to desk 1")
        after_look = env.step("look")[4]["state_key"]
        keys[anchor] = (arrival[4]["state_key"], after_look)
    assert keys["state"][0] == keys["state"][1]
    assert keys["observation"] == (arrival[0], env.step("look")[0])


def test_different_states_with_one_text_have_different_state_keys(game: Path) -> None:
    env = AlfworldEnv(game=game)
    env.reset()
    first = env.step("dance")
    env.step("go to desk 1")
    second = env.step("dance")
    assert first[0] == second[0]
    assert first[4]["state_key"] != second[4]["state_key"]


def test_the_same_seed_draws_the_same_task_and_seeds_reach_all_of_them(
    split_folder: Path,
) -> None:
    env = AlfworldEnv(data=split_folder)
    drawn = [env.reset(seed=seed)[1]["task_id"] for seed in range(60)]
    again = [
        AlfworldEnv(data=split_folder).reset(seed=seed)[1]["task_id"]
        for seed in range(60)
    ]
    assert drawn == again
    assert set(drawn) == {task.id for task in env.tasks("train")}


def test_a_task_is_played_by_itself_or_its_id_whatever_the_seed(
    split_folder: Path,
) -> None:
    env = AlfworldEnv(data=split_folder)
    task = env.tasks("train")[5]
    for seed, option in ((1, task), (2, task.id)):
        assert env.reset(seed=seed, options={"task": option})[1]["task_id"] == task.id


def test_a_single_game_is_the_only_task(game: Path) -> None:
    for where in (game, game.parent, str(game)):
        env = AlfworldEnv(game=where)
        assert [task.id for task in env.tasks("valid_seen")] == [_TASK]
        assert env.tasks("train")[0].kind == "pick_and_place_simple"
    with pytest.raises(ValueError, match="the only one"):
        env.reset(options={"task": "train/other/trial"})


def test_an_unknown_split_is_answered_with_the_known_ones(game: Path) -> None:
    with pytest.raises(ValueError, match="valid_unseen"):
        AlfworldEnv(game=game).tasks("test")


@pytest.mark.parametrize(
    "settings",
    [
        {"max_episode_steps": 0},
        {"anchor": "text"},
        {"backend": "java"},
        {"data": "somewhere"},
    ],
)
def test_a_setting_that_cannot_work_is_refused(
    settings: dict[str, object], game: Path
) -> None:
    with pytest.raises(ValueError, match=next(iter(settings))):
        AlfworldEnv(game=game, **settings)  # type: ignore[arg-type]


def test_the_native_engine_runs_inline_and_textworld_does_not(game: Path) -> None:
    assert AlfworldEnv(game=game).runs_inline
    assert not AlfworldEnv(game=game, backend="textworld").runs_inline


def play_at_random(game: str, seed: int) -> str:
    """An episode in one text: every observation, outcome and info."""
    env = AlfworldEnv(game=game)
    told = [repr(env.reset(seed=seed))]
    chance = random.Random(seed)
    outcome: tuple[object, ...] = (False, False)
    while not any(outcome):
        info = env.step(
            chance.choice(["look", "go to shelf 1", "dance", "open fridge 1"])
        )
        told.append(repr(info))
        outcome = info[2:4]
    return "\n".join(told)


def test_two_processes_with_the_same_seed_give_identical_episodes(game: Path) -> None:
    program = (
        "from tests.environments.test_alfworld_env import play_at_random; "
        f"print(play_at_random({str(game)!r}, 7), end='')"
    )
    root = Path(__file__).resolve().parents[2]
    told = [
        subprocess.run(
            [sys.executable, "-c", program],
            cwd=root,
            env={"PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hash_seed in ("1", "2")
    ]
    assert told[0] == told[1] == play_at_random(str(game), 7)
    assert len(told[0].split("\n")) > 50


@pytest.mark.slow
def test_random_play_with_listed_commands_does_10_000_steps_per_second(
    official_games: Path,
) -> None:
    from benchmarks.environments import steps_per_second

    env = AlfworldEnv(data=official_games)
    assert steps_per_second(env, env.tasks("valid_seen"), num_steps=50_000) > 10_000
