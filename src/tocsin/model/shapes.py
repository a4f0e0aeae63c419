"""Validation of document values against the published schemas, as compiled into ``shapes.json``.

The file is made from the schemas by ``python -m tests.contract.digest``, which documents its format; a test
compares the two. Each validator is built on first use. Next: ``flow/capture/normalize.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import orjson
from pydantic_core import CoreConfig, CoreSchema, SchemaValidator, ValidationError, core_schema

from tocsin.errors import InvalidInput
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.phrases import with_article
from tocsin.model.validation_errors import message_of, place_of

Shape = Any  # Any: a word, or an object with one key that says which kind of shape it is

_FORMATS = {
    "uuid": r"^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$",
    "uri": r"^[A-Za-z][A-Za-z0-9+.-]*:\S+$",
    "date": r"^\d{4}-\d\d-\d\d$",
    "date-time": r"^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d.*$",
}
_WORDS: dict[str, CoreSchema] = {
    "any": core_schema.any_schema(),
    "text": core_schema.str_schema(strict=True),
    "integer": core_schema.int_schema(strict=True, ge=-(2**63), le=2**64 - 1),  # what JSON on the wire can carry
    "number": core_schema.float_schema(strict=True, allow_inf_nan=False),
    "boolean": core_schema.bool_schema(strict=True),
    "object": core_schema.dict_schema(core_schema.str_schema()),
}
# Patterns are Java's: (?U) says there what Python means anyway.
_CONFIG = CoreConfig(strict=True, regex_engine="python-re", hide_input_in_errors=True)


_LATER: dict[str, tuple[str, ...]] = {
    "dashboardServiceType": ("SapS4Hana", "Omni"),
    "databaseServiceType": ("QuestDB", "SapSuccessFactors", "SapBw4Hana"),
    "dataModelType": ("ModeDataModel", "PowerBIDatamart", "SapS4HanaCdsView", "SsrsDataModel", "OmniDataModel"),
    "metricType": ("SIMPLE", "CUMULATIVE", "DERIVED", "CONVERSION"),
    "operation": ("Ingest", "QueryLake"),
    "pipelineServiceType": ("Prefect", "SapBw4HanaPipeline"),
    "pipelineType": ("policyAgent",),
    "subscriptionType": ("Push",),
    "tableType": ("SemanticView",),
}
"""Values of enumerations that came with later releases than the published schemas, 2.0's included, by the shape's name,
and operations and a channel of our own.
"""


def check_changed(entity_type: str, document: Document, old: Document) -> None:
    """Reject a document that lacks a key, or has an invalid value under a key where ``old`` had another value.

    Unchanged values are not checked again: a history may have brought them. Raises as ``check``.
    """
    for key in required_keys(entity_type):
        if key not in document and key != "id":
            raise InvalidInput(f"{with_article(entity_type)} needs {key}", field=key)
    for key, value in document.items():
        if key not in old or old[key] != value:
            check(entity_type, key, value)


def check(entity_type: str, key: str, value: object) -> None:
    """Reject a value that is not allowed under this key of this type.

    Raises
    ------
    InvalidInput : it is of the wrong type, incomplete, or not one of the enumerated values; ``field`` names it
    """
    try:
        _validator_of(entity_type, key).validate_python(value)
    except ValidationError as refused:
        first = refused.errors(include_url=False)[0]
        where = place_of((key, *(step for step in first["loc"] if not str(step).startswith("function-"))))
        raise InvalidInput(f"{where}: {message_of(first)}", field=where) from refused


def named_shape(name: str) -> Shape:
    """Return the shape that ``{"use": name}`` stands for."""
    return _contents()["shapes"][name]


def shape_names() -> Collection[str]:
    """Return the names of all shapes."""
    return tuple(_contents()["shapes"])


def required_keys(entity_type: str) -> tuple[str, ...]:
    """Return the keys that a stored document of this type has at least."""
    return tuple(_contents()["required"].get(entity_type) or ENTITY_TYPES[entity_type].required)


def enumeration(entity_type: str, key: str) -> tuple[str, ...]:
    """Return the enumerated values of this key; none when it has no enumeration."""
    shape = shapes_of(entity_type).get(key)
    if isinstance(shape, dict) and "use" in shape:
        shape = named_shape(shape["use"])
    return tuple(shape.get("enum", ())) if isinstance(shape, dict) else ()


@cache
def _contents() -> Document:
    contents: Document = orjson.loads((Path(__file__).parent / "shapes.json").read_bytes())
    for name, values in _LATER.items():
        contents["shapes"][name]["enum"] += values
    return contents


@cache
def shapes_of(entity_type: str) -> Mapping[str, Shape]:
    """Return the shape of every key of a type: the published ones, or else those of its row and of a table."""
    published, row = _contents()["types"], ENTITY_TYPES[entity_type]
    if entity_type in published:
        return {**published[entity_type], **row.added}
    references = {key: {"use": "entityReference"} for key in row.upward}
    return {**published["table"], "serviceType": "text", **references, **row.shapes, **row.added}


@cache
def _validator_of(entity_type: str, key: str) -> SchemaValidator:
    return _validator(orjson.dumps(shapes_of(entity_type)[key]))


@cache
def _validator(shape: bytes) -> SchemaValidator:
    """Return the validator of a shape, given as text; cached per shape."""
    used: dict[str, CoreSchema] = {}
    checks = _schema(orjson.loads(shape), used)
    return SchemaValidator(core_schema.definitions_schema(checks, list(used.values())), _CONFIG)


def _schema(shape: Shape, used: dict[str, CoreSchema]) -> CoreSchema:
    """Return what checks a shape; ``used`` gathers what it names."""
    if isinstance(shape, str):
        return _WORDS[shape]
    kind = next(key for key in ("use", "enum", "text", "list", "map", "either", "fields") if key in shape)
    inner = shape[kind]
    match kind:
        case "use":
            return _reference_to(inner, used)
        case "enum":
            return core_schema.literal_schema(inner)
        case "text":
            return _text(inner)
        case "list":
            return core_schema.list_schema(_schema(inner, used))
        case "map":
            return core_schema.dict_schema(core_schema.str_schema(), _schema(inner, used))
        case "either":
            return core_schema.union_schema([_schema(one, used) for one in inner])
    return _fields(shape, used)


def _reference_to(name: str, used: dict[str, CoreSchema]) -> CoreSchema:
    if name not in used:
        used[name] = core_schema.any_schema()  # so that a shape that holds itself ends
        schema: Any = _schema(named_shape(name), used)  # Any: whichever of pydantic-core's kinds it is
        used[name] = {**schema, "ref": name}
    return core_schema.definition_reference_schema(name)


def _text(limits: Document) -> CoreSchema:
    pattern = limits.get("pattern", _FORMATS.get(limits.get("format", ""), "")).removeprefix("(?U)")
    return core_schema.str_schema(
        strict=True,
        pattern=pattern or None,
        min_length=limits.get("minLength"),
        max_length=limits.get("maxLength"),
    )


def _fields(shape: Document, used: dict[str, CoreSchema]) -> CoreSchema:
    required = shape.get("required", ())
    fields = {
        key: core_schema.typed_dict_field(_schema(inner, used), required=key in required)
        for key, inner in shape["fields"].items()
    }
    return core_schema.typed_dict_schema(fields, extra_behavior="allow" if shape.get("open") else "forbid")
