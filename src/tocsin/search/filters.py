"""Parser of ``query_filter``: the part of Elasticsearch's query DSL that clients send, as a tree.

Supported are bool (must, should, must_not, filter), term, terms, match, match_phrase, match_all, ids, exists,
wildcard, prefix, range of ``updatedAt``, and query_string; anything else is rejected by name.
Next: ``store/catalogue/search/matching.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import orjson

from tocsin.errors import InvalidInput
from tocsin.logic import ALWAYS, NEVER, conjunction_of, disjunction_of, negation_of
from tocsin.search.fields import equals, field_of, has_words, holds, resembles, whole_number
from tocsin.search.nodes import Comparator, CompareColumn, Node
from tocsin.search.parse import default_fields, parse

LONGEST_FILTER = 20_000
MOST_CLAUSES = 500
DEEPEST_FILTER = 32

Json = Any  # Any: whatever JSON was sent

_RANGE: dict[str, Comparator] = {"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}
_IGNORED = {"boost", "_name", "case_insensitive", "format", "time_zone", "minimum_should_match", "fuzziness"}
"""Options that change how hits weigh, not which there are; a filter has no weights."""


def filter_of(text: str) -> Node:
    """Return what a filter, written as JSON, asks for.

    Raises
    ------
    InvalidInput : it is no JSON, or holds what is not known; the message names the place.
    """
    if len(text) > LONGEST_FILTER:
        raise InvalidInput(f"it is longer than {LONGEST_FILTER} characters", field="query_filter")
    try:
        body = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise InvalidInput(f"it is not JSON: {error}", field="query_filter") from error
    if not isinstance(body, dict):
        raise InvalidInput("it must be a JSON object", field="query_filter")
    query = body.get("query", body)
    return _FilterReader().clause(query, "query") if query else ALWAYS


class _FilterReader:
    """Reads one filter and counts its clauses."""

    def __init__(self) -> None:
        self._count = 0
        self._known: dict[str, Callable[[Json, str], Node]] = {
            "bool": self._bool,
            "match_all": lambda _body, _place: ALWAYS,
            "match_none": lambda _body, _place: NEVER,
            "term": self._term,
            "terms": self._terms,
            "match": self._match,
            "match_phrase": self._match,
            "ids": self._ids,
            "exists": self._exists,
            "wildcard": self._wildcard,
            "prefix": self._prefix,
            "range": self._range,
            "query_string": self._query_string,
        }

    def clause(self, body: Json, place: str) -> Node:
        """Return what one clause, ``{"term": …}`` or another, asks for."""
        self._count += 1
        if self._count > MOST_CLAUSES:
            _refuse(place, f"more than {MOST_CLAUSES} clauses")
        if place.count(".") > DEEPEST_FILTER * 2:
            _refuse(place, f"it is nested deeper than {DEEPEST_FILTER} levels")
        if not isinstance(body, dict) or len(body) != 1:
            _refuse(place, "a clause must be an object with one key")
        ((kind, operand),) = body.items()
        if kind not in self._known:
            _refuse(place, f"unsupported clause {kind!r}; valid clauses: {', '.join(sorted(self._known))}")
        inner_place = f"{place}.{kind}"
        try:
            return self._known[kind](operand, inner_place)
        except InvalidInput as error:
            if error.field == "query_filter":
                raise
            _refuse(inner_place, error.message)

    def _bool(self, body: Json, place: str) -> Node:
        if not isinstance(body, dict):
            _refuse(place, "it must be an object")
        unknown_keys = sorted(body.keys() - {"must", "should", "must_not", "filter", *_IGNORED})
        if unknown_keys:
            _refuse(place, f"unsupported key {unknown_keys[0]!r} in bool; valid keys: must, should, must_not, filter")
        parts = [*self._clauses(body, "must", place), *self._clauses(body, "filter", place)]
        choices = list(self._clauses(body, "should", place))
        if choices and (not parts or body.get("minimum_should_match")):
            parts.append(disjunction_of(*choices))
        parts += [negation_of(one) for one in self._clauses(body, "must_not", place)]
        return conjunction_of(*parts)

    def _clauses(self, body: Json, key: str, place: str) -> Iterator[Node]:
        inside = body.get(key) or []
        for number, clause in enumerate(inside if isinstance(inside, list) else [inside]):
            yield self.clause(clause, f"{place}.{key}[{number}]")

    def _term(self, body: Json, place: str) -> Node:
        name, value = _single_field(body, place)
        return equals(name, _scalar(_option(value, "value"), place))

    def _terms(self, body: Json, place: str) -> Node:
        name, values = _single_field(body, place)
        if not isinstance(values, list) or len(values) > MOST_CLAUSES:
            _refuse(place, f"{name} must be a list of at most {MOST_CLAUSES} values")
        return disjunction_of(*(equals(name, _scalar(value, place)) for value in values))

    def _ids(self, body: Json, place: str) -> Node:
        values = body.get("values") if isinstance(body, dict) else None
        return self._terms({"id": values}, place)

    def _match(self, body: Json, place: str) -> Node:
        name, value = _single_field(body, place)
        text = _scalar(_option(value, "query"), place)
        field = field_of(name)
        if name.endswith(".keyword") or not field.words:
            return equals(name, text)
        return has_words(field, str(text))

    def _exists(self, body: Json, place: str) -> Node:
        name, value = _single_field(body, place)
        if name != "field" or not isinstance(value, str):
            _refuse(place, 'it must be {"field": "…"}')
        return holds(value)

    def _wildcard(self, body: Json, place: str) -> Node:
        name, value = _single_field(body, place)
        pattern = value.get("wildcard", value.get("value")) if isinstance(value, dict) else value
        return resembles(name, str(_scalar(pattern, place)))

    def _prefix(self, body: Json, place: str) -> Node:
        name, value = _single_field(body, place)
        text = str(_scalar(_option(value, "value"), place))
        protected = text.replace("\\", "\\\\").replace("*", "\\*").replace("?", "\\?")
        return resembles(name, f"{protected}*")

    def _range(self, body: Json, place: str) -> Node:
        name, bounds = _single_field(body, place)
        column = field_of(name).column
        if column is None or column != "updated_at_ms" or not isinstance(bounds, dict):
            _refuse(place, 'range supports only updatedAt: {"updatedAt": {"gte": …}}')
        unknown = sorted(bounds.keys() - _RANGE.keys() - _IGNORED)
        if unknown:
            _refuse(place, f"unsupported key {unknown[0]!r} in range; valid keys: {', '.join(_RANGE)}")
        limits = [key for key in _RANGE if bounds.get(key) is not None]
        return conjunction_of(*(CompareColumn(column, _RANGE[key], whole_number(bounds[key])) for key in limits))

    def _query_string(self, body: Json, place: str) -> Node:
        if not isinstance(body, dict) or not isinstance(body.get("query"), str):
            _refuse(place, 'it must be {"query": "…"}')
        field_names = body.get("fields") or []
        if not isinstance(field_names, list):
            _refuse(place, "fields must be a list")
        try:
            return parse(body["query"], default=default_fields([str(name) for name in field_names])).node
        except InvalidInput as error:
            _refuse(place, error.message)


def _single_field(body: Json, place: str) -> tuple[str, Json]:
    """Return the one key of a clause's body, a field, and its value."""
    fields = {key: value for key, value in body.items() if key not in _IGNORED} if isinstance(body, dict) else {}
    if len(fields) != 1:
        _refuse(place, "it must be an object with one field")
    ((name, value),) = fields.items()
    return name, value


def _option(value: Json, key: str) -> Json:
    return value.get(key) if isinstance(value, dict) else value


def _scalar(value: Json, place: str) -> str | int | bool:
    if not isinstance(value, str | int | float | bool) or (isinstance(value, str) and "\0" in value):
        _refuse(place, "the value must be a string, a number, true or false")
    return value if isinstance(value, str | int | bool) else str(value)


def _refuse(place: str, why: str) -> NoReturn:
    raise InvalidInput(f"{place}: {why}", field="query_filter")
