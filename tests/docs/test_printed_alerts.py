"""The alert files and conditions that the pages print are valid."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from tocsin.check.policy import DEFAULT_POLICY, parse_policy
from tocsin.cli.app import app_of
from tocsin.conditions.check import parse_and_check

DOCS = Path(__file__).resolve().parents[2] / "docs"
PRINTED = [
    (page.name, form, text)
    for page in sorted(DOCS.glob("*.md"))
    if page.name != "check.md"
    for form, text in re.findall(r"```(toml|yaml)\n(.*?)```", page.read_text(), re.DOTALL)
    if "[[alerts]]" in text or re.search(r"^(- +|  - )?name:", text, re.MULTILINE)
]


CHECK_RULES = [
    text
    for text in re.findall(r"```yaml\n(.*?)```", (DOCS / "check.md").read_text(), re.DOTALL)
    if text.startswith("rules:")
]


def test_the_rules_of_checks_that_the_page_prints_are_valid() -> None:
    policies = [parse_policy(yaml.safe_load(text)) for text in CHECK_RULES]
    assert policies[0] == DEFAULT_POLICY, "the page prints what holds without a file"
    for rule in policies[1].rules:
        parse_and_check(rule.when)


@pytest.mark.parametrize(("page", "form", "text"), PRINTED, ids=[page for page, _, _ in PRINTED])
def test_every_alert_file_that_a_page_prints_is_valid(page: str, form: str, text: str, tmp_path: Path) -> None:
    (tmp_path / f"alerts.{form}").write_text(text)
    answer = CliRunner().invoke(app_of(), ["conditions", "check", str(tmp_path / f"alerts.{form}")])
    assert (answer.exit_code, answer.output) == (0, "")


def test_every_state_condition_that_the_page_prints_is_valid(tmp_path: Path) -> None:
    section = (DOCS / "conditions.md").read_text().partition("## State conditions")[2].partition("\n## ")[0]
    printed = re.findall(r"^\| [^|]+ \| `([^`]+)` \|$", section, re.MULTILINE)
    assert len(printed) > 5
    (tmp_path / "rules.txt").write_text("\n".join(printed))
    answer = CliRunner().invoke(app_of(), ["conditions", "check", str(tmp_path / "rules.txt")])
    assert answer.exit_code == 0, answer.output
