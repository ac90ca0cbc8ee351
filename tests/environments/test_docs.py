"""Every block of docs/environments.md runs, and shows what is really said."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from environments.checking.processes import check_processes
from environments.household.env import HouseholdEnv
from environments.prompting import HistoryEntry, PromptContext
from environments.registration import ENTRY_POINTS

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/environments.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"(?:<!-- ([\w-]+) -->\n)?```(\w+)\n(.*?)```", PAGE, re.DOTALL)


def block(name: str) -> str:
    (text,) = (text for label, _, text in BLOCKS if label == name)
    return text


def blocks(language: str, containing: str) -> list[str]:
    return [text for _, kind, text in BLOCKS if kind == language and containing in text]


def rendered(style: str) -> str:
    """The prompt of the first evaluation house after the expert's first step."""
    env = HouseholdEnv(prompt={"style": style})
    first, _ = env.reset(options={"task": env.tasks("eval")[0]})
    action = env.expert().next_action().action
    observation, *_, info = env.step(action)
    context = PromptContext(
        instruction=info["instruction"],
        observation=observation,
        admissible_actions=info["admissible_actions"],
        history=(HistoryEntry(observation=first, action=action),),
        num_steps_taken=1,
    )
    (message,) = env.prompt.messages(context)
    return message["content"]


def test_the_page_names_every_environment_and_its_links_lead_somewhere() -> None:
    assert [name for name in ENTRY_POINTS if f"`{name}`" not in PAGE] == []
    links = re.findall(r"\]\(([^)#]+)\)", PAGE)
    assert links and all((ROOT / "docs" / link).exists() for link in links)


@pytest.mark.parametrize("style", ["full", "compact"])
def test_the_prompts_on_the_page_are_the_rendered_ones(style: str) -> None:
    assert block(f"prompt-{style}") == f"{rendered(style)}\n"


def test_the_first_steps_on_the_page_run() -> None:
    (text,) = blocks("python", "gymnasium.make")
    names: dict[str, object] = {}
    exec(text, names)
    assert isinstance(names["observation"], str)


def test_the_environment_on_the_page_keeps_the_contract() -> None:
    names: dict[str, object] = {}
    exec(block("own-environment") + block("own-environment-check"), names)
    assert "check_text_env" in names


def test_the_environment_on_the_page_is_the_same_in_two_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "doubling.py").write_text(block("own-environment"))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{ROOT}")
    check_processes("doubling:DoublingEnv", {})


def test_rllib_takes_the_environments_of_the_page() -> None:
    pytest.importorskip("ray")
    from rllib_gigpo.rollout.make_env import make_text_env

    (text,) = blocks("python", 'Household-v0", env_config')
    names: dict[str, object] = {}
    exec(text, names)
    config = names["config"]
    assert make_text_env(config.env, config.env_config).size == "small"
    exec(block("own-environment") + block("own-environment-train"), names)
    config = names["config"]
    made = make_text_env(config.env, config.env_config)
    assert type(made).__name__ == "DoublingEnv"


def test_the_command_on_the_page_runs() -> None:
    (text,) = blocks("bash", "environments.checker")
    command = text.strip().replace("python ", f"{sys.executable} ", 1)
    done = subprocess.run(
        command, shell=True, cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert "keeps the contract" in done.stdout
