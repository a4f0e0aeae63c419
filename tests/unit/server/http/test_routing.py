"""Tests of the route index against trying all routes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest
from fastapi import FastAPI
from starlette.responses import PlainTextResponse

from tocsin.model.entity_types import BY_COLLECTION
from tocsin.server.http.routing import COLLECTION, DeclaredRoutes, IndexedRouter, LaidOutRoute, lay_out

special, of_every_collection, outside = DeclaredRoutes(prefix="/tables"), DeclaredRoutes(), DeclaredRoutes()


@special.get("/bulk")
async def bulk() -> PlainTextResponse:
    return PlainTextResponse("bulk")


@of_every_collection.get("")
async def whole_collection(collection: str) -> PlainTextResponse:
    return PlainTextResponse(f"all of {collection}")


@of_every_collection.get("/{entity_id}")
async def one(collection: str, entity_id: str) -> PlainTextResponse:
    return PlainTextResponse(f"{entity_id} of {collection}")


@of_every_collection.patch("/{entity_id}")
async def change(collection: str, entity_id: str) -> PlainTextResponse:
    return PlainTextResponse(f"changed {entity_id} of {collection}")


@outside.get("/static/{name}")
async def page(name: str) -> PlainTextResponse:
    return PlainTextResponse(name)


def all_laid_out() -> list[LaidOutRoute]:
    return [
        *lay_out(special, "/api/v1"),
        *lay_out(of_every_collection, f"/api/v1/{COLLECTION}"),
        *lay_out(outside, ""),
    ]


def client_of(laid_out: list[LaidOutRoute]) -> httpx.AsyncClient:
    app = FastAPI(openapi_url=None)
    app.router = IndexedRouter(app.router, laid_out)
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test")


@pytest.fixture
def client() -> httpx.AsyncClient:
    return client_of(all_laid_out())


async def test_a_route_is_made_when_a_request_first_needs_it() -> None:
    laid_out = all_laid_out()
    client = client_of(laid_out)
    assert [one.path for one in laid_out if one.is_made] == []
    assert (await client.get("/api/v1/tables")).status_code == 200
    assert [one.path for one in laid_out if one.is_made] == [f"/api/v1/{COLLECTION}"]


async def test_a_request_needs_no_route_of_another_method() -> None:
    laid_out = all_laid_out()
    client = client_of(laid_out)
    assert (await client.patch("/api/v1/tables/other")).text == "changed other of tables"
    assert [(one.path, one.declared.method) for one in laid_out if one.is_made] == [
        (f"/api/v1/{COLLECTION}/{{entity_id}}", "PATCH")
    ]


async def test_a_method_that_no_route_serves_is_refused(client: httpx.AsyncClient) -> None:
    refused = await client.post("/api/v1/tables/bulk")
    assert (refused.status_code, refused.headers["allow"]) == (405, "GET, PATCH")
    assert (await client.post("/api/v1/unknown/bulk")).status_code == 404


async def test_a_refusal_names_the_methods_of_all_routes_of_the_path(client: httpx.AsyncClient) -> None:
    for path, methods in (
        ("/api/v1/tables/other", "GET, PATCH"),
        ("/api/v1/tables", "GET"),
        ("/static/a.js", "GET"),
    ):
        refused = await client.delete(path)
        assert (refused.status_code, refused.headers["allow"]) == (405, methods)


async def test_what_is_special_comes_first(client: httpx.AsyncClient) -> None:
    assert (await client.get("/api/v1/tables/bulk")).text == "bulk"
    assert (await client.get("/api/v1/tables/other")).text == "other of tables"


@pytest.mark.parametrize("collection", BY_COLLECTION)
async def test_every_collection_is_found(client: httpx.AsyncClient, collection: str) -> None:
    assert (await client.get(f"/api/v1/{collection}")).text == f"all of {collection}"
    assert (await client.get(f"/api/v1/{collection}/x")).text == f"x of {collection}"


async def test_paths_outside_the_api_are_found(client: httpx.AsyncClient) -> None:
    assert (await client.get("/static/a.js")).text == "a.js"


async def test_an_unknown_path_is_404_and_a_wrong_method_405(client: httpx.AsyncClient) -> None:
    assert (await client.get("/api/v1/nothing")).status_code == 404
    assert (await client.get("/api/v1/tables/a/b/c")).status_code == 404
    refused = await client.post("/api/v1/tables")
    assert (refused.status_code, refused.headers["Allow"]) == (405, "GET")


async def test_what_the_plain_router_does_at_the_end_is_still_done() -> None:
    ended = []

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        yield
        ended.append("ended")

    app = FastAPI(openapi_url=None, lifespan=lifespan)
    app.router = IndexedRouter(app.router, [])
    async with app.router.lifespan_context(app):
        assert not ended
    assert ended == ["ended"]
