"""The official GiGPO code, called on the same rows for comparison.

Reads ``gigpo/core_gigpo.py`` of a checkout of github.com/langfengQ/verl-agent. It takes
from its trainer package one name only, for an annotation, which is stood in for, so the
package need not be installed.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import sys
import types
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from rllib_gigpo.credit import CreditConfig

_MODES = {"std": "mean_std_norm", "none": "mean_norm"}


@dataclass(frozen=True, slots=True, kw_only=True)
class OfficialInputs:
    """R rows as the official functions take them, with responses of one token.

    Attributes:
        batch: Holds what its step returns are computed from.
        token_level_rewards: float32 [R, 1], the episode return of each row.
        response_mask: float32 [R, 1], ones.
        anchor: object [R].
        group: object [R].
        trajectory: object [R].
    """

    batch: types.SimpleNamespace
    token_level_rewards: torch.Tensor
    response_mask: torch.Tensor
    anchor: np.ndarray
    group: np.ndarray
    trajectory: np.ndarray


class OfficialCredit:
    """The functions of one checkout."""

    def __init__(self, checkout: Path) -> None:
        self._module = _load(checkout / "gigpo" / "core_gigpo.py")
        torch.set_num_threads(1)

    def inputs(
        self,
        *,
        group: Sequence[str],
        trajectory: Sequence[str],
        state_key: Sequence[str],
        reward: np.ndarray,
    ) -> OfficialInputs:
        """Columns of R rows; the steps of a trajectory must stand in order."""
        names, code = np.unique(trajectory, return_inverse=True)
        episode_return = np.bincount(code, reward, minlength=len(names))[code]
        scores = torch.tensor(episode_return, dtype=torch.float32)[:, None]
        trajectories = np.array(trajectory, object)
        return OfficialInputs(
            batch=types.SimpleNamespace(
                non_tensor_batch={
                    "rewards": reward,
                    "traj_uid": trajectories,
                    "active_masks": np.ones(len(reward)),
                },
                batch={"input_ids": torch.zeros(1)},
            ),
            token_level_rewards=scores,
            response_mask=torch.ones_like(scores),
            anchor=np.array(state_key, object),
            group=np.array(group, object),
            trajectory=trajectories,
        )

    def advantage(self, inputs: OfficialInputs, config: CreditConfig) -> np.ndarray:
        """The joint advantage, float32 [R]; step unit, exact state keys."""
        # It prints the mean group size.
        with contextlib.redirect_stdout(io.StringIO()):
            step_returns = self._module.compute_step_discounted_returns(
                inputs.batch, config.gamma
            )
            advantage, *_ = self._module.compute_gigpo_outcome_advantage(
                token_level_rewards=inputs.token_level_rewards,
                step_rewards=step_returns,
                response_mask=inputs.response_mask,
                anchor_obs=inputs.anchor,
                index=inputs.group,
                traj_index=inputs.trajectory,
                epsilon=config.epsilon,
                step_advantage_w=config.step_weight,
                mode=_MODES[config.normalize],
            )
        return advantage[:, 0].numpy()


def _load(path: Path) -> types.ModuleType:
    """Run a source file as a module of its own.

    Raises:
        SystemExit: There is no such file.
    """
    if not path.is_file():
        raise SystemExit(
            f"no file {path}; --official takes the root of a checkout of "
            "github.com/langfengQ/verl-agent"
        )
    if "verl" not in sys.modules and importlib.util.find_spec("verl") is None:
        stand_in = types.ModuleType("verl")
        stand_in.DataProto = object
        sys.modules["verl"] = stand_in
    spec = importlib.util.spec_from_file_location("official_core_gigpo", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
