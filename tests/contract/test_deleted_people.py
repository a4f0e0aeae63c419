"""Tests of people who are deleted softly: they stay in the data, shown as deleted, and are nobody's recipient."""

from __future__ import annotations

import httpx
import pytest
from sqlalchemy import Engine
from tests.contract.test_access import create_entity
from tests.contract.test_alert_incidents import case
from tests.contract.test_explain import Person, alert, assign_owners, describe, explanation_of, person
from tests.notifying import notify_all
from tests.serving import Json

from tocsin.clock import SystemClock
from tocsin.delivery.wording.content import message_content
from tocsin.store.outbox.messages import Messages
from tocsin.store.outbox.sessions import Sessions

__all__ = ["case", "person"]  # fixtures

ABOUT = "<#E::table::warehouse.shop.public.orders::description>"
_HOOKS = "https://hooks.example.com"
INCIDENTS = "/dataQuality/testCases/testCaseIncidentStatus"


@pytest.fixture
def ann(person: Person, administrator: httpx.Client, orders: Json) -> str:
    """Owner and follower of the table, and member of a team that reviews a glossary."""
    ann, _ = person("ann")
    assign_owners(administrator, orders, ann)
    assert administrator.put(f"/tables/{orders['id']}/followers", json=ann).status_code == 200
    create_entity(administrator, "/teams", name="crew", teamType="Group", users=[ann])
    return ann


def remove(client: httpx.Client, user_id: str) -> None:
    assert client.delete(f"/users/{user_id}").status_code == 200


def restore(client: httpx.Client, user_id: str) -> None:
    assert client.put("/users/restore", json={"id": user_id}).status_code == 200


def references(client: httpx.Client, orders: Json) -> list[bool]:
    """Return whether the owner, the follower and the member are shown as deleted."""
    table = client.get(f"/tables/{orders['id']}", params={"fields": "owners,followers"}).json()
    team = client.get("/teams/name/crew", params={"fields": "users"}).json()
    return [one.get("deleted", False) for one in (*table["owners"], *table["followers"], *team["users"])]


def test_references_say_who_is_deleted_until_they_are_restored(
    administrator: httpx.Client, orders: Json, ann: str
) -> None:
    remove(administrator, ann)
    assert references(administrator, orders) == [True, True, True]
    restore(administrator, ann)
    assert references(administrator, orders) == [False, False, False]


def test_nobody_is_notified_until_they_are_restored(
    administrator: httpx.Client, orders: Json, ann: str, sqlite_engine: Engine
) -> None:
    alert(administrator, "Owned")
    remove(administrator, ann)
    event = describe(administrator, orders, "Nobody's.")
    notify_all(sqlite_engine)
    answer = explanation_of(administrator, event, subscription="Owned")
    assert answer["answer"] == "Nobody was notified: Owned matched, but nobody owns it: ann is deleted."
    assert answer["disagreements"] == []
    restore(administrator, ann)
    event = describe(administrator, orders, "Ann's.")
    notify_all(sqlite_engine)
    notified = explanation_of(administrator, event, subscription="Owned")["notified"]["data"]
    assert [one["recipientId"] for one in notified] == [ann]


def test_followers_who_are_all_deleted_are_named(
    administrator: httpx.Client, orders: Json, ann: str, person: Person, sqlite_engine: Engine
) -> None:
    ben, _ = person("ben")
    administrator.put(f"/tables/{orders['id']}/followers", json=ben)
    alert(administrator, "Followed", destinations=[{"category": "Followers", "type": "ActivityFeed"}])
    for user_id in (ann, ben):
        remove(administrator, user_id)
    event = describe(administrator, orders, "Unseen.")
    notify_all(sqlite_engine)
    answer = explanation_of(administrator, event, subscription="Followed")["answer"]
    assert answer == "Nobody was notified: Followed matched, but nobody is among the recipients: ann, ben are deleted."


