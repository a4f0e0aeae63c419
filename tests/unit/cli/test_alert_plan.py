"""Tests of plans of alerts: fields that differ, what is deleted, exit codes, and what is written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.commandline import Run
from tests.unit.small_server import SmallServer

from tocsin.cli.alert_plan import differences

PATH = "/api/v1/events/subscriptions"
STORED: dict[str, Any] = {
    "id": "1",
    "name": "tests",
    "version": 0.1,
    "alertType": "Notification",
    "retries": 3,
    "destinations": [{"id": "d", "category": "Owners", "type": "Email"}],
}


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1, "b": 2}, {"a": 3}, [("a", 1, 3), ("b", 2, None)]),
        ({}, {"a": {"b": 1, "c": [1, 2]}}, [("a.b", None, 1), ("a.c", None, [1, 2])]),
        ({"a": {"b": 1}}, {"a": {"b": 2}}, [("a.b", 1, 2)]),
        ({"a": ["x"]}, {"a": ["x", "y"]}, [("a", ["x"], ["x", "y"])]),
        ({"a": [{"id": 1, "b": 1}, {"id": 2}]}, {"a": [{"id": 2, "b": 1}]}, [
            ("a[0].b", None, 1), ("a[0]", {"id": 1, "b": 1}, None),
        ]),
        ({"a": [{"condition": "x"}]}, {"a": [{"condition": "y"}, {"condition": "z"}]}, [
            ("a[0].condition", "x", "y"), ("a[1].condition", None, "z"),
        ]),
        ({"a": [{"type": "user", "name": "x"}]}, {"a": [{"type": "user", "name": "y"}]}, [
            ("a[0].type", None, "user"), ("a[0].name", None, "y"), ("a[0]", {"type": "user", "name": "x"}, None),
        ]),
        ({"a": [{"tagFQN": "x"}, {"tagFQN": "y"}]}, {"a": [{"tagFQN": "y"}, {"tagFQN": "x"}]}, []),
    ],
)  # fmt: skip
def test_fields_that_differ_are_found_by_identity(before: Any, after: Any, expected: list[Any]) -> None:
    assert [(one.field, one.old, one.new) for one in differences(before, after)] == expected


@pytest.fixture
def alert_file(tmp_path: Path) -> str:
    (tmp_path / "alerts.yaml").write_text("- name: tests\n  retries: 5\n")
    return "alerts.yaml"


def test_a_plan_shows_old_and_new_and_writes_nothing(run: Run, small_server: SmallServer, alert_file: str) -> None:
    small_server.answer("GET", f"{PATH}/name/tests", STORED)
    small_server.answer("PUT", PATH, {**STORED, "version": 0.2, "retries": 5})
    small_server.headers["X-Tocsin-Changed-Secrets"] = json.dumps(["destinations[0].config.secretKey"])
    result = run("alerts", "plan", alert_file)
    assert (result.code, result.out.splitlines()) == (
        0,
        [
            "~ update tests  (alerts.yaml:1)",
            "    retries: 3 → 5",
            "    destinations[0].config.secretKey: ********* → ********* (another secret)",
            "0 to create, 1 to update, 0 to delete, 0 unchanged.",
        ],
    )
    assert run("alerts", "plan", alert_file, "--detailed-exitcode").code == 8
    (row,) = json.loads(run("alerts", "plan", alert_file, "--json").out)
    assert (row["outcome"], row["file"], row["changes"][0]) == (
        "update",
        "alerts.yaml:1",
        {"field": "retries", "old": 3, "new": 5},
    )
    assert {asked.query.get("dryRun") for asked in small_server.requests if asked.method == "PUT"} == {"true"}


def test_a_secret_alone_is_a_change(run: Run, small_server: SmallServer, alert_file: str) -> None:
    small_server.answer("GET", f"{PATH}/name/tests", STORED)
    small_server.answer("PUT", PATH, STORED)
    small_server.headers["X-Tocsin-Changed-Secrets"] = json.dumps(["destinations[0].config.secretKey"])
    assert "1 to update" in run("alerts", "plan", alert_file).out
    assert "Applied: 0 created, 1 updated, 0 deleted, 0 unchanged." in run("alerts", "apply", alert_file).out
    assert small_server.requests[-1].query == {}


def test_what_is_unchanged_is_not_written(run: Run, small_server: SmallServer, alert_file: str) -> None:
    small_server.answer("GET", f"{PATH}/name/tests", STORED)
    small_server.answer("PUT", PATH, STORED)
    for command in (("plan", "--detailed-exitcode"), ("apply", "--yes")):
        ended = run("alerts", command[0], alert_file, command[1])
        assert (ended.code, ended.out) == (0, "0 to create, 0 to update, 0 to delete, 1 unchanged.\n")
    assert {asked.query.get("dryRun") for asked in small_server.requests if asked.method == "PUT"} == {"true"}


def test_pruning_deletes_what_no_file_contains_but_what_the_system_needs(
    run: Run, small_server: SmallServer, alert_file: str
) -> None:
    stored_alerts = [STORED, {"id": "2", "name": "old"}, {"id": "3", "name": "ours", "provider": "system"}]
    small_server.answer("GET", f"{PATH}/name/tests", STORED)
    small_server.answer("GET", PATH, {"data": stored_alerts, "paging": {}})
    small_server.answer("PUT", PATH, STORED)
    small_server.answer("DELETE", f"{PATH}/2", stored_alerts[1])
    assert "- delete old\n" in run("alerts", "plan", alert_file, "--prune").out
    assert run("alerts", "plan", alert_file).out == "0 to create, 0 to update, 0 to delete, 1 unchanged.\n"
    for options in ((), ("--json",)):
        refusal = run("alerts", "apply", alert_file, "--prune", *options)
        assert (refusal.code, "This deletes 1 alert: add --yes to confirm it. Nothing was written." in refusal.err) == (
            2,
            True,
        )
    assert not [asked for asked in small_server.requests if asked.method == "DELETE"]
    assert "1 deleted" in run("alerts", "apply", alert_file, "--prune", "--yes").out
    assert [asked.path for asked in small_server.requests if asked.method == "DELETE"] == [f"{PATH}/2"]


@pytest.mark.parametrize(("answer", "is_written"), [("y\n", True), ("n\n", False)])
def test_on_a_terminal_it_is_asked_before_writing(
    run: Run,
    small_server: SmallServer,
    alert_file: str,
    monkeypatch: pytest.MonkeyPatch,
    answer: str,
    *,
    is_written: bool,
) -> None:
    class Terminal:
        def isatty(self) -> bool:
            return True

        def readline(self) -> str:
            return answer

    small_server.answer("PUT", PATH, STORED)
    monkeypatch.setattr("sys.stdin", Terminal())
    result = run("alerts", "apply", alert_file)
    assert "Apply this?" in result.out
    assert ("Nothing was written." in result.out) is not is_written
    assert ({} in [asked.query for asked in small_server.requests if asked.method == "PUT"]) is is_written


def test_long_texts_are_shown_below_each_other(run: Run, small_server: SmallServer, alert_file: str) -> None:
    long = "x" * 60
    small_server.answer("GET", f"{PATH}/name/tests", {**STORED, "description": f"{long}\nold"})
    small_server.answer("PUT", PATH, {**STORED, "version": 0.2, "description": long})
    lines = run("alerts", "plan", alert_file).out.splitlines()
    assert lines[1:5] == ["    description:", f"      - {long}", "      - old", f"      + {long}"]
