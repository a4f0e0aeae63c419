"""Tests of malformed requests: the response is JSON with a code, never a 5xx."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from urllib.parse import quote, urlsplit

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine
from tests.serving import Json, Served, running_server, warehouse
from tests.soak import SOAK
from tests.startedstore import StartedStore

from tocsin.model.entity_types import BY_COLLECTION
from tocsin.server.request import DEEPEST_JSON
from tocsin.settings import Settings

FUZZ = settings(
    max_examples=100 if SOAK else 30, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
_SEGMENTS = (
    "tables users name restore versions 0.1 followers events subscriptions lineage table status notifications read "
    "follows bulk dataQuality testCases login activity {id} {me} warehouse.shop.public.orders pipelines "
    "testCaseResults validation destination"
)
SEGMENTS = st.one_of(st.sampled_from(_SEGMENTS.split()), st.text(max_size=12))
_WORDS = (
    "id name owners columns tags type edge fromEntity entities destinations config condition filteringRules "
    "resources rules timestamp email password op path value displayName description isAdmin"
)
WORDS = st.sampled_from(_WORDS.split())
_PATHS = (
    ",/,/name,/columns/0,/columns/-,/tags/0,/owners,/columns/0/name,/destinations/0/config,/columns/99,/enabled,"
    "/filteringRules/rules/0/condition,/~2,/batchSize,/id,/deleted,/displayName"
)
PATHS = st.sampled_from(_PATHS.split(","))
VALUES = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**70), 2**70),
        st.floats(allow_nan=False, allow_infinity=False),
        st.text(max_size=20),
        WORDS,
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.one_of(WORDS, st.text(max_size=8)), inner)),
    max_leaves=12,
)
METHODS = st.sampled_from(["GET", "POST", "PUT", "PATCH", "DELETE"])
QUERIES = st.dictionaries(
    st.sampled_from(
        ["fields", "limit", "after", "before", "include", "eventType", "offset", "timestamp", "hardDelete"]
    ),
    st.text(max_size=15),
    max_size=3,
)


@pytest.fixture
def furnished_server(sqlite_engine: Engine, started_store: StartedStore) -> Iterator[tuple[Served, httpx.Client, Json]]:
    with (
        running_server(sqlite_engine, password=started_store.password, token=started_store.token) as served,
        served.administrator() as client,
    ):
        client.headers["Content-Type"] = "application/json"
        yield served, client, warehouse(client)


def check(answer: httpx.Response) -> None:
    assert answer.status_code < 500, answer.text
    if answer.status_code >= 400:
        assert answer.json()["code"] == answer.status_code
        assert isinstance(answer.json()["message"], str)


def test_no_path_and_no_body_breaks_the_server(furnished_server: tuple[Served, httpx.Client, Json]) -> None:
    """Fault scenario 7."""
    server, client, orders = furnished_server
    me = client.get("/users/loggedInUser").json()["id"]

    @FUZZ
    @given(METHODS, st.lists(SEGMENTS, max_size=5), QUERIES, VALUES)
    def send(method: str, segments: list[str], query: dict[str, str], body: Json) -> None:
        ids_by_segment = {"{id}": orders["id"], "{me}": me}
        path = "/".join(quote(ids_by_segment.get(segment, segment), safe="") for segment in segments)
        if not (method == "GET" and path.endswith("stream")):
            address = f"{server.url}/api/v1/{path}"  # httpx itself refuses a relative address that begins with //
            check(client.request(method, address, params=query, content=json.dumps(body)))

    send()


def test_no_document_breaks_a_write(furnished_server: tuple[Served, httpx.Client, Json]) -> None:
    """Fault scenario 7."""
    _, client, _ = furnished_server

    @FUZZ
    @given(
        st.sampled_from(sorted(BY_COLLECTION)),
        st.sampled_from(["POST", "PUT"]),
        st.text(min_size=1, max_size=20),
        VALUES,
        WORDS,
    )
    def send(collection: str, method: str, name: str, value: Json, key: str) -> None:
        bases: dict[str, Json] = {
            "tables": {"databaseSchema": "warehouse.shop.public", "columns": []},
            "events/subscriptions": {"alertType": "Notification", "destinations": []},
            "users": {"email": "x@example.org"},
        }
        body = {"name": name, **bases.get(collection, {}), key: value}
        check(client.request(method, f"/{collection}", content=json.dumps(body)))

    send()


def test_no_patch_breaks_a_write(furnished_server: tuple[Served, httpx.Client, Json]) -> None:
    _, client, orders = furnished_server
    alert = client.get("/events/subscriptions/name/ActivityFeedAlert").json()
    operation = st.fixed_dictionaries(
        {"op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test", "spoon"]), "path": PATHS},
        optional={"value": VALUES, "from": PATHS},
    )

    @FUZZ
    @given(
        st.sampled_from([f"/tables/{orders['id']}", f"/events/subscriptions/{alert['id']}"]),
        st.one_of(st.lists(operation, max_size=3), VALUES),
    )
    def send(path: str, operations: Json) -> None:
        check(client.patch(path, content=json.dumps(operations)))

    send()


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"nonsense",
        b"\xff\xfe",
        b'{"name": "a\\u0000b"}',
        b'{"na\\u0000me": "a"}',
        b'{"name": "\\ud800"}',
        b"NaN",
        b"[" * 60_000,
        b'{"a":' * (DEEPEST_JSON + 1) + b"1" + b"}" * (DEEPEST_JSON + 1),
        b'{"name": 1e999}',
    ],
    ids=lambda body: repr(body[:20]),
)
def test_a_malformed_body_is_400(administrator: httpx.Client, body: bytes) -> None:
    for method, path in (
        ("POST", "/tables"),
        ("PUT", "/lineage"),
        ("POST", "/events/subscriptions"),
        ("POST", "/users/login"),
    ):
        answer = administrator.request(method, path, content=body)
        assert (answer.status_code, answer.json()["code"]) == (400, 400), (path, answer.text)


def test_a_body_of_as_many_levels_as_there_may_be_is_read(administrator: httpx.Client) -> None:
    body = b'{"a":' * DEEPEST_JSON + b"1" + b"}" * DEEPEST_JSON
    answer = administrator.post("/tables", content=body)
    assert "has no field a" in answer.json()["message"]


def test_a_full_name_that_no_index_holds_is_400(administrator: httpx.Client) -> None:
    parent = administrator.post("/services/databaseServices", json={"name": "😀" * 256, "serviceType": "Mysql"}).json()
    below = administrator.post("/databases", json={"name": "😀" * 256, "service": parent["name"]}).json()
    answer = administrator.post("/databaseSchemas", json={"name": "😀" * 256, "database": below["fullyQualifiedName"]})
    assert (answer.status_code, "shorten a name" in answer.json()["message"]) == (400, True)
    assert administrator.post("/teams", json={"name": "x" * 257}).status_code == 400


def test_a_body_that_is_too_large_is_413(administrator: httpx.Client) -> None:
    answer = administrator.post("/tables", content=b" " * (Settings().body_bytes + 1))
    assert (answer.status_code, answer.json()["code"]) == (413, 413)


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/tables/name/a%00b", 400),
        ("GET", "/tables?after=%00", 400),
        ("GET", "/tables/not-a-uuid", 400),
        ("GET", "/tables/name/%ff%fe", 404),
        ("GET", "/tables/name/..%2F..%2Fetc%2Fpasswd", 404),
        ("GET", "/spoons", 404),
        ("PATCH", "/tables", 405),
        ("GET", "/tables/name/" + "x" * 9000, 404),
        ("GET", "/tables/name/" + "x" * 20_000, 400),
    ],
)
def test_a_broken_address_is_said_to_be_broken(
    administrator: httpx.Client, method: str, path: str, status: int
) -> None:
    answer = administrator.request(method, path)
    assert (answer.status_code, answer.json()["code"]) == (status, status), answer.text


@pytest.mark.parametrize(
    ("method", "path", "says"),
    [
        ("PATCH", "/tables", "PATCH is not allowed on this path; see docs/api.md."),
        ("GET", "/tables?fields=colour", "columns"),
        ("POST", "/tables/name/warehouse.shop.public.orders/rollback", "version: is missing: send one such as 0.1"),
    ],
)
def test_what_is_wrong_is_said_with_what_would_work(
    administrator: httpx.Client, orders: Json, method: str, path: str, says: str
) -> None:
    del orders
    answer = administrator.request(method, path, json={})
    assert says in answer.json()["message"]


def test_headers_full_of_garbage_break_nothing(served: Served, administrator: httpx.Client, orders: Json) -> None:
    host = urlsplit(served.url).netloc
    for name, value in (("Authorization", "Bearer \xff\xfe"), ("If-Match", "\xff" * 50), ("Last-Event-ID", "x" * 19)):
        connection = http.client.HTTPConnection(host, timeout=10)
        headers = {"Authorization": administrator.headers["Authorization"], name: value}
        connection.request("PATCH", f"/api/v1/tables/{orders['id']}", body="[]", headers=headers)
        answer = connection.getresponse()
        assert answer.status < 500
        assert json.loads(answer.read())
        connection.close()


def test_a_patch_that_doubles_what_it_makes_is_refused_with_the_bound(
    administrator: httpx.Client, orders: Json
) -> None:
    doubling = [{"op": "copy", "from": "/extension", "path": f"/extension/b{at}"} for at in range(40)]
    patch = [{"op": "add", "path": "/extension", "value": {"a": "x"}}, *doubling]
    answer = administrator.patch(f"/tables/{orders['id']}", json=patch)
    assert answer.status_code == 413
    assert answer.json() == {"code": 413, "message": "the patch copies more than 8388608 bytes"}
    long = [{"op": "test", "path": "/name", "value": "orders"}] * 10_001
    assert administrator.patch(f"/tables/{orders['id']}", json=long).status_code == 413


def test_an_entity_that_is_too_large_is_refused_however_it_is_sent(administrator: httpx.Client, orders: Json) -> None:
    large = {"name": "large", "databaseSchema": "warehouse.shop.public", "columns": [], "description": "x" * 8_388_608}
    assert administrator.post("/tables", json=large).status_code == 413
    assert administrator.put("/tables", json=large | {"name": orders["name"]}).status_code == 413
    (failed,) = administrator.put("/tables/bulk", json=[large]).json()["failedRequest"]
    assert failed["status"] == 413
    patch = [{"op": "add", "path": "/description", "value": large["description"]}]
    assert administrator.patch(f"/tables/{orders['id']}", json=patch).status_code == 413
