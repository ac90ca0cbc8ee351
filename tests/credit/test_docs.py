"""Every code block of the page on credit assignment runs and prints what it says."""

import doctest
import re
from dataclasses import fields
from pathlib import Path

import pytest

from rllib_gigpo.credit import ESTIMATORS, CreditConfig, CreditSummary

PAGE = Path(__file__).parents[2] / "docs" / "credit.md"
DEFAULTS = {
    field.name: getattr(CreditConfig(), field.name) for field in fields(CreditConfig)
}


@pytest.fixture(scope="module")
def page():
    return PAGE.read_text(encoding="utf-8")


def test_code_blocks_run_in_order_and_print_what_they_say(page, monkeypatch):
    # The page registers an estimator; the end of the test takes it out again.
    monkeypatch.setitem(ESTIMATORS, "winners_only", None)
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(blocks) == page.count("```python") >= 5
    names: dict[str, object] = {}
    runner = doctest.DocTestRunner()
    for number, block in enumerate(blocks):
        if block.startswith(">>>"):
            example = doctest.DocTestParser().get_doctest(
                block, names, f"block {number}", str(PAGE), 0
            )
            runner.run(example, clear_globs=False)
            names |= example.globs
        else:
            exec(compile(block, str(PAGE), "exec"), names)
    results = runner.summarize()
    assert results.attempted > 10
    assert results.failed == 0


@pytest.mark.parametrize("kind", [CreditConfig, CreditSummary])
def test_every_option_and_figure_is_on_the_page(page, kind):
    assert [f.name for f in fields(kind) if f"`{f.name}`" not in page] == []


def test_defaults_on_the_page_are_those_of_the_code(page):
    rows = re.findall(r"^\| `(\w+)` \| (\S+) \| .* \|$", page, re.MULTILINE)
    shown = {name: default.strip("`") for name, default in rows if name in DEFAULTS}
    assert len(shown) >= 16
    for name, default in shown.items():
        assert eval(default) == DEFAULTS[name], name


def test_every_estimator_is_on_the_page(page):
    for name in ("gigpo", "grpo", "rloo", "reinforce_plus_plus", "hgpo", "graphgpo"):
        assert f"| `{name}` |" in page
        assert name in ESTIMATORS
