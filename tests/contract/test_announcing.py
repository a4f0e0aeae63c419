"""Tests of announcing by HTTP and by files: the same twice is once, mistakes come together, a file fits its export."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest
from sqlalchemy import Engine, update
from tests.contract.test_access import restrict, send_patch
from tests.contract.test_changes import announce, announcement, world
from tests.contract.test_explain import person
from tests.serving import Json, Served

from tocsin.cli.change_files import FileOutcome, announce_planned, changes_as_yaml, plan_changes, read_changes
from tocsin.cli.yaml_documents import to_yaml
from tocsin.client import Client
from tocsin.clock import to_datetime
from tocsin.errors import Conflict, InvalidInput
from tocsin.store.database.change_tables import change_request

__all__ = ["person", "world"]  # fixtures

_DAY_MS = 86_400_000


def post(client: httpx.Client, orders: Json, **fields: Json) -> httpx.Response:
    return client.post("/changes", json=announcement(orders, **fields))


def test_the_same_announcement_again_is_the_request_that_there_is(
    administrator: httpx.Client, world: dict[str, Json]
) -> None:
    orders = world["orders"]
    first = announce(administrator, orders)
    for path in ("/changes", "/changes?dryRun=true"):
        again = administrator.post(path, json=announcement(orders))
        assert (again.status_code, again.json()["id"], "firstConsumers" in again.json()) == (200, first["id"], False)
    assert len(administrator.get("/changes/CR-1/timeline").json()["data"]) == 1
    assert len(administrator.get("/events?eventType=changeRequestUpdated").json()["data"]) == 1
    refusal = post(administrator, orders, why="another", remindEveryDays=1)
    assert refusal.status_code == 409
    assert refusal.json()["message"] == (
        "CR-1 already announces a change of it that differs in why and remindEveryDays; withdraw or move CR-1"
    )
    assert administrator.put("/changes/CR-1/withdraw").is_success
    assert announce(administrator, orders)["name"] == "CR-2"


@pytest.mark.parametrize("column", ["email", None])
def test_what_is_done_is_not_announced_again(
    administrator: httpx.Client, world: dict[str, Json], column: str | None
) -> None:
    orders = world["orders"]
    announce(administrator, orders, column=column)
    if column is None:
        assert administrator.delete(f"/tables/{orders['id']}").is_success
    else:
        columns = [one for one in orders["columns"] if one["name"] != column]
        send_patch(administrator, f"/tables/{orders['id']}", {"op": "replace", "path": "/columns", "value": columns})
    by_name = {"type": "table", "fullyQualifiedName": orders["fullyQualifiedName"]}
    again = post(administrator, orders, column=column, entity=by_name)
    assert (again.status_code, again.json()["name"], again.json()["status"]) == (200, "CR-1", "done")
    later_answer = post(administrator, orders, column=column, date=orders["updatedAt"] + 8 * _DAY_MS)
    assert later_answer.status_code == (404 if column is None else 400), later_answer.text


@pytest.mark.parametrize("column", [None, "email"])
def test_what_is_deleted_for_good_is_not_announced_again(
    administrator: httpx.Client, world: dict[str, Json], column: str | None
) -> None:
    orders, fields = world["orders"], {"column": column}
    announce(administrator, orders, **fields)
    assert administrator.delete(f"/tables/{orders['id']}?hardDelete=true").is_success
    by_name = {"type": "table", "fullyQualifiedName": orders["fullyQualifiedName"]}
    for entity in (by_name, {"type": "table", "id": orders["id"]}):
        for path in ("/changes", "/changes?dryRun=true"):
            again = administrator.post(path, json=announcement(orders, **fields, entity=entity))
            assert (again.status_code, again.json()["name"], again.json()["status"]) == (200, "CR-1", "done")
    for other_fields in (
        {"why": "another"},
        {"date": orders["updatedAt"] + 8 * _DAY_MS},
        {"entity": by_name | {"type": "topic"}},
    ):
        refusal = post(administrator, orders, **{**fields, "entity": by_name, **other_fields})
        assert (refusal.status_code, "not found" in refusal.json()["message"]) == (404, True)
    may_not_edit = world["as_ann"].post("/changes", json=announcement(orders, **fields, entity=by_name))
    assert may_not_edit.status_code == 403
    restrict(administrator, world["ann"], {"effect": "deny", "resources": ["table"]})
    unseen = world["as_ann"].post("/changes", json=announcement(orders, **fields, entity=by_name))
    assert unseen.status_code == 404
    assert administrator.put("/changes/CR-1/withdraw").is_error


def test_dates_are_milliseconds_or_iso_8601(administrator: httpx.Client, world: dict[str, Json]) -> None:
    at_ms = (world["orders"]["updatedAt"] // 1_000 + 86_400) * 1_000
    assert announce(administrator, world["orders"], date=to_datetime(at_ms).isoformat())["date"] == at_ms
    later = to_datetime(at_ms + _DAY_MS).replace(tzinfo=None).isoformat()
    assert administrator.put("/changes/CR-1/move", json={"date": later}).json()["date"] == at_ms + _DAY_MS
    refused = post(administrator, world["counts"], column=None, date="soon")
    assert (refused.status_code, refused.json()["message"]) == (
        400,
        "date: must be a date or time such as 2026-12-09T10:00, not 'soon'",
    )


@pytest.mark.parametrize(
    ("fields", "mistakes"),
    [
        ({"column": "emial", "date": 1}, ["column: ", "date: must be in the future"]),
        ({"column": "emial", "kind": "deletion"}, ["kind: must be ", "did you mean email?"]),
        ({"date": 1, "x": 1}, ["x: unknown key", "date: must be in the future"]),
        ({"date": True, "why": ""}, ["why: ", "date: must be an integer"]),
    ],
)
def test_mistakes_of_an_announcement_are_refused_together(
    administrator: httpx.Client, orders: Json, fields: Json, mistakes: list[str]
) -> None:
    refused = post(administrator, orders, **fields)
    assert refused.status_code == 400
    message = refused.json()["message"]
    assert [message.count(one) for one in mistakes] == [1, 1], message


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"kind": "type", "column": "id", "newValue": "bigint"}, "column id has the type bigint already"),
        ({"kind": "type", "newValue": "varchar (200)"}, "column email has the type varchar (200) already"),
        ({"kind": "rename", "newValue": "email"}, "column email is called email already"),
        ({"kind": "rename", "newValue": "id"}, "there is another column id"),
        ({"kind": "rename", "column": None, "newValue": "orders"}, " is called orders already"),
    ],
)
def test_what_would_change_nothing_or_take_a_name_is_refused(
    administrator: httpx.Client, world: dict[str, Json], fields: Json, why: str
) -> None:
    for path in ("/changes", "/changes?dryRun=true"):
        refusal = administrator.post(path, json=announcement(world["orders"], **fields))
        assert refusal.status_code == 400, refusal.text
        assert refusal.json()["message"].startswith("newValue: ") and refusal.json()["message"].endswith(why)


def test_another_length_of_the_same_type_is_a_change(administrator: httpx.Client, world: dict[str, Json]) -> None:
    assert announce(administrator, world["orders"], kind="type", newValue="VARCHAR")["newValue"] == "VARCHAR"


def test_an_asset_that_is_not_there_is_named_beside_other_mistakes(administrator: httpx.Client, orders: Json) -> None:
    entity = {"type": "table", "fullyQualifiedName": f"{orders['fullyQualifiedName']}x"}
    assert post(administrator, orders, entity=entity).status_code == 404
    refused = post(administrator, orders, entity=entity, why="")
    assert refused.status_code == 400
    assert f"entity: table {orders['fullyQualifiedName']}x not found; did you mean" in refused.json()["message"]


@pytest.fixture
def client(served: Served, administrator: httpx.Client) -> Client:
    return Client(served.url, administrator.headers["Authorization"].removeprefix("Bearer "))


def write_changes(path: Path, text: str) -> list[str]:
    (path / "changes.yaml").write_text(text, encoding="utf-8")
    return [str(path / "changes.yaml")]


def test_a_file_is_announced_once_and_what_is_listed_is_such_a_file(
    client: Client, world: dict[str, Json], administrator: httpx.Client, tmp_path: Path
) -> None:
    orders, counts = (world[name]["fullyQualifiedName"] for name in ("orders", "counts"))
    date = to_datetime(world["orders"]["updatedAt"] + 7 * _DAY_MS).isoformat()
    files = write_changes(
        tmp_path,
        f"""changes:
  - entity: {{type: table, fullyQualifiedName: {orders}}}
    kind: type
    column: email
    newValue: VARCHAR(20)
    date: {date}
    why: "shorter: 20"
  - entity: {{type: table, fullyQualifiedName: {counts}}}
    kind: deprecation
    date: {date}
    why: unused
    replacement: orders
    remindEveryDays: 0
