"""The table of an evaluation: one JSON object a line for each episode of the panel.

A file per evaluation, ``evaluation_tasks/<policy version>.jsonl`` in a trial's folder.
Results can be compared task by task between iterations and runs. A file is whole or not
there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

import pyarrow.fs

from rllib_gigpo.rollout.group_scheduler import Rollout
from rllib_gigpo.rollout.records import GroupSpec

TABLE_FOLDER = "evaluation_tasks"


def table_rows(
    specs: Sequence[GroupSpec], rollout: Rollout
) -> Iterator[dict[str, object]]:
    """One row for each episode of a panel, in the panel's order.

    Args:
        specs: The panel.
        rollout: How it was played.

    Yields:
        ``task_id``, ``task_kind``, ``member`` (of the task's episodes), ``env_seed``,
        ``sampling_seed``, ``temperature``; ``success``, ``episode_return``,
        ``episode_len`` (steps), ``stop_reason`` and the environment's own ``figures``;
        ``failure``. An episode that failed has a text in ``failure`` and null in what
        stands before it from ``success`` on; the others have null in ``failure``.
    """
    episodes = {episode.episode_id: episode for episode in rollout.episodes}
    failures = {failure.episode_id: failure for failure in rollout.failures}
    for spec in specs:
        for member in range(spec.group_size):
            episode_id = f"{spec.group_id}/{member}"
            episode, failure = episodes.get(episode_id), failures.get(episode_id)
            yield {
                "task_id": spec.task_id,
                "task_kind": spec.task_kind,
                "member": member,
                "env_seed": spec.env_seed,
                "sampling_seed": spec.sampling_seed,
                "temperature": spec.temperature,
                "success": episode and episode.success,
                "episode_return": episode and episode.episode_return,
                "episode_len": episode and len(episode.steps),
                "stop_reason": episode and episode.stop_reason,
                "figures": episode and episode.figures,
                "failure": failure and f"{failure.error_type}: {failure.message}",
            }


def write_table(
    rows: Iterator[dict[str, object]],
    filesystem: pyarrow.fs.FileSystem,
    folder: str,
    policy_version: int,
) -> str:
    """Write the table of one evaluation into a trial's folder, replacing an older one.

    Args:
        rows: As of :func:`table_rows`.
        filesystem: Where the folder is.
        folder: The trial's.
        policy_version: Number of updates before the evaluation.

    Returns:
        The file's path on ``filesystem``.
    """
    file = PurePosixPath(folder, TABLE_FOLDER, f"{policy_version:06d}.jsonl")
    aside = file.with_suffix(".partial")
    text = "".join(json.dumps(row) + "\n" for row in rows)
    filesystem.create_dir(str(file.parent), recursive=True)
    with filesystem.open_output_stream(str(aside)) as stream:
        stream.write(text.encode())
    filesystem.move(str(aside), str(file))
    return str(file)
