"""Exceptions for failed responses: the server's error class, recognized by status and message."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import httpx

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

_BY_STATUS: dict[int, type[TocsinError]] = {
    400: InvalidInput,
    401: Unauthenticated,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    412: PreconditionFailed,
    422: InvalidInput,
    429: TooManyRequests,
    502: Unavailable,
    503: Unavailable,
    504: Unavailable,
}


def failure(response: httpx.Response) -> TocsinError:
    """Return the error for ``response`` (a status of 300 or more), with the server's message."""
    fault = InternalError if response.status_code >= 500 else InvalidInput
    kind = _BY_STATUS.get(response.status_code, fault)
    return kind(_message(response) or f"{response.status_code} {response.reason_phrase}")


def _message(response: httpx.Response) -> str | None:
    try:
        body = response.json()
    except ValueError:
        return None
    return str(body["message"]) if isinstance(body, dict) and body.get("message") else None


@contextmanager
def reaching(server: str) -> Iterator[None]:
    """Turn a failed connection to ``server`` into Unavailable.

    Raises
    ------
    Unavailable : the server cannot be reached, or did not answer in time
    """
    try:
        yield
    except httpx.TimeoutException:
        raise Unavailable(f"{server} did not answer in time.") from None
    except (httpx.TransportError, httpx.InvalidURL) as error:
        # The sentence says all that the long chain below it would.
        raise Unavailable(
            f"{server} cannot be reached ({error or type(error).__name__}). Check that Tocsin is running there"
            " and that TOCSIN_SERVER is right."
        ) from None
