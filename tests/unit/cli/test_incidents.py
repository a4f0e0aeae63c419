"""Tests of ``tocsin incidents``."""

from __future__ import annotations

import json
from typing import Any

from tests.commandline import Run
from tests.unit.small_server import SmallServer

API = "/api/v1/incidents"
ONE: dict[str, Any] = {
    "id": "i",
    "name": "INC-7",
    "status": "open",
    "severity": "Severity2",
    "alert": {"id": "a", "name": "Late"},
    "watchers": [{"id": "a", "name": "Late"}, {"id": "b", "name": "OnCall"}],
    "entity": {"id": "e", "fullyQualifiedName": "airflow.etl"},
    "assignee": None,
    "openedAt": 1_760_000_000_000,
    "stateId": "52a1",
    "mergedInto": None,
    "parts": [],
}
CAUSE = {"id": "c", "name": "INC-3", "asset": {"id": "t", "fullyQualifiedName": "pg.raw.orders"}}
TIMELINE = [
    {"kind": "opened", "timestamp": 1_760_000_000_000, "eventId": "x", "says": "a failure opened it"},
    {"kind": "message", "timestamp": 1_760_000_000_500, "says": "alert Late told ben by mail: delivered"},
    {"kind": "assigned", "timestamp": 1_760_000_001_000, "says": "ana assigned it to ben: “yours”"},
]


def test_incidents_are_listed(run: Run, small_server: SmallServer) -> None:
    small_server.answer("GET", API, {"data": [ONE], "paging": {}})
    listed = run("incidents", "list", "--alert", "Late").out
    assert [listed.count(word) for word in ("INC-7", "open", "Late, OnCall", "airflow.etl")] == [1, 2, 1, 1]
    assert small_server.requests[-1].query == {"status": "unresolved", "alert": "Late", "limit": "100"}
    assert "Severity2" in run("incidents", "list", "--severity", "Severity2").out
    assert small_server.requests[-1].query["severity"] == "Severity2"
    assert json.loads(run("incidents", "list", "--status", "all", "--json").out) == [ONE]
    assert "status" not in small_server.requests[-1].query


def test_an_incident_is_shown_with_its_timeline(run: Run, small_server: SmallServer) -> None:
    small_server.answer(
        "GET",
        f"{API}/INC-7",
        {**ONE, "timeline": TIMELINE, "isWhole": False, "probableCauses": [CAUSE], "dismissedCauses": []},
    )
    output = run("incidents", "show", "INC-7").out
    assert "probably caused by: INC-3 on pg.raw.orders" in output
    assert "state id: 52a1" in " ".join(output.split())
    assert [str(one["says"]) in output for one in TIMELINE] == [True] * 3
    assert "Not all messages are shown." in output
    assert "asset: airflow.etl" in output
    assert "merged into" not in output
    part = {
        **ONE,
        "mergedInto": {"id": "j", "name": "INC-3"},
        "timeline": TIMELINE,
        "isWhole": True,
        "probableCauses": [],
        "dismissedCauses": [],
    }
    small_server.answer("GET", f"{API}/INC-7", part)
    assert "merged into: INC-3" in run("incidents", "show", "INC-7").out


def test_an_incident_is_handled(run: Run, small_server: SmallServer) -> None:
    for action in ("acknowledge", "assign", "resolve"):
        small_server.answer("PUT", f"{API}/INC-7/{action}", ONE)
    assert run("incidents", "ack", "INC-7").out == "INC-7 is acknowledged.\n"
    assert run("incidents", "assign", "INC-7", "shop", "--team", "--comment", "yours").out == (
        "INC-7 is assigned to shop.\n"
    )
    assert small_server.requests[-1].body == {"assignee": {"type": "team", "name": "shop"}, "comment": "yours"}
    assert json.loads(run("incidents", "resolve", "INC-7", "--json").out) == ONE
    assert small_server.requests[-1].body == {}


def test_acknowledging_what_is_resolved_says_so(run: Run, small_server: SmallServer) -> None:
    small_server.answer("PUT", f"{API}/INC-7/acknowledge", {**ONE, "status": "resolved"})
    assert run("incidents", "ack", "INC-7").out == "INC-7 is resolved already: nothing was recorded.\n"


def test_an_incident_is_merged_and_split(run: Run, small_server: SmallServer) -> None:
    merged = {**ONE, "name": "INC-8", "mergedInto": {"id": "j", "name": "INC-7"}}
    small_server.answer("PUT", f"{API}/INC-8/merge", merged)
    small_server.answer("PUT", f"{API}/INC-8/split", {**ONE, "name": "INC-8"})
    assert run("incidents", "merge", "INC-8", "INC-7", "--comment", "one cause").out == "INC-8 is part of INC-7.\n"
    assert small_server.requests[-1].body == {"into": "INC-7", "comment": "one cause"}
    assert run("incidents", "split", "INC-8").out == "INC-8 stands for itself.\n"
    step = {"kind": "merged", "timestamp": 1, "says": "ana merged it with INC-8"}
    lead = {**ONE, "parts": [{"id": "i", "name": "INC-8"}], "timeline": [step], "isWhole": True, "probableCauses": []}
    lead |= {"dismissedCauses": []}
    small_server.answer("GET", f"{API}/INC-7", lead)
    output = run("incidents", "show", "INC-7").out
    assert ("parts: INC-8" in output, "ana merged it with INC-8" in output) == (True, True)


def test_a_cause_is_dismissed(run: Run, small_server: SmallServer) -> None:
    small_server.answer("PUT", f"{API}/INC-7/dismiss-cause", ONE)
    arguments = ("incidents", "dismiss-cause", "INC-7", "INC-3")
    assert run(*arguments, "--comment", "it was late before").out == "INC-7 was not caused by INC-3.\n"
    assert small_server.requests[-1].body == {"cause": "INC-3", "comment": "it was late before"}
    assert json.loads(run(*arguments, "--json").out) == ONE
    assert small_server.requests[-1].body == {"cause": "INC-3"}
    small_server.answer("PUT", f"{API}/INC-7/restore-cause", ONE)
    assert run("incidents", "restore-cause", "INC-7", "INC-3").out == "INC-7 may be caused by INC-3 after all.\n"
    assert small_server.requests[-1].body == {"cause": "INC-3"}


def test_an_incident_that_is_not_there_ends_with_three(run: Run) -> None:
    assert run("incidents", "show", "INC-9").code == 3
