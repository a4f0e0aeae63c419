"""Composable validators for reports; each names the field that is wrong.

A validator takes a value and its path. Next: ``catalogue/observations/report_fields.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date

from tocsin.errors import InvalidInput
from tocsin.model.entity import Document
from tocsin.model.phrases import hint

Check = Callable[[object, str], None]

LATEST_MS = 253_402_300_799_999
"""The last millisecond of the year 9999: no time beyond it is believed."""

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
    return {key: value for key, value in document.items() if value is not None}


def anything(_value: object, _path: str) -> None:
    """Accept everything."""


def text(value: object, path: str) -> None:
    """Accept a text.

    Raises
    ------
    InvalidInput : the value is no string
    """
    if not isinstance(value, str):
        raise InvalidInput(f"{path} must be a string", field=path)


def name(value: object, path: str) -> None:
    """Accept a text that is not empty.

    Raises
    ------
    InvalidInput : the value is no string, or empty
    """
    if not isinstance(value, str) or not value.strip():
        raise InvalidInput(f"{path} must be a non-empty string", field=path)


def flag(value: object, path: str) -> None:
    """Accept true and false.

    Raises
    ------
    InvalidInput : the value is neither true nor false
    """
    if not isinstance(value, bool):
        raise InvalidInput(f"{path} must be true or false", field=path)


def number(value: object, path: str) -> None:
    """Accept a number.

    Raises
    ------
    InvalidInput : the value is no number
    """
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise InvalidInput(f"{path} must be a number", field=path)


def whole(value: object, path: str) -> None:
    """Accept a whole number.

    Raises
    ------
    InvalidInput : the value is no integer
    """
    if not isinstance(value, int) or isinstance(value, bool):
        raise InvalidInput(f"{path} must be an integer", field=path)


def count(value: object, path: str) -> None:
    """Accept a whole number that is not negative and that a column can hold.

    Raises
    ------
    InvalidInput : the value is no integer, or negative, or too large
    """
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**53:
        raise InvalidInput(f"{path} must be an integer, 0 or more", field=path)


def moment(value: object, path: str) -> None:
    """Accept epoch milliseconds; what would be a time of our days in seconds was meant as seconds.

    Raises
    ------
    InvalidInput : the value is no time in epoch milliseconds
    """
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= LATEST_MS:
        raise InvalidInput(f"{path} must be epoch milliseconds", field=path)
    if value in _OUR_DAYS_S:
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


def each(inner: Check) -> Check:
    """Return the check that accepts a list whose members ``inner`` accepts."""

    def check(value: object, path: str) -> None:
        if not isinstance(value, list):
            raise InvalidInput(f"{path} must be a list", field=path)
        for place, member in enumerate(value):
            inner(member, f"{path}[{place}]")

    return check


def mapping(value: object, path: str) -> None:
    """Accept any object.

    Raises
    ------
    InvalidInput : the value is no object
    """
    if not isinstance(value, dict):
        raise InvalidInput(f"{path} must be an object", field=path)


def _inside(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key
