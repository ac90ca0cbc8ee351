"""What can be said about engines before any is started."""

from pathlib import Path

import pytest

from rllib_gigpo import GiGPOConfig
from rllib_gigpo.algorithms.engines import check_head_size
from rllib_gigpo.errors import ConfigError
from tests.corridor_model import save_corridor_model
from tests.inference.vllm_fixtures import save_vllm_model


def test_heads_that_vllm_cannot_compute_on_a_cpu_are_refused(tmp_path: Path) -> None:
    small = save_corridor_model(tmp_path / "small")
    with pytest.raises(ConfigError, match=r"heads of 8.*takes 32, 64"):
        check_head_size(GiGPOConfig().llm(model_name_or_path=str(small)))
    fitting = save_vllm_model(tmp_path / "fitting")
    check_head_size(GiGPOConfig().llm(model_name_or_path=str(fitting)))
