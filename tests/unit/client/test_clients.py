"""Tests of both clients over real HTTP: requests sent, responses returned."""

from __future__ import annotations

import inspect
import socket
import traceback
from collections.abc import Callable, Iterator

import pytest
from tests.unit.small_server import SmallServer

from tocsin.client import AsyncClient, Client, alert_calls, calls, lake_calls, rdf_calls, retention_calls, search_calls
from tocsin.client.connection import address_of
from tocsin.errors import (
    Conflict,
    Forbidden,
    InternalError,
    InvalidInput,
    NotFound,
    PreconditionFailed,
    TocsinError,
    TooManyRequests,
    Unauthenticated,
    Unavailable,
)

TABLES = "/api/v1/tables"


@pytest.fixture
def client(small_server: SmallServer) -> Iterator[Client]:
    with Client(small_server.url, "secret-token") as client:
        yield client


def test_a_list_walks_through_all_pages_and_fetches_each_when_needed(client: Client, small_server: SmallServer) -> None:
    small_server.answer(
        "GET",
        TABLES,
        {"data": [{"id": "1"}, {"id": "2"}], "paging": {"total": 3, "after": "Mg"}},
        {"data": [{"id": "3"}], "paging": {"total": 3}},
    )
    tables = client.list_tables(database="postgres_prod", limit=2)
    first = next(tables)
    assert (first.id, len(small_server.requests)) == ("1", 1)
    assert [table.id for table in tables] == ["2", "3"]
    assert small_server.requests[1].query == {"database": "postgres_prod", "limit": "2", "after": "Mg"}


def test_every_request_carries_the_token_and_json(client: Client, small_server: SmallServer) -> None:
    small_server.answer("PUT", TABLES, {"id": "1", "name": "orders"})
    assert client.create_or_update("table", {"name": "orders"}).name == "orders"
    request = small_server.requests[0]
    assert request.headers["Authorization"] == "Bearer secret-token"
    assert request.headers["Content-Type"] == "application/json"
    assert request.body == {"name": "orders"}


def test_writes_say_why_and_reads_do_not(small_server: SmallServer) -> None:
    small_server.answer("PUT", TABLES, *[{"id": "1"}] * 4)
    small_server.answer("GET", f"{TABLES}/1", {"id": "1"})
    small_server.answer("POST", "/api/v1/users/login", {"accessToken": "another"})
    with Client(small_server.url, why="dbt run 4c1f") as client:
        client.create_or_update("table", {})
        client.because("für Zoë").create_or_update("table", {})
        client.because(None).create_or_update("table", {})
        client.get_by_id("table", "1")
        client.login("zoe@example.org", "secret")
        client.create_or_update("table", {})
        with pytest.raises(InvalidInput):
            client.because("x" * 501)
    reasons = [request.headers.get("X-Tocsin-Why") for request in small_server.requests]
    assert reasons[:4] == ["dbt run 4c1f", "UTF-8''f%C3%BCr%20Zo%C3%AB", None, None]
    assert reasons[-1] == "dbt run 4c1f"


def test_a_client_with_another_reason_leaves_the_connection_open(small_server: SmallServer) -> None:
    small_server.answer("PUT", TABLES, *[{"id": "1"}] * 2)
    with Client(small_server.url) as client:
        with client.because("backfill of October") as backfill:
            backfill.create_or_update("table", {})
        client.create_or_update("table", {})
    assert [one.headers.get("X-Tocsin-Why") for one in small_server.requests] == ["backfill of October", None]
    with pytest.raises(RuntimeError, match="closed"):
        client.create_or_update("table", {})


async def test_an_async_client_with_another_reason_leaves_the_connection_open(small_server: SmallServer) -> None:
    small_server.answer("PUT", TABLES, *[{"id": "1"}] * 2)
    async with AsyncClient(small_server.url) as client:
        async with client.because("backfill of October") as backfill:
            await backfill.create_or_update("table", {})
        await client.create_or_update("table", {})
    assert [one.headers.get("X-Tocsin-Why") for one in small_server.requests] == ["backfill of October", None]


def test_a_name_with_slashes_arrives_as_one_part(client: Client, small_server: SmallServer) -> None:
    small_server.answer("GET", f"{TABLES}/name/a.%22b%2Fc%22", {"id": "1"})
    assert client.get_by_name("table", 'a."b/c"').id == "1"


def test_an_empty_answer_is_fine_where_nothing_is_expected(client: Client, small_server: SmallServer) -> None:
    small_server.answer("DELETE", f"{TABLES}/t")
    client.delete("table", "t")
    assert [asked.method for asked in small_server.requests] == ["DELETE"]


def test_after_logging_in_the_new_token_is_shown(small_server: SmallServer) -> None:
    small_server.answer("POST", "/api/v1/users/login", {"accessToken": "fresh", "tokenType": "Bearer"})
    small_server.answer("GET", "/api/v1/users/loggedInUser", {"id": "u"})
    with Client(small_server.url) as client:
        assert client.login("a@example.com", "x") == "fresh"
        client.logged_in_user()
    assert "Authorization" not in small_server.requests[0].headers
    assert small_server.requests[1].headers["Authorization"] == "Bearer fresh"


