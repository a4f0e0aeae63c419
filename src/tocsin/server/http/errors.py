"""Table of the HTTP status of each error family, and the JSON body of errors.

There is one shape for every error: ``{"code": 404, "message": "…"}`` with an integer code, which is what
OpenMetadata's client requires. Next: ``server/request.py``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import partial
from http import HTTPStatus
from typing import TypeVar
from uuid import uuid4

import orjson
import structlog
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tocsin import errors
from tocsin.model.entity import Document
from tocsin.model.validation_errors import describe_validation
from tocsin.server.http.unserved import unserved_hint
from tocsin.store.database.faults import failure_for

STATUS_OF: dict[type[errors.TocsinError], HTTPStatus] = {
    errors.TooLarge: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    errors.InvalidInput: HTTPStatus.BAD_REQUEST,
    errors.Unauthenticated: HTTPStatus.UNAUTHORIZED,
    errors.Forbidden: HTTPStatus.FORBIDDEN,
    errors.NotFound: HTTPStatus.NOT_FOUND,
    errors.PreconditionFailed: HTTPStatus.PRECONDITION_FAILED,
    errors.Conflict: HTTPStatus.CONFLICT,
    errors.TooManyRequests: HTTPStatus.TOO_MANY_REQUESTS,
    errors.Unavailable: HTTPStatus.SERVICE_UNAVAILABLE,
    errors.StoreDamaged: HTTPStatus.SERVICE_UNAVAILABLE,
    errors.InternalError: HTTPStatus.INTERNAL_SERVER_ERROR,
}
"""Every family and its status; a subclass answers as its nearest ancestor here."""

LONGEST_MESSAGE = 4_000
"""Characters of a message that are answered."""

_GUARDS = [(b"x-content-type-options", b"nosniff"), (b"cache-control", b"no-store")]
"""Headers of every answer that does not say otherwise: it is what it says it is, and nobody keeps it."""

_log = structlog.get_logger()
Model = TypeVar("Model", bound=BaseModel)
Suggest = Callable[[Request, str, str], str]
"""Returns what to add to the message that no entity of this type has this FQN."""
Page = Callable[[Request, int, str], Response | None]
"""Returns the page that says an error, by its status and message, to a browser; None where it is said as JSON."""


def status_of(error: errors.TocsinError) -> HTTPStatus:
    """Return the HTTP status of ``error``: that of its nearest family."""
    return next((STATUS_OF[kind] for kind in type(error).__mro__ if kind in STATUS_OF), HTTPStatus(500))


def error_answer(status: int, message: str, headers: dict[str, str] | None = None) -> Response:
    """Return the one shape that every error is answered in; a long message, such as one that quotes, is cut."""
    text = message if len(message) <= LONGEST_MESSAGE else f"{message[:LONGEST_MESSAGE]}…"
    body = orjson.dumps({"code": int(status), "message": text})
    return Response(body, status_code=status, headers=headers, media_type="application/json")


def install_errors(app: FastAPI, suggest: Suggest, page: Page) -> None:
    """Make ``app`` answer every failure in that shape, or by a page where ``page`` has one.

    ``suggest`` adds a similar name to one that is not found.
    """
    app.add_exception_handler(errors.TocsinError, partial(_tocsin_error, suggest, page))
    app.add_exception_handler(RequestValidationError, partial(_invalid, page))
    app.add_exception_handler(HTTPException, partial(_http, page))


class Boundary:
    """The outermost layer of a request: what nobody expected is logged with an id and answered 500.

    A fault of the store or the disk is not Tocsin's: whichever statement meets it, it is answered 503 here.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; answer for whatever it raises."""
        is_started = False

        async def watch(message: Message) -> None:
            nonlocal is_started
            if message["type"] == "http.response.start":
                is_started = True
                message["headers"] = _with_guards(message["headers"])
            await send(message)

        try:
            await self._app(scope, receive, watch)
        except ClientDisconnect:  # nobody reads an answer
            _log.info("client_disconnected", method=scope["method"], path=logged_path(scope))
        except Exception as error:  # the request boundary, one of the three places of the house style
            if scope["type"] != "http":
                raise
            if (failure := failure_for(error)) is not None:
                path, reason = logged_path(scope), failure.message
                _log.warning("request_unavailable", method=scope["method"], path=path, reason=reason)
                if not is_started:
                    await _failure_answer(failure, explain(failure))(scope, receive, watch)
                return
            incident = str(uuid4())
            _log.exception("request_failed", incident=incident, method=scope["method"], path=logged_path(scope))
            if not is_started:
                answer = error_answer(500, f"Internal error; see incident {incident} in the server's log.")
                await answer(scope, receive, watch)


