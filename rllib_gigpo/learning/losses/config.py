"""LossConfig: which loss, checked once."""

from __future__ import annotations

from dataclasses import dataclass

from rllib_gigpo.errors import ConfigError
from rllib_gigpo.learning.losses.aggregation import LOSS_AGGREGATIONS
from rllib_gigpo.learning.losses.kl import KL_ESTIMATORS
from rllib_gigpo.learning.losses.policy_ratio import POLICY_RATIOS
from rllib_gigpo.learning.losses.registry import look_up


@dataclass(frozen=True, slots=True, kw_only=True)
class LossConfig:
    """The terms of the loss. Defaults are GiGPO's for ALFWorld (arXiv 2505.10978).

    Attributes:
        policy_ratio: ``"token"``, or ``"sequence"`` for one ratio per row (GSPO);
            clip ranges of the latter are about a thousand times smaller.
        clip_low: The policy ratio is clipped below 1 - clip_low, in [0, 1].
        clip_high: The policy ratio is clipped above 1 + clip_high, >= 0.
        dual_clip: Bound c > 1 of ratio times a negative advantage; None for none.
        loss_aggregation: A name in ``LOSS_AGGREGATIONS``.
        loss_constant: Divisor for ``sequence-sum-constant``.
        kl_coeff: Weight of the KL term, >= 0; 0 needs no reference model.
        kl_estimator: A name in ``KL_ESTIMATORS`` that may stand in a loss.
        entropy_coeff: Weight of the entropy bonus; positive raises entropy.
        importance_cap: Bound > 0 of the engine ratio (old/sampled) that corrects for
            the engine's different numerics and older weights; None leaves it out.
    """

    policy_ratio: str = "token"
    clip_low: float = 0.2
    clip_high: float = 0.2
    dual_clip: float | None = 3.0
    loss_aggregation: str = "token-mean"
    loss_constant: float | None = None
    kl_coeff: float = 0.01
    kl_estimator: str = "k3-unbiased"
    entropy_coeff: float = 0.0
    importance_cap: float | None = None

    def __post_init__(self) -> None:
        look_up(POLICY_RATIOS, self.policy_ratio, "policy_ratio")
        look_up(LOSS_AGGREGATIONS, self.loss_aggregation, "loss_aggregation")
        if not look_up(KL_ESTIMATORS, self.kl_estimator, "kl_estimator").is_loss:
            raise ConfigError(
                f"kl_estimator={self.kl_estimator!r} has no gradient in expectation "
                "as a loss term; use 'k3-unbiased', or put the KL into the reward"
            )
        if self.loss_aggregation == "sequence-sum-constant":
            _check("loss_constant", self.loss_constant, above=0.0, required=True)
        if not 0.0 <= self.clip_low <= 1.0:
            raise ConfigError(f"clip_low={self.clip_low} must be in [0, 1]")
        if self.clip_high < 0.0:
            raise ConfigError(f"clip_high={self.clip_high} must be >= 0")
        if self.kl_coeff < 0.0:
            raise ConfigError(f"kl_coeff={self.kl_coeff} must be >= 0")
        _check("dual_clip", self.dual_clip, above=1.0)
        _check("importance_cap", self.importance_cap, above=0.0)


def _check(
    setting: str, value: float | None, *, above: float, required: bool = False
) -> None:
    if value is None and not required:
        return
    if value is None or not value > above:
        raise ConfigError(f"{setting}={value} must be above {above:g}")