""",
    )
    with client:
        plan = plan_changes(client, read_changes(files))
        assert administrator.get("/changes").json()["data"] == []
        results = announce_planned(client, plan)
        assert [(one.outcome, one.request["name"]) for one in results] == [
            (FileOutcome.ANNOUNCED, "CR-1"),
            (FileOutcome.ANNOUNCED, "CR-2"),
        ]
        for text in (Path(files[0]).read_text(), changes_as_yaml([*client.list_change_requests()])):
            again = plan_changes(client, read_changes(write_changes(tmp_path, text)))
            assert {one.outcome for one in again} == {FileOutcome.UNCHANGED}
            assert announce_planned(client, again) == again
        client.withdraw_change("CR-1")
        outcomes = {one.request["name"]: one.outcome for one in plan_changes(client, read_changes(files))}
        assert outcomes == {"CR-1": FileOutcome.WITHDRAWN, "CR-2": FileOutcome.UNCHANGED}


def test_a_crash_between_two_changes_of_a_file_leaves_the_rest_to_the_next_run(
    client: Client, world: dict[str, Json], administrator: httpx.Client, tmp_path: Path
) -> None:
    at_ms = world["orders"]["updatedAt"] + 7 * _DAY_MS
    text = "".join(
        f"- {{entity: {{type: table, id: {world[name]['id']}}}, kind: removal, date: {at_ms}, why: unused}}\n"
        for name in ("orders", "counts")
    )
    files = write_changes(tmp_path, text)
    with client:
        plan = plan_changes(client, read_changes(files))
        announce(administrator, world["counts"], column=None, why="first")
        with pytest.raises(Conflict, match=r"CR-1 already announces a change of it that differs in .*why") as refusal:
            announce_planned(client, plan)
        assert refusal.value.__notes__ == ["Announced before that: CR-2. Nothing is announced twice."]
        administrator.put("/changes/CR-1/withdraw")
        again = announce_planned(client, plan_changes(client, read_changes(files)))
    assert [(one.outcome, one.request["name"]) for one in again] == [
        (FileOutcome.UNCHANGED, "CR-2"),
        (FileOutcome.ANNOUNCED, "CR-3"),
    ]


def test_a_file_announces_nothing_if_one_of_it_is_refused(
    client: Client, world: dict[str, Json], administrator: httpx.Client, tmp_path: Path
) -> None:
    orders, at_ms = world["orders"], world["orders"]["updatedAt"] + 7 * _DAY_MS
    files = write_changes(
        tmp_path,
        f"""- {{entity: {{type: table, id: {world["counts"]["id"]}}}, kind: removal, date: {at_ms}, why: unused}}
