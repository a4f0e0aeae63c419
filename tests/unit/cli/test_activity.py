"""Tests of ``tocsin activity``."""

from __future__ import annotations

from tests.commandline import Run
from tests.unit.small_server import SmallServer

ANN = "0195564e-6f0c-7a41-9c3e-2b1f7d90a5c4"


def test_authors_have_their_display_names(run: Run, small_server: SmallServer) -> None:
    event = {
        "id": "e",
        "eventType": "entityCreated",
        "entityType": "table",
        "entityId": "t",
        "entityFullyQualifiedName": "a.b.c.orders",
        "userName": "ann",
        "userId": ANN,
        "timestamp": 1_760_000_000_000,
    }
    by_tocsin = event | {"id": "f", "userName": "ben", "userId": "system"}
    entries = [{"event": one, "title": "orders: created"} for one in (event, by_tocsin)]
    small_server.answer("GET", "/api/v1/users/loggedInUser", {"id": ANN, "name": "ann"})
    small_server.answer("GET", f"/api/v1/users/{ANN}/activity", {"data": entries, "paging": {"total": 2}})
    small_server.answer("GET", f"/api/v1/users/{ANN}", {"id": ANN, "name": "ann", "displayName": "Ann Lee"})
    lines = run("activity").out.splitlines()
    assert "Ann Lee" in lines[1]
    assert "ben" in lines[2]


def test_nobody_is_named_as_who_changed_a_result(run: Run, small_server: SmallServer) -> None:
    result = {"name": "testCaseResult", "newValue": {"testCaseStatus": "Failed", "timestamp": 1_760_000_000_000}}
    event = {
        "id": "e",
        "eventType": "entityUpdated",
        "entityType": "testCase",
        "entityId": "t",
        "entityFullyQualifiedName": "a.b.c.orders.rows",
        "userName": "admin",
        "userId": ANN,
        "timestamp": 1_760_000_000_000,
        "changeDescription": {"fieldsUpdated": [result], "previousVersion": 0.1},
    }
    small_server.answer("GET", "/api/v1/users/loggedInUser", {"id": ANN, "name": "ann"})
    entries = [{"event": event, "title": "rows failed"}]
    small_server.answer("GET", f"/api/v1/users/{ANN}/activity", {"data": entries, "paging": {"total": 1}})
    small_server.answer("GET", f"/api/v1/users/{ANN}", {"id": ANN, "name": "ann", "displayName": "Administrator"})
    output = run("activity").out
    assert "rows failed" in output
    assert "admin" not in output.casefold()
