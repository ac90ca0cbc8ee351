"""Episodes as lines of JSON, whoever writes them."""

import json
import pickle
import threading
from pathlib import Path

import numpy as np
import pytest
from ray.rllib.env.single_agent_episode import SingleAgentEpisode

from rllib_gigpo.cli.episode_log import EpisodeLog, append_line, plain


def played(name: str = "one") -> SingleAgentEpisode:
    return SingleAgentEpisode(
        id_=name,
        observations=[np.zeros(2, np.float32), np.ones(2, np.float32), "end"],
        actions=[np.int64(1), "go north"],
        rewards=[0.5, np.float32(1.0)],
        infos=[{}, {"figures": {"cell": np.float64(1.0)}}, {"success": np.True_}],
        terminated=True,
        len_lookback_buffer=0,
    )


def log_of(path: Path | None, **changes: bool) -> EpisodeLog:
    return EpisodeLog(
        **{"path": path, "with_infos": False, "is_printed": False} | changes
    )


def test_one_episode_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "episodes.jsonl"
    log = log_of(path)
    log(episode=played("one"), metrics_logger=None, env=None)
    log(episode=played("two"))
    first, second = map(json.loads, path.read_text().splitlines())
    assert first == {
        "episode_id": "one",
        "episode_return": 1.5,
        "episode_len": 2,
        "observations": [[0.0, 0.0], [1.0, 1.0], "end"],
        "actions": [1, "go north"],
        "rewards": [0.5, 1.0],
        "terminated": True,
        "truncated": False,
    }
    assert second["episode_id"] == "two"


def test_infos_only_when_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "episodes.jsonl"
    log_of(path, with_infos=True)(episode=played())
    infos = json.loads(path.read_text())["infos"]
    assert infos == [{}, {"figures": {"cell": 1.0}}, {"success": True}]


def test_a_line_per_episode_on_the_screen(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log_of(None, is_printed=True)(episode=played())
    assert capsys.readouterr().out == "episode one: return 1.5, length 2\n"
    assert list(tmp_path.iterdir()) == []


def test_it_crosses_to_other_processes(tmp_path: Path) -> None:
    log = log_of(tmp_path / "episodes.jsonl", with_infos=True)
    assert pickle.loads(pickle.dumps(log)) == log


def test_lines_of_several_writers_do_not_mix(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    texts = [str(n) * 20_000 for n in range(4)]
    threads = [
        threading.Thread(target=lambda t=t: [append_line(path, t) for _ in range(20)])
        for t in texts
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lines = path.read_text().splitlines()
    assert len(lines) == 80 and set(lines) == set(texts)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.arange(3), [0, 1, 2]),
        (np.float32(0.5), 0.5),
        ({"a": 1}.keys(), "dict_keys(['a'])"),
    ],
)
def test_what_json_cannot_write(value: object, expected: object) -> None:
    assert plain(value) == expected