def test_the_inbox_says_what_and_why(client: Client, small_server: SmallServer) -> None:
    row = {
        "id": "n",
        "eventType": "entityUpdated",
        "entityFullyQualifiedName": "a.orders",
        "title": "orders changed",
        "changes": ["description: new text"],
        "reasons": [{"kind": "follower", "sentence": "you follow it"}],
        "timestamp": 1,
        "read": False,
    }
    small_server.answer("GET", "/api/v1/users/u/notifications", {"data": [row, {**row, "read": True}], "paging": {}})
    unread, read = client.notifications("u", unread=False)
    assert (unread.title, unread.changes, unread.reasons) == (
        "orders changed",
        ("description: new text",),
        ("you follow it",),
    )
    assert (unread.change.entity_name, unread.is_read, read.is_read) == ("a.orders", False, True)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, InvalidInput),
        (401, Unauthenticated),
        (403, Forbidden),
        (404, NotFound),
        (409, Conflict),
        (412, PreconditionFailed),
        (418, InvalidInput),
        (429, TooManyRequests),
        (500, InternalError),
        (503, Unavailable),
    ],
)
def test_a_refusal_is_the_error_of_its_family_with_the_servers_words(
    client: Client, small_server: SmallServer, status: int, kind: type[TocsinError]
) -> None:
    small_server.answer("GET", f"{TABLES}/1", {"code": status, "message": "because"}, status=status)
    with pytest.raises(kind, match="because") as caught:
        client.get_by_id("table", "1")
    assert type(caught.value) is kind


def test_a_refusal_without_words_says_its_status(client: Client, small_server: SmallServer) -> None:
    small_server.answer("GET", f"{TABLES}/1", ["not", "an", "error"], status=503)
    with pytest.raises(Unavailable, match="503 Service Unavailable"):
        client.get_by_id("table", "1")


def test_an_answer_that_makes_no_sense_is_a_fault_and_not_a_surprise(client: Client, small_server: SmallServer) -> None:
    small_server.answer("GET", "/api/v1/system/version", ["not", "an", "object"])
    with pytest.raises(InternalError, match="Unexpected answer"):
        client.server_version()


def test_a_server_that_is_not_there_is_unavailable() -> None:
    with socket.socket() as silent_socket:
        silent_socket.bind(("127.0.0.1", 0))  # bound but not listening: connections are refused
        with (
            Client(f"http://127.0.0.1:{silent_socket.getsockname()[1]}") as client,
            pytest.raises(Unavailable, match="reached"),
        ):
            client.server_version()


@pytest.mark.parametrize("suffix", ["", "/", "/api", "/api/", "/api/v1"])
def test_the_address_may_end_as_openmetadatas_does(
    small_server: SmallServer, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    small_server.answer("GET", "/api/v1/system/version", {"version": "1.13.0"})
    monkeypatch.setenv("TOCSIN_SERVER", small_server.url + suffix)
    with Client() as client:
        assert client.server_version() == "1.13.0"


def test_without_an_address_it_is_this_machine_on_the_port_that_is_set(
    small_server: SmallServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TOCSIN_SERVER", raising=False)
    monkeypatch.delenv("TOCSIN_PORT", raising=False)
    assert address_of(None, None).server == "http://127.0.0.1:8585"
    small_server.answer("GET", "/api/v1/system/version", {"version": "1.13.0"})
    monkeypatch.setenv("TOCSIN_PORT", small_server.url.rpartition(":")[2])
    with Client() as client:
        assert client.server_version() == "1.13.0"


def test_a_server_that_is_not_there_is_said_without_what_lies_below() -> None:
    with Client("http://127.0.0.1:1") as client, pytest.raises(Unavailable) as raised:
        client.server_version()
    assert "httpx" not in "".join(traceback.format_exception(raised.value)).split("tocsin.errors.Unavailable")[0]


def test_the_token_is_not_printed(small_server: SmallServer) -> None:
    with Client(small_server.url, "secret-token") as client:
        assert "secret-token" not in repr(vars(client))


async def test_the_async_client_pages_and_raises_likewise(small_server: SmallServer) -> None:
    small_server.answer("GET", TABLES, {"data": [{"id": "1"}], "paging": {"after": "x"}}, {"data": [{"id": "2"}]})
    async with AsyncClient(small_server.url, "t") as client:
        assert [table.id async for table in client.list_tables()] == ["1", "2"]
        with pytest.raises(NotFound):
            await client.get_by_id("table", "1")


def requests() -> dict[str, Callable[..., object]]:
    kinds = ("ApiCall", "Pages")
    return {
        name: build
        for module in (alert_calls, calls, lake_calls, rdf_calls, retention_calls, search_calls)
        for name, build in inspect.getmembers(module, inspect.isfunction)
        if not name.startswith("_")
        and build.__module__ == module.__name__
        and str(inspect.signature(build).return_annotation).startswith(kinds)
    }


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_both_clients_offer_every_call_with_its_own_parameters(kind: type) -> None:
    for name, build in requests().items():
        method = getattr(kind, name)
        assert list(inspect.signature(method).parameters)[1:] == list(inspect.signature(build).parameters), name
        assert (name == "login") or method.__doc__ == build.__doc__


def test_there_are_calls_to_offer() -> None:
    assert len(requests()) > 25


def test_queues_are_claimed_and_held_events_named_by_id_and_lease(small_server: SmallServer) -> None:
    path = "/api/v1/events/subscriptions/a%2F1/queue"
    item = {"id": "i", "lease": "l", "event": {"eventType": "entityCreated"}}
    small_server.answer("POST", f"{path}/claim", {"data": [item], "hasMore": False})
    for action in ("acknowledge", "release", "extend"):
        small_server.answer("POST", f"{path}/{action}", {"data": [{"id": "i", "state": "done"}]})
    client = Client(small_server.url, "t")
    claimed_events = client.claim_events("a/1", limit=5, lease_seconds=30)["data"]
    for send in (client.acknowledge_events, client.release_events, client.extend_events):
        assert send("a/1", claimed_events)["data"][0]["state"] == "done"
    leases = [{"id": "i", "lease": "l"}]
    assert [one.body for one in small_server.requests] == [
        {"limit": 5, "leaseSeconds": 30},
        {"items": leases},
        {"items": leases},
        {"items": leases, "leaseSeconds": 60},
    ]
