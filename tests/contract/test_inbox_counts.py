"""Tests of the numbers of an inbox: they are what the filters of the same names find, for each reader."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from sqlalchemy import Engine
from tests.contract.test_access import create_entity, restrict
from tests.contract.test_explain import alert, assign_owners, describe
from tests.notifying import notify_all
from tests.serving import Json, Served

Person = tuple[str, httpx.Client]


@pytest.fixture
def ann(served: Served, administrator: httpx.Client, orders: Json, sqlite_engine: Engine) -> Iterator[Person]:
    """Ann, who owns the orders, was told of changes, and is mentioned and asked about them."""
    user_id, client = served.person("ann")
    assign_owners(administrator, orders, user_id)
    alert(administrator, "Owned", destinations=[{"category": "Owners", "type": "ActivityFeed"}])
    describe(administrator, orders, "All orders.")
    tags = [{"op": "add", "path": "/tags", "value": [{"tagFQN": "PII.Sensitive"}]}]
    assert administrator.patch(f"/tables/{orders['id']}", json=tags).is_success
    about = f"<#E::table::{orders['fullyQualifiedName']}>"
    create_entity(administrator, "/conversations", about=about, message="<#E::user::ann> look")
    notify_all(sqlite_engine)
    with client:
        yield user_id, client


def numbers_of(ann: Person, tab: str = "all") -> Json:
    user_id, client = ann
    answer = client.get(f"/users/{user_id}/notifications/counts", params={"tab": tab})
    assert answer.status_code == 200, answer.text
    return answer.json()


def total_of(ann: Person, **query: str) -> int:
    user_id, client = ann
    params = {"limit": "1000", **query}
    return len(client.get(f"/users/{user_id}/notifications", params=params).json()["data"])


def assert_numbers_are_what_filters_find(ann: Person) -> Json:
    for tab in ("all", "unread", "done"):
        numbers = numbers_of(ann, tab)
        for kind, count in numbers["kinds"].items():
            assert (count, count > 0) == (total_of(ann, tab=tab, kind=kind), True), (tab, kind)
        assert numbers["needsMe"] == total_of(ann, tab="all", needsMe="true")
        assert numbers["total"] == total_of(ann, tab="all")
    return numbers_of(ann)


def test_numbers_are_what_filters_find_and_follow_marks(ann: Person, administrator: httpx.Client) -> None:
    numbers = assert_numbers_are_what_filters_find(ann)
    assert numbers["needsMe"] == 1, "the mention"
    assert {"description", "classification", "mention"} <= numbers["kinds"].keys()
    user_id, client = ann
    marks = {"as": "done", "filter": {"kind": ["mention"]}}
    assert client.post(f"/users/{user_id}/notifications/marks", json=marks).is_success
    assert_numbers_are_what_filters_find(ann)
    assert (numbers_of(ann)["needsMe"], numbers_of(ann, "done")["kinds"].get("mention")) == (0, 1)


def test_what_is_hidden_is_in_no_number(ann: Person, administrator: httpx.Client) -> None:
    restrict(administrator, ann[0], {"effect": "deny", "resources": ["table"]})
    numbers = assert_numbers_are_what_filters_find(ann)
    assert (numbers["needsMe"], numbers["kinds"], numbers["total"]) == (0, {}, 0)


def test_only_the_person_and_administrators_count(ann: Person, served: Served, administrator: httpx.Client) -> None:
    _, client_of_ben = served.person("ben")
    path = f"/users/{ann[0]}/notifications/counts"
    with client_of_ben, served.client() as nobody:
        statuses = [one.get(path).status_code for one in (nobody, client_of_ben, administrator)]
        assert statuses == [401, 403, 200]
    assert administrator.get(path, params={"tab": "kinds"}).status_code in (400, 422)
