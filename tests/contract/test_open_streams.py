"""Tests that an open stream ends when its token, its user or the administrator's right is revoked."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import httpx
import pytest
from pydantic import SecretStr
from sqlalchemy import Engine
from tests.serving import KEY, Json, Served, running_server
from tests.startedstore import StartedStore
from tests.waiting import until

from tocsin.settings import Settings

LONGEST_S = 20
"""How long a test waits for the end of a stream, which comes at once where nothing else runs."""

CHECK_S = 0.05


@pytest.fixture(autouse=True)
def checked_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tocsin.server.inbox.streams.CHECK_S", CHECK_S)


@contextmanager
def open_stream(served: Served, user_id: str, token: str) -> Iterator[socket.socket]:
    """Open a stream and yield its socket; the server has looked at its token once."""
    address = urlsplit(served.url)
    with socket.create_connection((address.hostname, address.port), timeout=LONGEST_S) as reading:
        head = f"GET /api/v1/users/{user_id}/notifications/stream HTTP/1.1\r\nHost: x\r\n"
        reading.sendall(f"{head}Authorization: Bearer {token}\r\n\r\n".encode())
        begun = reading.recv(4096)
        assert b" 200 " in begun.splitlines()[0], begun
        time.sleep(2 * CHECK_S)
        yield reading


def wait_until_it_ends(reading: socket.socket) -> None:
    """Return when the server has ended the stream; fail when it has not after a while."""
    received = b"\r\n"  # the end of the chunk before may have been read already
    while chunk := reading.recv(4096):
        received += chunk
        if received.endswith(b"\r\n0\r\n\r\n"):  # the last chunk
            return


@pytest.fixture
def elsewhere(served: Served, sqlite_engine: Engine, started_store: StartedStore) -> Iterator[Served]:
    """Another server over the same store, connected to the first only by the store."""
    settings = Settings(log_level="warning", secrets_key=SecretStr(KEY))
    with running_server(sqlite_engine, settings, password=started_store.password, token=started_store.token) as server:
        yield server


def new_password(administrator: httpx.Client, _: str, alice: httpx.Client) -> Json:
    return administrator.put("/users/changePassword", json={"username": "alice", "newPassword": "another-password"})


def deletion(administrator: httpx.Client, user_id: str, alice: httpx.Client) -> Json:
    return administrator.delete(f"/users/{user_id}")


def log_out(administrator: httpx.Client, user_id: str, alice: httpx.Client) -> Json:
    return alice.post("/users/logout")


End = Callable[[httpx.Client, str, httpx.Client], httpx.Response]


@pytest.mark.parametrize("end", [new_password, deletion, log_out])
@pytest.mark.parametrize("on_another_server", [False, True])
def test_a_stream_ends_with_what_let_it_in(
    served: Served, elsewhere: Served, administrator: httpx.Client, end: End, on_another_server: bool
) -> None:
    user_id, alice = served.person("alice")
    opened = open_stream(elsewhere if on_another_server else served, user_id, served.tokens["alice@example.org"])
    with alice, opened as stream:
        assert end(administrator, user_id, alice).status_code == 200
        wait_until_it_ends(stream)


def test_a_stream_ends_when_the_bots_token_is_revoked(served: Served, administrator: httpx.Client) -> None:
    bot = administrator.post("/users", json={"name": "bot", "email": "bot@example.org", "isBot": True}).json()
    token = administrator.put(f"/users/generateToken/{bot['id']}").json()["JWTToken"]
    with open_stream(served, bot["id"], token) as stream:
        assert administrator.put("/users/revokeToken", json={"id": bot["id"]}).status_code == 200
        wait_until_it_ends(stream)


def test_a_stream_of_somebody_elses_inbox_ends_with_the_administrators_right(
    served: Served, administrator: httpx.Client
) -> None:
    user_id, alice = served.person("alice")
    boss_id, boss = served.person("boss", isAdmin=True)
    alice.close()
    boss.close()
    demotion = [{"op": "replace", "path": "/isAdmin", "value": False}]
    headers = {"Content-Type": "application/json-patch+json"}
    with open_stream(served, user_id, served.tokens["boss@example.org"]) as stream:
        assert administrator.patch(f"/users/{boss_id}", json=demotion, headers=headers).status_code == 200
        wait_until_it_ends(stream)


def test_one_stream_too_many_is_refused_and_the_next_may_come_when_one_has_ended(
    sqlite_engine: Engine, started_store: StartedStore
) -> None:
    settings = Settings(log_level="warning", streams_per_person=2)
    with running_server(sqlite_engine, settings, password=started_store.password, token=started_store.token) as served:
        user_id, alice = served.person("alice")
        path, token = f"/users/{user_id}/notifications/stream", served.tokens["alice@example.org"]
        with alice, open_stream(served, user_id, token):
            with open_stream(served, user_id, token):
                refused = alice.get(path)
                assert (refused.status_code, refused.headers["Retry-After"]) == (429, "5")
            until(lambda: _is_let_in(alice, path), within_s=LONGEST_S)


def _is_let_in(person: httpx.Client, path: str) -> bool:
    with person.stream("GET", path) as answer:
        return answer.status_code == 200
