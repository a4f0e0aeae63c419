"""Tests of the table of entity types: each row has exactly the keys of its published schema."""

from __future__ import annotations

import json

import pytest
from tests.contract import standards
from tests.contract.standards import ROOT, SCHEMAS

from tocsin.model.entity_types import ENTITY_TYPES

pytestmark = standards.needed


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_row_has_the_keys_of_its_schema_and_no_others(name: str) -> None:
    schema = json.loads((ROOT / SCHEMAS[name]).read_text())
    assert ENTITY_TYPES[name].keys == schema["properties"].keys()


def test_every_required_key_is_one_of_the_type() -> None:
    for row in ENTITY_TYPES.values():
        assert set(row.required) <= row.keys, row.name
