"""Tests of response fields: exactly the keys of the type."""

from __future__ import annotations

import pytest

from tocsin.errors import InvalidInput
from tocsin.model.entity import Document
from tocsin.model.entity_type import CHANGE_REQUESTS
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.server.entities.response import ON_REQUEST, parse_fields, view_of, with_address

TABLE = ENTITY_TYPES["table"]
DOCUMENT: Document = {"id": "1", "name": "t", "owners": [{"id": "2"}], "columns": [], "inner": "secret", "version": 0.1}


def test_a_read_shows_what_was_asked_for() -> None:
    plain = view_of(TABLE, DOCUMENT, "http://h", fields=frozenset())
    assert plain == {"id": "1", "name": "t", "columns": [], "version": 0.1, "href": "http://h/api/v1/tables/1"}
    view = view_of(TABLE, DOCUMENT, "http://h", fields=frozenset({"owners", "tags"}))
    assert (view["owners"], view["tags"]) == ([{"id": "2"}], [])


def test_an_answer_to_a_write_shows_everything_but_what_the_schema_lacks() -> None:
    view = view_of(TABLE, DOCUMENT, "http://h")
    assert view["owners"] == [{"id": "2"}]
    assert "inner" not in view


@pytest.mark.parametrize("name", ENTITY_TYPES)
def test_no_type_shows_a_key_its_schema_lacks(name: str) -> None:
    row = ENTITY_TYPES[name]
    everything: Document = {"id": "1", "name": "x"} | {key: [] for key in ON_REQUEST | {"deleted", "spoon"}}
    for fields in (None, frozenset(), row.keys, ON_REQUEST):
        assert view_of(row, everything, "", fields=fields).keys() <= row.keys


def test_fields_are_a_comma_list_or_everything() -> None:
    assert parse_fields(TABLE, None) == frozenset()
    assert parse_fields(TABLE, " owners, tags ,,") == {"owners", "tags"}
    assert parse_fields(TABLE, "owners,*") == TABLE.keys - {CHANGE_REQUESTS}
    assert parse_fields(TABLE, f"*,{CHANGE_REQUESTS}") == TABLE.keys
    assert parse_fields(ENTITY_TYPES["user"], "follows") == {"follows"}
    with pytest.raises(InvalidInput, match="'spoon'"):
        parse_fields(TABLE, "owners,spoon")
    with pytest.raises(InvalidInput, match="'follows'"):
        parse_fields(TABLE, "follows")


def test_a_reference_gets_its_address() -> None:
    reference = {"id": "7", "type": "testCase", "name": "x"}
    assert with_address(reference, "http://h")["href"] == "http://h/api/v1/dataQuality/testCases/7"
