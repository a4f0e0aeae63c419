"""OpenAPI 3.1 document of the API, from the routes, the entity types and the tables of this package.

FastAPI knows paths and parameters; bodies are read by dependencies (``server/request.py``), answers are made by
hand, and errors have one shape, of which it knows nothing. The routes that every collection has are written out for
each. Next: ``operations.py``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

import orjson
from fastapi import FastAPI
from fastapi.routing import APIRoute
from pydantic import BaseModel

from tocsin.model.entity import Document, EntityReference
from tocsin.model.entity_type import EntityType
from tocsin.model.entity_types import BY_COLLECTION
from tocsin.server.http.json_schema import TEXT, array, page, ref
from tocsin.server.http.media_types import LINKED_DATA
from tocsin.server.openapi.answer_schemas import ANSWERS
from tocsin.server.openapi.entity_schemas import EntitySchemas, schema_name
from tocsin.server.openapi.errors import ERRORS, asks_for_token, errors_of
from tocsin.server.openapi.operations import OpenApiOperation, has, name_of, operation_of
from tocsin.server.openapi.parameters import WHY_PARAMETER, parameters_of
from tocsin.server.openapi.requests import MODELS, REQUESTS

_COLLECTION = "{collection}"
_REFERENCE = re.compile(r"#/components/schemas/(\w+)")
_NAME = re.compile(r"\{(\w+)\}")
_BODY_MEDIA = {
    "JsonPatch": "application/json-patch+json",
    "Csv": "text/csv",
    "QueryText": "text/plain",
    "SlackInteraction": "application/x-www-form-urlencoded",
    "ChangeAnswerForm": "application/x-www-form-urlencoded",
    "UnsubscribeForm": "application/x-www-form-urlencoded",
}
_OPTIONAL_BODIES = frozenset({"BotTokenRequest", "UnsubscribeForm"})
_TEXTS: dict[str, Document] = {
    "Stream": {
        "type": "string",
        "description": "Server-sent events: `notification` with one, `reset` with a position.",
    },
    "LinkedData": {
        "description": "RDF: an object in JSON-LD, a text in Turtle and N-Triples.",
        "anyOf": [{"type": "object", "additionalProperties": True}, TEXT],
    },
    "Html": {"type": "string", "description": "A web page."},
    "Atom": {"type": "string", "description": "An Atom document (RFC 4287)."},
}
_SUCCESS = {"200": "Done.", "201": "Created.", "202": "Not done yet.", "204": "Nothing to answer.", "302": "Go there."}
_TAGGED = (
    *(f"crud.{name}" for name in ("read", "read_by_name", "patch", "patch_by_name", "create", "create_or_update")),
    *(f"preferences.{name}" for name in ("read_preferences", "put_preferences")),
)
_ETAG: Document = {
    "ETag": {"description": "For `If-Match` of a PATCH, or the PUT of preferences.", "schema": TEXT},
}
_LOCATION: Document = {"Location": {"description": "Where to go on.", "schema": TEXT}}


def openapi_document(app: FastAPI) -> Document:
    """Return the document of an application's routes."""
    document: Document = app.openapi()
    enums = document["components"]["schemas"]
    paths, operations = _Paths(), list(_operations(app))
    for path, method, route, row in operations:
        fastapi_operation = document["paths"][route.path_format][method.lower()]
        paths.add(path, method, _operation(fastapi_operation, enums, route, method, row))
    return {
        **{key: document[key] for key in ("openapi", "info")},
        "paths": paths.found,
        "components": {
            "schemas": _schemas([_operation_for(operation_of(route), row) for _, _, route, row in operations]),
            "responses": ERRORS,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}},
        },
        "security": [{"token": []}],
        "tags": [{"name": tag} for tag in sorted({tag for route in _routes(app) for tag in map(str, route.tags)})],
    }


class _Paths:
    """Paths of the document; of paths that differ only in the names of their parameters the first is taken."""

    def __init__(self) -> None:
        self.found: dict[str, Document] = {}
        self._known: dict[str, str] = {}

    def add(self, path: str, method: str, operation: Document) -> None:
        """Add an operation, unless there is one that answers before it."""
        first_path = self._known.setdefault(_NAME.sub("{}", path), path)
        methods = self.found.setdefault(first_path, {})
        renamed = dict(zip(_NAME.findall(path), _NAME.findall(first_path), strict=True))
        for parameter in operation["parameters"]:
            if parameter["in"] == "path":
                parameter["name"] = renamed[parameter["name"]]
        methods.setdefault(method.lower(), operation)


def _routes(app: FastAPI) -> Iterator[APIRoute]:
    return (one for one in app.router.routes if isinstance(one, APIRoute) and one.include_in_schema)


def _operations(app: FastAPI) -> Iterator[tuple[str, str, APIRoute, EntityType | None]]:
    """Yield every operation: its path, method, route, and the type of its collection, if any may be in the path."""
    for route in _routes(app):
        for path, row in _places(route):
            yield from ((path, method, route, row) for method in sorted(route.methods or ()))


def _places(route: APIRoute) -> Iterator[tuple[str, EntityType | None]]:
    """Yield every path of a route with the type of its collection."""
    if _COLLECTION not in route.path_format:
        yield route.path_format, None
        return
    for collection, row in BY_COLLECTION.items():
        if has(row, name_of(route)):
            yield route.path_format.replace(_COLLECTION, collection), row


