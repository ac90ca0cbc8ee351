"""TextWorld games: made by seed, played by worker processes, which may fail."""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from gymnasium.utils.env_checker import check_env

from environments.errors import GameProcessError
from environments.textworld_games import worker_pool
from environments.textworld_games.env import TextWorldEnv
from environments.textworld_games.game_files import GAME_KINDS, complete_settings
from environments.textworld_games.make_games import make_games
from environments.textworld_games.session import _tidied
from environments.textworld_games.worker_pool import Worker, shared_pool

KINDS = tuple(GAME_KINDS)


@pytest.fixture(scope="module", autouse=True)
def cache(textworld_cache):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RLLIB_GIGPO_CACHE", str(textworld_cache))
        yield textworld_cache


@pytest.fixture
def env():
    env = TextWorldEnv(kind="custom", num_train_tasks=1)
    yield env
    env.close()


def play_expert(env, task):
    """Everything told in an episode of the expert."""
    told = [env.reset(options={"task": task})]
    expert, is_over = env.expert(), False
    while not is_over:
        told.append(env.step(expert.next_action().action))
        is_over = told[-1][2] or told[-1][3]
    return told


def test_gymnasium_accepts_the_environment(env):
    with warnings.catch_warnings():
        # Without a spec it cannot try render modes, and there are none.
        warnings.filterwarnings("ignore", message=".*alternative render modes.*")
        check_env(env)


def test_the_expert_wins_and_the_same_task_gives_the_same_episode_again(env):
    told = play_expert(env, "train/0")
    assert [step[1] for step in told[1:]] == [0.0] * 3 + [1.0]
    assert told[-1][2] and told[-1][4]["success"]
    assert play_expert(env, env.tasks("train")[0]) == told
    other = TextWorldEnv(kind="custom")
    assert play_expert(other, "train/0") == told
    other.close()


def test_texts_hold_neither_banner_nor_prompt_of_the_interpreter(env):
    told = play_expert(env, "train/0")
    for text in (told[0][0], *(step[0] for step in told[1:])):
        assert text in env.observation_space
        assert "$$" not in text and "RESTART" not in text and "\n>" not in text
    assert told[0][0].startswith("-= ")
    assert told[-1][0].endswith("in 5 turns.")


@pytest.mark.parametrize(
    "command",
    ["", "dance", "undo", "restart", "quit", "save", "tw-print state", "look\nlook",
     "LOOK", "x" * 5000, "\ud800"],
)  # fmt: skip
def test_only_possible_commands_reach_the_game(env, command):
    observation, info = env.reset(options={"task": "train/0"})
    told, reward, terminated, truncated, after = env.step(command)
    assert told.endswith(observation) and told != observation
    assert (reward, terminated, truncated) == (0.0, False, False)
    assert after["state_key"] == info["state_key"]
    assert after["figures"]["num_rejected"] == 1.0


def test_the_state_key_tells_what_has_changed_from_what_has_only_been_told(env):
    _, info = env.reset(options={"task": "train/0"})
    expert = env.expert()
    looked = env.step("look")[4]
    assert looked["state_key"] == info["state_key"]
    done = env.step(expert.next_action().action)[4]
    assert done["state_key"] != info["state_key"]
    assert env.reset(options={"task": "train/0"})[1]["state_key"] == info["state_key"]


def test_an_episode_is_truncated_at_its_limit():
    env = TextWorldEnv(kind="custom", max_episode_steps=2)
    env.reset(options={"task": "train/0"})
    assert [env.step("look")[2:4] for _ in range(2)] == [(False, False), (False, True)]
    env.close()


def test_a_process_that_dies_ends_its_games_and_a_reset_starts_another(env):
    told = env.reset(options={"task": "train/0"})
    for worker in shared_pool().workers:
        if worker.is_running:
            worker._process.kill()
            worker._process.wait()
    with pytest.raises(GameProcessError, match="start it again"):
        env.step("look")
    assert env.reset(options={"task": "train/0"}) == told


def test_a_process_that_hangs_is_ended_in_time():
    worker = Worker(timeout_s=0.0)
    with pytest.raises(GameProcessError, match="no answer"):
        worker.call("end")
    assert not worker.is_running