def test_open_tasks_and_incidents_say_so(administrator: httpx.Client, case: Json, ann: str) -> None:
    to_ann = {"id": ann, "type": "user"}
    details = {"type": "RequestDescription", "assignees": [to_ann]}
    task = create_entity(administrator, "/feed", about=ABOUT, message="What is it?", type="Task", taskDetails=details)
    step = {
        "testCaseReference": case["fullyQualifiedName"],
        "testCaseResolutionStatusType": "Assigned",
        "testCaseResolutionStatusDetails": {"assignee": to_ann},
    }
    assert administrator.post(INCIDENTS, json=step).status_code == 200
    assert administrator.put("/incidents/INC-1/assign", json={"assignee": to_ann}).status_code == 200

    def deleted_flags() -> list[bool]:
        thread = administrator.get(f"/feed/{task['id']}").json()
        (latest,) = administrator.get(INCIDENTS, params={"latest": "true"}).json()["data"]
        incident = administrator.get("/incidents/INC-1").json()
        assignees = [
            *thread["task"]["assignees"],
            latest["testCaseResolutionStatusDetails"]["assignee"],
            incident["assignee"],
            *(one["assignee"] for one in incident["timeline"] if "assignee" in one),
        ]
        return [one.get("deleted", False) for one in assignees]

    assert deleted_flags() == [False] * 4
    remove(administrator, ann)
    assert deleted_flags() == [True] * 4
    restore(administrator, ann)
    assert deleted_flags() == [False] * 4


def test_nothing_is_assigned_to_who_is_deleted(administrator: httpx.Client, orders: Json, case: Json, ann: str) -> None:
    remove(administrator, ann)
    to_ann = {"id": ann, "type": "user"}
    details = {"type": "RequestDescription", "assignees": [to_ann]}
    task = {"about": ABOUT, "message": "What is it?", "type": "Task", "taskDetails": details}
    step = {
        "testCaseReference": case["fullyQualifiedName"],
        "testCaseResolutionStatusType": "Assigned",
        "testCaseResolutionStatusDetails": {"assignee": to_ann},
    }
    answers = [
        administrator.post("/feed", json=task),
        administrator.post(INCIDENTS, json=step),
        administrator.put("/incidents/INC-1/assign", json={"assignee": to_ann}),
        administrator.put(f"/tables/{orders['id']}/followers", json=ann),
        administrator.post("/teams", json={"name": "new", "teamType": "Group", "users": [ann]}),
    ]
    assert [answer.status_code for answer in answers] == [404, 404, 404, 400, 404]


@pytest.mark.parametrize(
    ("other_owners", "ownership"),
    [((), "owned by nobody"), (("ben",), "owned by @ben")],
    ids=["nobody else", "somebody else"],
)
def test_a_message_does_not_name_an_owner_who_was_deleted_since(
    other_owners: tuple[str, ...],
    ownership: str,
    administrator: httpx.Client,
    orders: Json,
    ann: str,
    person: Person,
    sqlite_engine: Engine,
) -> None:
    assign_owners(administrator, orders, ann, *(person(one)[0] for one in other_owners))
    chats = ("Slack", "MsTeams", "GChat")
    to = [{"category": "External", "type": one, "config": {"endpoint": f"{_HOOKS}/{one}"}} for one in chats]
    mail = {"category": "External", "type": "Email", "config": {"receivers": ["desk@example.com"]}}
    alert(administrator, "Posted", destinations=[*to, mail])
    description_event_id = describe(administrator, orders, "All orders.")
    notify_all(sqlite_engine)
    remove(administrator, ann)
    messages, now_ms = Messages(sqlite_engine), SystemClock().now_ms() + 3_600_000
    Sessions(sqlite_engine).begin("worker", lease_ms=60_000, now_ms=now_ms)
    dispatches = messages.dispatches(messages.claim("worker", 100, now_ms=now_ms))
    about = [one for one in dispatches if one.event.id == description_event_id]
    assert {one.message.channel for one in about} == {*chats, "Email"}
    for dispatch in about:
        (section,) = message_content(dispatch, dispatch.entries, base_url="", lines_each=3).sections
        assert section.owned_by == f"; {ownership}"
