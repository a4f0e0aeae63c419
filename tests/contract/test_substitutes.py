"""Tests of substitutes by HTTP: asked once, agreed by themselves alone, given what is assigned to who is away."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field

import httpx
import pytest
from sqlalchemy import Engine, event, select
from tests.contract.test_access import restrict
from tests.contract.test_alert_incidents import case
from tests.contract.test_limits import small, with_limits
from tests.serving import Json, Served

from tocsin.store.database.feed_tables import thread
from tocsin.store.database.people_tables import substitute

__all__ = ["case", "small"]  # fixtures


@dataclass
class _People:
    """Dana, Ben and Cid, each with a client of their own."""

    served: Served
    stack: ExitStack
    ids: dict[str, str] = field(default_factory=dict)
    clients: dict[str, httpx.Client] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("dana", "ben", "cid"):
            self.ids[name], client = self.served.person(name)
            self.clients[name] = self.stack.enter_context(client)

    def name(self, who: str, whom: str, by: str | None = None) -> httpx.Response:
        body = {"substitute": {"id": self.ids[whom], "type": "user"}}
        return self.clients[by or who].put(f"/users/{self.ids[who]}/substitute", json=body)

    def accept(self, who: str, whom: str, by: str | None = None) -> httpx.Response:
        return self.clients[by or who].put(f"/users/{self.ids[who]}/standsInFor/{self.ids[whom]}")

    def leave(self, who: str, until: int | None) -> None:
        away = {"away": {"until": until}} if until else {}
        assert self.clients[who].put(f"/users/{self.ids[who]}/preferences", json=away).status_code == 200


@pytest.fixture
def people(served: Served) -> Iterator[_People]:
    with ExitStack() as stack:
        yield _People(served, stack)


LATER = 4_000_000_000_000


def assign(administrator: httpx.Client, incident: str, name: str) -> tuple[str, str]:
    """Return to whom an incident is assigned by that name, and what the timeline says."""
    answer = administrator.put(f"/incidents/{incident}/assign", json={"assignee": {"type": "user", "name": name}})
    assert answer.status_code == 200, answer.text
    assignments = [one for one in answer.json()["timeline"] if one["kind"] == "assigned"]
    return answer.json()["assignee"]["name"], assignments[-1]["says"]


def last_change(reader: httpx.Client, case: Json, field: str) -> Json:
    """Return what the last event of a test case says of a field."""
    events = reader.get("/events", params={"entityId": case["id"], "format": "tocsin"}).json()["data"]
    changes = [one for event in events for one in event["changeDescription"]["fieldsUpdated"] if one["name"] == field]
    value: Json = changes[-1]["newValue"]
    return value


def test_what_is_assigned_to_who_is_away_goes_to_the_substitute_who_has_agreed(
    people: _People, administrator: httpx.Client, case: Json
) -> None:
    assert case["name"] == "not_null"
    incident = "INC-1"
    people.leave("dana", LATER)
    says = "Administrator assigned it to dana, who is away until 2096-10-02 07:06 UTC"
    assert assign(administrator, incident, "dana") == ("dana", says)
    assert people.name("dana", "ben").json()["substitute"]["accepted"] is False
    assert assign(administrator, incident, "cid")[0] == "cid"
    assert assign(administrator, incident, "dana")[0] == "dana", "has not agreed yet"
    assert people.accept("ben", "dana").json()["standsInFor"][0]["accepted"] is True
    says = "Administrator assigned it to ben for dana, who is away until 2096-10-02 07:06 UTC"
    assert assign(administrator, incident, "dana") == ("ben", says)
    assert last_change(administrator, case, "alertIncident")["for"]["name"] == "dana"
    assert last_change(administrator, case, "alertIncident")["awayUntil"] == LATER
    people.name("ben", "cid")
    people.accept("cid", "ben")
    people.leave("ben", LATER)
    assert assign(administrator, incident, "dana")[0] == "cid"
    people.leave("dana", None)
    assert assign(administrator, incident, "dana") == ("dana", "Administrator assigned it to dana")
    people.leave("dana", LATER)
    answer_to_dana = people.clients["dana"].put(
        f"/incidents/{incident}/assign", json={"assignee": {"type": "user", "id": people.ids["dana"]}}
    )
    assert answer_to_dana.status_code in (200, 403)
    assert answer_to_dana.status_code == 403 or answer_to_dana.json()["assignee"]["name"] == "dana"


def test_who_may_not_view_the_asset_or_is_gone_is_given_nothing(
    people: _People, administrator: httpx.Client, case: Json, sqlite_engine: Engine
) -> None:
    assert case["name"] == "not_null"
    incident = "INC-1"
    people.leave("dana", LATER)
    people.name("dana", "ben")
    people.accept("ben", "dana")
    assert administrator.delete(f"/users/{people.ids['ben']}").status_code == 200
    assert assign(administrator, incident, "dana")[0] == "dana"
    administrator.delete(f"/users/{people.ids['ben']}", params={"hardDelete": "true"})
    with sqlite_engine.connect() as connection:
        assert connection.execute(select(substitute)).all() == []


def test_who_may_not_view_the_asset_is_given_nothing(people: _People, administrator: httpx.Client, case: Json) -> None:
    assert case["name"] == "not_null"
    people.leave("dana", LATER)
    people.name("dana", "ben")
    people.accept("ben", "dana")
    restrict(administrator, people.ids["ben"], {"effect": "deny", "resources": ["testCase"]})
    assert assign(administrator, "INC-1", "dana")[0] == "dana"


def test_the_incident_of_a_test_case_goes_to_the_substitute_as_well(
    people: _People, administrator: httpx.Client, case: Json
) -> None:
    people.leave("dana", LATER)
    people.name("dana", "ben")
    people.accept("ben", "dana")
    assignee = {"id": people.ids["dana"], "type": "user"}
    step = {
        "testCaseReference": case["fullyQualifiedName"],
        "testCaseResolutionStatusType": "Assigned",
        "testCaseResolutionStatusDetails": {"assignee": assignee},
    }
    answer = administrator.post("/dataQuality/testCases/testCaseIncidentStatus", json=step)
    assert answer.json()["testCaseResolutionStatusDetails"]["assignee"]["name"] == "ben", answer.text
    says = [one["says"] for one in administrator.get("/incidents/INC-1").json()["timeline"]]
    assert "Administrator assigned it to ben for dana, who is away until 2096-10-02 07:06 UTC" in says


def test_the_incident_as_a_task_goes_to_the_substitute_as_well(
    people: _People, administrator: httpx.Client, case: Json
) -> None:
    people.leave("dana", LATER)
    people.name("dana", "ben")
    people.accept("ben", "dana")
    (task,) = administrator.get("/tasks").json()["data"]
    assert task["about"]["id"] == case["id"]
    assignment = {"transitionId": "assign", "payload": {"assignees": [{"id": people.ids["dana"], "type": "user"}]}}
    for _ in range(2):  # the step that it has just taken changes nothing
        answer = administrator.post(f"/tasks/{task['id']}/resolve", json=assignment)
        assert [one["name"] for one in answer.json()["assignees"]] == ["ben"], answer.text
        assignment["transitionId"] = "reassign"
    says = [one["says"] for one in administrator.get("/incidents/INC-1").json()["timeline"]]
    assert says.count("Administrator assigned it to ben for dana, who is away until 2096-10-02 07:06 UTC") == 1
    restrict(administrator, people.ids["ben"], {"effect": "deny", "resources": ["testCase"]})
    answer = administrator.post(f"/tasks/{task['id']}/resolve", json=assignment)
    assert [one["name"] for one in answer.json()["assignees"]] == ["dana"]


@with_limits(posts_per_hour=4)
def test_who_names_a_substitute_again_and_again_tells_no_more_people_than_others_may(small: Served) -> None:
    small.stop_clock()
    with ExitStack() as stack:
        people = _People(small, stack)
        path, codes = f"/users/{people.ids['dana']}/substitute", list[int]()
        for _ in range(3):
            codes.append(people.name("dana", "ben").status_code)
            assert people.name("dana", "ben").status_code == codes[-1], "named already, so nothing new"
            people.clients["dana"].delete(path)
        assert codes == [200, 200, 429]
        assert people.clients["dana"].get(path).json()["substitute"] is None


def test_only_the_substitute_agrees_and_nobody_stands_in_for_each_other(people: _People) -> None:
    assert people.name("dana", "ben", by="cid").status_code == 403
    assert people.accept("ben", "dana").status_code == 404, "nobody has asked"
    assert people.name("dana", "ben").status_code == 200
    assert people.accept("ben", "dana", by="dana").status_code == 403
    assert people.accept("cid", "dana").status_code == 404
    assert people.name("dana", "dana").status_code == 400
    assert people.accept("ben", "dana").status_code == 200
    assert people.name("ben", "dana").status_code == 409
    assert people.name("ben", "cid").status_code == 200
    assert people.name("cid", "dana").status_code == 200, "ben's has not agreed"
    assert people.accept("dana", "cid").status_code == 200
    assert people.accept("cid", "ben").status_code == 409
    for wrong in ({}, {"substitute": None}, {"substitute": {"id": "😀"}}, {"substitute": {"id": 9999}}, [1]):
        answer = people.clients["dana"].put(f"/users/{people.ids['dana']}/substitute", json=wrong)
        assert answer.status_code == 400, wrong


def test_either_of_the_two_ends_it_and_a_mention_asks_once(people: _People, sqlite_engine: Engine) -> None:
    def threads() -> list[str]:
        with sqlite_engine.connect() as connection:
            return list(connection.scalars(select(thread.c.document)))

    for _ in range(3):
        people.name("dana", "ben")
    (question,) = threads()
    assert "dana asks you to take the incidents" in question
    path = f"/users/{people.ids['ben']}/standsInFor/{people.ids['dana']}"
    assert people.clients["cid"].delete(path).status_code == 403
    assert people.clients["ben"].delete(path).json() == {"substitute": None, "standsInFor": []}
    assert people.clients["ben"].delete(path).status_code == 404
    people.name("dana", "ben")
    people.accept("ben", "dana")
    own_path = f"/users/{people.ids['dana']}/substitute"
    assert people.clients["dana"].delete(own_path).json()["substitute"] is None
    assert people.clients["dana"].delete(own_path).status_code == 404
    assert people.clients["ben"].get(f"/users/{people.ids['ben']}/substitute").json()["standsInFor"] == []
    assert people.clients["cid"].get(own_path).status_code == 403


def test_whom_a_person_stands_in_for_is_read_by_as_many_statements_as_one(
    served: Served, people: _People, sqlite_engine: Engine
) -> None:
    statements: list[str] = []

    def note(_connection: object, _cursor: object, sql: str, *_values: object) -> None:
        statements.append(sql)

    def count_statements() -> tuple[int, int]:
        path = f"/users/{people.ids['ben']}/substitute"
        people.clients["ben"].get(path)
        statements.clear()
        names = {one["user"]["name"] for one in people.clients["ben"].get(path).json()["standsInFor"]}
        return len(names), len(statements)

    people.name("dana", "ben")
    event.listen(sqlite_engine, "before_cursor_execute", note)
    try:
        of_single = count_statements()
        colleagues = [served.person(f"colleague{number}") for number in range(8)]
        with ExitStack() as stack:
            for user_id, client in colleagues:
                body = {"substitute": {"id": people.ids["ben"], "type": "user"}}
                stack.enter_context(client).put(f"/users/{user_id}/substitute", json=body)
            assert (of_single[0], count_statements()) == (1, (9, of_single[1]))
    finally:
        event.remove(sqlite_engine, "before_cursor_execute", note)
