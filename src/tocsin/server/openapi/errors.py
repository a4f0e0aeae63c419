"""Errors of each operation: the error statuses that it may return.

Source: ``server/http/errors.py`` for the one shape that all have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute

from tocsin.model.entity import Document
from tocsin.server.http.json_schema import TEXT, ref
from tocsin.server.openapi.operations import OpenApiOperation
from tocsin.server.request import caller_of, embedded_caller_of

_SAID = {
    "400": "The request is malformed: the message names the place and the way out.",
    "401": "The token is missing, unknown, or has ended; or the password is wrong.",
    "403": "A policy denies the operation, or none allows it.",
    "404": "There is nothing of this name or id, or the sender may not see it.",
    "406": "`Accept` allows no media type that is served.",
    "408": "The body did not arrive in time.",
    "409": "The request conflicts with what is stored.",
    "412": "`If-Match` names another state than the stored one.",
    "413": "The body, or what would come of it, is too large.",
    "429": "The sender has sent too much; `Retry-After` says when to go on.",
    "431": "The headers are too large.",
    "503": "The store does not respond; `Retry-After` says when to try again.",
}
_WAIT: Document = {"Retry-After": {"description": "Seconds to wait.", "schema": TEXT}}
ERRORS: dict[str, Document] = {
    f"Error{status}": {
        "description": text,
        "content": {"application/json": {"schema": ref("Error")}},
        **({"headers": _WAIT} if status in ("429", "503") else {}),
    }
    for status, text in _SAID.items()
}
"""The answers to what cannot be done, by name."""


def errors_of(route: APIRoute, method: str, operation: OpenApiOperation) -> Document:
    """Return the errors of an operation of a route."""
    statuses = {*_statuses(route, method, operation), *operation.refuses.split()} - {*operation.never.split()}
    return {status: {"$ref": f"#/components/responses/Error{status}"} for status in sorted(statuses)}


def asks_for_token(route: APIRoute) -> bool:
    """Return whether a route answers only to requests with a token."""
    return not {caller_of, embedded_caller_of}.isdisjoint(_calls(route.dependant))


def _statuses(route: APIRoute, method: str, operation: OpenApiOperation) -> Iterator[str]:
    yield from ("400", "406", "431", "503")
    if asks_for_token(route):
        yield from ("401", "403", "429")
    if "{" in route.path_format.replace("{collection}", ""):
        yield "404"
    if method != "GET":
        yield from ("404", "409")
    if operation.body is not None:
        yield from ("408", "413")
    if any(one.alias == "if-match" for one in route.dependant.header_params):
        yield "412"


def _calls(dependant: Dependant) -> Iterator[Callable[..., Any]]:  # Any: a dependency returns what its routes take
    """Yield every dependency of a route, those of its dependencies included."""
    for child in dependant.dependencies:
        if child.call is not None:
            yield child.call
        yield from _calls(child)
