"""Rows on their way through RLlib's LearnerGroup: each learner gets its own."""

from __future__ import annotations

import dataclasses
from typing import Any

import ray
from ray.rllib.core.learner.training_data import TrainingData
from ray.rllib.utils.annotations import override

from rllib_gigpo.learning.rows import TrainingRows
from rllib_gigpo.learning.update_plan import PlanSettings, ShardPlan, plan_update


@dataclasses.dataclass
class GiGPOTrainingData(TrainingData):
    """The rows of one iteration, or one learner's share of them.

    Attributes:
        rows: All rows before :meth:`shard`, the learner's own after it.
        settings: How rows become optimizer steps.
        plan: The learner's plan; None before :meth:`shard`.
        rows_ref: A share's rows in Ray's object store until :meth:`solve_refs`.
    """

    rows: TrainingRows | None = None
    settings: PlanSettings = dataclasses.field(default_factory=PlanSettings)
    plan: ShardPlan | None = None
    rows_ref: ray.ObjectRef | None = None

    @override(TrainingData)
    def validate(self) -> None:
        """Check that there are rows.

        Raises:
            ValueError: There are none.
        """
        if self.rows is None and self.rows_ref is None:
            raise ValueError("GiGPOTrainingData needs rows")

    @override(TrainingData)
    def shard(
        self, num_shards: int, len_lookback_buffer: int | None = None, **kwargs: Any
    ) -> list[tuple[GiGPOTrainingData, dict[str, Any]]]:
        """Shares of equal work for ``num_shards`` learners, on any machine."""
        return [
            (
                GiGPOTrainingData(
                    settings=self.settings,
                    plan=plan,
                    rows_ref=ray.put(self.rows.take(plan.rows)),
                ),
                {},
            )
            for plan in plan_update(self.rows, num_shards, self.settings)
        ]

    @override(TrainingData)
    def solve_refs(self) -> None:
        """Fetch the rows of a share; plan for one learner if nobody has sharded."""
        if self.rows_ref is not None:
            self.rows, self.rows_ref = ray.get(self.rows_ref), None
        if self.plan is None:
            (self.plan,) = plan_update(self.rows, 1, self.settings)
            self.rows = self.rows.take(self.plan.rows)
