"""Tests of the status and body of every error."""

from __future__ import annotations

import json
from collections.abc import Iterator

import httpx
import pytest
from fastapi import FastAPI
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route, Router
from starlette.types import Message, Receive, Scope, Send
from structlog.testing import capture_logs

from tocsin import errors
from tocsin.errors import Conflict, InvalidCondition, InvalidInput, MissingExtra, PreconditionFailed, TocsinError
from tocsin.model.validation_errors import describe_validation
from tocsin.server.http.errors import STATUS_OF, Boundary, error_answer, explain, status_of
from tocsin.server.http.paths import RawPaths


def subclasses(kind: type[TocsinError]) -> Iterator[type[TocsinError]]:
    for subclass in kind.__subclasses__():
        yield subclass
        yield from subclasses(subclass)


def test_every_family_has_a_status() -> None:
    families = set(TocsinError.__subclasses__())
    assert {one for one in families if one.__module__ == errors.__name__} <= set(STATUS_OF)


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (InvalidInput(), 400),
        (InvalidCondition(), 400),
        (Conflict(), 409),
        (PreconditionFailed(), 412),
        (MissingExtra(), 503),
        (TocsinError(), 500),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_failure_answers_as_its_nearest_family(error: TocsinError, status: int) -> None:
    assert status_of(error) == status


def test_a_condition_error_says_where_what_and_how_else() -> None:
    error = InvalidCondition("Unknown field eventTipe", line=2, column=7, expected=("a field",), suggestion="eventType")
    assert explain(error) == "Unknown field eventTipe (line 2, column 7); did you mean eventType?"


def test_the_place_is_named_once() -> None:
    assert explain(InvalidInput("must be a list", field="owners")) == "owners: must be a list"
    assert explain(InvalidInput("owners must be a list", field="owners")) == "owners must be a list"
    error = InvalidInput("unknown key; valid keys: about, announcementDetails", field="announcement")
    assert explain(error) == "announcement: unknown key; valid keys: about, announcementDetails"


def test_what_pydantic_found_becomes_one_line() -> None:
    errors: list[dict[str, object]] = [
        {"type": "missing", "loc": ("body", "destinations", 0, "type"), "msg": "Field required"},
        {"type": "extra_forbidden", "loc": ("colour",), "msg": "Extra inputs are not permitted"},
    ]
    assert describe_validation(errors) == "destinations[0].type: is missing; colour: unknown key; remove it"
    assert describe_validation(errors * 4) == describe_validation(errors)
    many = [{"type": "missing", "loc": (f"k{number}",)} for number in range(8)]
    assert describe_validation(many).endswith("k4: is missing; and 3 more")


def test_what_may_be_one_or_the_other_is_said_once() -> None:
    errors = [
        {"type": "greater_than_equal", "loc": ("query", "offset", "constrained-int"), "ctx": {"ge": 0}},
        {"type": "literal_error", "loc": ("query", "offset", "literal['latest']"), "ctx": {"expected": "'latest'"}},
    ]
    assert describe_validation(errors) == "offset: must be 0 or more, or must be 'latest'"


async def response_of(boundary: Boundary) -> list[Message]:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        return {"type": "http.request"}

    await boundary({"type": "http", "method": "GET", "path": "/x", "headers": []}, receive, send)
    return sent


async def test_a_surprise_is_500_with_an_incident_and_without_its_text() -> None:
    async def fail(_scope: Scope, _receive: Receive, _send: Send) -> None:
        raise RuntimeError("the password is hunter2")

    start, body = await response_of(Boundary(fail))
    error = json.loads(body["body"])
    assert (start["status"], error["code"]) == (500, 500)
    assert "hunter2" not in error["message"]


async def test_a_surprise_in_the_middle_of_an_answer_sends_nothing_more() -> None:
    async def fail_late(scope: Scope, receive: Receive, send: Send) -> None:
        assert Request(scope, receive).method == "GET"
        await send({"type": "http.response.start", "status": 200, "headers": []})
        raise RuntimeError

    assert [message["type"] for message in await response_of(Boundary(fail_late))] == ["http.response.start"]


async def test_a_client_that_disconnects_is_no_failure() -> None:
    async def disconnect(_scope: Scope, _receive: Receive, _send: Send) -> None:
        raise ClientDisconnect

    with capture_logs() as logged:
        assert await response_of(Boundary(disconnect)) == []
    assert {line["event"] for line in logged} <= {"client_disconnected"}


@pytest.mark.parametrize("fault", [OSError(28, "No space left on device"), RuntimeError("what nobody expected")])
async def test_the_log_of_a_failed_request_names_the_route_and_not_the_token_in_its_path(fault: Exception) -> None:
    app = FastAPI(middleware=[Middleware(Boundary), Middleware(RawPaths)])

    @app.get("/unsubscribe/{token}")
    def fail(token: str) -> None:
        raise fault

    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://here") as client:
        with capture_logs() as log_entries:
            answer = await client.get("/unsubscribe/s3cret")
    (line,) = map(str, log_entries)
    assert answer.status_code in (500, 503)
    assert ("s3cret" in line, "/unsubscribe/{token}" in line) == (False, True)


async def test_every_answer_says_that_it_is_what_it_is_called_and_that_nobody_keeps_it() -> None:
    async def page(_request: Request) -> Response:
        return Response("page", headers={"Cache-Control": "no-cache"})

    app = Boundary(RawPaths(Router([Route("/page", page)])))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://here") as client:
        answers = [await client.get(path) for path in ("/page", "/nowhere", "/%00")]
    assert [one.headers["Cache-Control"] for one in answers] == ["no-cache", "no-store", "no-store"]
    assert {one.headers["X-Content-Type-Options"] for one in answers} == {"nosniff"}


def test_a_message_that_quotes_what_was_sent_is_answered_in_part() -> None:
    assert len(error_answer(400, "k" * 5_000_000).body) < 10_000
