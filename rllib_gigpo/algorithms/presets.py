"""Other algorithms as other defaults: one code path, named settings.

Each ``XConfig`` states in what it differs from :class:`GiGPOConfig`.
"""

from __future__ import annotations

from rllib_gigpo.algorithms.config import GiGPOConfig
from rllib_gigpo.algorithms.gigpo import GiGPO


class GRPOConfig(GiGPOConfig):
    """Episode advantages only. Source: Shao et al., arXiv 2402.03300."""

    def __init__(self, algo_class: type | None = None) -> None:
        super().__init__(algo_class=algo_class or GRPO)
        self.estimator = "grpo"


class RLOOConfig(GiGPOConfig):
    """Leave-one-out baseline, unscaled. Source: Ahmadian et al., arXiv 2402.14740."""

    def __init__(self, algo_class: type | None = None) -> None:
        super().__init__(algo_class=algo_class or RLOO)
        self.estimator = "rloo"
        self.normalize = "none"


class DAPOConfig(GiGPOConfig):
    """GRPO with a higher upper clip and dynamic sampling, no KL.

    Source: Yu et al., arXiv 2503.14476.
    """

    def __init__(self, algo_class: type | None = None) -> None:
        super().__init__(algo_class=algo_class or DAPO)
        self.estimator = "grpo"
        self.clip_high = 0.28
        self.dynamic_sampling = True
        self.kl_coeff = 0.0


class DrGRPOConfig(GiGPOConfig):
    """GRPO without std and without length normalisation, no KL.

    Source: Liu et al., arXiv 2503.20783.
    """

    def __init__(self, algo_class: type | None = None) -> None:
        super().__init__(algo_class=algo_class or DrGRPO)
        self.estimator = "grpo"
        self.normalize = "none"
        self.loss_aggregation = "sequence-sum-constant"
        self.loss_constant = float(self.max_response_tokens)
        self.kl_coeff = 0.0


class GSPOConfig(GiGPOConfig):
    """GRPO with one ratio per response. Source: Zheng et al., arXiv 2507.18071."""

    def __init__(self, algo_class: type | None = None) -> None:
        super().__init__(algo_class=algo_class or GSPO)
        self.estimator = "grpo"
        self.policy_ratio = "sequence"
        self.loss_aggregation = "sequence-mean-token-mean"
        self.clip_low = 3e-4
        self.clip_high = 4e-4
        self.dual_clip = None
        self.kl_coeff = 0.0


class ReinforcePlusPlusConfig(GiGPOConfig):
    """Baseline over the whole batch. Source: Hu, arXiv 2501.03262."""

    def __init__(self, algo_class: type | None = None) -> None:
        super().__init__(algo_class=algo_class or ReinforcePlusPlus)
        self.estimator = "reinforce_plus_plus"


class GRPO(GiGPO):
    """:class:`GiGPO` with the defaults of :class:`GRPOConfig`."""

    config_class = GRPOConfig


class RLOO(GiGPO):
    """:class:`GiGPO` with the defaults of :class:`RLOOConfig`."""

    config_class = RLOOConfig


class DAPO(GiGPO):
    """:class:`GiGPO` with the defaults of :class:`DAPOConfig`."""

    config_class = DAPOConfig


class DrGRPO(GiGPO):
    """:class:`GiGPO` with the defaults of :class:`DrGRPOConfig`."""

    config_class = DrGRPOConfig


class GSPO(GiGPO):
    """:class:`GiGPO` with the defaults of :class:`GSPOConfig`."""

    config_class = GSPOConfig


class ReinforcePlusPlus(GiGPO):
    """:class:`GiGPO` with the defaults of :class:`ReinforcePlusPlusConfig`."""

    config_class = ReinforcePlusPlusConfig
