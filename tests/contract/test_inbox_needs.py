"""Tests of what needs a person by HTTP: it stays, read or not, until it is resolved, answered, closed or done."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from sqlalchemy import Engine
from tests.contract.test_access import create_entity, restrict
from tests.contract.test_alert_incidents import report_result
from tests.contract.test_changes import announce
from tests.contract.test_inbox_filters import patch_json
from tests.notifying import notify_all
from tests.serving import Json, Served, table

from tocsin.clock import SystemClock

_CASES = "/dataQuality/testCases"


class NeededOwner:
    """Ana, who owns ``clean``, which is made from ``orders``, and is told of whatever concerns her."""

    def __init__(self, served: Served, administrator: httpx.Client, orders: Json, engine: Engine) -> None:
        self.id, self.client = served.person("ana")
        self.administrator, self.orders, self.engine = administrator, orders, engine
        self.clean = table(administrator, "clean", owners=[{"type": "user", "id": self.id}])
        ends = {"fromEntity": orders, "toEntity": self.clean}
        edge = {side: {"type": "table", "id": one["id"]} for side, one in ends.items()}
        columns = [{"fromColumns": [f"{orders['fullyQualifiedName']}.email"], "toColumn": _column_of(self.clean)}]
        details = {"lineageDetails": {"columnsLineage": columns}}
        assert administrator.put("/lineage", json={"edge": {**edge, **details}}).is_success
        link = f"<#E::table::{self.clean['fullyQualifiedName']}>"
        definition = "tableRowCountToBeBetween"
        self.case = create_entity(administrator, _CASES, name="rows", entityLink=link, testDefinition=definition)
        owners = {"category": "Owners", "type": "ActivityFeed", "notifyDownstream": True, "downstreamDepth": 3}
        rules = {"resources": ["table", "testCase"]}
        create_entity(
            administrator,
            "/events/subscriptions",
            name="Owned",
            alertType="Notification",
            filteringRules=rules,
            destinations=[owners],
        )
        failure_rule = {"effect": "include", "condition": "testStatus == 'Failed'"}
        create_entity(
            administrator,
            "/events/subscriptions",
            name="Quality",
            alertType="Observability",
            filteringRules={"resources": ["testCase"], "rules": [failure_rule]},
            destinations=[{"category": "Owners", "type": "ActivityFeed"}],
        )
        notify_all(engine)
        self.at_ms = SystemClock().now_ms()  # what is dated before an alert opens no incident

    def report(self, status: str) -> None:
        self.at_ms += 1
        report_result(self.administrator, self.case["fullyQualifiedName"], status, self.at_ms)
        self.tell()

    def tell(self) -> None:
        notify_all(self.engine)

    def break_readers(self) -> None:
        patch_json(self.administrator, f"/tables/{self.orders['id']}", [{"op": "remove", "path": "/columns/1"}])
        self.tell()

    def needs(self, query: str = "needsMe=true") -> list[str]:
        """Return the titles of what needs her; the list of causes has as many events."""
        page = self.client.get(f"/users/{self.id}/notifications?limit=100&{query}").json()
        assert page["paging"]["total"] == len(page["data"])
        causes = self.client.get(f"/users/{self.id}/notifications/causes?limit=100&{query}").json()["data"]
        assert sum(one["count"] for one in causes) == len(page["data"])
        return [one["title"] for one in page["data"]]

    def information(self) -> list[str]:
        return self.needs("needsMe=false")

    def read_all(self) -> None:
        assert self.client.put(f"/users/{self.id}/notifications/read").is_success


def _column_of(asset: Json) -> str:
    return f"{asset['fullyQualifiedName']}.{asset['columns'][0]['name']}"


@pytest.fixture
def ana(served: Served, administrator: httpx.Client, orders: Json, sqlite_engine: Engine) -> Iterator[NeededOwner]:
    person = NeededOwner(served, administrator, orders, sqlite_engine)
    person.read_all()
    yield person
    person.client.close()


def test_a_failure_of_what_one_owns_needs_one_until_it_is_well_again(ana: NeededOwner) -> None:
    before = len(ana.information())
    assert ana.needs() == []
    ana.report("Failed")
    (title,) = ana.needs()
    assert "failed" in title
    ana.read_all()
    assert ana.needs() == [title]
    ana.report("Success")
    assert ana.needs() == []
    assert len(ana.information()) == before + 2


def test_an_incident_that_a_person_resolves_needs_nobody(ana: NeededOwner) -> None:
    ana.report("Failed")
    assert len(ana.needs()) == 1
    body = {"reason": "FalsePositive", "comment": "no"}
    answer = ana.administrator.put("/incidents/INC-1/resolve", json=body)
    assert answer.is_success, answer.text
    assert ana.needs() == []


def test_a_breaking_change_above_what_one_owns_needs_one_until_it_is_done(ana: NeededOwner) -> None:
    ana.break_readers()
    (title,) = ana.needs()
    assert "email" in title
    ana.read_all()
    assert ana.needs() == [title]
    answer = ana.client.post(
        f"/users/{ana.id}/notifications/marks", json={"as": "done", "filter": {"needsMe": True}}
    ).json()
    assert (answer["marked"], ana.needs()) == (1, [])
    ana.client.post(f"/users/{ana.id}/notifications/marks", json=answer["undo"])
    assert ana.needs() == [title]


def test_a_change_that_one_only_follows_needs_nobody(ana: NeededOwner, served: Served) -> None:
    bob_id, bob = served.person("bob")
    with bob:
        assert bob.put(f"/tables/{ana.orders['id']}/followers/{bob_id}").is_success
        ana.tell()
        ana.break_readers()
        pages = [bob.get(f"/users/{bob_id}/notifications?needsMe={flag}").json()["data"] for flag in ("true", "false")]
        assert (len(pages[0]), len(pages[1]) > 0) == (0, True)
        assert bob.get(f"/users/{ana.id}/notifications?needsMe=true").status_code == 403


def test_a_change_request_needs_one_until_one_has_answered(ana: NeededOwner) -> None:
    announce(ana.administrator, ana.orders)
    ana.tell()
    (title,) = ana.needs()
    ana.read_all()
    assert ana.needs() == [title]
    answer = ana.client.put("/changes/CR-1/answer", json={"answer": "ready"})
    assert answer.is_success, answer.text
    assert ana.needs() == []
    assert title in ana.information()


def test_a_task_and_a_mention_need_one_until_they_are_closed(ana: NeededOwner) -> None:
    about = f"<#E::table::{ana.orders['fullyQualifiedName']}>"
    details = {"type": "RequestDescription", "assignees": [{"id": ana.id, "type": "user"}], "oldValue": ""}
    task = {"about": about, "message": "Please describe it", "type": "Task", "taskDetails": details}
    number = ana.administrator.post("/feed", json=task).json()["task"]["id"]
    mention = {"about": about, "message": "What is it, <#E::user::ana>?"}
    thread = ana.administrator.post("/feed", json=mention).json()
    ana.tell()
    ana.read_all()
    assert len(ana.needs()) == 2
    assert ana.administrator.put(f"/feed/tasks/{number}/close", json={"comment": "no"}).is_success
    assert len(ana.needs()) == 1
    patch_json(ana.administrator, f"/feed/{thread['id']}", [{"op": "replace", "path": "/resolved", "value": True}])
    assert ana.needs() == []


def test_a_mention_needs_one_until_one_has_replied_and_again_when_one_is_mentioned_again(
    served: Served, ana: NeededOwner
) -> None:
    team = create_entity(ana.administrator, "/teams", name="Readers", teamType="Group")
    ben_id, ben = served.person("ben")
    for member in (ana.id, ben_id):
        patch_json(
            ana.administrator,
            f"/users/{member}",
            [{"op": "add", "path": "/teams", "value": [{"id": team["id"], "type": "team"}]}],
        )
    about = f"<#E::table::{ana.orders['fullyQualifiedName']}>"
    thread = create_entity(ana.administrator, "/conversations", about=about, message="What is it, <#E::team::Readers>?")
    replies = f"/conversations/{thread['id']}/replies"
    with ben:
        assert ben.post(replies, json={"message": "I do not know."}).is_success
    ana.tell()
    assert len(ana.needs()) == 1, "another's reply is not hers"
    reply = ana.client.post(replies, json={"message": "Orders of the shop."}).json()
    assert ana.needs() == []
    assert ana.administrator.post(replies, json={"message": "Which shop, <#E::user::ana>?"}).is_success
    ana.tell()
    assert len(ana.needs()) == 1, "she is mentioned again"
    assert ana.client.post(replies, json={"message": "All of them."}).is_success
    assert ana.needs() == []
    assert ana.client.delete(f"{replies}/{reply['id']}").is_success
    assert ana.needs() == []


def test_what_is_hidden_needs_nobody(ana: NeededOwner) -> None:
    ana.report("Failed")
    ana.break_readers()
    assert len(ana.needs()) == 2
    restrict(ana.administrator, ana.id, {"effect": "deny", "resources": ["table", "testCase"]})
    assert ana.needs() == []


def test_a_failure_of_a_deleted_asset_needs_nobody(ana: NeededOwner) -> None:
    ana.report("Failed")
    assert len(ana.needs()) == 1
    path = f"{_CASES}/{ana.case['id']}"
    assert ana.administrator.delete(path).is_success
    assert ana.needs() == []
    assert ana.administrator.put(f"{_CASES}/restore", json={"id": ana.case["id"]}).is_success
    assert len(ana.needs()) == 1
    assert ana.administrator.delete(f"{path}?hardDelete=true").is_success
    assert ana.needs() == []


def test_what_is_said_of_a_deleted_asset_needs_nobody(ana: NeededOwner) -> None:
    about = f"<#E::table::{ana.orders['fullyQualifiedName']}>"
    body = {"about": about, "category": "Custom", "type": "CustomTask", "assignees": ["ana"]}
    task = ana.administrator.post("/tasks", json=body).json()
    assert ana.administrator.post("/feed", json={"about": about, "message": "Well, <#E::user::ana>?"}).is_success
    ana.tell()
    assert len(ana.needs()) == 2
    assert ana.administrator.delete(f"/tables/{ana.orders['id']}?recursive=true").is_success
    assert ana.client.post(f"/tasks/{task['id']}/resolve", json={"transitionId": "complete"}).status_code == 409
    assert ana.needs() == []
    assert ana.administrator.put("/tables/restore", json={"id": ana.orders["id"]}).is_success
    assert len(ana.needs()) == 2
