"""Tests of renames of what is put on assets as labels: one event each, and none of what carries the label."""

from __future__ import annotations

import httpx
import pytest
from sqlalchemy import Engine
from tests.contract.test_access import send_patch
from tests.serving import Json, Served
from tests.waiting import until

from tocsin.clock import SystemClock
from tocsin.store.upkeep.fsck.inspection import inspect

ORDERS = "/tables/name/warehouse.shop.public.orders"
OLD, NEW = "Privacy.Secret", "Privacy.Hidden"
TERM, NEW_TERM = "Business.Revenue", "Trade.Revenue"


@pytest.fixture
def labelled_table(administrator: httpx.Client, orders: Json) -> Json:
    """A table with a tag, the same tag on a column, and a term."""
    for path, request in (
        ("/classifications", {"name": "Privacy", "description": "x"}),
        ("/tags", {"name": "Secret", "description": "x", "classification": "Privacy"}),
        ("/glossaries", {"name": "Business", "description": "x"}),
        ("/glossaryTerms", {"name": "Revenue", "description": "x", "glossary": "Business"}),
    ):
        answer = administrator.post(path, json=request)
        assert answer.status_code == 201, answer.text
    tag, term = {"tagFQN": OLD, "source": "Classification"}, {"tagFQN": TERM, "source": "Glossary"}
    write_answer = send_patch(
        administrator,
        f"/tables/{orders['id']}",
        {"op": "add", "path": "/tags", "value": [tag, term]},
        {"op": "add", "path": "/columns/1/tags", "value": [tag]},
    )
    assert write_answer.status_code == 200, write_answer.text
    _wait_for_another_millisecond()
    return read(administrator)


def _wait_for_another_millisecond() -> None:
    clock = SystemClock()
    at_ms = clock.now_ms()
    until(lambda: clock.now_ms() > at_ms, every_s=0.001)


def read(client: httpx.Client, **query: Json) -> Json:
    answer = client.get(ORDERS, params={"fields": "tags,columns", **query})
    assert answer.status_code == 200, answer.text
    return answer.json()


def labels(table: Json) -> set[str]:
    return {label["tagFQN"] for label in (*table["tags"], *table["columns"][1]["tags"])}


def rename(client: httpx.Client, path: str, name: str) -> Json:
    answer = send_patch(client, path, {"op": "replace", "path": "/name", "value": name})
    assert answer.status_code == 200, answer.text
    return answer.json()


def rename_all(client: httpx.Client) -> None:
    rename(client, f"/tags/name/{OLD}", "Hidden")
    rename(client, "/glossaries/name/Business", "Trade")
    _wait_for_another_millisecond()


def events(client: httpx.Client, **query: Json) -> list[Json]:
    answer = client.get("/events", params={"limit": 1_000, **query})
    assert answer.status_code == 200, answer.text
    found_events: list[Json] = answer.json()["data"]
    return found_events


def test_a_rename_is_an_event_of_what_is_renamed_and_of_nothing_that_carries_it(
    administrator: httpx.Client, labelled_table: Json
) -> None:
    before = {event["id"] for event in events(administrator)}
    tag = administrator.get(ORDERS).headers["ETag"]
    rename_all(administrator)
    rename_events = [event for event in events(administrator) if event["id"] not in before]
    assert [(event["entityType"], event["entityFullyQualifiedName"]) for event in rename_events] == [
        ("tag", NEW),
        ("glossary", "Trade"),
        ("glossaryTerm", NEW_TERM),
    ]
    names = {one["name"]: one for one in rename_events[0]["changeDescription"]["fieldsUpdated"]}["fullyQualifiedName"]
    assert (names["oldValue"].strip('"'), names["newValue"].strip('"')) == (OLD, NEW)
    now = read(administrator)
    assert labels(now) == {NEW, NEW_TERM}
    assert (now["version"], now["updatedAt"]) == (labelled_table["version"], labelled_table["updatedAt"])
    assert administrator.get(ORDERS).headers["ETag"] != tag


