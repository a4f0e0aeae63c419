"""Pydantic's validation errors, translated into messages for the sender of the request."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, get_args

from pydantic import BaseModel

from tocsin.errors import InvalidInput
from tocsin.model.phrases import hint

SchemaError = Mapping[str, Any]  # Any: pydantic's own description of a problem

MOST_TOLD = 5
"""Mistakes of one request that are told, unless a caller says otherwise."""

WARNING = "warning: "
"""What a message of a field begins with that would not be refused by itself."""

_BEGINNING = 5
_QUOTED = re.compile(r"'((?:[^'\\]|\\.)*)'")

_ALTERNATIVE = re.compile(r"constrained-\w+|(?:literal|function-[a-z]+|(?:[a-z]+-)?enum)\[.*\]")
"""How pydantic names an alternative of a type within a place: ``start.constrained-int``."""

_KEY = "[key]"
"""How pydantic names a key, after the key itself, that is none of those that there are."""

_FIELD = re.compile(r"(?P<field>[A-Za-z_][^\s:.\[\]]*(?:\.[^\s:.\[\]]+|\[\d+\])*): ")
"""What a message begins with that says of which field it is."""

_NEXT_FIELD = re.compile(rf"; (?={_FIELD.pattern.replace('?P<field>', '?:')})")

_EXPECTED = {
    "bool": "true or false",
    "int": "an integer",
    "float": "a number",
    "decimal": "a number",
    "string": "a text",
    "list": "a list",
    "tuple": "a list",
    "dict": "an object",
    "model": "an object",
    "uuid": "a UUID",
    "url": "a URL or address",
    "date": "a date",
    "datetime": "a time",
    "json": "JSON",
    "path": "a path",
}
"""By how the names of the findings begin: ``int_parsing``, ``int_type``."""


def _at_least(count: int, nouns: str) -> str:
    return "must not be empty" if count == 1 else f"must have at least {count} {nouns}"


_LIMITS: dict[str, Callable[[Mapping[str, Any]], str]] = {  # Any: as above
    "greater_than": lambda limits: f"must be more than {limits['gt']}",
    "greater_than_equal": lambda limits: f"must be {limits['ge']} or more",
    "less_than": lambda limits: f"must be less than {limits['lt']}",
    "less_than_equal": lambda limits: f"must be at most {limits['le']}",
    "string_too_short": lambda limits: _at_least(limits["min_length"], "characters"),
    "string_too_long": lambda limits: f"must have at most {limits['max_length']} characters",
    "string_pattern_mismatch": lambda limits: f"does not match {limits['pattern']}",
    "too_short": lambda limits: _at_least(limits["min_length"], "members"),
    "too_long": lambda limits: f"must have at most {limits['max_length']} members",
}


def describe_validation(
    errors: Sequence[SchemaError], model: type[BaseModel] | None = None, *, limit: int = MOST_TOLD
) -> str:
    """Return pydantic's errors as one line: each path once, with its error; of more than ``limit``, how many there are.

    ``model`` is the validated model; an unknown key is reported with the nearest known one.
    """
    messages: dict[str, list[str]] = {}
    for error in _without_consequences(errors):
        path = error["loc"] if error["type"] == "extra_forbidden" else _as_sent(error["loc"], model)
        messages.setdefault(_place(path), []).append(message_of(error, keys_at(model, error["loc"][:-1])))
    lines = [f"{place}: {', or '.join(dict.fromkeys(wrong))}" for place, wrong in messages.items()]
    remainder = [f"and {len(lines) - limit} more"] if len(lines) > limit else []
    return "; ".join(lines[:limit] + remainder)


def _without_consequences(errors: Sequence[SchemaError]) -> list[SchemaError]:
    """Return errors without those of lists that are too short only because some of their members are wrong."""
    places = [tuple(error["loc"]) for error in errors]
    return [
        error
        for error, place in zip(errors, places, strict=True)
        if error["type"] != "too_short" or all(one == place or one[: len(place)] != place for one in places)
    ]


def field_of(message: str) -> str | None:
    """Return the field that a message begins with, None if it begins with none."""
    field_match = _FIELD.match(message)
    return field_match["field"] if field_match else None


def mistakes_in(message: str) -> list[str]:
    """Return the mistakes of a message that names several fields, each with its own."""
    return _NEXT_FIELD.split(message)


def placed_mistakes(error: InvalidInput) -> list[tuple[str, str]]:
    """Return the fields of which an error says something, and what; what it says of no field is left out."""
    if error.field is not None:
        return [(error.field, error.message.removeprefix(f"{error.field}: "))]
    fields = [(field_of(mistake), mistake) for mistake in mistakes_in(error.message)]
    return [(field, mistake.removeprefix(f"{field}: ")) for field, mistake in fields if field is not None]


def _as_sent(path: Sequence[str | int], model: type[BaseModel] | None) -> Sequence[str | int]:
    """Return a path whose first step is called as in requests: of a missing field pydantic says the own name."""
    field = model.model_fields.get(str(path[0])) if model and path else None
    return path if field is None or field.alias is None else (field.alias, *path[1:])


def _place(path: Sequence[str | int]) -> str:
    """Return the place, without the alternative of a type that was tried; of a parameter only its name."""
    steps = path[1:2] if path[:1] and path[0] in ("query", "path", "header") else [one for one in path if one != "body"]
    return place_of(step for step in steps if step != _KEY and not _ALTERNATIVE.fullmatch(str(step))) or "request"


def message_of(finding: SchemaError, keys: Collection[str] = ()) -> str:
    """Return the message, to follow the name of the wrong field; ``keys`` are the allowed ones."""
    kind, limits = str(finding["type"]), finding.get("ctx") or {}
    if kind == "missing":
        return "is missing"
    if kind == "extra_forbidden":
        return f"unknown key{hint(finding['loc'][-1], keys) or '; remove it'}"
    if kind in ("literal_error", "enum"):
        there_are = str(limits["expected"])
        words, value = _QUOTED.findall(there_are), finding.get("input")
        return f"must be {there_are}{hint(value, words) or _completion_hint(value, words)}"
    if kind in _LIMITS:
        return _LIMITS[kind](limits)
    expectation = _EXPECTED.get(kind.split("_")[0])
    if expectation is not None and kind != "value_error":
        return f"must be {expectation}"
    return str(finding["msg"]).removeprefix("Value error, ").replace("Input should be", "must be", 1)


def _completion_hint(value: object, words: Sequence[str]) -> str:
    """Return ``; did you mean …?`` with the one word that begins as ``value`` does: ``Notify``, ``Notification``."""
    start = str(value)[:_BEGINNING].lower()
    matching = [word for word in words if len(start) == _BEGINNING and word.lower().startswith(start)]
    return f"; did you mean {matching[0]}?" if len(matching) == 1 else ""


def keys_at(model: type[BaseModel] | None, path: Sequence[str | int]) -> frozenset[str]:
    """Return the keys allowed at ``path`` of a ``model``; none where nothing is defined."""
    for step in path:
        fields = {field.alias or name: field for name, field in model.model_fields.items()} if model else {}
        if isinstance(step, str):
            model = _model_in(fields[step].annotation) if step in fields else None
    return frozenset(field.alias or name for name, field in model.model_fields.items()) if model else frozenset()


def _model_in(annotation: Any) -> type[BaseModel] | None:  # Any: the annotation of a field
    """Return the model that a field holds, or holds several of."""
    inner = get_args(annotation)
    if not inner:
        return annotation if isinstance(annotation, type) and issubclass(annotation, BaseModel) else None
    return next((found for one in inner if (found := _model_in(one)) is not None), None)


def place_of(path: Iterable[str | int]) -> str:
    """Return the place of a value in a document: ``destinations[0].config.endpoint``."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).lstrip(".")
