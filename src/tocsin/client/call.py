"""Requests as values: method, path, query, body, and the parser of the response.

Both clients send the same values; only the waiting differs. Next: ``client/calls.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

from tocsin.model.entity import Document

T = TypeVar("T")

Filter = str | int | bool | Sequence[str] | None
"""What a query parameter may be: lists are joined by commas, None is left out."""

JSON_PATCH = "application/json-patch+json"
_PAGE = 100


@dataclass(frozen=True)
class ApiCall(Generic[T]):
    """One request.

    ``path`` is relative to ``/api/v1`` with its parts already quoted; ``read`` turns the response's JSON (None when
    there is no body) into the result; with ``is_text``, the response's text. Where the response's headers matter as
    well, ``read_headers`` reads them: names in lower case.
    """

    method: str
    path: str
    read: Callable[[Any], T]  # Any: the answer's JSON, which read gives a shape
    query: Mapping[str, str] = field(default_factory=dict)
    body: object = None
    headers: Mapping[str, str] = field(default_factory=dict)
    read_headers: Callable[[T, Mapping[str, str]], T] | None = None
    is_text: bool = False


@dataclass(frozen=True)
class Page(Generic[T]):
    """One page of a list; ``after`` is the cursor of the next one, None on the last."""

    entries: tuple[T, ...]
    after: str | None = None


@dataclass(frozen=True)
class Pages(Generic[T]):
    """A list that comes page by page."""

    first: ApiCall[Page[T]]

    def call_after(self, page: Page[T]) -> ApiCall[Page[T]] | None:
        """Return the call for the page after ``page``, or None when it was the last."""
        if page.after is None:
            return None
        return replace(self.first, query={**self.first.query, "after": page.after})


def pages_of(path: str, filters: Mapping[str, Filter], view: Callable[[Any], T]) -> Pages[T]:  # Any: a row of JSON
    """Return the list at a path, each row of it as ``view`` makes it."""

    def page(answer: Any) -> Page[T]:  # Any: the answer's JSON
        return Page(tuple(view(row) for row in answer["data"]), after=(answer.get("paging") or {}).get("after"))

    return Pages(ApiCall("GET", path, page, query_of({"limit": _PAGE, **filters})))


def read_document(answer: Any) -> Document:  # Any: the answer's JSON
    """Return the JSON object that an answer is; of an answer that is a list, an object with it as ``data``."""
    return answer if isinstance(answer, dict) else {"data": answer}


def read_entries(answer: Document) -> tuple[Document, ...]:
    """Return the entries of an answer that is a list of one page."""
    return tuple(answer["data"])


def without_none(body: Mapping[str, object]) -> Document:
    """Return a request's body without the keys that have no value."""
    return {key: value for key, value in body.items() if value is not None}


def query_of(filters: Mapping[str, Filter]) -> dict[str, str]:
    """Return ``filters`` as query parameters, their names in camelCase."""
    return {_camel(name): _text(value) for name, value in filters.items() if value is not None}


def _camel(name: str) -> str:
    first, *other_parts = name.split("_")
    return first + "".join(part.capitalize() for part in other_parts)


def _text(value: Filter) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str | int):
        return str(value)
    return ",".join(value or ())
