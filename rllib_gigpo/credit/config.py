"""Settings of credit assignment, with the paper's defaults."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Literal, TypeAlias, get_args

from rllib_gigpo.credit.nearest import nearest_name
from rllib_gigpo.errors import ConfigError

Normalize: TypeAlias = Literal["std", "none"]
EpisodeUnit: TypeAlias = Literal["trajectory", "step"]
SimilarityMethod: TypeAlias = Literal["first_fit", "components"]
Revisits: TypeAlias = Literal["all", "first"]
LoneRule: TypeAlias = Literal["zero", "raw"]
PenaltyPlacement: TypeAlias = Literal["step", "anchor", "official"]
LevelWeights: TypeAlias = Literal["paper", "official"]


@dataclass(frozen=True, slots=True, kw_only=True)
class HGPOOptions:
    """What only the ``hgpo`` estimator reads (arXiv 2602.22817).

    Attributes:
        history: K >= 0; the levels group rows by their last 1 .. K+1 states.
        weight_exponent: alpha >= 0; level weights are proportional to level**alpha.
        level_weights: ``"paper"`` counts levels 1, 2, 3, ...; ``"official"`` counts
            2, 3, 4, ... as the authors' code does.
        ddof: Of the std within a level; the method takes the population std, 0.
        add_episode_advantage: Add A^E as GiGPO does; the method has none.
    """

    history: int = 2
    weight_exponent: float = 1.0
    level_weights: LevelWeights = "paper"
    ddof: int = 0
    add_episode_advantage: bool = False

    def __post_init__(self) -> None:
        _check_choice("hgpo.level_weights", self.level_weights, get_args(LevelWeights))
        _check_count("hgpo.history", self.history, 0)
        _check_range("hgpo.weight_exponent", self.weight_exponent, 0.0, 100.0)
        _check_ddof("hgpo.ddof", self.ddof)


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphGPOOptions:
    """What only the ``graphgpo`` estimator reads (arXiv 2605.26684).

    Attributes:
        gamma: Discount per step of distance to success, in (0, 1]. The authors use 0.1
            for ALFWorld, 0.2 for WebShop and 0.8 for Sokoban.
        success_reward: Value of an edge that ends in success.
        success_threshold: A trajectory succeeds when its episode return is greater;
            read only when the table has no ``success`` column.
    """

    gamma: float = 0.1
    success_reward: float = 10.0
    success_threshold: float = 0.0

    def __post_init__(self) -> None:
        _check_range("graphgpo.gamma", self.gamma, 1e-9, 1.0)
        for name in ("success_reward", "success_threshold"):
            value = getattr(self, name)
            _check_range(f"graphgpo.{name}", value, -math.inf, math.inf)


@dataclass(frozen=True, slots=True, kw_only=True)
class CreditConfig:
    """How advantages are computed. Defaults are the paper's (arXiv 2505.10978).

    Attributes:
        estimator: A name in `ESTIMATORS`.
        gamma: Discount of the step returns, in [0, 1] (Eq. 5).
        step_weight: omega >= 0, weight of the step advantage (Eq. 8).
        normalize: ``"std"`` divides by the group's std, ``"none"`` only centres
            (F_norm).
        episode_unit: What episode statistics count: ``"trajectory"`` (Eq. 3) or
            ``"step"``, where long trajectories weigh more, as in the official code.
        similarity: None for exact state keys, or a threshold in (0, 1] on the matching
            ratio of the state texts.
        similarity_method: ``"first_fit"`` joins the first cluster whose first member is
            similar, in row order (the official rule, so the row order matters);
            ``"components"`` joins whatever a chain of similar texts connects.
        revisits: Whether ``"all"`` visits of a trajectory to a state are compared (Eq.
            6) or only its ``"first"``; later visits then get a step advantage of 0.
        lone_episode: What a group without a second episode gets: ``"zero"``, or
            ``"raw"`` for its score itself (the official rule).
        lone_step: What a lone anchor group's rows get: ``"zero"`` (also the official
            rule), or ``"raw"`` for their step return.
        min_anchor_group_size: An anchor group of fewer rows counts as lone. The paper's
            is 2; more keeps rare lucky actions from large step advantages.
        ddof: Of the std: 1 (Bessel's correction, as in the official code) or 0.
        epsilon: Added to the std.
        constant_tolerance: A group whose values span at most this much, times
            max(1, |mean|), counts as constant and gets exactly 0.
        invalid_penalty: >= 0, taken off rows whose action is invalid.
        invalid_penalty_placement: ``"step"`` takes it off the row's advantage, outside
            every statistic; ``"anchor"`` takes it off the row's step return, so that it
            is compared within the anchor group, and leaves the episode advantage alone;
            ``"official"`` takes it off the row's episode score and step return before
            both are normalised.
        hgpo: Options of that estimator.
        graphgpo: Options of that estimator.
    """

    estimator: str = "gigpo"
    gamma: float = 0.95
    step_weight: float = 1.0
    normalize: Normalize = "std"
    episode_unit: EpisodeUnit = "trajectory"
    similarity: float | None = None
    similarity_method: SimilarityMethod = "components"
    revisits: Revisits = "all"
    lone_episode: LoneRule = "zero"
    lone_step: LoneRule = "zero"
    min_anchor_group_size: int = 2
    ddof: int = 1
    epsilon: float = 1e-6
    constant_tolerance: float = 1e-5
    invalid_penalty: float = 0.0
    invalid_penalty_placement: PenaltyPlacement = "step"
    hgpo: HGPOOptions = field(default_factory=HGPOOptions)
    graphgpo: GraphGPOOptions = field(default_factory=GraphGPOOptions)

    def __post_init__(self) -> None:
        for name, choices in _CHOICES.items():
            _check_choice(name, getattr(self, name), get_args(choices))
        _check_range("gamma", self.gamma, 0.0, 1.0)
        _check_range("step_weight", self.step_weight, 0.0, math.inf)
        _check_range("epsilon", self.epsilon, 0.0, math.inf)
        _check_range("constant_tolerance", self.constant_tolerance, 0.0, math.inf)
        _check_range("invalid_penalty", self.invalid_penalty, 0.0, math.inf)
        _check_count("min_anchor_group_size", self.min_anchor_group_size, 2)
        _check_ddof("ddof", self.ddof)
        _check_options("hgpo", self.hgpo, HGPOOptions)
        _check_options("graphgpo", self.graphgpo, GraphGPOOptions)
        if self.similarity is not None:
            _check_range("similarity", self.similarity, 1e-9, 1.0)
        if self.penalizes_episodes and self.episode_unit == "trajectory":
            raise ConfigError(
                'invalid_penalty_placement="official" gives the rows of one trajectory '
                'different scores, which episode_unit="trajectory" cannot count; set '
                'episode_unit="step" or invalid_penalty_placement="anchor"'
            )

    @property
    def penalizes_steps(self) -> bool:
        """Whether the penalty enters the statistics of step returns."""
        return self.invalid_penalty > 0 and self.invalid_penalty_placement != "step"

    @property
    def penalizes_episodes(self) -> bool:
        """Whether the penalty enters the statistics of episode scores."""
        return self.invalid_penalty > 0 and self.invalid_penalty_placement == "official"


_CHOICES = {
    "normalize": Normalize,
    "episode_unit": EpisodeUnit,
    "similarity_method": SimilarityMethod,
    "revisits": Revisits,
    "lone_episode": LoneRule,
    "lone_step": LoneRule,
    "invalid_penalty_placement": PenaltyPlacement,
}


def _check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ConfigError(
            f"{name}={value!r} is not one of {', '.join(map(repr, choices))}; "
            f"did you mean {nearest_name(str(value), choices)!r}?"
        )


def _check_range(name: str, value: float, low: float, high: float) -> None:
    if not (isinstance(value, Real) and low <= value <= high and math.isfinite(value)):
        raise ConfigError(
            f"{name}={value!r} must be a finite number in [{low}, {high}]"
        )


def _check_count(name: str, value: int, low: int) -> None:
    if not (isinstance(value, Integral) and value >= low):
        raise ConfigError(f"{name}={value!r} must be an integer of at least {low}")


def _check_ddof(name: str, value: int) -> None:
    if value not in (0, 1):
        raise ConfigError(
            f"{name}={value!r} must be 0 (population std) or 1 (sample std)"
        )


def _check_options(name: str, value: object, kind: type) -> None:
    if not isinstance(value, kind):
        raise ConfigError(
            f"{name} is a {type(value).__name__}; it must be {kind.__name__}(...)"
        )
