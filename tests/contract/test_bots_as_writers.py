"""Tests of bots that break, delete, handle incidents and write alerts: told like what people do, to people alone."""

from __future__ import annotations

import json

import httpx
from sqlalchemy import Engine
from tests.contract.test_access import create_entity, send_patch
from tests.contract.test_alert_incidents import case
from tests.contract.test_bot_puts import columns
from tests.contract.test_events import PATCH
from tests.contract.test_explain import Person, alert, assign_owners, person
from tests.contract.test_ingest import EVERYTHING, make_bot
from tests.contract.test_wholes import schema
from tests.notifying import notify_all
from tests.serving import Json, Served

__all__ = ["case", "person", "schema"]  # fixtures

_BELL = [{"category": "Owners", "type": "ActivityFeed"}]


def bell_of(client: httpx.Client, user_id: str) -> list[Json]:
    return list(client.get(f"/users/{user_id}/notifications").json()["data"])


def test_what_a_bot_breaks_is_breaking_and_its_run_is_the_reason(
    served: Served, administrator: httpx.Client, orders: Json, person: Person, sqlite_engine: Engine
) -> None:
    ann_id, ann = person("ann")
    assign_owners(administrator, orders, ann_id)
    breaking = {"name": "breaking", "effect": "include", "condition": "breaking()"}
    alert(administrator, "Breaking", breaking, destinations=_BELL)
    with make_bot(served, "feeder", EVERYTHING) as feeder:
        narrowed_table = {
            "name": "orders",
            "databaseSchema": "warehouse.shop.public",
            "columns": columns(dataLength=20),
        }
        headers = {"X-Tocsin-Why": "run 4711"}
        assert feeder.put("/tables", json=narrowed_table, headers=headers).is_success
        removal = json.dumps([{"op": "remove", "path": "/columns/0"}])
        assert feeder.patch(f"/tables/{orders['id']}", content=removal, headers={**PATCH, **headers}).is_success
    notify_all(sqlite_engine)
    events = administrator.get("/events?breaking=true&format=tocsin").json()["data"]
    assert [(one["userName"], one["reason"]) for one in events] == [("feeder", "run 4711")] * 2
    kinds = [[reason["kind"] for reason in one["breakingReasons"]] for one in events]
    assert kinds == [["sizeCut"], ["fieldRemoved"]]
    told_ids = {one["eventId"] for one in bell_of(ann, ann_id)}
    assert {one["id"] for one in events} <= told_ids


def test_what_a_bot_deletes_is_told_as_a_whole(
    served: Served, administrator: httpx.Client, schema: Json, person: Person, sqlite_engine: Engine
) -> None:
    bob_id, bob = person("bob")
    assert bob.put(f"/databaseSchemas/{schema['id']}/followers/{bob_id}").is_success
    notify_all(sqlite_engine)
    with make_bot(served, "sweeper", EVERYTHING) as sweeper:
        assert sweeper.delete(f"/databaseSchemas/{schema['id']}", params={"recursive": True}).is_success
    events = administrator.get("/events", params={"format": "tocsin", "limit": 1_000}).json()["data"]
    *parts, whole_event = events[-3:]
    assert (whole_event["userName"], whole_event["belowCount"]) == ("sweeper", 2)
    assert [one["partOf"] for one in parts] == [whole_event["id"]] * 2
    notify_all(sqlite_engine)
    (entry,) = bell_of(bob, bob_id)
    assert entry["eventId"] == whole_event["id"]


def test_a_bot_handles_incidents_by_its_rights_and_is_never_notified(
    served: Served, administrator: httpx.Client, case: Json, sqlite_engine: Engine
) -> None:
    with make_bot(served, "reader", {"operations": ["ViewAll"]}) as reader:
        assert reader.put("/incidents/INC-1/acknowledge").status_code == 403
    with make_bot(served, "fixer", EVERYTHING) as fixer:
        assert fixer.put("/incidents/INC-1/acknowledge", json={"comment": "restarted"}).is_success
        fixer_id = fixer.get("/users/loggedInUser").json()["id"]
        assert bell_of(fixer, fixer_id) == []
    incident = administrator.get("/incidents/INC-1").json()
    (step,) = [one for one in incident["timeline"] if one["kind"] == "acknowledged"]
    assert (step["user"]["name"], step["comment"]) == ("fixer", "restarted")
    notify_all(sqlite_engine)


def test_a_bot_writes_the_own_fields_of_alerts_and_none_to_itself(
    served: Served, administrator: httpx.Client, orders: Json
) -> None:
    request: Json = {"alertType": "Notification", "resources": ["table"], "destinations": _BELL}
    path = "/events/subscriptions"
    with make_bot(served, "deployer", EVERYTHING) as deployer:
        fields: Json = {"severity": "Severity2", "runbook": "Call.", "expires": orders["updatedAt"] + 86_400_000}
        deployed_alert = create_entity(deployer, path, name="Deployed", **request, **fields)
        shown_alert = administrator.get(f"{path}/{deployed_alert['id']}?fields=severity,runbook,expires").json()
        assert {key: shown_alert[key] for key in fields} == fields
        schedule = {"triggerType": "Scheduled", "cronExpression": "0 0 8 * * ?"}
        rules = {
            "resources": ["table"],
            "rules": [{"name": "r", "effect": "include", "condition": "stillWithoutOwner()"}],
        }
        checking = {"alertType": "Notification", "destinations": _BELL, "filteringRules": rules}
        create_entity(deployer, path, name="Checking", **checking, trigger=schedule)
        private = {**request, "destinations": [{"category": "Users", "type": "Email"}], "toMeOnly": True}
        refusal = deployer.post(path, json={"name": "Mine", **private})
        assert refusal.status_code in (400, 403), refusal.text
        assert send_patch(deployer, f"{path}/{deployed_alert['id']}", {"op": "remove", "path": "/runbook"}).is_success
    assert "runbook" not in administrator.get(f"{path}/{deployed_alert['id']}?fields=runbook").json()
