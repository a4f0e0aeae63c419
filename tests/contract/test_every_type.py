"""Tests of the API rules that hold for every entity type, on both stores.

Source: design/openmetadata-client.md sections 2 and 5.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest
from tests.contract.every_type import ONE_OF_EACH_KIND, ORDER, create, make_one_of_each, path_of, request
from tests.serving import Json, running_server
from tests.soak import SOAK

from tocsin.flow.match.producers import PRODUCERS, can_produce
from tocsin.model.change import EventType
from tocsin.model.entity_type import CHANGE_REQUESTS, FOLLOWERS
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.store.database.engine import open_engine
from tocsin.store.database.schema import migrate

ON_POSTGRESQL = "table user team glossaryTerm tag testCase query type databaseService eventsubscription".split()
"""Types by which ``make test`` looks at PostgreSQL: its SQL is the same for each."""

pytestmark = [pytest.mark.xdist_group("every_type"), pytest.mark.few_on_postgresql(*ON_POSTGRESQL)]

PATCH = {"Content-Type": "application/json-patch+json"}
NOWHERE = "00000000-0000-4000-8000-000000000000"
WORDS = ("plain", "名前", "under_score-dash")
STRANGE = ('a.b/c "d" é', "per%2Fcent & plus+", "名前?#;", "it's. a \\ thing")
FORMS = ("etag", "strong", "weak", "star", "list")
EVERY = pytest.mark.parametrize("name", ONE_OF_EACH_KIND)
FEW = pytest.mark.parametrize(
    "name", [name if name in ON_POSTGRESQL else pytest.param(name, marks=pytest.mark.soak) for name in ORDER]
)
"""For what the same lines answer for all types: pages, windows of time, and refusals."""


@pytest.fixture(scope="module", params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def client(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """The administrator of a server over each store."""
    if request.param == "sqlite":
        path: Path = tmp_path_factory.mktemp("every") / "tocsin.db"
        url = f"sqlite:///{path}"
    else:
        cluster = request.getfixturevalue("postgres")
        cluster.run("CREATE DATABASE every_type")
        url = cluster.url("every_type")
    engine = open_engine(url, synchronous="OFF")
    migrate(engine)
    with running_server(engine) as served, served.administrator() as administrator:
        yield administrator
    engine.dispose()


@pytest.fixture(scope="module")
def entities(client: httpx.Client) -> dict[str, Json]:
    """One entity of every type, by type."""
    return make_one_of_each(client)


def send_patch(client: httpx.Client, path: str, text: str, **headers: str) -> httpx.Response:
    operations = [{"op": "add", "path": "/description", "value": text}]
    return client.patch(path, content=json.dumps(operations), headers={**PATCH, **headers})


def assert_refused(answer: httpx.Response, status: int) -> str:
    """Check that an answer is an error as upstream's client reads it; return its message."""
    body = answer.json()
    assert (answer.status_code, body["code"]) == (status, status), answer.text
    assert body.keys() == {"code", "message"}
    assert isinstance(body["message"], str)
    assert body["message"]
    return str(body["message"])


def strong(document: Json) -> str:
    """Return the tag that upstream's client 1.13 works out from what it read."""
    text = f"{document['version']}-{document['updatedAt']}"
    return f'"{hashlib.sha256(text.encode()).hexdigest()[:16]}"'


@EVERY
def test_a_read_has_a_tag_and_a_write_heeds_it(client: httpx.Client, entities: dict[str, Json], name: str) -> None:
    path = f"{path_of(name)}/{entities[name]['id']}"
    by_name = f"{path_of(name)}/name/{quote(entities[name]['fullyQualifiedName'], safe='')}"
    for number, form in enumerate(FORMS if SOAK else ("etag", FORMS[ORDER.index(name) % len(FORMS)])):
        read = client.get(path)
        assert read.headers["ETag"] == client.get(by_name).headers["ETag"]
        present = {
            "etag": read.headers["ETag"],
            "strong": strong(read.json()),
            "weak": f'W/"{read.json()["version"]}"',
            "star": "*",
            "list": f'"bogus", {read.headers["ETag"]}',
        }
        where = path if number % 2 else by_name
        write_answer = send_patch(client, where, f"Text {number}.", **{"If-Match": present[form]})
        assert write_answer.status_code == 200, (form, write_answer.text)
        assert write_answer.headers["ETag"] == client.get(path).headers["ETag"] != read.headers["ETag"]
        if form != "star":
            for at in (path, by_name):
                assert_refused(send_patch(client, at, "Too late.", **{"If-Match": present[form]}), 412)


@EVERY
def test_a_name_that_is_taken_is_a_conflict(client: httpx.Client, entities: dict[str, Json], name: str) -> None:
    assert_refused(create(client, name, "base"), 409)
    assert client.put(path_of(name), json=request(name, "base")).status_code == 200


