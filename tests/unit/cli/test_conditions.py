"""Does ``tocsin conditions check`` say what is wrong, where, with a caret, and end with the right code?"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tocsin.cli.main import app


def check(file: Path, text: str, *options: str) -> Result:
    file.write_text(text, encoding="utf-8")
    return CliRunner().invoke(app, ["conditions", "check", str(file), *options])


def test_every_line_is_checked_with_place_and_caret(tmp_path: Path) -> None:
    file = tmp_path / "rules.txt"
    answer = check(file, "# ours\nisBot()\n\n  eventTipe == 'a'\ntags ==\ntier == 'a' && tier == 'b'\n")
    assert answer.exit_code == 2
    assert answer.output.splitlines() == [
        f"{file}:4:3: there is no field 'eventTipe'; did you mean eventType?",
        "    eventTipe == 'a'",
        "    ^",
        *answer.output.splitlines()[3:6],
        f"{file}:6:1: warning: This condition is true of no event",
    ]
    assert answer.output.splitlines()[3].startswith(f"{file}:5:8: ")


def test_what_is_right_is_passed_over_in_silence(tmp_path: Path) -> None:
    answer = check(tmp_path / "rules.txt", "isBot()\nuser.follows(entity) && tier == 'a'\n")
    assert (answer.exit_code, answer.output) == (0, "")


def ruled(name: str, condition: str) -> dict[str, object]:
    rules = {"resources": ["table"], "rules": [{"effect": "include", "condition": condition}]}
    return {"name": name, "alertType": "Custom", "filteringRules": rules}


def test_alerts_are_checked_as_they_would_be_saved(tmp_path: Path) -> None:
    right, wrong = ruled("right", "true"), ruled("wrong", "a == 1")
    chosen = {"filters": [{"name": "filterByFqn"}]}
    named = {"name": "named", "alertType": "Custom", "resources": ["all"], "input": chosen}
    answer = check(tmp_path / "alerts.json", json.dumps([right, wrong, named]), "--json")
    assert answer.exit_code == 2
    found = json.loads(answer.output)["findings"]
    assert [one["error"] for one in found] == [False, True, True]
    assert found[1]["place"].endswith("alerts.json: wrong: filteringRules.rules[0].condition")
    assert "filterByFqn needs the argument fqnList" in found[2]["message"]
    spoken = check(tmp_path / "alerts.json", json.dumps([wrong]))
    assert spoken.output.splitlines()[1:] == ["  a == 1", "  ^"]


@pytest.mark.parametrize("text", ["{", "[]", '[{"name": 1}]', '{"name": "a", "filteringRules": {"resources": 1}}'])
def test_what_is_no_alert_is_refused(tmp_path: Path, text: str) -> None:
    assert check(tmp_path / "alerts.json", text).exit_code != 0
