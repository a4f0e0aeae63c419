"""JSON Schemas under the paths of their ``$id``: those that the seeds print, and what they refer to.

What they refer to is made from the shapes of ``model/shapes.json``. The seed's schema of event subscriptions refers to
a definition that it lacks, ``alertFilteringInput``, which is added. It wants the configuration of a destination to be
exactly one of webhook, mail and map: so a webhook has an endpoint, and a map is what is neither.
*Source:* seeds/001 and 002. Next: ``entity_schemas.py``.
"""

from __future__ import annotations

import re
from functools import cache

import orjson

from tocsin.model.entity import Document
from tocsin.server.openapi.entity_schemas import EntitySchemas
from tocsin.server.rdf.vocabulary import published_text

SITE = "https://open-metadata.org"
_DRAFT = "http://json-schema.org/draft-07/schema#"
_REFERENCE = re.compile(r"#/components/schemas/(\w+)")

_SEEDS = {"type/changeEvent.json": "changeEvent.json", "events/eventSubscription.json": "eventSubscription.json"}
_MAIL, _WEBHOOK = "events/emailAlertConfig.json", "entity/events/webhook.json"
_SHAPES = {
    "type/entityReference.json": "entityReference",
    "type/entityReferenceList.json": "entityReferenceList",
    "events/eventFilterRule.json": "eventFilterRule",
    "events/subscriptionStatus.json": "subscriptionStatus",
    "events/testDestinationStatus.json": "testDestinationStatus",
    _MAIL: "emailAlertConfig",
    _WEBHOOK: "webhook",
}
"""Files that are a shape as a whole."""
_PARTS: dict[str, dict[str, str | Document]] = {
    "type/basic.json": {
        "uuid": "uuid",
        "timestamp": {"type": "integer", "description": "Epoch milliseconds, UTC."},
        "entityName": "entityName",
        "fullyQualifiedEntityName": "fullyQualifiedEntityName",
        "markdown": {"type": "string"},
        "href": "href",
        "providerType": "providerType",
        "map": {"type": "object", "not": {"anyOf": [{"$ref": f"../{path}"} for path in (_WEBHOOK, _MAIL)]}},
    },
    "type/entityHistory.json": {
        "entityVersion": {"type": "number", "minimum": 0.1},
        "changeDescription": "changeDescription",
    },
}
"""Files of definitions, each a shape or written out here."""


@cache
def published_schemas() -> dict[str, bytes]:
    """Return every schema by its path below ``/schema/``."""
    schemas = {path: _seed(name) for path, name in _SEEDS.items()}
    schemas |= {path: _schema_of(shape) for path, shape in _SHAPES.items()}
    schemas |= {path: {"definitions": _definitions(parts)} for path, parts in _PARTS.items()}
    schemas["events/eventSubscription.json"]["definitions"] |= _definitions(
        {"alertFilteringInput": "alertFilteringInput"}
    )
    schemas[_WEBHOOK]["required"] = ["endpoint"]
    head = {path: {"$id": f"{SITE}/schema/{path}", "$schema": _DRAFT} for path in schemas}
    return {path: orjson.dumps(head[path] | schema, option=orjson.OPT_INDENT_2) for path, schema in schemas.items()}


def _seed(name: str) -> Document:
    schema: Document = orjson.loads(published_text(name))
    return schema


def _schema_of(shape: str) -> Document:
    return {"allOf": [{"$ref": f"#/definitions/{shape}"}], "definitions": _definitions({shape: shape})}


def _definitions(parts: dict[str, str | Document]) -> Document:
    """Return the definitions of these names, and of all shapes that they use."""
    schemas = EntitySchemas()
    definitions_by_name: Document = {
        name: schemas.shape(part) if isinstance(part, str) else part for name, part in parts.items()
    }
    names = _REFERENCE.findall(orjson.dumps(definitions_by_name).decode())
    while names:
        name = names.pop()
        if name not in definitions_by_name:
            definitions_by_name[name] = schemas.named[name]
            names += _REFERENCE.findall(orjson.dumps(definitions_by_name[name]).decode())
    text = _REFERENCE.sub(r"#/definitions/\1", orjson.dumps(definitions_by_name).decode())
    definitions: Document = orjson.loads(text)
    return definitions
