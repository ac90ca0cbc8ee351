"""Finished episodes of an evaluation, written or printed as they end.

Runs inside the environment runners, which may be other processes: a line is appended
by one write, so that lines of several runners on one machine do not mix.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from ray.rllib.env.single_agent_episode import SingleAgentEpisode


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeLog:
    """RLlib's ``on_episode_end`` callback.

    Attributes:
        path: File to append to, or None.
        with_infos: Whether to write each step's info.
        is_printed: Whether to print a line per episode.
    """

    path: Path | None
    with_infos: bool
    is_printed: bool

    def __call__(self, *, episode: SingleAgentEpisode, **kwargs: Any) -> None:
        """Write and print one episode."""
        if self.path is not None:
            line = json.dumps(episode_columns(episode, self.with_infos), default=plain)
            append_line(self.path, line)
        if self.is_printed:
            print(
                f"episode {episode.id_}: return {episode.get_return():g}, "
                f"length {len(episode)}",
                flush=True,
            )


def episode_columns(episode: SingleAgentEpisode, with_infos: bool) -> dict[str, object]:
    """One episode as JSON-ready columns; observations are one more than actions."""
    columns: dict[str, object] = {
        "episode_id": episode.id_,
        "episode_return": episode.get_return(),
        "episode_len": len(episode),
        "observations": list(episode.get_observations()),
        "actions": list(episode.get_actions()),
        "rewards": list(episode.get_rewards()),
        "terminated": episode.is_terminated,
        "truncated": episode.is_truncated,
    }
    if with_infos:
        columns["infos"] = list(episode.get_infos())
    return columns


def append_line(path: Path, line: str) -> None:
    """Append by a single write to a descriptor in append mode."""
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(descriptor, (line + "\n").encode())
    finally:
        os.close(descriptor)


def plain(value: object) -> object:
    """What ``json`` cannot write itself: arrays, numpy scalars, mappings, the rest."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Mapping):
        return dict(value)
    return repr(value)
