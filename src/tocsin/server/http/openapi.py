"""OpenAPI document of the API: FastAPI's, completed by what the routes' dependencies read and the errors they raise.

Bodies are read by dependencies (``server/http/request.py``) and errors have one shape (``server/http/errors.py``), of
which FastAPI knows neither. Next: ``docs/api.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from fastapi import FastAPI
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute

from tocsin.model.entity import Document
from tocsin.model.entity_types import BY_COLLECTION
from tocsin.server.http.request import caller_of, csv_of, document_of, json_of, optional_document_of, text_of

_ERROR = {"$ref": "#/components/schemas/Error"}
_SCHEMAS: Document = {
    "Error": {
        "type": "object",
        "required": ["code", "message"],
        "properties": {
            "code": {"type": "integer", "description": "The HTTP status."},
            "message": {"type": "string", "description": "What is wrong, where, and what to do."},
        },
        "example": {"code": 404, "message": "table pg.shop.public.orders does not exist"},
    },
    "JsonPatch": {
        "type": "array",
        "description": "Operations of RFC 6902.",
        "items": {
            "type": "object",
            "required": ["op", "path"],
            "properties": {
                "op": {"enum": ["add", "remove", "replace", "move", "copy", "test"]},
                "path": {"type": "string"},
                "from": {"type": "string"},
                "value": {},
            },
        },
        "example": [{"op": "add", "path": "/description", "value": "All orders."}],
    },
}
_ERRORS = {
    "400": "The request is malformed: the message names the place and the way out.",
    "401": "The token is missing, unknown, or has ended.",
    "403": "A policy denies the operation, or none allows it.",
    "404": "There is nothing of this name or id, or the sender may not see it.",
    "409": "The request conflicts with what is stored.",
    "412": "`If-Match` names another state than the stored one.",
    "413": "The body is too large.",
    "429": "The sender has sent too much; `Retry-After` says when to go on.",
    "503": "The store does not respond; `Retry-After` says when to try again.",
}
_OF_WRITES = frozenset({"412", "413"})
_OF_PEOPLE = frozenset({"401", "403"})
_COLLECTION: Document = {
    "name": "collection",
    "in": "path",
    "required": True,
    "description": "Collection of an entity type.",
    "schema": {"type": "string", "enum": sorted(BY_COLLECTION)},
    "example": "tables",
}
_OBJECT: Document = {"type": "object"}
_BODIES: dict[Callable[..., Any], Document] = {  # Any: a dependency returns what its routes take
    document_of: {"required": True, "content": {"application/json": {"schema": _OBJECT}}},
    optional_document_of: {"required": False, "content": {"application/json": {"schema": _OBJECT}}},
    json_of: {"required": True, "content": {"application/json": {"schema": {"type": ["object", "array", "string"]}}}},
    csv_of: {"required": True, "content": {"text/csv": {"schema": {"type": "string"}}}},
    text_of: {"required": True, "content": {"text/plain": {"schema": {"type": "string"}}}},
}
_PATCH: Document = {
    "required": True,
    "content": {"application/json-patch+json": {"schema": {"$ref": "#/components/schemas/JsonPatch"}}},
}


def openapi_document(app: FastAPI) -> Document:
    """Return the document of an application's routes."""
    document: Document = app.openapi()
    document["components"] = {
        "schemas": _without_validation_errors(document["components"]["schemas"]) | _SCHEMAS,
        "securitySchemes": {"token": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}},
    }
    document["security"] = [{"token": []}]
    for route in app.router.routes:
        if isinstance(route, APIRoute) and route.include_in_schema:
            for method in route.methods or ():
                _complete(document["paths"][route.path_format][method.lower()], method, route)
    return document


def _complete(operation: Document, method: str, route: APIRoute) -> None:
    calls = set(_calls(route.dependant))
    if "{collection}" in route.path_format:
        operation["parameters"] = [_COLLECTION, *operation.get("parameters", ())]
    if (body := _body(method, calls)) is not None:
        operation["requestBody"] = body
    if caller_of not in calls:
        operation["security"] = []
    operation["responses"] = _successes(operation["responses"]) | {
        status: {"description": text, "content": {"application/json": {"schema": _ERROR}}}
        for status, text in _ERRORS.items()
        if (method != "GET" or status not in _OF_WRITES) and (caller_of in calls or status not in _OF_PEOPLE)
    }


def _calls(dependant: Dependant) -> Iterator[Callable[..., Any]]:  # Any: as above
    """Yield every dependency of a route, those of its dependencies included."""
    for one in dependant.dependencies:
        if one.call is not None:
            yield one.call
        yield from _calls(one)


def _body(method: str, calls: set[Callable[..., Any]]) -> Document | None:  # Any: as above
    if method == "PATCH" and json_of in calls:
        return _PATCH
    return next((body for call, body in _BODIES.items() if call in calls), None)


def _successes(responses: Document) -> Document:
    """Return the responses without FastAPI's 422, which is never sent, and in the words of OpenAPI 3.1."""
    kept = {status: response for status, response in responses.items() if status != "422"}
    for response in kept.values():
        for media in response.get("content", {}).values():
            item = media.pop("itemSchema", None)  # OpenAPI 3.2: one event of a stream
            if item is not None:
                media["schema"] = {"type": "string", "description": "Server-sent events."}
    return kept


def _without_validation_errors(schemas: Document) -> Document:
    return {name: schema for name, schema in schemas.items() if name not in ("HTTPValidationError", "ValidationError")}
