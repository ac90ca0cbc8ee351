"""What the pages name is there: files, links, commands with their flags, code."""

from __future__ import annotations

import ast
import re
import shlex
from pathlib import Path

import pytest

from rllib_gigpo.cli.main import build_parser as rllib_gigpo_parser
from rllib_gigpo.cli.rllib import build_parser as rllib_parser

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted(
    path.relative_to(ROOT)
    for pattern in ("*.md", "docs/*.md", "environments/*/README.md")
    for path in ROOT.glob(pattern)
)
ARCHITECTURE = Path("docs/architecture.md")
PARSERS = {"rllib": rllib_parser, "rllib-gigpo": rllib_gigpo_parser}


def text_of(page: Path) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def code_blocks(page: Path, *languages: str) -> list[str]:
    pattern = rf"```(?:{'|'.join(languages)})\n(.*?)```"
    return re.findall(pattern, text_of(page), re.DOTALL)


def commands(text: str) -> list[list[str]]:
    """The words of each call of ``rllib`` or ``rllib-gigpo``, one a line."""
    lines = text.replace("\\\n", " ").splitlines()
    split = [shlex.split(line, comments=True) for line in lines]
    return [words for words in split if words and words[0] in PARSERS]


PAGE_COMMANDS = [
    words
    for page in PAGES
    for block in code_blocks(page, "bash", "sh")
    for words in commands(block)
]
EXAMPLE_COMMANDS = [
    words
    for path in sorted((ROOT / "tuned_examples").glob("*.py"))
    for words in commands(
        "\n".join(
            line
            for line in (ast.get_docstring(ast.parse(path.read_text())) or "").split(
                "\n"
            )
            if line.startswith("    ")
        )
    )
]


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)[^)]*\)", text_of(page))
    own = [link for link in links if not link.startswith("http")]
    folder = (ROOT / page).parent
    assert [link for link in own if not (folder / link).exists()] == []


def test_the_files_on_the_path_of_an_episode_are_there() -> None:
    named = re.findall(r"`((?:rllib_gigpo|environments)/[^`]*)`", text_of(ARCHITECTURE))
    assert len(named) > 30
    patterns = [name.replace("<name>", "*").rstrip("/") for name in named]
    assert [pattern for pattern in patterns if not any(ROOT.glob(pattern))] == []


def test_there_are_commands_to_check() -> None:
    assert len(PAGE_COMMANDS) > 8
    assert len(EXAMPLE_COMMANDS) > 12


@pytest.mark.parametrize("words", PAGE_COMMANDS + EXAMPLE_COMMANDS, ids=" ".join)
def test_a_command_has_these_flags(words: list[str]) -> None:
    program, *rest = words
    if rest[:2] == ["train", "file"]:
        assert (ROOT / rest[2]).is_file()
        rest[:2] = ["train-file"]
    PARSERS[program]().parse_args(rest)


@pytest.mark.parametrize(
    "page", [Path("README.md"), Path("docs/inference.md")], ids=str
)
def test_configurations_on_a_page_can_be_built(page: Path) -> None:
    blocks = code_blocks(page, "python")
    assert blocks
    names: dict[str, object] = {}
    for block in blocks:
        # All but what would start a run.
        exec(block.partition("tune.Tuner(")[0], names)
        assert type(names["config"]).__name__ == "GiGPOConfig"
