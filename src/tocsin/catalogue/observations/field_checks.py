"""Composable validators for requests and reports; each names the field that is wrong.

A validator takes a value and its path. What upstream defines is checked by its published shape (``shape_of``).
Next: ``catalogue/observations/reports.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import cache

from tocsin.clock import LATEST_MS
from tocsin.errors import InvalidInput
from tocsin.model import shapes
from tocsin.model.entity import Document
from tocsin.model.phrases import hint

Check = Callable[[object, str], None]

_OUR_DAYS_S = range(1_000_000_000, 10_000_000_000)
"""Epoch seconds from 2001 to 2286; as milliseconds they are in early 1970."""


@dataclass(frozen=True)
class Shape:
    """The form of an object: which keys it may have and what each must hold; callable, so that shapes nest."""

    keys: Mapping[str, Check]
    required: frozenset[str] = field(default_factory=frozenset)

    def __call__(self, value: object, path: str) -> None:
        """Refuse what has not this form."""
        if not isinstance(value, dict):
            raise InvalidInput(f"{path or 'the body'} must be an object", field=path or None)
        for key in sorted(self.required):
            if value.get(key) is None:
                raise InvalidInput(f"{_inside(path, key)} is missing", field=_inside(path, key))
        for key, inner in value.items():
            if key not in self.keys:
                valid_keys = ", ".join(sorted(self.keys))
                raise InvalidInput(
                    f"unknown key {_inside(path, key)}; valid keys: {valid_keys}", field=_inside(path, key)
                )
            if inner is not None:
                self.keys[key](inner, _inside(path, key))


def shape(required: Mapping[str, Check], optional: Mapping[str, Check] | None = None) -> Shape:
    """Return the form of an object with these keys."""
    return Shape({**required, **(optional or {})}, frozenset(required))


def checked_document(form: Check, document: Document) -> Document:
    """Return the document without its nulls, if it has that form.

    Raises
    ------
    InvalidInput : it has not; ``field`` says where
    """
    form(document, "")
    return without_nulls(document)


def without_nulls(document: Document) -> Document:
    """Return the document without the keys that say nothing."""
    return {key: value for key, value in document.items() if value is not None}


def accept_anything(_value: object, _path: str) -> None:
    """Accept everything."""


def check_of(is_right: Callable[[object], bool], expectation: str) -> Check:
    """Return the check that accepts what is right; what is not must be, says the error, as expected."""

    def check(value: object, path: str) -> None:
        if not is_right(value):
            raise InvalidInput(f"{path} must be {expectation}", field=path)

    return check


def is_whole(value: object) -> bool:
    """Return whether a value is a whole number."""
    return isinstance(value, int) and not isinstance(value, bool)


text = check_of(lambda value: isinstance(value, str), "a string")
name = check_of(lambda value: isinstance(value, str) and bool(value.strip()), "a non-empty string")
flag = check_of(lambda value: isinstance(value, bool), "true or false")
number = check_of(lambda value: is_whole(value) or isinstance(value, float), "a number")
integer = check_of(is_whole, "an integer")
count = check_of(lambda value: is_whole(value) and value in range(2**53), "an integer, 0 or more")
mapping = check_of(lambda value: isinstance(value, dict), "an object")
_time = check_of(lambda value: is_whole(value) and value in range(LATEST_MS + 1), "epoch milliseconds")


def check_timestamp(value: object, path: str) -> None:
    """Accept epoch milliseconds; what would be a time of our days in seconds was meant as seconds.

    Raises
    ------
    InvalidInput : the value is no time in epoch milliseconds
    """
    _time(value, path)
    if isinstance(value, int) and value in _OUR_DAYS_S:
        problem = f"{path} must be epoch milliseconds; {value} looks like seconds; use {value * 1000}"
        raise InvalidInput(problem, field=path)


def day(value: object, path: str) -> None:
    """Accept a date, ``2026-01-31``.

    Raises
    ------
    InvalidInput : the value is no date
    """
    try:
        date.fromisoformat(value if isinstance(value, str) and len(value) == len("2026-01-31") else "")
    except ValueError:
        raise InvalidInput(f"{path} must be a date such as 2026-01-31", field=path) from None


def one_of(*values: str) -> Check:
    """Return the check that accepts these texts."""

    def check(value: object, path: str) -> None:
        if value not in values or not isinstance(value, str):
            raise InvalidInput(f"{path} must be one of {', '.join(values)}{hint(value, values)}", field=path)

    return check


def list_check_of(inner: Check) -> Check:
    """Return the check that accepts a list whose members ``inner`` accepts."""

    def check(value: object, path: str) -> None:
        if not isinstance(value, list):
            raise InvalidInput(f"{path} must be a list", field=path)
        for place, member in enumerate(value):
            inner(member, f"{path}[{place}]")

    return check


_WORDS: Mapping[str, Check] = {
    "any": accept_anything,
    "text": text,
    "integer": integer,
    "number": number,
    "boolean": flag,
    "object": mapping,
}
_MOMENTS = frozenset({"timestamp", "startTime", "endTime", "startDate", "endDate", "lastRunTime", "updatedAt"})
"""Keys whose integers are epoch milliseconds."""


def shape_of(
    name: str, overrides: Mapping[str, Check | None] | None = None, *, required: Collection[str] | None = None
) -> Check:
    """Return the check of a published shape, which is read when it is first used.

    ``overrides`` take the place of the checks of its keys, None of a key that is unknown here; ``required`` are the
    keys that it must have, where the shape says otherwise. Other keys are refused even where the shape is open.
    """

    @cache
    def form() -> Shape:
        fields = shapes.named_shape(name)
        checks = {key: _check_of(key, inner) for key, inner in fields["fields"].items()} | dict(overrides or {})
        keys = {key: check for key, check in checks.items() if check is not None}
        return Shape(keys, frozenset(fields.get("required", ()) if required is None else required))

    return lambda value, path: form()(value, path)


def _check_of(key: str, published_shape: shapes.Shape) -> Check:
    """Return the check of a shape under a key; forms that differ are left to overrides."""
    match published_shape:
        case "integer" if key in _MOMENTS:
            return check_timestamp
        case str(word):
            return _WORDS[word]
        case {"use": "entityReference"} | {"map": _}:
            return mapping
        case {"use": shape_name}:
            inner = shapes.named_shape(shape_name)
            return shape_of(shape_name) if "fields" in inner else _check_of(key, inner)
        case {"enum": words}:
            return one_of(*words)
        case {"text": _}:
            return text
        case {"list": inner}:
            return list_check_of(_check_of(key, inner))
        case {"fields": fields}:
            checks = {field_key: _check_of(field_key, inner) for field_key, inner in fields.items()}
            return Shape(checks, frozenset(published_shape.get("required", ())))
    return accept_anything


def _inside(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key
