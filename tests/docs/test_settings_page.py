"""The page of settings has every setting with its default and meaning, and no other."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from tests.docs.settings_page import PAGE, ROW, refresh

from tocsin.settings import Settings


def test_the_page_and_the_settings_have_the_same_names() -> None:
    assert sorted(ROW.findall(PAGE.read_text())) == sorted(Settings.model_fields)


def test_the_page_says_the_defaults_and_the_meanings() -> None:
    page = PAGE.read_text()
    assert page == refresh(page), "run: python -m tests.docs.settings_page"


def test_the_example_for_production_can_be_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (example,) = re.findall(r"```toml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    (tmp_path / "tocsin.toml").write_text(example)
    monkeypatch.chdir(tmp_path)
    settings = Settings()
    assert {name: getattr(settings, name) for name in tomllib.loads(example)} == tomllib.loads(example)
