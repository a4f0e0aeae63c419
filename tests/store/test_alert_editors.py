"""Tests of the editors of alerts: by id from the start, and in a store that only had their names."""

from __future__ import annotations

import json

import pytest
from sqlalchemy import Engine, text
from tests.store.catalogues import company

from tocsin.model.people import SYSTEM, Actor
from tocsin.model.stored import Key
from tocsin.store.database.schema import migrate
from tocsin.store.recipients.event_subjects import SqlEvents

BEFORE = "0017_preferences"
_ALERT = {"name": "ours", "alertType": "Notification", "filteringRules": {"resources": ["table"]}, "destinations": []}
_GONE = Actor("00000000-0000-4000-8000-00000000000a", "gone")


@pytest.fixture
def older(unmigrated_engine: Engine) -> Engine:
    """Return an empty store of the revision before."""
    migrate(unmigrated_engine, BEFORE)
    return unmigrated_engine


def test_editors_are_recorded_by_id_and_outlive_a_deletion(store_engine: Engine) -> None:
    shop = company(store_engine)
    jane, robot = (Actor(shop.ids[name], name) for name in ("jane", "robot"))
    alert_id = shop.writes.create("eventsubscription", _ALERT, actor=jane).document["id"]
    described = {"op": "add", "path": "/description", "value": "All of it."}
    shop.writes.patch("eventsubscription", Key.by_id(alert_id), [described], actor=robot)
    own_id = shop.writes.create("eventsubscription", {**_ALERT, "name": "own"}, actor=SYSTEM).document["id"]
    shop.writes.delete("eventsubscription", Key.by_id(alert_id), actor=robot, hard=True)
    events = SqlEvents(store_engine)
    assert events.creators([alert_id, own_id]) == {alert_id: jane.id}
    assert events.editors_of([alert_id, own_id]) == {alert_id: tuple(sorted([jane.id, robot.id])), own_id: ()}


def test_an_older_store_gets_ids_from_its_events(older: Engine) -> None:
    ids = {name: f"00000000-0000-4000-8000-00000000000{digit}" for digit, name in enumerate(("alert", "jane", "new"))}
    with older.begin() as connection:
        for offset, event_type, who, user_id, at_ms in (
            (1, "entityCreated", "gone", _GONE.id, 1_000),
            (2, "entityUpdated", "jane", None, 3_000),
            (3, "entityUpdated", "new", None, 4_000),
            (4, "entityUpdated", "gone", _GONE.id, 5_000),
        ):
            document = {"eventType": event_type, "userName": who, **({"userId": user_id} if user_id else {})}
            connection.execute(
                text(
                    "INSERT INTO change_event (log_offset, id, event_type, entity_type, entity_id, user_name,"
                    " timestamp_ms, document, derived) VALUES (:at, :id, :kind, 'eventsubscription', :alert, :who,"
                    " :ms, :document, '{}')"
                ),
                {
                    "at": offset,
                    "id": f"event-{offset}",
                    "kind": event_type,
                    "alert": ids["alert"],
                    "who": who,
                    "ms": at_ms,
                    "document": json.dumps(document),
                },
            )
        for name, since_ms in (("jane", 2_000), ("new", 9_000)):
            connection.execute(
                text(
                    "INSERT INTO person (user_id, name, is_admin, is_bot, deleted)"
                    " VALUES (:id, :name, false, false, false)"
                ),
                {"id": ids[name], "name": name},
            )
            connection.execute(
                text(
                    "INSERT INTO entity_version (entity_id, version_tenths, updated_at_ms, document)"
                    " VALUES (:id, 1, :ms, '{}')"
                ),
                {"id": ids[name], "ms": since_ms},
            )
        connection.execute(
            text("INSERT INTO attachment (entity_id, kind, document) VALUES (:alert, 'behind', :document)"),
            {"alert": ids["alert"], "document": json.dumps({"users": ["of-secrets"]})},
        )
    migrate(older)
    events = SqlEvents(older)
    assert events.creators([ids["alert"]]) == {ids["alert"]: _GONE.id}
    assert events.editors_of([ids["alert"]])[ids["alert"]] == tuple(
        sorted([_GONE.id, ids["jane"], "nobody", "of-secrets"])
    ), "who came later by the same name is not an editor"