- entity: {{type: table, fullyQualifiedName: {orders["fullyQualifiedName"]}}}
  kind: removed
  column: emial
  date: {at_ms}
  why: unused
- entity: {{type: tabel, id: {orders["id"]}}}
  kind: removal
  date: {at_ms}
  why: unused
- 5
""",
    )
    with client, pytest.raises(InvalidInput, match="3 changes are refused, so nothing was announced:") as refusal:
        plan_changes(client, read_changes(files))
    lines = "\n".join(refusal.value.__notes__).replace(files[0], "F").split("\n")
    assert [line.split(": ")[0] for line in lines] == ["F:3:3", "F:4:3", "F:7:12", "F:11:3"], lines
    assert "did you mean email?" in lines[1]
    assert administrator.get("/changes").json()["data"] == []


def test_a_file_with_all_requests_of_a_column_is_left_as_it_is_whatever_came_of_them(
    client: Client, world: dict[str, Json], administrator: httpx.Client, sqlite_engine: Engine, tmp_path: Path
) -> None:
    orders = world["orders"]
    announce(administrator, orders, kind="type", newValue="INT")
    columns = [one | ({"dataType": "INT"} if one["name"] == "email" else {}) for one in orders["columns"]]
    send_patch(administrator, f"/tables/{orders['id']}", {"op": "replace", "path": "/columns", "value": columns})
    announce(administrator, orders, date=orders["updatedAt"] + 8 * _DAY_MS)
    assert administrator.put("/changes/CR-2/withdraw").is_success
    with client:
        withdrawn_request, done_request = client.list_change_requests()
        assert (withdrawn_request["status"], done_request["status"]) == ("withdrawn", "done")
        removal = {"kind": "removal", "newValue": None, "date": done_request["date"] + 5 * _DAY_MS}
        new_text = changes_as_yaml([done_request | removal])
        text = changes_as_yaml([withdrawn_request, done_request]) + new_text.removeprefix("changes:\n")
        files = write_changes(tmp_path, text)
        outcomes = [FileOutcome.WITHDRAWN, FileOutcome.UNCHANGED, FileOutcome.ANNOUNCED]
        assert [one.outcome for one in plan_changes(client, read_changes(files))] == outcomes
        announce_planned(client, plan_changes(client, read_changes(files)))
        outcomes = [FileOutcome.WITHDRAWN, FileOutcome.UNCHANGED, FileOutcome.UNCHANGED]
        assert [one.outcome for one in plan_changes(client, read_changes(files))] == outcomes
        with sqlite_engine.begin() as connection:
            connection.execute(update(change_request).values(due_at_ms=change_request.c.number))
        files = write_changes(tmp_path, changes_as_yaml([*client.list_change_requests()]))
        assert [one.request["name"] for one in plan_changes(client, read_changes(files))] == ["CR-3", "CR-2", "CR-1"]


@pytest.mark.parametrize("fields", [{"date": 3}, {"kind": "deprecation"}, {"column": "id"}, {"entity": {"type": "x"}}])
def test_a_file_is_refused_for_its_date_if_another_change_was_withdrawn(
    client: Client,
    world: dict[str, Json],
    administrator: httpx.Client,
    sqlite_engine: Engine,
    tmp_path: Path,
    fields: Json,
) -> None:
    announce(administrator, world["orders"])
    assert administrator.put("/changes/CR-1/withdraw").is_success
    with sqlite_engine.begin() as connection:
        connection.execute(update(change_request).values(due_at_ms=1))
    with client:
        files = write_changes(tmp_path, to_yaml([announcement(world["orders"], **{"date": 1, **fields})]))
        with pytest.raises(InvalidInput):
            plan_changes(client, read_changes(files))
