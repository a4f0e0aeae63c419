"""Test server: uvicorn in a thread on a free loopback port, over any store."""

from __future__ import annotations

import asyncio
import os
import ssl
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any
from uuid import uuid4

import argon2._password_hasher
import httpx
import uvicorn.server
from argon2.low_level import hash_secret
from fastapi import FastAPI
from pydantic import SecretStr
from sqlalchemy import Engine
from tests.prefilled import fill

from tocsin.clock import FixedClock
from tocsin.logs import set_up_logs
from tocsin.server.app import StreamingServer, build_app, server_config
from tocsin.server.bootstrap import ADMINISTRATOR, first_start
from tocsin.settings import Settings
from tocsin.store.database.vault import use_vault

Json = Any  # Any: whatever JSON the server answers
KEY = "dGVzdHMgc2VhbCB3aXRoIHRoaXMga2V5LCAzMmJ5dGU="
"""The key that seals the secrets of tests."""

_LOOPBACK: dict[str, Any] = {
    "log_level": "warning",
    "secrets_key": SecretStr(KEY),
    "egress_allow": ("127.0.0.0/8",),
}

_NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""Spares every client the reading of all the authorities that it will not need."""


class _Impatient:
    """``asyncio`` as uvicorn's server sees it: its pauses of 0.1 s take longer than most tests."""

    def __getattr__(self, name: str) -> Any:
        return getattr(asyncio, name)

    async def sleep(self, delay_s: float) -> None:
        await asyncio.sleep(min(delay_s, 0.005))


setattr(uvicorn.server, "asyncio", _Impatient())  # noqa: B010  mypy knows no names that a module imports


def _hash_cheaply(secret: bytes, salt: bytes, **options: Any) -> bytes:
    """Hash a password as asked, but at the least cost: those of tests are no secrets, and every person has one."""
    return hash_secret(secret, salt, **{**options, "time_cost": 1, "memory_cost": 8, "parallelism": 1})


setattr(argon2._password_hasher, "hash_secret", _hash_cheaply)  # noqa: B010  likewise


@dataclass
class Served:
    """A running server and its clients; ``api`` paths are relative to ``/api/v1``."""

    url: str
    app: FastAPI
    password: str
    tokens: dict[str, str] = field(default_factory=dict)

    def client(self, token: str | None = None) -> httpx.Client:
        """Return an HTTP client of this server, with a token if one is given."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return httpx.Client(base_url=f"{self.url}/api/v1", headers=headers, timeout=20, verify=_NO_TLS)

    def administrator(self) -> httpx.Client:
        """Return a client that is logged in as the administrator."""
        return self.client(self.log_in(ADMINISTRATOR["email"], self.password))

    def person(self, name: str, **fields: Json) -> tuple[str, httpx.Client]:
        """Create somebody; return their id and a client that is logged in as them."""
        request = {"name": name, "email": f"{name}@example.org", "password": f"{name}-password", **fields}
        with self.administrator() as administrator:
            created = administrator.post("/users", json=request)
        assert created.status_code == 201, created.text
        return created.json()["id"], self.client(self.log_in(request["email"], request["password"]))

    def stop_clock(self) -> None:
        """Stop the clock by which routes count what one person may do in an hour: a test may run as it ends."""
        parts = self.app.state.parts
        self.app.state.parts = replace(parts, clock=FixedClock(parts.clock.now_ms()))

    def log_in(self, email: str, password: str) -> str:
        """Return a token; one log-in per address is enough."""
        if email not in self.tokens:
            with self.client() as client:
                answer = client.post("/users/login", json={"email": email, "password": password})
            assert answer.status_code == 200, answer.text
            self.tokens[email] = answer.json()["accessToken"]
        return self.tokens[email]


def server_settings(**overrides: Any) -> Settings:
    """Return the settings of a server whose receivers are on loopback.

    To read the environment takes as long as to start a server, so it is read once while it stays the same.
    """
    folder = Path(tempfile.gettempdir()) / f"tocsin-{uuid4()}"  # not there: servers of tests share no data folder
    if overrides:
        return Settings(**_LOOPBACK | {"data_dir": folder} | overrides)
    variables = frozenset(one for one in os.environ.items() if one[0].startswith("TOCSIN_"))
    return _loopback_settings(variables).model_copy(update={"data_dir": folder})


@cache
def _loopback_settings(_variables: frozenset[tuple[str, str]]) -> Settings:
    return Settings(**_LOOPBACK)


def start_store(engine: Engine, settings: Settings) -> str:
    """Do the first start of a store, unless it was done; return the administrator's password."""
    use_vault(engine, settings)
    return fill(engine, "first start", lambda: {"password": first_start(engine, settings) or ""})["password"]


@contextmanager
def running_server(
    engine: Engine,
    settings: Settings | None = None,
    *,
    password: str | None = None,
    token: str | None = None,
    port: int = 0,
) -> Iterator[Served]:
    """Run a server over ``engine`` until the block ends, at any free port if none is given.

    A store with a ``password`` has had its first start; its administrator need not log in who has a ``token``.
    """
    settings = settings or server_settings()
    set_up_logs(settings)
    password = password or start_store(engine, settings)
    app = build_app(settings, engine)
    server = StreamingServer(server_config(app, settings, log_config=None, within_s=2, port=port), app)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive(), "the server did not start"
            thread.join(0.005)
        port = server.servers[0].sockets[0].getsockname()[1]
        tokens = {ADMINISTRATOR["email"]: token} if token else {}
        yield Served(f"http://127.0.0.1:{port}", app, password, tokens)
    finally:
        server.should_exit = True
        thread.join(10)
        assert not thread.is_alive(), "the server did not stop"


def warehouse(client: httpx.Client) -> Json:
    """Create a service, a database, a schema and the table ``orders``; return the table."""
    for path, request in (
        ("/services/databaseServices", {"name": "warehouse", "serviceType": "Postgres"}),
        ("/databases", {"name": "shop", "service": "warehouse"}),
        ("/databaseSchemas", {"name": "public", "database": "warehouse.shop"}),
    ):
        assert client.post(path, json=request).status_code == 201
    return table(client, "orders")


def table(client: httpx.Client, name: str, **fields: Json) -> Json:
    """Create a table in the schema that ``warehouse`` made."""
    columns = [{"name": "id", "dataType": "BIGINT"}, {"name": "email", "dataType": "VARCHAR", "dataLength": 200}]
    request = {"name": name, "databaseSchema": "warehouse.shop.public", "columns": columns, **fields}
    answer = client.post("/tables", json=request)
    assert answer.status_code == 201, answer.text
    return answer.json()
