"""Tests of the table of entity types: each row has the keys of its published schema and those it adds."""

from __future__ import annotations

import json

import pytest
from tests.contract import standards
from tests.contract.standards import ROOT, SCHEMAS

from tocsin.model.entity_types import ENTITY_TYPES

pytestmark = standards.needs_standards


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_row_has_the_keys_of_its_schema_and_those_it_adds(name: str) -> None:
    schema = json.loads((ROOT / SCHEMAS[name]).read_text())
    row = ENTITY_TYPES[name]
    assert row.added.keys().isdisjoint(schema["properties"])
    assert row.keys == schema["properties"].keys() | row.added.keys()


def test_every_required_key_is_one_of_the_type() -> None:
    for row in ENTITY_TYPES.values():
        assert set(row.required) <= row.keys, row.name


def test_the_keys_of_a_type_cannot_be_altered_by_who_reads_them() -> None:
    assert [row.name for row in ENTITY_TYPES.values() if not isinstance(row.keys, frozenset)] == []
