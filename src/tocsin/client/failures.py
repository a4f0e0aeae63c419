"""Which error does a failed answer become? The one the server raised, told by its code or else by its status."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx

from tocsin.errors import (
    Conflict,
    Forbidden,
    InternalError,
    InvalidCondition,
    InvalidInput,
    NotFound,
    PreconditionFailed,
    TocsinError,
    Unauthenticated,
    Unavailable,
)

_BY_STATUS: dict[int, type[TocsinError]] = {
    400: InvalidInput,
    401: Unauthenticated,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    412: PreconditionFailed,
    422: InvalidInput,
    429: Unavailable,
    502: Unavailable,
    503: Unavailable,
    504: Unavailable,
}


def failure(response: httpx.Response) -> TocsinError:
    """Return the error that ``response`` (a status of 300 or more) stands for."""
    facts = _facts(response)
    message = str(facts.get("message") or f"{response.status_code} {response.reason_phrase}")
    if facts.get("errorType") == InvalidCondition.code:
        return InvalidCondition(
            message,
            line=int(facts.get("line", 1)),
            column=int(facts.get("column", 1)),
            expected=tuple(facts.get("expected") or ()),
            suggestion=facts.get("suggestion"),
        )
    kind = _BY_STATUS.get(response.status_code)
    if kind is InvalidInput:
        return InvalidInput(message, field=facts.get("field"))
    if kind is None:
        kind = InternalError if response.status_code >= 500 else InvalidInput
    return kind(message)


def _facts(response: httpx.Response) -> dict[str, Any]:  # Any: the body's JSON values
    try:
        body = response.json()
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}


@contextmanager
def reaching(server: str) -> Iterator[None]:
    """Turn a failed connection to ``server`` into Unavailable."""
    try:
        yield
    except httpx.TimeoutException as error:
        raise Unavailable(f"{server} took too long to answer.") from error
    except (httpx.TransportError, httpx.InvalidURL) as error:
        raise Unavailable(f"{server} cannot be reached: {error or type(error).__name__}") from error
