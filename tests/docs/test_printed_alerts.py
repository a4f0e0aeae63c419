"""The alert files and conditions that the pages print are valid."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tocsin.cli.app import app_of

DOCS = Path(__file__).resolve().parents[2] / "docs"
PRINTED = [
    (page.name, form, text)
    for page in sorted(DOCS.glob("*.md"))
    for form, text in re.findall(r"```(toml|yaml)\n(.*?)```", page.read_text(), re.DOTALL)
    if "[[alerts]]" in text or re.search(r"^(- +|  - )?name:", text, re.MULTILINE)
]


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
