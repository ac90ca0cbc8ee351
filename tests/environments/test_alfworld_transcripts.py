"""The engine against what TextWorld answered to the same commands."""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import Any

import pytest

from environments.alfworld.env import AlfworldEnv
from tests.shared_data import shared_file

_TRANSCRIPTS = {"alfworld_transcripts": 1716, "alfworld_transcripts_verbs": 2880}


@pytest.mark.parametrize("name", _TRANSCRIPTS)
def test_every_recorded_step_is_replayed_identically(
    name: str, official_games: Path
) -> None:
    env = AlfworldEnv(data=official_games, max_episode_steps=1000)
    num_steps = 0
    for transcript in _read(shared_file(f"vectors/{name}.jsonl.xz")):
        observation, info = env.reset(options={"task": transcript["game"]})
        assert observation == transcript["observation"]
        assert list(info["admissible_actions"] or ()) == transcript["admissible"]
        for recorded in transcript["steps"]:
            observation, reward, terminated, truncated, info = env.step(
                recorded["command"]
            )
            where = (transcript["game"], num_steps, recorded["command"])
            assert observation == recorded["feedback"], where
            assert list(info["admissible_actions"] or ()) == recorded["admissible"]
            assert (reward / 10, terminated) == (recorded["score"], recorded["done"])
            assert info["success"] == recorded["won"], where
            assert not truncated
            num_steps += 1
    assert num_steps == _TRANSCRIPTS[name]


def _read(path: Path) -> list[dict[str, Any]]:
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]