def test_an_earlier_moment_has_the_names_of_that_moment(administrator: httpx.Client, labelled_table: Json) -> None:
    before_ms = SystemClock().now_ms()
    _wait_for_another_millisecond()
    rename_all(administrator)
    assert labels(read(administrator, asOf=labelled_table["updatedAt"])) == {OLD, TERM}
    assert labels(read(administrator, asOf=before_ms)) == {OLD, TERM}
    assert labels(read(administrator, asOf=SystemClock().now_ms())) == {NEW, NEW_TERM}
    old_version = administrator.get(f"/tables/{labelled_table['id']}/versions/{labelled_table['version']}").json()
    assert labels(old_version) == {OLD, TERM}


def test_changes_after_a_rename_do_not_mention_it(
    sqlite_engine: Engine, administrator: httpx.Client, labelled_table: Json
) -> None:
    rename_all(administrator)
    changed_table = send_patch(
        administrator, f"/tables/{labelled_table['id']}", {"op": "add", "path": "/description", "value": "Renamed."}
    ).json()
    assert [one["name"] for one in changed_table["changeDescription"]["fieldsAdded"]] == ["description"]
    assert (
        changed_table["changeDescription"]["fieldsUpdated"],
        changed_table["changeDescription"]["fieldsDeleted"],
    ) == ([], [])
    for path in (
        f"diff?from={labelled_table['version']}",
        f"diff?from={changed_table['version']}&to={labelled_table['version']}",
    ):
        difference = administrator.get(f"/tables/{labelled_table['id']}/{path}").json()
        changed_fields = [one["name"] for key in difference if key.startswith("fields") for one in difference[key]]
        assert changed_fields == ["description"], difference
    back = administrator.post(
        f"/tables/{labelled_table['id']}/rollback", json={"version": labelled_table["version"]}
    ).json()
    assert back["leftOut"] == []
    assert labels(read(administrator)) == {NEW, NEW_TERM}
    assert inspect(sqlite_engine, deep=True).findings == []


def test_terms_that_carry_each_other_mention_only_their_names(
    sqlite_engine: Engine, administrator: httpx.Client
) -> None:
    assert administrator.post("/glossaries", json={"name": "Business", "description": "x"}).status_code == 201
    for name in ("Revenue", "Sales"):
        request = {"name": name, "description": "x", "glossary": "Business"}
        assert administrator.post("/glossaryTerms", json=request).status_code == 201
    label = {"tagFQN": "Business.Sales", "source": "Glossary"}
    tag_operation = {"op": "add", "path": "/tags", "value": [label]}
    assert send_patch(administrator, "/glossaryTerms/name/Business.Revenue", tag_operation).status_code == 200
    rename(administrator, "/glossaries/name/Business", "Trade")
    term = administrator.get("/glossaryTerms/name/Trade.Revenue", params={"fields": "tags"}).json()
    assert [one["tagFQN"] for one in term["tags"]] == ["Trade.Sales"]
    change = term["changeDescription"]
    assert [one["name"] for key in change if key.startswith("fields") for one in change[key]] == ["fullyQualifiedName"]
    assert inspect(sqlite_engine, deep=True).findings == []


def test_a_bot_leaves_the_label_of_a_person_under_its_new_name(
    served: Served, administrator: httpx.Client, labelled_table: Json
) -> None:
    rename_all(administrator)
    request = {"name": "connector", "email": "connector@example.org", "isBot": True}
    user = administrator.put("/users", json=request).json()
    token = administrator.put(f"/users/generateToken/{user['id']}").json()["JWTToken"]
    report = {"name": "orders", "databaseSchema": "warehouse.shop.public", "columns": labelled_table["columns"]}
    for column in report["columns"]:
        column["tags"] = []
    with served.client(token) as connector:
        assert connector.put("/tables", json=report | {"tags": []}).status_code == 200
    assert labels(read(administrator)) == {NEW, NEW_TERM}