def test_an_error_in_a_process_is_told_and_leaves_it_running():
    worker = Worker()
    with pytest.raises(GameProcessError, match="unknown method 'dance'"):
        worker.call("dance")
    assert worker.is_running
    worker.close()
    assert not worker.is_running


def test_a_process_that_dies_in_a_call_is_named(monkeypatch):
    # A module that ends at once, without an answer.
    monkeypatch.setattr(worker_pool, "_MODULE", "environments.errors")
    with pytest.raises(GameProcessError, match="died with code"):
        Worker().call("end")


def test_games_can_be_made_beforehand_and_are_made_once(cache):
    env = TextWorldEnv(kind="custom", settings={"quest_length": 2})
    specs = [env.spec_of(task.id) for task in env.tasks("train")[:2]]
    files = make_games(specs)
    assert len(set(files)) == 2 and all(cache in file.parents for file in files)
    times = [file.stat().st_mtime_ns for file in files]
    assert make_games(specs) == files
    assert [file.stat().st_mtime_ns for file in files] == times
    assert {f.suffix for f in files[0].parent.iterdir()} == {".z8", ".json"}


def test_the_file_of_a_game_depends_on_all_that_decides_it():
    envs = [
        TextWorldEnv(kind="custom"),
        TextWorldEnv(kind="coin_collector"),
        TextWorldEnv(kind="custom", settings={"nb_objects": 9}),
        TextWorldEnv(kind="custom", is_hinted=False),
    ]
    files = {env.spec_of(t).game_file() for env in envs for t in ("train/0", "train/1")}
    assert len(files) == 8
    dense = TextWorldEnv(kind="custom", rewards="dense")
    assert dense.spec_of("train/0").game_file() in files


@pytest.mark.parametrize(
    ("text", "tidied"),
    [
        (
            "\nA room.\n\n \n\nAn exit.\n\n\n>    -= Bedroom =-0/3",
            "A room.\nAn exit.",
        ),
        ("*** The End ***\n\n\nWould you like to RESTART, or\n>", "*** The End ***"),
        ("-= Hall =-\nA > b", "-= Hall =-\nA > b"),
    ],
)
def test_texts_are_tidied(text, tidied):
    assert _tidied(text) == tidied


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"kind": "chess"}, "kind"),
        ({"settings": {"size": 3}}, "size"),
        ({"rewards": "none"}, "rewards"),
        ({"max_episode_steps": 0}, "max_episode_steps"),
        ({"prompt": {"parsing": "official"}}, "parsing"),
    ],
)
def test_a_setting_that_cannot_work_is_refused(settings, match):
    with pytest.raises(ValueError, match=match):
        TextWorldEnv(**settings)


def test_settings_of_a_kind_are_completed():
    assert dict(complete_settings("coin_collector", {"level": 3})) == {"level": 3}
    assert dict(complete_settings("cooking", {"go": 1}))["recipe"] == 1


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_the_expert_gets_the_full_reward_of_every_kind(kind):
    for task in ("train/1", "eval/65536", "eval/65537"):
        env = TextWorldEnv(kind=kind, rewards="dense")
        told = play_expert(env, task)
        env.close()
        figures = told[-1][4]["figures"]
        assert told[-1][4]["success"]
        assert sum(step[1] for step in told[1:]) == figures["max_score"]
        assert figures["max_score"] == (5.0 if kind == "cooking" else 1.0)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_two_processes_that_make_their_own_games_give_identical_episodes(
    kind, tmp_path
):
    program = (
        "from tests.environments.test_textworld_games import play_expert, TextWorldEnv;"
        f"print(play_expert(TextWorldEnv(kind={kind!r}), 'train/3'))"
    )
    told = [
        subprocess.run(
            [sys.executable, "-c", program],
            cwd=Path(__file__).resolve().parents[2],
            env={
                "PYTHONHASHSEED": hash_seed,
                "RLLIB_GIGPO_CACHE": str(tmp_path / hash_seed),
            },
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hash_seed in ("1", "2")
    ]
    assert told[0] == told[1] and "The End" in told[0]
