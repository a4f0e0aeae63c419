"""Tests that the settings page lists exactly the existing settings with their defaults."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest
from pydantic.fields import FieldInfo

from tocsin.settings import Settings

PAGE = (Path(__file__).resolve().parents[2] / "docs/settings.md").read_text()
ROW = re.compile(r"^\| `(?P<name>\w+)` \| (?P<default>.+?) \| (?P<meaning>.+) \|$", re.MULTILINE)
DOCUMENTED = {row["name"]: row for row in ROW.finditer(PAGE)}


def test_the_page_and_the_settings_have_the_same_names() -> None:
    assert sorted(DOCUMENTED) == sorted(Settings.model_fields)


@pytest.mark.parametrize("name", sorted(Settings.model_fields))
def test_the_page_says_the_default_and_the_meaning(name: str) -> None:
    field = Settings.model_fields[name]
    assert DOCUMENTED[name]["default"] == _shown(field)
    assert DOCUMENTED[name]["meaning"] == field.description


def test_the_example_for_production_can_be_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (example,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "tocsin.toml").write_text(example)
    monkeypatch.chdir(tmp_path)
    settings = Settings()
    assert {name: getattr(settings, name) for name in tomllib.loads(example)} == tomllib.loads(example)


def _shown(field: FieldInfo) -> str:
    default = field.get_default(call_default_factory=True, validated_data={})
    if default is None:
        return "unset"
    if isinstance(default, str | Path):
        return f"`{default}`"
    return f"`{json.dumps(default)}`"
