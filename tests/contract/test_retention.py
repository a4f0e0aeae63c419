"""Tests of the routes of retention: settings, dry run, legal holds, and what is said of events that were removed."""

from __future__ import annotations

from uuid import uuid4

import httpx
import pytest
from sqlalchemy import Engine
from tests.serving import Json, Served, running_server
from tests.startedstore import StartedStore

from tocsin.model.change import EventType
from tocsin.store.database.engine import writing
from tocsin.store.upkeep.retention.progress import RetentionProgress, note_removed

ROOT = "/system/retention"


def test_nothing_is_removed_by_default(administrator: httpx.Client) -> None:
    answer = administrator.get(ROOT)
    assert answer.status_code == 200
    body = answer.json()
    assert (body["settings"], body["takesAway"], body["lastRun"]) == ({"rules": []}, [], None)
    assert body["removed"] == {"log": 0, "lake": 0}


def test_a_preset_is_set_says_what_it_takes_away_and_is_an_event(administrator: httpx.Client) -> None:
    answer = administrator.put(ROOT, json={"preset": "standard"})
    assert answer.status_code == 200, answer.text
    rules = {one["eventType"]: (one.get("logDays"), one.get("auditDays")) for one in answer.json()["settings"]["rules"]}
    assert rules == {
        "entityCreated": (None, None),
        "entityUpdated": (90, None),
        "entitySoftDeleted": (30, 30),
        "entityDeleted": (7, 7),
    }
    features = {one["feature"] for one in answer.json()["takesAway"]}
    assert {"asOf", "diff", "rollback", "replay", "backtest", "explain", "audit"} <= features
    event = administrator.get("/events", params={"entityType": "team", "format": "default"}).json()["data"][-1]
    assert event["changeDescription"]["fieldsUpdated"][0]["name"] == "retention"
    assert administrator.put(ROOT, json={"preset": "off"}).json()["settings"] == {"rules": []}


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({"preset": "standart"}, "preset"),
        ({"preset": "off", "rules": []}, "preset"),
        ({"rules": [{"eventType": "entityUpdate"}]}, "eventType"),
        ({"rules": [{"eventType": "entityUpdated", "logDays": 0}]}, "logDays"),
        ({"rules": [{"eventType": "entityUpdated", "logDays": 8, "auditDays": 7}]}, "auditDays"),
        ({"rules": [{"eventType": "entityUpdated", "auditDays": 7}]}, "auditDays"),
        ({"rules": [{"eventType": "entityUpdated", "entityType": "tabel"}]}, "tabel"),
        ({"rules": [{"eventType": "entityUpdated"}, {"eventType": "entityUpdated"}]}, "entityUpdated"),
        ({"rules": [{"eventType": "entityUpdated", "logDays": True}]}, "logDays"),
        ({"rules": [{"eventType": "entityUpdated", "logDays": "90"}]}, "logDays"),
        ({"notificationDays": 1}, "notificationDays"),
        ({"days": 7}, "days"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_its_place(administrator: httpx.Client, body: Json, place: str) -> None:
    answer = administrator.put(ROOT, json=body)
    assert (answer.status_code, place in answer.json()["message"]) == (400, True), answer.text


def test_a_dry_run_counts_by_type_and_changes_nothing(administrator: httpx.Client, orders: Json) -> None:
    rules = [{"eventType": one.value, "logDays": 1, "auditDays": 1} for one in EventType]
    answer = administrator.post(f"{ROOT}/preview", json={"rules": rules})
    assert answer.status_code == 200, answer.text
    assert answer.json()["isComplete"] is True
    assert administrator.get(ROOT).json()["settings"] == {"rules": []}
    assert administrator.post(f"{ROOT}/preview", json={}).json()["log"] == 0


def test_a_hold_says_who_set_it_and_why_and_stays_when_it_is_lifted(administrator: httpx.Client, orders: Json) -> None:
    answer = administrator.post(f"{ROOT}/holds", json={"reason": "Case 7", "entityId": orders["id"]})
    assert answer.status_code == 201, answer.text
    hold = answer.json()
    assert (hold["reason"], hold["entityId"], bool(hold["setBy"])) == ("Case 7", orders["id"], True)
    event = administrator.get("/events", params={"entityType": "team", "format": "default"}).json()["data"][-1]
    assert orders["id"] not in str(event), "the event is for everybody"
    lifted = administrator.delete(f"{ROOT}/holds/{hold['id']}").json()
    assert lifted["liftedBy"] == hold["setBy"]
    assert administrator.delete(f"{ROOT}/holds/{hold['id']}").json() == lifted
    assert hold["id"] in [one["id"] for one in administrator.get(f"{ROOT}/holds").json()["data"]]
    assert administrator.delete(f"{ROOT}/holds/{uuid4()}").status_code == 404


@pytest.mark.parametrize(
    "body",
    [
        {"reason": "x"},
        {"reason": "", "userName": "ana"},
        {"userName": "ana"},
        {"reason": "x", "entityId": "orders"},
        {"reason": "x", "since": 2, "until": 1},
        {"reason": "x", "since": True},
        {"reason": "x", "until": "2026"},
        {"reason": " ", "userName": "admin"},
        {"reason": "x", "userName": " "},
        {"reason": "x", "userName": "ADMIN"},  # nobody is called like this: admin is
    ],
)
def test_a_hold_that_covers_nothing_or_says_no_reason_is_refused(administrator: httpx.Client, body: Json) -> None:
    assert administrator.post(f"{ROOT}/holds", json=body).status_code == 400


def test_only_administrators_see_and_change_retention(served: Served) -> None:
    _, client = served.person("somebody")
    with client as somebody:
        for method, path in (
            ("GET", ROOT),
            ("PUT", ROOT),
            ("POST", f"{ROOT}/preview"),
            ("GET", f"{ROOT}/holds"),
            ("POST", f"{ROOT}/holds"),
            ("DELETE", f"{ROOT}/holds/{uuid4()}"),
        ):
            answer = somebody.request(method, path, json={} if method in ("PUT", "POST") else None)
            assert answer.status_code == 403, (method, path, answer.text)


def test_a_missing_event_is_404_with_the_date_of_what_was_removed(
    sqlite_engine: Engine, started_store: StartedStore
) -> None:
    password, token = started_store.password, started_store.token
    with (
        running_server(sqlite_engine, password=password, token=token) as served,
        served.administrator() as administrator,
    ):
        check_hints(administrator, sqlite_engine)


def check_hints(administrator: httpx.Client, store_engine: Engine) -> None:
    """Ask for an event that there is not before and after events were removed."""
    event_id = uuid4()
    before = administrator.get(f"/events/{event_id}").json()["message"]
    assert "retention" not in before
    assert RetentionProgress(store_engine).claim("run", now_ms=1)
    with writing(store_engine) as connection:
        note_removed(connection, {(19_000, "entityUpdated", "table"): 3}, through=1, until_ms=1_700_000_000_000)
    for path in (f"/events/{event_id}", f"/events/{event_id}/explain"):
        answer = administrator.get(path)
        assert (answer.status_code, "2023-11-14" in answer.json()["message"]) == (404, True), answer.text
