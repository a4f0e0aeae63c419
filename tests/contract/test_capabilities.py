"""Tests of the capabilities of a selection of resources, as the form of 2.1 asks for them."""

from __future__ import annotations

import httpx
import pytest
from tests.serving import Json, Served

PATH = "/events/subscriptions/capabilities"


def ask(client: httpx.Client, alert_type: str, *sources: str, **fields: Json) -> Json:
    answer = client.post(PATH, json={"alertType": alert_type, "sources": list(sources), **fields})
    assert answer.status_code == 200, answer.text
    return answer.json()


def sources_by_condition(resources: list[Json]) -> dict[str, list[str]]:
    return {row["condition"]["name"]: row["sources"] for row in resources}


def sources_of(answer: Json) -> dict[str, Json]:
    return {source["name"]: source for source in answer["sources"]}


def choice(name: str, **arguments: list[str]) -> Json:
    return {"name": name, "effect": "include", "arguments": [{"name": a, "input": b} for a, b in arguments.items()]}


def test_every_resource_of_the_type_is_listed_with_its_kind(administrator: httpx.Client) -> None:
    resource_names = {
        resource["name"]
        for resource in administrator.get("/events/subscriptions/Observability/resources").json()["data"]
    }
    sources = sources_of(ask(administrator, "Observability", "table"))
    assert sources.keys() == resource_names
    assert {source["kind"] for source in sources.values()} == {"entity"}
    assert [name for name, source in sources.items() if source["selected"]] == ["table"]
    assert sources["topic"] == {"name": "topic", "kind": "entity", "selected": False, "canJoin": True}
    kinds = {name: source["kind"] for name, source in sources_of(ask(administrator, "Notification")).items()}
    assert (kinds["all"], kinds["task"], kinds["user"]) == ("all", "activity", "entity")


def test_filters_are_those_of_every_resource_and_triggers_those_of_any(administrator: httpx.Client) -> None:
    answer = ask(administrator, "Observability", "Table", "topic")
    triggers = sources_by_condition(answer["triggers"])
    assert triggers["GetTableSchemaChanges"] == ["table"]
    assert triggers["GetTopicSchemaChanges"] == ["topic"]
    assert triggers["GetTagChanges"] == ["table", "topic"]
    assert sources_by_condition(answer["filters"])["filterByFqn"] == ["table", "topic"]
    together = sources_by_condition(ask(administrator, "Notification", "table", "user")["filters"])
    assert "filterByEventType" in together
    assert "filterByOwnerName" not in together, "a user has no owner"
    assert ask(administrator, "Notification")["filters"] == []


def test_what_is_offered_can_be_saved(administrator: httpx.Client) -> None:
    for names in (("table", "conversation"), ("topic", "user", "task")):
        offered = ask(administrator, "Notification", names[0])
        assert all(sources_of(offered)[name]["canJoin"] for name in names[1:])
        alert = {"name": "-".join(names), "alertType": "Notification", "resources": list(names), "destinations": []}
        assert administrator.post("/events/subscriptions", json=alert).status_code == 201


def test_nothing_joins_all_which_covers_everything(administrator: httpx.Client) -> None:
    sources = sources_of(ask(administrator, "Notification", "all"))
    assert (sources["table"]["canJoin"], sources["table"]["reason"]) == (False, "all covers every resource")
    assert sources_of(ask(administrator, "Notification", "table"))["all"]["canJoin"] is False


def test_a_resource_that_can_never_match_has_a_warning(administrator: httpx.Client) -> None:
    trigger = {"actions": [choice("GetTableSchemaChanges")]}
    sources = sources_of(ask(administrator, "Observability", "table", "topic", input=trigger))
    assert "warning" not in sources["table"]
    assert sources["topic"]["warning"].startswith("None of the chosen triggers is for it")
    login = {"filters": [choice("filterByEventType", eventTypeList=["userLogin"])]}
    sources = sources_of(ask(administrator, "Notification", "user", "table", input=login))
    assert "warning" not in sources["user"]
    assert sources["table"]["warning"] == "None of its events can match the chosen filters and triggers"


def test_event_types_and_recipients_are_those_that_the_resources_have(administrator: httpx.Client) -> None:
    table, user = (ask(administrator, "Notification", one) for one in ("table", "user"))
    assert "userLogin" in user["eventTypes"]
    assert {"userLogin", "suggestionCreated", "threadCreated"}.isdisjoint(table["eventTypes"])
    assert table["recipientCategories"] == ["Users", "Teams", "Admins", "Owners", "Followers"]
    assert {"Assignees", "Mentions"} <= set(ask(administrator, "Notification", "task")["recipientCategories"])


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "alertType"),
        ({"alertType": "Spoon"}, "alertType"),
        ({"alertType": "Notification", "sources": ["tabel"]}, "sources[0]"),
        ({"alertType": "Observability", "sources": ["table", "user"]}, "sources[1]"),
        ({"alertType": "Notification", "sources": "table"}, "sources"),
        ({"alertType": "Notification", "input": {"filters": [{"name": "filterByFork"}]}}, "input.filters[0].name"),
        ({"alertType": "Notification", "input": {"filters": {}, "actions": 3}}, "input.actions"),
    ],
)
def test_a_wrong_selection_is_refused_with_its_place(administrator: httpx.Client, body: Json, field: str) -> None:
    answer = administrator.post(PATH, json=body)
    assert (answer.status_code, answer.json()["code"]) == (400, 400)
    assert field in answer.json()["message"]


def test_without_a_token_it_answers_nobody(served: Served) -> None:
    with served.client() as client:
        assert client.post(PATH, json={"alertType": "Notification"}).status_code == 401
