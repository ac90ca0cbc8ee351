"""The rows that train: one per model call, ragged, numpy only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingRows:
    """R rows in columns. Row r trains the tokens ``response_ids[r]`` and no other.

    Attributes:
        prompt_ids: R arrays, int32 [num_prompt_tokens of the row].
        response_ids: R arrays, int32 [num_response_tokens of the row], sampled ids.
        sampled_logprobs: R arrays, float32, parallel to ``response_ids``.
        advantage: float64 [R].
        trajectory: int64 [R], which episode the row belongs to.
        policy_version: int64 [R], of the weights that sampled the row.
        loss_weight: float64 [R]; 1 for a row that trains, 0 for one that is carried
            along only (padding, or excluded by option). Rows of weight 0 enter no
            mean and no gradient.

    Example:
        Two rows of one episode: ``prompt_ids=[[1, 5], [1, 5, 9]]``,
        ``response_ids=[[7, 2], [2]]``, ``advantage=[0.5, -0.5]``,
        ``trajectory=[0, 0]`` train three tokens.
    """

    prompt_ids: Sequence[NDArray[np.int32]]
    response_ids: Sequence[NDArray[np.int32]]
    sampled_logprobs: Sequence[NDArray[np.float32]]
    advantage: NDArray[np.float64]
    trajectory: NDArray[np.int64]
    policy_version: NDArray[np.int64]
    loss_weight: NDArray[np.float64]

    def __post_init__(self) -> None:
        num_rows = len(self.prompt_ids)
        for name in self.__dataclass_fields__:
            if len(getattr(self, name)) != num_rows:
                raise ValueError(
                    f"TrainingRows.{name} has {len(getattr(self, name))} rows, "
                    f"prompt_ids has {num_rows}"
                )
        for row, (ids, logprobs) in enumerate(
            zip(self.response_ids, self.sampled_logprobs, strict=True)
        ):
            if len(ids) != len(logprobs):
                raise ValueError(
                    f"row {row}: {len(ids)} response tokens but {len(logprobs)} "
                    "sampled logprobs"
                )

    def __len__(self) -> int:
        return len(self.prompt_ids)

    @property
    def num_tokens(self) -> NDArray[np.int64]:
        """Prompt plus response tokens of each row, int64 [R]."""
        return np.fromiter(
            (
                len(p) + len(r)
                for p, r in zip(self.prompt_ids, self.response_ids, strict=True)
            ),
            np.int64,
            len(self),
        )

    def take(self, indices: NDArray[np.int64]) -> TrainingRows:
        """The rows at ``indices``, in that order."""
        chosen = indices.tolist()
        return TrainingRows(
            prompt_ids=[self.prompt_ids[i] for i in chosen],
            response_ids=[self.response_ids[i] for i in chosen],
            sampled_logprobs=[self.sampled_logprobs[i] for i in chosen],
            advantage=self.advantage[indices],
            trajectory=self.trajectory[indices],
            policy_version=self.policy_version[indices],
            loss_weight=self.loss_weight[indices],
        )
