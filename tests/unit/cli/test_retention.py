"""Tests of ``tocsin retention show``: rules and readers of all shapes are one table each."""

from __future__ import annotations

import pytest
from tests.unit.small_server import SmallServer
from typer.testing import CliRunner

from tocsin.cli.app import app_of
from tocsin.model.retention import PRESETS, effects_of


@pytest.mark.parametrize("preset", sorted(PRESETS))
def test_settings_are_shown(small_server: SmallServer, monkeypatch: pytest.MonkeyPatch, preset: str) -> None:
    monkeypatch.setenv("TOCSIN_SERVER", small_server.url)
    monkeypatch.setenv("TOCSIN_TOKEN", "t")
    readers = [
        {"name": "match_stream", "logOffset": 5, "waitsSince": None, "toldAt": None, "passedCount": 0},
        {"name": "relay main", "logOffset": 2, "waitsSince": 1, "toldAt": 3, "passedCount": 4},
    ]
    answer = {
        "settings": PRESETS[preset].to_wire(),
        "presets": {},
        "takesAway": effects_of(PRESETS[preset]),
        "readers": readers,
        "removed": {"log": 1, "lake": 2},
        "lastRun": None,
    }
    small_server.answer("GET", "/api/v1/system/retention", answer)
    result = CliRunner().invoke(app_of(), ["retention", "show"])
    assert result.exit_code == 0, result.output
    assert "relay main" in result.output
    assert ("entitySoftDeleted" in result.output) == (preset == "standard")
    assert ("No rules: all events are kept." in result.output) == (preset == "off")
    assert "1970-01-01 00:00:00" in result.output
    assert "Nothing to show" not in result.output
