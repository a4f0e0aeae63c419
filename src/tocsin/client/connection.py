"""Connection of a client to a server: its address and token, and the steps that both clients share.

The arguments win over ``TOCSIN_SERVER`` and ``TOCSIN_TOKEN``; the default is a server on this machine, on
``TOCSIN_PORT`` or the default port. A failed response becomes the server's error class, recognized by its status.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

import httpx

from tocsin.client.call import ApiCall
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
from tocsin.model.stated_reason import WHY_HEADER, header_value, parse_reason

T = TypeVar("T")

_HERE = "http://127.0.0.1"
_PORT = "8585"
TIMEOUT_S = 30.0


@dataclass(frozen=True)
class Address:
    """A server and the token to show it, which is kept out of every printed form; ``why`` is the reason of writes."""

    server: str
    token: str | None = field(default=None, repr=False)
    why: str | None = None


def local_server(port: str | None) -> str:
    """Return the address of a server on this machine; ``port`` is None for the usual one."""
    return f"{_HERE}:{port or _PORT}"


def address_of(server: str | None, token: str | None, why: str | None = None) -> Address:
    """Return the address that the arguments and the environment give.

    ``server`` may end in ``/api`` or ``/api/v1``, as in OpenMetadata's ``hostPort``.

    Raises
    ------
    InvalidInput : ``why`` is no reason (``model/stated_reason.py``)
    """
    address = (server or os.environ.get("TOCSIN_SERVER") or local_server(os.environ.get("TOCSIN_PORT"))).rstrip("/")
    server = address.removesuffix("/v1").removesuffix("/api")
    return Address(server, token or os.environ.get("TOCSIN_TOKEN"), None if why is None else parse_reason(why))


def request_of(http: httpx.Client | httpx.AsyncClient, call: ApiCall[T], address: Address) -> httpx.Request:
    """Return the HTTP request that asks for ``call``."""
    authorization = {"Authorization": f"Bearer {address.token}"} if address.token else {}
    why = {WHY_HEADER: header_value(address.why)} if address.why and call.method != "GET" else {}
    headers = {"Content-Type": "application/json", **authorization, **why, **call.headers}
    content = None if call.body is None else json.dumps(call.body).encode()
    url = f"{address.server}/api/v1/{call.path}"
    return http.build_request(call.method, url, params=dict(call.query) or None, headers=headers, content=content)


def answer_of(call: ApiCall[T], response: httpx.Response) -> T:
    """Return what ``call`` asked for; raises a TocsinError when the server refused."""
    if response.status_code >= 300:
        raise failure(response)
    try:
        body = response.text if call.is_text else response.json() if response.content else None
        answer = call.read(body)
        return call.read_headers(answer, response.headers) if call.read_headers else answer
    except (ValueError, KeyError, TypeError) as error:
        raise InternalError(f"Unexpected answer from {response.url} ({error!r}); check TOCSIN_SERVER.") from error


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
