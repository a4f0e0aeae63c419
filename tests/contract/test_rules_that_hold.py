"""Tests of rules of OpenMetadata's tests that hold for what is stored, and for writes at the same time."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from sqlalchemy import Engine, select, update
from tests import seedschema
from tests.contract.every_type import create, make_one_of_each, path_of
from tests.contract.test_queue import QUEUE, act, create_alert, events
from tests.contract.test_unversioned import check_silent, patch, read
from tests.contract.test_unversioned import events as count_events
from tests.notifying import notify_all
from tests.serving import Json, Served

from tocsin.store.database.engine import reading, writing
from tocsin.store.database.tables import entity

HOOK = {"category": "Admins", "type": "ActivityFeed"}


def test_columns_stored_in_upper_case_stay_as_they_are(
    administrator: httpx.Client, orders: Json, sqlite_engine: Engine
) -> None:
    """A stored display text that is not in lower case is shown, and a write that repeats it makes no version."""
    path = f"/tables/{orders['id']}"
    with reading(sqlite_engine) as connection:
        document = json.loads(
            connection.execute(select(entity.c.document).where(entity.c.id == orders["id"])).scalar_one()
        )
    document["columns"][0]["dataTypeDisplay"] = "BIGINT"
    with writing(sqlite_engine) as connection:
        connection.execute(update(entity).where(entity.c.id == orders["id"]).values(document=json.dumps(document)))
    stored_table = administrator.get(path).json()
    assert stored_table["columns"][0]["dataTypeDisplay"] == "BIGINT"
    for display in ("BIGINT", "bigint"):
        columns = [stored_table["columns"][0] | {"dataTypeDisplay": display}, *stored_table["columns"][1:]]
        plain = [{key: one[key] for key in one if key != "fullyQualifiedName"} for one in columns]
        request = {"name": "orders", "databaseSchema": "warehouse.shop.public", "columns": plain}
        answer = administrator.put("/tables", json=request)
        assert (answer.status_code, answer.json()["version"]) == (200, stored_table["version"]), answer.text
    description_answer = patch(administrator, path, ("add", "/columns/0/description", "The key."))
    assert description_answer.status_code == 200, description_answer.text
    assert [one["name"] for one in description_answer.json()["changeDescription"]["fieldsAdded"]] == [
        "columns.id.description"
    ]
    assert description_answer.json()["changeDescription"]["fieldsUpdated"] == []


@pytest.mark.parametrize("field", ["owners", "charts"])
def test_another_order_of_references_is_neither_a_version_nor_an_event(
    served: Served, administrator: httpx.Client, field: str
) -> None:
    assert administrator.post("/services/dashboardServices", json={"name": "bi", "serviceType": "Superset"}).is_success
    charts = [administrator.post("/charts", json={"name": name, "service": "bi"}).json() for name in ("a", "b")]
    people = [{"id": served.person(name)[0], "type": "user"} for name in ("ann", "bob")]
    board = {
        "name": "board",
        "service": "bi",
        "owners": people,
        "charts": [one["fullyQualifiedName"] for one in charts],
    }
    assert administrator.post("/dashboards", json=board).status_code == 201
    path = "/dashboards/name/bi.board"
    was = read(administrator, path)
    before = was, count_events(administrator)
    reversed_references = [{"id": one["id"], "type": one["type"]} for one in reversed(was[field])]
    for answer in (
        patch(administrator, path, ("replace", f"/{field}", reversed_references)),
        administrator.put("/dashboards", json=board | {field: list(reversed(board[field]))}),
    ):
        assert answer.status_code == 200, answer.text
        now = check_silent(administrator, before, path)
        assert [one["id"] for one in now[field]] == [one["id"] for one in reversed_references]


def test_patches_of_one_alert_at_the_same_time_are_all_applied(administrator: httpx.Client) -> None:
    request = {"name": "watch", "alertType": "Notification", "destinations": [HOOK], "resources": ["table"]}
    alert = administrator.post("/events/subscriptions", json=request).json()

    def describe(number: int) -> int:
        operation = ("add", "/description", f"Text {number}.")
        return patch(administrator, f"/events/subscriptions/{alert['id']}", operation).status_code

    with ThreadPoolExecutor(8) as threads:
        assert set(threads.map(describe, range(16))) == {200}
    after = administrator.get(f"/events/subscriptions/{alert['id']}").json()
    assert after["version"] == pytest.approx(alert["version"] + 1.6)


@pytest.mark.skipif(not seedschema.is_here(), reason=seedschema.MISSING)
def test_messages_of_a_queue_in_the_format_seed_are_valid(administrator: httpx.Client, sqlite_engine: Engine) -> None:
    alert = create_alert(administrator, destinations=[QUEUE | {"config": {"payloadFormat": "seed"}}])
    events(administrator, "One", "Two")
    notify_all(sqlite_engine)
    validator = seedschema.seed_validator()
    claimed = act(administrator, alert, "claim", limit=10)["data"]
    assert len(claimed) == 2
    for message in claimed:
        assert [error.message for error in validator.iter_errors(message["event"])] == []


def test_every_update_has_its_incremental_change(administrator: httpx.Client) -> None:
    for name in make_one_of_each(administrator):
        new = create(administrator, name, "living").json()
        path = f"{path_of(name)}/{new['id']}"
        for text in ("One.", "Two."):
            answer = patch(administrator, path, ("add", "/description", text))
            assert answer.status_code == 200, (name, answer.text)
            change = answer.json()["incrementalChangeDescription"]
            assert "description" in json.dumps(change), name
        assert administrator.get(path).json()["incrementalChangeDescription"] == change, name
