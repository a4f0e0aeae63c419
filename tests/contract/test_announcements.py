"""Tests of announcements as OpenMetadata 2 has them, over the same threads as ``/feed``."""

from __future__ import annotations

import time
from collections.abc import Iterator

import httpx
import pytest
from sqlalchemy import Engine
from tests.contract.test_access import restrict
from tests.contract.test_explain import Person, person
from tests.contract.test_feed import ORDERS, events, patch
from tests.serving import Json, Served

from tocsin.clock import FixedClock
from tocsin.jobs.announcements import AnnouncementsJob

__all__ = ["person"]  # fixtures

HOUR_MS = 3_600_000


@pytest.fixture
def alice(served: Served) -> Iterator[tuple[str, httpx.Client]]:
    user_id, client = served.person("alice")
    with client:
        yield user_id, client


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def announce(client: httpx.Client, hours: int = 0, **fields: Json) -> Json:
    """Announce something that begins in so many hours and lasts one."""
    start = now_ms() + hours * HOUR_MS - 1_000
    times = {"startTime": start, "endTime": start + HOUR_MS}
    answer = client.post("/announcements", json={"description": "Down.", "entityLink": ORDERS, **times, **fields})
    assert answer.status_code == 201, answer.text
    return answer.json()


def names(client: httpx.Client, **query: str) -> list[str]:
    page = client.get("/announcements", params=query).json()
    assert page["paging"]["total"] == len(page["data"])
    return sorted(one["name"] for one in page["data"])


def announced_ids(client: httpx.Client) -> list[str]:
    listed = client.get("/events?limit=10000").json()["data"]
    return [one["entityId"] for one in listed if one["eventType"] == "threadCreated"]


def test_announcements_are_scheduled_active_and_expired(
    administrator: httpx.Client, orders: Json, alice: tuple[str, httpx.Client]
) -> None:
    _, client = alice
    for name, hours in (("past", -3), ("present", 0), ("future", 3)):
        announce(client, hours, name=name)
    assert names(client) == ["future", "past", "present"]
    assert {one: names(client, status=one) for one in ("Active", "Scheduled", "Expired")} == {
        "Active": ["present"],
        "Scheduled": ["future"],
        "Expired": ["past"],
    }
    assert names(client, active="true", entityLink=ORDERS) == ["present"]
    assert names(client, active="false") == ["future", "past"]
    assert names(client, domain="nothing") == []
    feed = client.get("/feed", params={"type": "Announcement", "activeAnnouncement": True}).json()["data"]
    assert [one["message"] for one in feed] == ["present"]
    by_name = client.get("/announcements/name/present").json()
    assert by_name == client.get(f"/announcements/{by_name['id']}").json()
    assert client.get(f"/feed/{by_name['id']}").json()["announcement"]["description"] == "Down."
    first = client.get("/announcements?limit=2").json()
    second = client.get("/announcements", params={"limit": 2, "after": first["paging"]["after"]}).json()
    assert len({one["id"] for one in (*first["data"], *second["data"])}) == 3
    back = client.get("/announcements", params={"limit": 2, "before": second["paging"]["before"]}).json()
    assert back["data"] == first["data"]


def test_an_announcement_of_1_has_its_id_as_name(
    administrator: httpx.Client, orders: Json, alice: tuple[str, httpx.Client]
) -> None:
    details = {"startTime": now_ms() - 1_000, "endTime": now_ms() + HOUR_MS}
    request = {"about": ORDERS, "message": "Moving", "type": "Announcement", "announcementDetails": details}
    thread = alice[1].post("/feed", json=request).json()
    announcement = alice[1].get(f"/announcements/name/{thread['id']}").json()
    assert (announcement["name"], announcement["description"]) == (thread["id"], "Moving")
    assert announced_ids(administrator) == [thread["id"]]


def test_a_scheduled_announcement_is_told_of_once_when_it_begins(
    administrator: httpx.Client, orders: Json, alice: tuple[str, httpx.Client], sqlite_engine: Engine
) -> None:
    _, client = alice
    announcement = announce(client, 2, name="later")
    edits = {"op": "replace", "path": "/description", "value": "Down for long."}
    assert patch(client, f"/announcements/{announcement['id']}", edits).json()["description"] == "Down for long."
    job = AnnouncementsJob(sqlite_engine, FixedClock(now_ms() + HOUR_MS))
    assert job.look() == 0
    assert [kind for kind, entity_type in events(administrator) if entity_type == "thread"] == []
    job_at_start = AnnouncementsJob(sqlite_engine, FixedClock(announcement["startTime"]))
    assert (job_at_start.look(), job_at_start.look()) == (1, 0)
    back = AnnouncementsJob(sqlite_engine, FixedClock(announcement["startTime"] - HOUR_MS))
    assert back.look() == 0
    (event,) = [one for one in administrator.get("/events?limit=10000").json()["data"] if one["entityType"] == "thread"]
    assert (event["eventType"], event["userName"], event["entityId"]) == ("threadCreated", "alice", announcement["id"])
    assert "isAnnounced" not in str(event)


def test_what_is_deleted_before_it_begins_is_never_told_of(
    administrator: httpx.Client, orders: Json, alice: tuple[str, httpx.Client], sqlite_engine: Engine
) -> None:
    announcement = announce(alice[1], 2)
    assert alice[1].delete(f"/announcements/{announcement['id']}").json()["deleted"] is True
    assert AnnouncementsJob(sqlite_engine, FixedClock(announcement["startTime"])).look() == 0
    assert [entity_type for _, entity_type in events(administrator) if entity_type == "thread"] == []


