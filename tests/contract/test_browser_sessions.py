"""Tests of sessions in browsers: no other site uses them, scripts cannot read them, and they end when they should."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pytest
from fastapi import Request
from sqlalchemy import Engine, select, update
from tests.serving import Json, Served, running_server, server_settings
from tests.startedstore import StartedStore

from tocsin.clock import FixedClock
from tocsin.errors import Forbidden, Unauthenticated
from tocsin.model.people import SYSTEM, Person
from tocsin.server.build import build_parts
from tocsin.server.login.browser_sessions import check_origin
from tocsin.server.login.tokens import hash_password
from tocsin.store.database.people_tables import issued_token

PASSWORD = "alice-password"
HOUR_MS = 3_600_000


@pytest.fixture
def alice(served: Served) -> Iterator[str]:
    user_id, client = served.person("alice")
    with client:
        yield user_id


@contextmanager
def browser(served: Served, *, origin: str | None = None) -> Iterator[httpx.Client]:
    """A client that keeps cookies and names where its page comes from, as browsers do."""
    with served.client() as client:
        client.headers["Origin"] = origin or served.url
        yield client


def log_in(client: httpx.Client, password: str = PASSWORD) -> Json:
    answer = client.post("/auth/session", json={"email": "alice@example.org", "password": password})
    assert answer.status_code == 200, answer.text
    client.headers["X-CSRF-Token"] = answer.json()["csrfToken"]
    return answer.json()


@pytest.mark.usefixtures("alice")
def test_a_session_reads_and_writes_and_its_cookie_is_out_of_reach_of_scripts(served: Served) -> None:
    with browser(served) as client:
        answer = client.post("/auth/session", json={"email": "alice@example.org", "password": PASSWORD})
        (cookie,) = (one for one in answer.headers.get_list("set-cookie") if one.startswith("tocsin_session="))
        assert {"HttpOnly", "Path=/", "SameSite=strict"} <= set(cookie.split("; "))
        assert "accessToken" not in answer.text and client.cookies["tocsin_session"] not in answer.text
        assert client.get("/users/loggedInUser").json()["name"] == "alice"
        assert client.get("/auth/session").json()["csrfToken"] == answer.json()["csrfToken"]
        headers = {"X-CSRF-Token": answer.json()["csrfToken"]}
        path = f"/users/{answer.json()['userId']}/searches"
        saved = client.post(path, json={"name": "orders", "query": "orders"}, headers=headers)
        assert saved.status_code == 201, saved.text


def test_behind_tls_the_cookie_is_bound_to_its_host(sqlite_engine: Engine, started_store: StartedStore) -> None:
    settings = server_settings(public_url="https://tocsin.example.org")
    with running_server(sqlite_engine, settings, password=started_store.password, token=started_store.token) as server:
        _, client = server.person("alice")
        client.close()
        with browser(server, origin="https://tocsin.example.org") as client:
            answer = client.post("/auth/session", json={"email": "alice@example.org", "password": PASSWORD})
            (cookie,) = (one for one in answer.headers.get_list("set-cookie") if "tocsin_session=" in one)
            assert cookie.startswith("__Host-tocsin_session=")
            assert "Secure" in cookie and "Path=/" in cookie and "Domain" not in cookie
            text = cookie.partition("=")[2].partition(";")[0]
        for name, status in (("__Host-tocsin_session", 200), ("tocsin_session", 401)):  # which another host could set
            answer = httpx.get(f"{server.url}/api/v1/users/loggedInUser", headers={"Cookie": f"{name}={text}"})
            assert answer.status_code == status


@pytest.mark.parametrize(
    "headers",
    [
        {"X-CSRF-Token": ""},
        {"X-CSRF-Token": "0" * 64},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": ""},
    ],
    ids=str,
)
def test_another_site_changes_nothing(served: Served, alice: str, headers: dict[str, str]) -> None:
    with browser(served) as client:
        log_in(client)
        client.headers.update(headers)
        writes = ("POST", f"/users/{alice}/searches"), ("DELETE", "/auth/session"), ("PUT", "/users/security/token")
        for method, path in writes:
            answer = client.request(method, path, headers={"Content-Type": "application/json"}, content="{}")
            assert (answer.status_code, answer.json()["code"]) == (403, 403), f"{method} {path}"
        assert client.get("/users/loggedInUser").status_code == 200


def test_no_other_site_logs_a_browser_in(served: Served, alice: str) -> None:
    del alice
    with browser(served, origin="https://evil.example") as client:
        answer = client.post("/auth/session", json={"email": "alice@example.org", "password": PASSWORD})
        assert answer.status_code == 403 and not client.cookies


@pytest.mark.usefixtures("alice")
def test_the_token_of_another_session_is_no_csrf_token(served: Served) -> None:
    with browser(served) as first, browser(served) as second:
        csrf_token = log_in(first)["csrfToken"]
        assert log_in(second)["csrfToken"] != csrf_token
        second.headers["X-CSRF-Token"] = csrf_token
        assert second.delete("/auth/session").status_code == 403


@pytest.mark.usefixtures("alice")
def test_a_cookie_is_no_bearer_token_and_a_bearer_token_no_cookie(served: Served) -> None:
    bearer = served.log_in("alice@example.org", PASSWORD)
    with browser(served) as client:
        log_in(client)
        cookie = client.cookies["tocsin_session"]
    for headers in (
        {"Authorization": f"Bearer {cookie}"},
        {"Authorization": f"session {cookie}"},
        {"Authorization": f"Session {bearer}"},
        {"Cookie": f"tocsin_session={bearer}"},
        {"Cookie": "tocsin_session=garbage"},
        {"Cookie": "tocsin_session="},
    ):
        assert httpx.get(f"{served.url}/api/v1/users/loggedInUser", headers=headers).status_code == 401, headers


@pytest.mark.usefixtures("alice")
def test_a_log_in_has_a_new_id_and_ends_the_session_before(served: Served) -> None:
    with browser(served) as client:
        first, old_cookie = log_in(client), client.cookies["tocsin_session"]
        second = log_in(client)
        assert first["id"] != second["id"]
        sessions = client.get("/auth/sessions").json()["data"]
        assert [(one["id"], one["isCurrent"]) for one in sessions] == [(second["id"], True)]
        assert sessions[0]["browser"].startswith("python-httpx")
    answer = httpx.get(f"{served.url}/api/v1/tables", headers={"Cookie": f"tocsin_session={old_cookie}"})
    assert answer.status_code == 401


@pytest.mark.usefixtures("alice")
def test_one_ends_ones_own_sessions_wherever_they_are(served: Served) -> None:
    _, mallory = served.person("mallory")
    with browser(served) as client, browser(served) as other_client, mallory:
        log_in(client)
        other_session = log_in(other_client)
        assert mallory.delete(f"/auth/sessions/{other_session['id']}").status_code == 404
        assert mallory.get("/auth/sessions").json()["data"] == []
        assert mallory.get("/auth/session").status_code == 400, "a bearer token is no session"
        assert client.delete(f"/auth/sessions/{other_session['id']}").status_code == 200
        assert other_client.get("/tables").status_code == 401
        assert client.delete("/auth/session").status_code == 200
        assert not client.cookies and client.get("/tables").status_code == 401


@pytest.mark.parametrize("how", ["a new password", "a deletion", "a log-out"])
def test_what_ends_a_session_ends_its_streams(
    served: Served, administrator: httpx.Client, alice: str, how: str
) -> None:
    with browser(served) as client, browser(served) as other_client:
        log_in(client)
        log_in(other_client)
        with client.stream("GET", f"/users/{alice}/notifications/stream", timeout=10) as stream:
            assert stream.status_code == 200
            if how == "a log-out":
                assert client.delete("/auth/session").status_code == 200
            elif how == "a deletion":
                assert administrator.delete(f"/users/{alice}").status_code == 200
            else:
                change = {"oldPassword": PASSWORD, "newPassword": "another-password"}
                assert other_client.put("/users/changePassword", json=change).status_code == 200
            began_s = time.monotonic()
            stream.read()
            assert time.monotonic() - began_s < 5
        assert other_client.get("/tables").status_code == (401 if how == "a deletion" else 200)
        assert client.get("/tables").status_code == 401


def test_a_session_lasts_while_it_is_used_and_no_longer_than_in_all(store_engine: Engine) -> None:
    clock = FixedClock(10**12)
    parts = build_parts(server_settings(session_hours=5, session_idle_hours=2), store_engine, clock)
    parts.writes.create("user", {"name": "alice", "email": "alice@example.org"}, actor=SYSTEM)
    person = parts.people.by_name("alice")
    assert isinstance(person, Person)
    parts.people.set_password(person.id, hash_password(PASSWORD))

    def asks(text: str) -> bool:
        try:
            return bool(parts.login.actor_of(f"session {text}"))
        except Unauthenticated:
            return False

    used_token, unused_token = (
        parts.login.browsers.begin(person, "Firefox"),
        parts.login.browsers.begin(person, "Chrome"),
    )
    hours = []
    for _ in range(6):
        hours.append(asks(used_token.text))
        clock.advance(HOUR_MS)
    assert hours == [True] * 5 + [False], "used every hour, it ends after five"
    assert not asks(unused_token.text), "unused, it has ended after two"
    clock.advance(-5 * HOUR_MS)
    assert not asks(unused_token.text) and not asks(used_token.text), "a clock set back revives none"
    with store_engine.connect() as connection:
        assert connection.execute(select(issued_token.c.id).where(issued_token.c.kind == "browser")).all() == []


def test_the_store_says_when_a_session_was_used(sqlite_engine: Engine) -> None:
    clock = FixedClock(10**12)
    parts = build_parts(server_settings(session_hours=5, session_idle_hours=2), sqlite_engine, clock)
    parts.writes.create("user", {"name": "alice", "email": "alice@example.org"}, actor=SYSTEM)
    person = parts.people.by_name("alice")
    assert isinstance(person, Person)
    token = parts.login.browsers.begin(person, "Firefox")
    clock.advance(HOUR_MS)
    parts.login.actor_of(f"session {token.text}")
    (session,) = parts.login.browsers.sessions_of(person.id)
    assert parts.login.browsers.last_used_at_ms(session) == clock.now_ms()
    with sqlite_engine.begin() as connection:  # a restored backup: its end is what it was
        connection.execute(update(issued_token).values(expires_at_ms=clock.now_ms() - 1))
    assert parts.login.browsers.sessions_of(person.id) == []


def status_of_raw(served: Served, *lines: str) -> int:
    """Return the status of the answer to exactly these header lines, in Latin-1, as no client would send them."""
    host = served.url.partition("://")[2]
    request = "\r\n".join(
        ("GET /api/v1/users/loggedInUser HTTP/1.1", f"Host: {host}", "Connection: close", *lines, "", "")
    )
    name, _, port = host.partition(":")
    with socket.create_connection((name, int(port)), timeout=10) as connection, connection.makefile("rb") as reader:
        connection.sendall(request.encode("latin-1"))
        return int(reader.readline().split()[1])


@pytest.mark.usefixtures("alice")
@pytest.mark.parametrize("space", ["\xa0", "\x85", "\x1f"], ids=ascii)
def test_no_white_space_makes_the_cookie_of_another_host_one_with_a_prefix(served: Served, space: str) -> None:
    with browser(served) as client:
        log_in(client)
        text = client.cookies["tocsin_session"]
    assert status_of_raw(served, f"Cookie: __Host-tocsin_session={text}") == 200
    assert status_of_raw(served, f"Cookie: {space}__Host-tocsin_session={text}") in (400, 401)
    assert status_of_raw(served, f"Cookie: theme=dark; __Host-tocsin_session{space}={text}") in (400, 401)
    assert status_of_raw(served, f"Cookie: =__Host-tocsin_session={text}") == 401


def test_of_two_sessions_in_one_browser_neither_counts(served: Served, alice: str) -> None:
    del alice
    _, mallory = served.person("mallory")
    mallory.close()
    with browser(served) as client, browser(served) as other_client:
        log_in(client)
        request = {"email": "mallory@example.org", "password": "mallory-password"}
        assert other_client.post("/auth/session", json=request).is_success
        own_text, planted_text = client.cookies["tocsin_session"], other_client.cookies["tocsin_session"]
    for first, second in ((own_text, planted_text), (planted_text, own_text)):
        assert status_of_raw(served, f"Cookie: tocsin_session={first}; tocsin_session={second}") == 401
        assert status_of_raw(served, f"Cookie: tocsin_session={first}", f"Cookie: tocsin_session={second}") == 401
    assert status_of_raw(served, f"Cookie: tocsin_session={own_text}; tocsin_session={own_text}") == 200
    assert status_of_raw(served, f"Cookie: tocsin_session={planted_text}; __Host-tocsin_session={own_text}") == 200


@pytest.mark.usefixtures("alice")
def test_a_bearer_token_beside_a_cookie_is_the_sender_and_ends_no_session(served: Served) -> None:
    bearer = served.log_in("alice@example.org", PASSWORD)
    with browser(served) as client:
        log_in(client)
        assert client.delete("/auth/session", headers={"Authorization": f"Bearer {bearer}"}).status_code == 400
        assert "tocsin_session" in client.cookies and client.get("/auth/session").status_code == 200
    assert httpx.get(f"{served.url}/api/v1/tables", headers={"Authorization": f"Bearer {bearer}"}).status_code == 200


@pytest.mark.parametrize(
    ("origin", "host", "public_url", "is_own"),
    [
        ("http://h.example:8585", "h.example:8585", None, True),
        ("https://h.example", "h.example", None, True),
        ("https://h.example", "h.example:443", None, True),
        ("HTTPS://H.Example", "h.EXAMPLE", None, True),
        ("http://[::1]:8585", "[::1]:8585", None, True),
        ("http://[0:0:0:0:0:0:0:1]:8585", "[::1]:8585", None, True),
        ("https://h.example:8443", "h.example", None, False),
        ("http://h.example", "h.example:443", None, False),
        ("http://[::1", "[::1", None, False),
        ("http://[::1", "h.example", None, False),
        ("http://h.example]", "h.example]", None, False),
        ("http://h.example:port", "h.example:port", None, False),
        ("null", "null", None, False),
        ("", "", None, False),
        ("h.example", "h.example", None, False),
        ("//h.example", "h.example", None, False),
        ("http://h.example https://evil.example", "h.example", None, False),
        ("https://h.example.evil.example", "h.example", None, False),
        ("https://h.example", "evil.example", "https://h.example", True),
        ("https://h.example:443/", "h.example", "https://h.example/tocsin", True),
        ("http://h.example", "h.example", "https://h.example", False),
        ("https://evil.example", "evil.example", "https://h.example", False),
        ("https://h.example@evil.example", "h.example", "https://h.example", False),
        ("https://h.example\\@evil.example", "h.example", "https://h.example", False),
    ],
)
def test_a_page_of_this_server_is_known_by_its_origin(
    origin: str, host: str, public_url: str | None, *, is_own: bool
) -> None:
    lines = [(b"host", host.encode()), (b"origin", origin.encode())]
    request = Request({"type": "http", "method": "POST", "headers": lines})
    if is_own:
        check_origin(request, public_url)
    else:
        with pytest.raises(Forbidden, match="was not made by a page"):
            check_origin(request, public_url)
    twice = Request({"type": "http", "method": "POST", "headers": [*lines, (b"origin", b"https://evil.example")]})
    with pytest.raises(Forbidden):
        check_origin(twice, public_url)