def _with_guards(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    own_headers = list(headers)
    names = {name.lower() for name, _ in own_headers}
    return own_headers + [guard for guard in _GUARDS if guard[0] not in names]


def logged_path(scope: Scope) -> str:
    """Return the path of a request's route: the path itself may contain what must not be logged, such as a token."""
    return str(getattr(scope.get("route"), "path", scope["path"]))


def _tocsin_error(suggest: Suggest, page: Page, request: Request, error: Exception) -> Response:
    assert isinstance(error, errors.TocsinError)  # noqa: S101  what Starlette registers the handler for
    message = explain(error)
    if isinstance(error, errors.NotFound) and error.fqn:
        message += suggest(request, error.entity_type, error.fqn)
    return page(request, status_of(error), message) or _failure_answer(error, message)


def _failure_answer(error: errors.TocsinError, message: str) -> Response:
    status, headers = status_of(error), {}
    if status == HTTPStatus.UNAUTHORIZED:
        headers["WWW-Authenticate"] = "Bearer"
    if isinstance(error, errors.Unavailable) and error.retry_after_s is not None:
        headers["Retry-After"] = str(error.retry_after_s)
    return error_answer(status, message, headers)


def explain(error: errors.TocsinError) -> str:
    """Return the message with the place and the way out, where the error knows them."""
    if isinstance(error, errors.InvalidCondition):
        return _explain_condition(error)
    if isinstance(error, errors.InvalidInput) and error.field and not _says(error.message, error.field):
        return f"{error.field}: {error.message}"
    return error.message


def _says(message: str, field: str) -> bool:
    """Return whether a message names a field, rather than a word that its name is a part of."""
    return re.search(rf"(?<!\w){re.escape(field)}(?!\w)", message) is not None


def _explain_condition(error: errors.InvalidCondition) -> str:
    """Return the message with whatever of place, expected words and suggestion it does not say itself."""
    parts = [error.message]
    if f"column {error.column}" not in error.message:
        parts[0] += f" (line {error.line}, column {error.column})"
    if error.suggestion is None and any(word not in error.message for word in error.expected):
        parts.append(f"expected {', '.join(error.expected)}")
    if error.suggestion and error.suggestion not in error.message:
        parts.append(f"did you mean {error.suggestion}?")
    return "; ".join(parts)


def _invalid(page: Page, request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101  as above
    message = describe_validation(error.errors())
    return page(request, 400, message) or error_answer(400, message)


def _http(page: Page, request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101  as above
    message = str(error.detail)
    if error.status_code == HTTPStatus.NOT_FOUND:
        message = unserved_hint(request.url.path) or "Unknown path; see docs/api.md."
    elif error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        message = f"{request.method} is not allowed on this path; see docs/api.md."
    return page(request, error.status_code, message) or error_answer(
        error.status_code, message, dict(error.headers or {})
    )


def parse_as(model: type[Model], body: Document) -> Model:
    """Return the body as a model.

    Raises
    ------
    InvalidInput : it is none; the message names each place
    """
    try:
        return model.model_validate(body)
    except ValidationError as error:
        raise errors.InvalidInput(describe_validation(error.errors(), model)) from error
