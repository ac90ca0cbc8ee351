"""Every registered environment keeps the contract: ours, Gymnasium's, and RLlib's."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gymnasium
import pytest
from gymnasium.utils.env_checker import check_env

import environments  # noqa: F401  (registers them)
from environments.checker import check_text_env
from environments.checking.processes import check_processes
from environments.registration import ENTRY_POINTS
from tests.environments.hand_made_house import game_text, write_game

# Environments that list no admissible actions.
ACTIONS: dict[str, tuple[str, ...]] = {
    "SearchQA-v0": (
        "<search>river</search>",
        "<search>who founded it</search>",
        "<answer>a river</answer>",
    ),
}


@pytest.fixture
def settings(
    tmp_path: Path, textworld_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> Mapping[str, Mapping[str, Any]]:
    """For those that need data, made by hand, or that take long to make their games."""
    monkeypatch.setenv("RLLIB_GIGPO_CACHE", str(textworld_cache))
    game = write_game(
        tmp_path / "train/pick_heat_then_place_in_recep-Apple-None-Shelf-1/trial_a",
        game_text("pick_heat_then_place_in_recep", "Apple", "Shelf"),
    )
    few_games = {
        "kind": "custom",
        "num_train_tasks": 1,
        "num_eval_tasks": 1,
        "max_episode_steps": 10,
    }
    return {"ALFWorld-v0": {"game": str(game)}, "TextWorld-v0": few_games}


@pytest.mark.parametrize("name", ENTRY_POINTS)
def test_it_keeps_our_contract(
    name: str, settings: Mapping[str, Mapping[str, Any]]
) -> None:
    env = gymnasium.make(name, **settings.get(name, {}))
    check_text_env(env, actions=ACTIONS.get(name, ()))


@pytest.mark.parametrize("name", ENTRY_POINTS)
def test_gymnasium_accepts_it(
    name: str, settings: Mapping[str, Mapping[str, Any]]
) -> None:
    env = gymnasium.make(name, **settings.get(name, {}))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env.unwrapped, skip_render_check=True)


@pytest.mark.parametrize("name", ENTRY_POINTS)
def test_two_processes_with_the_same_seed_give_identical_episodes(
    name: str, settings: Mapping[str, Mapping[str, Any]]
) -> None:
    check_processes(
        ENTRY_POINTS[name], settings.get(name, {}), actions=ACTIONS.get(name, ())
    )


@pytest.mark.parametrize("size", ["tiny", "small", "full"])
def test_generated_houses_of_every_size_keep_the_contract(size: str) -> None:
    check_text_env(gymnasium.make("Household-v0", size=size), num_tasks=12)


@pytest.mark.parametrize("style", ["full", "compact"])
@pytest.mark.parametrize("parsing", ["strict", "official"])
def test_household_prompts_of_every_kind_keep_the_contract(
    style: str, parsing: str
) -> None:
    prompt = {"style": style, "parsing": parsing}
    check_text_env(gymnasium.make("Household-v0", prompt=prompt), num_tasks=1)
