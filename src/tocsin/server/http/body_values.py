"""Values of request bodies, each checked where it is read: ids, lists, operations of a patch.

Next: ``server/routes``.
"""

from __future__ import annotations

from typing import Any, TypeVar
from uuid import UUID

from tocsin.errors import InvalidInput
from tocsin.model.entity import Document

T = TypeVar("T")


def patch_of(body: object) -> list[Document]:
    """Return the operations of a JSON Patch.

    Raises
    ------
    InvalidInput : the body is no list of objects
    """
    if not isinstance(body, list) or not all(isinstance(one, dict) for one in body):
        raise InvalidInput("A JSON Patch must be a list of operations.")
    return body


def parse_id(value: object, message: str, *, field: str | None = None) -> str:
    """Return an id that a request names, as it is written here.

    Raises
    ------
    InvalidInput : it is no UUID
    """
    try:
        return str(UUID(value if isinstance(value, str) else ""))
    except ValueError as error:
        raise InvalidInput(message, field=field) from error


def value_in(body: Document, key: str, kind: type[T], message: str, *, default: object = None) -> T:
    """Return a value of a request, which must be of this kind; else raise ``InvalidInput`` with this message."""
    value = body.get(key, default)
    if not isinstance(value, kind):
        raise InvalidInput(message, field=key)
    return value


def list_in(
    body: Document, key: str, message: str, *, max_count: int, min_count: int = 0
) -> list[Any]:  # Any: whatever was sent
    """Return a list of a request, which must have so many entries; else raise ``InvalidInput`` with this message."""
    values: list[Any] = value_in(body, key, list, message)  # Any: as above
    if not min_count <= len(values) <= max_count:
        raise InvalidInput(message, field=key)
    return values
