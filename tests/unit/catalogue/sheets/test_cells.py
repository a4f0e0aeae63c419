"""Tests of CSV cells: round trips of lists, people and custom properties."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.catalogue.sheets.cells import extension, extension_cell, join_parts, people, people_cell, split_parts
from tocsin.errors import InvalidInput

TEXTS = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=12)
KEYS = st.text(alphabet="abcXYZ_9", min_size=1, max_size=6)
VALUES = st.recursive(
    st.one_of(TEXTS, st.booleans(), st.integers(-(2**53), 2**53), st.floats(allow_nan=False, allow_infinity=False)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=3)),
    max_leaves=5,
)


@given(st.lists(TEXTS))
def test_parts_survive(parts: list[str]) -> None:
    assert split_parts(join_parts(parts)) == parts


@pytest.mark.parametrize(
    ("cell", "parts"),
    [
        ("", []),
        ("a; b ;;c;", ["a", "b", "c"]),
        ('"a;b";c', ["a;b", "c"]),
        ('Cls."x.y";z', ['Cls."x.y"', "z"]),
        ('"x.y".z;w', ['"x.y".z', "w"]),
        ('"open;b', ['"open', "b"]),
    ],
)
def test_what_people_write_is_understood(cell: str, parts: list[str]) -> None:
    assert split_parts(cell) == parts


@given(st.dictionaries(KEYS, VALUES))
def test_custom_properties_survive(properties: dict[str, Any]) -> None:
    assert extension(extension_cell(properties)) == properties


def test_people_are_named_with_or_without_their_kind() -> None:
    jane, sales = (
        {"type": "user", "fullyQualifiedName": '"jane.d"'},
        {"type": "team", "fullyQualifiedName": "sales"},
    )
    assert people("user:jane.d;team:sales") == people("user;jane.d;team;sales") == [jane, sales]
    assert people("jane.d") == [jane]
    assert people_cell([{"type": "team", "name": "sales"}, {"type": "user", "name": "x", "inherited": True}]) == (
        "team:sales"
    )
    for wrong in ("user:", "team"):
        with pytest.raises(InvalidInput):
            people(wrong)
    with pytest.raises(InvalidInput):
        extension("novalue")
