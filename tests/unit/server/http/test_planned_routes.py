"""Tests of planned routes against the same routes as FastAPI answers them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from typing import Annotated, Any
from uuid import UUID

import httpx
import pytest
from fastapi import APIRouter, Depends, FastAPI, Header, Path, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from tocsin.server.app import _routes
from tocsin.server.http.planned_routes import PlannedRoute, in_thread

happened: list[str] = []


async def person(request: Request) -> AsyncIterator[str]:
    happened.append("begun")
    try:
        yield request.headers.get("x-person", "nobody")
    finally:
        happened.append("ended")


def checked_in_thread(number: Annotated[int, Query(le=9)] = 3) -> int:
    return number if threading.current_thread() is not threading.main_thread() else -1


async def name_of(whose: Annotated[str, Depends(person)]) -> str:
    return whose.upper()


def answer_in_thread(
    entity_id: Annotated[UUID, Path()],
    whose: Annotated[str, Depends(person)],
    name: Annotated[str, Depends(name_of)],
    number: Annotated[int, Depends(checked_in_thread)],
    limit: Annotated[int, Query(ge=0)] = 10,
    if_match: Annotated[str | None, Header(max_length=5)] = None,
) -> Response:
    if limit == 0:
        raise HTTPException(409, "nothing to say")
    return Response(f"{entity_id} {whose} {name} {number} {limit} {if_match}")


async def answer_at_once(whose: Annotated[str, Depends(person)]) -> Response:
    return Response(whose)


async def answer_a_document(whose: Annotated[str, Depends(person)]) -> dict[str, str]:
    return {"whose": whose}


def _client(route_type: type[PlannedRoute] | None) -> httpx.AsyncClient:
    app, router = FastAPI(openapi_url=None), APIRouter()
    options: dict[str, Any] = {} if route_type is None else {"route_class_override": route_type}
    for path, endpoint in (
        ("/of/{entity_id}", answer_in_thread),
        ("/now", answer_at_once),
        ("/json", answer_a_document),
    ):
        router.add_api_route(path, endpoint, **options)
    app.router.routes.extend(router.routes)

    @app.exception_handler(RequestValidationError)
    async def say(_request: Request, error: RequestValidationError) -> Response:
        return Response(repr([(one["type"], one["loc"], one["msg"]) for one in error.errors()]), 400)

    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test")


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/of/01a21dc8-924d-756f-a067-b061daff181e", {"x-person": "ada", "if-match": "abc"}),
        ("/of/01a21dc8-924d-756f-a067-b061daff181e?limit=3&number=4", {}),
        ("/of/01a21dc8-924d-756f-a067-b061daff181e?limit=0", {}),
        ("/of/no-id?limit=-1&number=10", {"if-match": "far too long"}),
        ("/of/no-id?number=x", {}),
        ("/of/01a21dc8-924d-756f-a067-b061daff181e?Limit=3", {"if_match": "abc"}),
        ("/of/01a21dc8-924d-756f-a067-b061daff181e?limit=", {"if-match": ""}),
        ("/now", {"x-person": "ada"}),
        ("/json", {"x-person": "ada"}),
    ],
)
async def test_answers_are_those_of_fastapi(path: str, headers: dict[str, str]) -> None:
    planned, plain = [await _client(one).get(path, headers=headers) for one in (PlannedRoute, None)]
    assert (planned.status_code, planned.content) == (plain.status_code, plain.content)


async def test_a_dependency_is_called_once_and_ends_after_the_answer() -> None:
    happened.clear()
    await _client(PlannedRoute).get("/of/01a21dc8-924d-756f-a067-b061daff181e")
    assert happened == ["begun", "ended"]


async def test_who_is_cancelled_waits_for_the_thread() -> None:
    has_begun, is_over, may_end = threading.Event(), threading.Event(), threading.Event()

    def work() -> None:
        has_begun.set()
        may_end.wait(5)
        is_over.set()

    task = asyncio.create_task(in_thread(work))
    assert await asyncio.to_thread(has_begun.wait, 5)
    task.cancel()
    may_end.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert is_over.is_set()


def test_every_route_has_a_plan_but_those_with_cookies_and_streams() -> None:
    unplanned = {one.path for one in _routes() if getattr(one.route, "plan", None) is None}
    assert unplanned == {
        "/api/v1/auth/callback",
        "/api/v1/auth/token",
        "/api/v1/auth/session",
        "/api/v1/users/{user_id}/notifications/stream",
    }
