"""Tests of breaking changes by HTTP: in versions, differences, events and their filter."""

from __future__ import annotations

import json

import httpx
from tests.contract.test_events import PATCH, describe
from tests.serving import Json


def drop_column(client: httpx.Client, asset: Json) -> str:
    """Remove the first column of a table; return its name."""
    answer = client.patch(
        f"/tables/{asset['id']}", content=json.dumps([{"op": "remove", "path": "/columns/0"}]), headers=PATCH
    )
    assert answer.is_success, answer.text
    return str(asset["columns"][0]["name"])


def test_versions_and_differences_say_whether_and_why_they_break(administrator: httpx.Client, orders: Json) -> None:
    describe(administrator, orders, "Orders.")
    name = drop_column(administrator, orders)
    history = administrator.get(f"/tables/{orders['id']}/versions?words=true").json()
    assert [json.loads(one)["version"] for one in history["versions"]] == [1.2, 0.2, 0.1]
    (reason,), *earlier_reasons = history["breaking"]
    assert (reason["kind"], reason["field"], earlier_reasons) == ("fieldRemoved", f"columns.{name}", [[], []])
    assert reason["text"].startswith(f"column {name} removed")
    assert "breaking" not in administrator.get(f"/tables/{orders['id']}/versions").json()
    newest = administrator.get(f"/tables/{orders['id']}/diff").json()
    assert (newest["breaking"], newest["breakingReasons"]) == (True, [reason])
    backwards = administrator.get(f"/tables/{orders['id']}/diff?from=1.2&to=0.2").json()
    assert (backwards["breaking"], backwards["breakingReasons"]) == (False, [])


def test_events_are_found_by_what_they_break(administrator: httpx.Client, orders: Json) -> None:
    describe(administrator, orders, "Orders.")
    drop_column(administrator, orders)
    breaking = administrator.get("/events?breaking=true&format=tocsin").json()["data"]
    assert [one["currentVersion"] for one in breaking] == [1.2]
    assert (breaking[0]["breaking"], breaking[0]["breakingReasons"][0]["kind"]) == (True, "fieldRemoved")
    harmless = administrator.get("/events?breaking=false&entityType=table&format=tocsin").json()["data"]
    assert [(one["currentVersion"], one["breaking"]) for one in harmless] == [(0.1, False), (0.2, False)]
    assert administrator.get("/events?breaking=true&entityType=user").json()["data"] == []
    assert administrator.get("/events?breaking=true&entityCreated=*").json()["data"] == []
    assert administrator.get("/events?breaking=perhaps").status_code == 400


def test_other_forms_of_an_event_have_no_key_of_ours(administrator: httpx.Client, orders: Json) -> None:
    drop_column(administrator, orders)
    for payload_format in ("default", "seed", "openmetadata"):
        (event,) = administrator.get(f"/events?breaking=true&format={payload_format}").json()["data"]
        assert not {"breaking", "breakingReasons"} & event.keys()
    (event,) = administrator.get("/events?breaking=true&format=cloudEvents").json()["data"]
    assert event["breaking"] == "true"
