"""The table of an evaluation: a line per episode, in order, whole or not there."""

import json
from pathlib import Path

import pyarrow.fs
import pytest

from rllib_gigpo.algorithms.evaluation_table import table_rows, write_table
from rllib_gigpo.rollout.group_scheduler import Rollout
from rllib_gigpo.rollout.records import (
    EpisodeFailure,
    EpisodeRecord,
    GroupSpec,
    StopReason,
)

LOCAL = pyarrow.fs.LocalFileSystem()


def spec(index: int) -> GroupSpec:
    return GroupSpec(
        group_id=f"evaluation/{index}",
        task_id=f"task-{index}",
        task_kind="look",
        env_seed=10 + index,
        sampling_seed=20 + index,
        group_size=2,
        temperature=0.4,
    )


def won(episode_id: str) -> EpisodeRecord:
    return EpisodeRecord(
        episode_id=episode_id,
        group_id=episode_id.rpartition("/")[0],
        task_id="as in its spec",
        task_kind="look",
        steps=(),
        final_observation="",
        stop_reason=StopReason.TERMINATED,
        success=True,
        figures={"score": 0.5},
    )


def test_every_episode_of_the_panel_has_a_row_failed_ones_too() -> None:
    failed = EpisodeFailure(
        episode_id="evaluation/0/1",
        task_id="task-0",
        error_type="OSError",
        message="gone",
        traceback="",
    )
    rollout = Rollout(
        episodes=[won("evaluation/1/1"), won("evaluation/0/0"), won("evaluation/1/0")],
        failures=[failed],
    )
    rows = list(table_rows([spec(0), spec(1)], rollout))
    assert [(row["task_id"], row["member"]) for row in rows] == [
        ("task-0", 0),
        ("task-0", 1),
        ("task-1", 0),
        ("task-1", 1),
    ]
    assert [row["env_seed"] for row in rows] == [10, 10, 11, 11]
    assert [row["success"] for row in rows] == [True, None, True, True]
    assert [row["failure"] for row in rows] == [None, "OSError: gone", None, None]
    assert rows[0]["figures"] == {"score": 0.5}
    assert rows[1]["episode_return"] is rows[1]["stop_reason"] is None


def test_a_table_replaces_an_older_one_as_a_whole(tmp_path: Path) -> None:
    def rows(count: int, *, breaks: bool = False):
        for index in range(count):
            yield {"task_id": str(index), "success": True}
        if breaks:
            raise OSError("disk")

    path = write_table(rows(3), LOCAL, str(tmp_path), 7)
    assert path == str(tmp_path / "evaluation_tasks" / "000007.jsonl")
    assert len(Path(path).read_text().splitlines()) == 3
    with pytest.raises(OSError, match="disk"):
        write_table(rows(2, breaks=True), LOCAL, str(tmp_path), 7)
    assert len(Path(path).read_text().splitlines()) == 3
    write_table(rows(1), LOCAL, str(tmp_path), 7)
    (line,) = Path(path).read_text().splitlines()
    assert json.loads(line) == {"task_id": "0", "success": True}
    assert [file.name for file in Path(path).parent.iterdir()] == ["000007.jsonl"]
