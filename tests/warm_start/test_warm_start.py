from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
from transformers import AutoModelForCausalLM, AutoTokenizer

from rllib_gigpo.errors import ConfigError
from rllib_gigpo.warm_start import WarmStartSettings, warm_start
from rllib_gigpo.warm_start.settings import CACHE_VARIABLE

SETTINGS = WarmStartSettings(
    env="Household-v0",
    env_config={"size": "tiny", "prompt": {"style": "compact"}},
    model_size="tiny",
    vocabulary_size=600,
    num_episodes=40,
    num_check_tasks=2,
    check_every=4,
    max_steps=4,
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("warm_start") / "model"
    report = warm_start(SETTINGS, folder)
    assert report.num_steps == 4 and report.seconds > 0
    return folder


def test_the_folder_is_a_hugging_face_model(made: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(made)
    model = AutoModelForCausalLM.from_pretrained(made)
    text = tokenizer.apply_chat_template(
        [{"role": "user", "content": "go to cabinet 12"}],
        tokenize=False,
        add_generation_prompt=True,
    )
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    assert tokenizer.decode(ids) == text
    assert max(ids) < model.config.vocab_size
    assert len(tokenizer("<action>", add_special_tokens=False)["input_ids"]) == 1
    assert model.config.eos_token_id == tokenizer.eos_token_id


def test_the_same_settings_give_the_same_bytes(made: Path, tmp_path: Path) -> None:
    warm_start(SETTINGS, tmp_path / "again")
    for name in ("model.safetensors", "tokenizer.json"):
        again = (tmp_path / "again" / name).read_bytes()
        assert again == (made / name).read_bytes()


def test_a_model_that_is_there_is_kept(made: Path) -> None:
    before = (made / "model.safetensors").stat().st_mtime_ns
    report = warm_start(SETTINGS, made)
    assert report.seconds == 0
    assert (made / "model.safetensors").stat().st_mtime_ns == before


def test_a_model_of_other_settings_or_texts_is_made_anew(
    made: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    report = json.loads((made / "warm_start.json").read_text())
    report["fingerprint"]["demonstrations"] = "of another day"
    (folder / "warm_start.json").write_text(json.dumps(report))
    assert warm_start(SETTINGS, folder).seconds > 0
    assert (folder / "model.safetensors").is_file()


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(ConfigError, match="not empty"):
        warm_start(SETTINGS, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_an_environment_without_an_expert_is_refused(tmp_path: Path) -> None:
    settings = dataclasses.replace(
        SETTINGS, env="tests.fakes.CorridorEnv", env_config={}
    )
    with pytest.raises(NotImplementedError, match="no expert"):
        warm_start(settings, tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_every_setting_changes_the_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, "/cache")
    other = dataclasses.replace(SETTINGS, seed=1)
    assert SETTINGS.folder() != other.folder()
    assert SETTINGS.folder().parent == Path("/cache/warm_start")


@pytest.mark.parametrize(
    "wrong",
    [{"model_size": "7b"}, {"noise": 1.0}, {"target_success": 0.0}, {"max_steps": 0}],
)
def test_impossible_settings_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        dataclasses.replace(SETTINGS, **wrong)
