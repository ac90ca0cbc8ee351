"""Where engine actors run: bundles of the trial's placement group, or of an own one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import ray
from ray.exceptions import GetTimeoutError
from ray.util.placement_group import (
    PlacementGroup,
    placement_group,
    remove_placement_group,
)
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

from rllib_gigpo.errors import EngineError

_SECONDS_TO_RESERVE = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class EnginePlacement:
    """One bundle an engine.

    Attributes:
        group: The placement group.
        bundles: Index of each engine's bundle.
        resources: What each of these bundles holds, e.g. ``{"CPU": 1.0}``.
        is_own: Whether the group was made for the engines alone.
    """

    group: PlacementGroup
    bundles: tuple[int, ...]
    resources: Mapping[str, float]
    is_own: bool

    def strategy(self, engine: int) -> PlacementGroupSchedulingStrategy:
        """Pins one engine to its bundle, and whatever it starts with it."""
        return PlacementGroupSchedulingStrategy(
            self.group,
            placement_group_bundle_index=self.bundles[engine],
            placement_group_capture_child_tasks=True,
        )

    def remove(self) -> None:
        """Give an own group back; the trial's is Tune's to give back."""
        if self.is_own:
            remove_placement_group(self.group)


def place_engines(num_engines: int, resources: Mapping[str, float]) -> EnginePlacement:
    """Find the engines' bundles at the end of the current group, or make a group.

    Args:
        num_engines: One bundle each.
        resources: What an engine needs.

    Raises:
        EngineError: The cluster does not have that much to spare.
    """
    current = ray.util.get_current_placement_group()
    if current is not None:
        specs = current.bundle_specs[-num_engines:]
        if len(current.bundle_specs) > num_engines and all(
            _holds(spec, resources) for spec in specs
        ):
            first = current.bundle_count - num_engines
            return EnginePlacement(
                group=current,
                bundles=tuple(range(first, current.bundle_count)),
                resources=resources,
                is_own=False,
            )
    group = placement_group([dict(resources)] * num_engines, strategy="PACK")
    try:
        ray.get(group.ready(), timeout=_SECONDS_TO_RESERVE)
    except GetTimeoutError as error:
        remove_placement_group(group)
        raise EngineError(
            f"{num_engines} engines need {dict(resources)} each, and the cluster did "
            f"not free that within {_SECONDS_TO_RESERVE:g} s (available: "
            f"{ray.available_resources()}); lower num_engines or num_cpus_per_engine, "
            "or start Ray with more"
        ) from error
    return EnginePlacement(
        group=group,
        bundles=tuple(range(num_engines)),
        resources=resources,
        is_own=True,
    )


def _holds(spec: Mapping[str, float], resources: Mapping[str, float]) -> bool:
    return all(spec.get(name, 0.0) >= amount for name, amount in resources.items())