def _operation(
    fastapi_operation: Document, enums: Document, route: APIRoute, method: str, kind: EntityType | None
) -> Document:
    name = name_of(route)
    table = _operation_for(operation_of(route), kind)
    says_why = method != "GET" and asks_for_token(route)
    operation = {
        "tags": [kind.collection] if kind else fastapi_operation["tags"],
        "operationId": _operation_id(name, kind),
        "summary": _summary(fastapi_operation["description"]),
        "description": fastapi_operation["description"],
        "parameters": parameters_of(
            orjson.loads(orjson.dumps(fastapi_operation.get("parameters", []))), enums, name, kind
        )
        + ([WHY_PARAMETER] if says_why else []),
        "responses": {
            **_successes(table, route, name),
            **errors_of(route, method, table),
            **_unavailable(table),
        },
    }
    if table.body is not None:
        media = {_BODY_MEDIA.get(table.body, "application/json"): {"schema": ref(table.body)}}
        operation["requestBody"] = {"required": table.body not in _OPTIONAL_BODIES, "content": media}
    return operation if asks_for_token(route) else operation | {"security": []}


def _operation_id(name: str, kind: EntityType | None) -> str:
    module, _, function = name.partition(".")
    function = function.strip("_")
    if kind is None:
        return f"{module}_{function}"
    return f"{kind.name}_{function}" if module in ("crud", "listing") else f"{kind.name}_{module}_{function}"


def _summary(description: str) -> str:
    return re.split(r"(?<=[^.])[.;:](?:\s|$)", description.splitlines()[0].replace("``", "`"), maxsplit=1)[0]


def _operation_for(table: OpenApiOperation, kind: EntityType | None) -> OpenApiOperation:
    """Return an operation with the names of the schemas of one type."""
    if kind is None:
        return table
    answer, body = (None if one is None else one.replace("{}", schema_name(kind)) for one in (table.answer, table.body))
    return replace(table, answer=answer, body=body)


def _successes(table: OpenApiOperation, route: APIRoute, name: str) -> Document:
    statuses = table.also or (str(route.status_code or 200),)
    media = {} if table.answer is None else {table.media: {"schema": ref(table.answer)}}
    if table.is_linked:
        media |= {one: {"schema": ref("LinkedData")} for one in LINKED_DATA}
    if table.or_csv:
        media |= {"text/csv": {"schema": ref("Csv")}}
    content = {"content": media} if media else {}
    headers = {"headers": _ETAG} if name in _TAGGED else {"headers": _LOCATION} if "302" in statuses else {}
    answers = {status: {"description": _SUCCESS[status], **content, **headers} for status in statuses}
    if table.or_accepted:
        job = {"application/json": {"schema": ref(table.or_accepted)}}
        answers["202"] = {"description": _SUCCESS["202"], "content": job}
    return answers | ({"204": {"description": table.or_nothing}} if table.or_nothing else {})


def _unavailable(table: OpenApiOperation) -> Document:
    """Return the 503 of an operation that also answers with it; the store being away is an error all the same."""
    if not table.or_unavailable or table.answer is None:
        return {}
    schema = {"anyOf": [ref(table.answer), ref("Error")]}
    description = f"{table.or_unavailable} Or: {ERRORS['Error503']['description']}"
    return {"503": {"description": description, "content": {table.media: {"schema": schema}}}}


def _schemas(operations: Sequence[OpenApiOperation]) -> Document:
    """Return every schema: those of the tables and of routes, and whatever else operations and schemas name."""
    entities = EntitySchemas()
    of_routes = {_in_pages(one.answer): one.schema for one in operations if one.answer and one.schema}
    tables = (ANSWERS, REQUESTS, _TEXTS, of_routes, _schemas_of_models())
    for table in tables:
        assert not entities.named.keys() & table.keys()  # noqa: S101  no name means two things
        entities.named.update(table)
    used_names = {name for one in operations for name in (one.answer, one.body, one.or_accepted) if name}
    for name in used_names | set(_REFERENCE.findall(orjson.dumps(tables).decode())):
        _add(name, entities)
    return dict(sorted(entities.named.items()))


def _schemas_of_models() -> Document:
    """Return the schemas of all models, once where several hold the same; references have upstream's schema."""
    schemas: Document = {}
    for name, schema in (pair for model in MODELS for pair in _schemas_of(model).items()):
        assert schemas.setdefault(name, schema) == schema  # noqa: S101  no name means two things
    schemas.pop(EntityReference.__name__, None)
    return schemas


def _schemas_of(model: type[BaseModel]) -> Document:
    """Return the schema of a model, and of those that it holds, by their names; the first paragraph describes each."""
    schema = model.model_json_schema(ref_template=ref("{model}")["$ref"])
    schemas = {**schema.pop("$defs", {}), model.__name__: schema}
    return {name: one | {"description": one["description"].partition("\n\n")[0]} for name, one in schemas.items()}


def _in_pages(name: str) -> str:
    """Return the name of the schema of what this one is a page or list of, or that of its own."""
    return name[:-4] if name.endswith(("Page", "List")) else name


def _add(name: str, entities: EntitySchemas) -> None:
    """Add the schema of a name: a page or list of others, or a published one."""
    if name in entities.named:
        return
    if (inner := _in_pages(name)) != name:
        _add(inner, entities)
        entities.named[name] = page(ref(inner)) if name.endswith("Page") else array(ref(inner))
    else:
        entities.message(name)