def test_an_announcement_is_put_by_name(
    administrator: httpx.Client, orders: Json, alice: tuple[str, httpx.Client], person: Person
) -> None:
    _, client = alice
    announcement = announce(client, name="upgrade")
    body = {key: announcement[key] for key in ("name", "entityLink", "startTime", "endTime")}
    changed = client.put("/announcements", json={**body, "description": "Longer."}).json()
    assert (changed["id"], changed["description"]) == (announcement["id"], "Longer.")
    again = client.post("/announcements", json={**body, "description": "x"})
    assert again.status_code == 409
    _, mallory = person("mallory")
    assert mallory.put("/announcements", json={**body, "description": "Mine."}).status_code == 403
    overlap = client.put("/announcements", json={**body, "name": "other", "description": "x"})
    assert (overlap.status_code, "overlaps" in overlap.json()["message"]) == (400, True)
    assert mallory.delete(f"/announcements/{announcement['id']}").status_code == 403


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"entityLink": None}, "entityLink"),
        ({"entityLink": "orders"}, "entityLink"),
        ({"description": ""}, "description"),
        ({"description": 7}, "description"),
        ({"description": "x" * 70_000}, "description"),
        ({"name": " "}, "name"),
        ({"name": "x" * 300}, "name"),
        ({"displayName": 7}, "displayName"),
        ({"startTime": "now"}, "startTime"),
        ({"startTime": 5, "endTime": 4}, "startTime"),
        ({"owners": ["ann"]}, "owners"),
        ({"surprise": 1}, "surprise"),
    ],
)
def test_garbage_is_refused_in_words(administrator: httpx.Client, orders: Json, fields: Json, field: str) -> None:
    body = {"description": "x", "entityLink": ORDERS, "startTime": 1, "endTime": 2, **fields}
    answer = administrator.post("/announcements", json=body)
    assert (answer.status_code, field in answer.json()["message"]) == (400, True), answer.text


def test_announcements_of_hidden_assets_do_not_exist(administrator: httpx.Client, orders: Json, person: Person) -> None:
    user_id, mallory = person("mallory")
    announcement = announce(administrator, name="secret")
    restrict(administrator, user_id, {"effect": "deny", "resources": ["table"]})
    assert mallory.get("/announcements").json()["paging"]["total"] == 0
    path = f"/announcements/{announcement['id']}"
    for answer in (mallory.get(path), mallory.get("/announcements/name/secret"), mallory.delete(path)):
        assert answer.status_code == 404
    operation = {"op": "replace", "path": "/description", "value": "x"}
    assert patch(mallory, path, operation).status_code == 404
    body = {"name": "secret", "description": "x", "entityLink": ORDERS, "startTime": 1, "endTime": 2}
    for method in ("POST", "PUT"):
        assert mallory.request(method, "/announcements", json=body).status_code in (403, 404)


def test_a_name_is_not_the_id_by_which_another_is_called(
    administrator: httpx.Client, orders: Json, alice: tuple[str, httpx.Client]
) -> None:
    first = announce(administrator)
    times = {"startTime": now_ms() + 9 * HOUR_MS, "endTime": now_ms() + 10 * HOUR_MS}
    body = {"name": first["name"], "description": "x", "entityLink": ORDERS, **times}
    assert alice[1].post("/announcements", json=body).status_code == 409
    assert administrator.get(f"/announcements/name/{first['name']}").json()["id"] == first["id"]


def test_what_is_over_when_it_is_made_is_recorded_and_told_to_nobody(
    administrator: httpx.Client, orders: Json, alice: tuple[str, httpx.Client], sqlite_engine: Engine
) -> None:
    _, client = alice
    announcement = announce(client, -3, name="outage")
    job = AnnouncementsJob(sqlite_engine, FixedClock(now_ms()))
    assert (names(client, status="Expired"), job.look(), announced_ids(administrator)) == (["outage"], 0, [])
    path = f"/announcements/{announcement['id']}"
    longer = {"op": "replace", "path": "/endTime", "value": announcement["endTime"] + HOUR_MS}
    assert patch(client, path, longer).status_code == 200
    assert (job.look(), announced_ids(administrator)) == (0, [])
    until_now = {"op": "replace", "path": "/endTime", "value": now_ms() + HOUR_MS}
    assert patch(client, path, until_now).status_code == 200
    assert (job.look(), job.look(), announced_ids(administrator)) == (1, 0, [announcement["id"]])


def test_what_is_moved_into_the_past_before_it_begins_is_told_to_nobody(
    administrator: httpx.Client, orders: Json, alice: tuple[str, httpx.Client], sqlite_engine: Engine
) -> None:
    announcement = announce(alice[1], 2)
    body = {key: announcement[key] for key in ("name", "entityLink", "description")}
    times = {"startTime": now_ms() - 2 * HOUR_MS, "endTime": now_ms() - HOUR_MS}
    assert alice[1].put("/announcements", json=body | times).json()["status"] == "Expired"
    assert AnnouncementsJob(sqlite_engine, FixedClock(announcement["startTime"])).look() == 0
    assert announced_ids(administrator) == []