@EVERY
def test_any_name_travels_percent_encoded(client: httpx.Client, entities: dict[str, Json], name: str) -> None:
    strange_names = WORDS if name == "type" else STRANGE  # upstream's schema allows a type's name no more
    for strange in strange_names if SOAK else [strange_names[ORDER.index(name) % len(strange_names)]]:
        answer = create(client, name, strange)
        assert answer.status_code == 201, answer.text
        document = answer.json()
        assert document["name"] == strange
        address = f"{path_of(name)}/name/{quote(document['fullyQualifiedName'], safe='')}"
        assert client.get(address).json()["id"] == document["id"]
        assert client.get(f"{address}&include=all").json()["id"] == document["id"]
        assert send_patch(client, address, "Found by its name.").json()["description"] == "Found by its name."
        assert client.delete(address, params={"hardDelete": "true"}).status_code == 200
        assert_refused(client.get(address), 404)


@FEW
def test_pages_hold_everything_exactly_once_both_ways(
    client: httpx.Client, entities: dict[str, Json], name: str
) -> None:
    names = [
        f"page{number}é" if name == "type" else f"page {number} {sign}"
        for number, sign in enumerate("abc/.é?" if SOAK else "/.é?")
    ]
    new = {create(client, name, one).json()["id"] for one in names}
    everything = client.get(path_of(name), params={"limit": 1000, "include": "all"}).json()
    expected_ids = [one["id"] for one in everything["data"]]
    assert new <= set(expected_ids)
    assert len(set(expected_ids)) == len(expected_ids) == everything["paging"]["total"]
    size = max(2, len(expected_ids) // 4)
    forwards, last = _walk(client, name, "after", size)
    backwards, first = _walk(client, name, "before", size, start=last)
    assert [one for page in forwards for one in page] == expected_ids
    assert [one for page in reversed(backwards) for one in page] == [one for page in forwards[:-1] for one in page]
    assert first is None
    for entity_id in new:
        client.delete(f"{path_of(name)}/{entity_id}", params={"hardDelete": "true"})


def _walk(
    client: httpx.Client, name: str, way: str, size: int, *, start: str | None = None
) -> tuple[list[list[str]], str | None]:
    """Read page by page; return the ids of each, and where the last page says the other way begins."""
    pages: list[list[str]] = []
    cursor = start
    back: str | None = None
    while True:
        address = f"{path_of(name)}?limit={size}&include=all" + (f"&{way}={cursor}" if cursor else "")
        page = client.get(address).json()  # the cursor is in the URL unescaped
        pages.append([one["id"] for one in page["data"]])
        cursor, back = page["paging"].get(way), page["paging"].get("before" if way == "after" else "after")
        for page_cursor in (cursor, back):
            assert page_cursor is None or re.fullmatch(r"[A-Za-z0-9_-]+", page_cursor)
        if cursor is None:
            return pages, back if way == "after" else None
        assert len(pages) < 100


@FEW
def test_what_is_not_there_is_404(client: httpx.Client, entities: dict[str, Json], name: str) -> None:
    path = path_of(name)
    for address in (f"{path}/{NOWHERE}", f"{path}/name/no%2Fsuch.thing", f"{path}/{NOWHERE}/versions"):
        assert_refused(client.get(address), 404)
    assert_refused(client.delete(f"{path}/{NOWHERE}"), 404)
    assert_refused(client.delete(f"{path}/name/nothing"), 404)
    assert_refused(send_patch(client, f"{path}/{NOWHERE}", "x"), 404)
    assert_refused(send_patch(client, f"{path}/name/nothing", "x"), 404)
    assert_refused(client.put(f"{path}/restore", json={"id": NOWHERE}), 404)
    assert_refused(client.get(f"{path}/{entities[name]['id']}/versions/77.7"), 404)


@FEW
def test_garbage_is_400_and_says_where(client: httpx.Client, entities: dict[str, Json], name: str) -> None:
    path = path_of(name)
    for address in (
        path,
        f"{path}/{entities[name]['id']}",
        f"{path}/name/{quote(entities[name]['fullyQualifiedName'])}",
    ):
        assert "spoon" in assert_refused(client.get(address, params={"fields": "name,spoon"}), 400)
        assert_refused(client.get(address, params={"include": "spoon"}), 400)
    for key, values in (
        ("limit", ("-1", "1000001", "ten", "1.5", "9" * 40)),
        ("after", ("!!", "é", "/", "A", "_w")),
        ("before", ("!!", "%")),
    ):
        for value in values:
            assert_refused(client.get(path, params={key: value}), 400)
    assert_refused(client.get(path, params={"after": "YQ", "before": "YQ"}), 400)
    assert_refused(client.get(f"{path}/not-an-id"), 400)
    assert_refused(client.get(f"{path}/{entities[name]['id']}/versions/spoon"), 400)
    assert_refused(client.post(path, json={}), 400)
    assert_refused(client.post(path, json=[]), 400)
    assert_refused(client.post(path, content="{"), 400)
    assert "spoon" in assert_refused(create(client, name, "x", spoon=1), 400)
    assert_refused(client.patch(f"{path}/{entities[name]['id']}", json={"op": "add"}, headers=PATCH), 400)


@FEW
def test_a_window_of_time_holds_every_version_once(client: httpx.Client, entities: dict[str, Json], name: str) -> None:
    path, start = f"{path_of(name)}/history", entities[name]["updatedAt"]
    new = create(client, name, "lasting").json()
    later = send_patch(client, f"{path_of(name)}/{new['id']}", "Changed.").json()
    span = {"startTs": start, "endTs": later["updatedAt"]}
    versions: list[tuple[str, float]] = []
    after: dict[str, str] = {}
    while True:
        page = client.get(path, params={**span, **after, "limit": 3}).json()
        versions += [(one["id"], one["version"]) for one in page["data"]]
        if "after" not in page["paging"]:
            break
        after = {"after": page["paging"]["after"]}
    assert len(set(versions)) == len(versions) == page["paging"]["total"]
    assert {(new["id"], new["version"]), (new["id"], later["version"]), (entities[name]["id"], 0.1)} <= set(versions)
    client.delete(f"{path_of(name)}/{new['id']}", params={"hardDelete": "true"})
    assert client.get(path, params={**span, "limit": 500}).json()["paging"]["total"] == len(versions) - 2
    wrong_spans: tuple[Json, ...] = (
        {},
        {"startTs": 1},
        {"startTs": "x", "endTs": 2},
        {**span, "limit": 501},
        {**span, "after": "!!"},
    )
    for wrong in wrong_spans:
        assert_refused(client.get(path, params=wrong), 400)
    assert_refused(client.get(path, params={**span, "after": "YQ", "before": "YQ"}), 400)


@EVERY
def test_every_key_is_a_field_and_a_star_asks_for_all(
    client: httpx.Client, entities: dict[str, Json], name: str
) -> None:
    row, path = ENTITY_TYPES[name], f"{path_of(name)}/{entities[name]['id']}"
    everything = client.get(path, params={"fields": "*"}).json()
    assert everything.keys() <= row.keys
    field_names = row.keys - (row.added.keys() & {*FOLLOWERS, CHANGE_REQUESTS})  # which OpenMetadata's client refuses
    if name == "eventsubscription":
        field_names -= {"destinations"}  # which has more where it is asked for: the status of each
    assert client.get(path, params={"fields": ",".join(sorted(field_names))}).json() == everything
    listed = client.get(path_of(name), params={"fields": "*", "include": "all", "limit": 1000}).json()["data"]
    assert everything in listed


LIFE = frozenset(kind for kind in EventType if kind.startswith("entity") and PRODUCERS[kind])
"""Types of events of which every entity type has some."""


@EVERY
def test_the_table_of_producers_says_which_events_an_entity_has(
    client: httpx.Client, entities: dict[str, Json], name: str
) -> None:
    new = create(client, name, "living").json()
    path = f"{path_of(name)}/{new['id']}"
    assert send_patch(client, path, "Changed.").status_code == 200
    assert client.delete(path).status_code == 200
    client.put(f"{path_of(name)}/restore", json={"id": new["id"]})
    client.delete(path, params={"hardDelete": "true"})
    written = client.get("/events", params={"entityId": new["id"]}).json()["data"]
    assert {one["eventType"] for one in written} == {kind for kind in LIFE if can_produce(name, kind)}


def test_the_table_of_producers_says_which_events_a_thread_has(client: httpx.Client, entities: dict[str, Json]) -> None:
    link = f"<#E::table::{entities['table']['fullyQualifiedName']}>"
    assignee = {"id": entities["user"]["id"], "type": "user"}
    task = {"type": "RequestDescription", "assignees": [assignee], "oldValue": "", "suggestion": "x"}
    for task_fields in ({}, {"type": "Task", "taskDetails": task}):
        thread = client.post("/feed", json={"about": link, "message": "Why?"} | task_fields).json()
        path = f"/feed/{thread['id']}"
        operations = [{"op": "replace", "path": "/message", "value": "Why not?"}]
        assert client.patch(path, content=json.dumps(operations), headers=PATCH).status_code == 200
        assert client.delete(path).status_code == 200
        thread_events = client.get("/events", params={"entityId": thread["id"]}).json()["data"]
        types = {one["eventType"] for one in thread_events}
        assert types & LIFE == {kind for kind in LIFE if can_produce(thread["type"].lower(), kind)} == {"entityDeleted"}
        assert all(can_produce(thread["type"].lower(), kind) for kind in types)
