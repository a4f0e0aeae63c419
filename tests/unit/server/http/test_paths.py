"""Tests of splitting paths before decoding."""

from __future__ import annotations

import pytest
from starlette.types import Message, Receive, Scope, Send

from tocsin.server.http.paths import RawPaths


async def route(raw: str, query: str = "") -> tuple[str | None, int | None]:
    """Return the path that routing sees, or the status that was answered instead."""
    routed_paths: list[str] = []
    statuses: list[int] = []

    async def inner(scope: Scope, _receive: Receive, _send: Send) -> None:
        routed_paths.append(scope["path"])

    async def receive() -> Message:
        return {"type": "http.request"}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    scope = {"type": "http", "path": "?", "raw_path": raw.encode(), "query_string": query.encode(), "headers": []}
    await RawPaths(inner)(scope, receive, send)
    return next(iter(routed_paths), None), next(iter(statuses), None)


@pytest.mark.parametrize(
    ("raw", "path"),
    [
        ("/api/v1/tables", "/api/v1/tables"),
        ("/v1/tables", "/api/v1/tables"),
        ("/v1", "/api/v1"),
        ("/v10/tables", "/v10/tables"),
        ("/api/v1/tables/", "/api/v1/tables"),
        ("/", "/"),
        ("/api/v1/tables/name/%22a.b%2Fc%22", "/api/v1/tables/name/%22a.b%2Fc%22"),
        ("/api/v1/tables/name/a&include=all", "/api/v1/tables/name/a"),
        ("/api/v1/tables/name/a&b", "/api/v1/tables/name/a&b"),
        ("/api/v1/tables/name/a%26include=all", "/api/v1/tables/name/a%26include=all"),
    ],
)
async def test_routing_sees_the_path_as_it_was_sent(raw: str, path: str) -> None:
    assert await route(raw) == (path, None)


@pytest.mark.parametrize(("raw", "query"), [("/v1/a%00", ""), ("/v1/a", "after=%00")])
async def test_nul_goes_no_further(raw: str, query: str) -> None:
    assert await route(raw, query) == (None, 400)


async def test_an_encoded_percent_sign_is_no_nul() -> None:
    assert await route("/v1/a%2500") == ("/api/v1/a%2500", None)
