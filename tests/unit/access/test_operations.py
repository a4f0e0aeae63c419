"""Tests of the table of operations."""

from __future__ import annotations

from typing import Any

import pytest

from tocsin.access.operations import operations_needed
from tocsin.model.access import Operation


def _column(name: str, **fields: Any) -> Any:
    return {"name": name, "dataType": "INT", **fields}


@pytest.mark.parametrize(
    ("before", "after", "needs"),
    [
        ({}, {}, set()),
        ({"description": "a"}, {"description": "b"}, {Operation.EDIT_DESCRIPTION}),
        ({}, {"displayName": "b", "owners": [1]}, {Operation.EDIT_DISPLAY_NAME, Operation.EDIT_OWNERS}),
        ({}, {"extension": {"a": 1}}, {Operation.EDIT_CUSTOM_FIELDS}),
        ({}, {"retentionPeriod": "P1D"}, {Operation.EDIT_ALL}),
        ({}, {"tags": [{"tagFQN": "Tier.Tier1"}]}, {Operation.EDIT_TIER}),
        ({}, {"tags": [{"tagFQN": "PII.None"}]}, {Operation.EDIT_TAGS}),
        ({}, {"tags": [{"tagFQN": "G.term", "source": "Glossary"}]}, {Operation.EDIT_GLOSSARY_TERMS}),
        ({"tags": [{"tagFQN": "Tier.Tier1"}]}, {"tags": [{"tagFQN": "Tier.Tier2"}]}, {Operation.EDIT_TIER}),
        (
            {"tags": [{"tagFQN": "A.b"}, {"tagFQN": "Tier.Tier1"}]},
            {"tags": [{"tagFQN": "Tier.Tier1"}]},
            {Operation.EDIT_TAGS},
        ),
        (
            {"columns": [_column("a")]},
            {"columns": [_column("a", description="x", tags=[{"tagFQN": "A.b"}])]},
            {Operation.EDIT_DESCRIPTION, Operation.EDIT_TAGS},
        ),
        ({"columns": [_column("a")]}, {"columns": [_column("a"), _column("b")]}, {Operation.EDIT_ALL}),
        ({"columns": [_column("a")]}, {"columns": [_column("a", dataLength=3)]}, {Operation.EDIT_ALL}),
        (
            {"columns": [_column("a", children=[_column("b")])]},
            {"columns": [_column("a", children=[_column("b", description="x")])]},
            {Operation.EDIT_DESCRIPTION},
        ),
    ],
)
def test_a_change_needs_the_operations_of_what_it_touches(before: Any, after: Any, needs: set[Operation]) -> None:
    assert operations_needed("table", before, after, before.keys() | after.keys()) == needs


def test_powers_have_operations_of_their_own() -> None:
    assert operations_needed("user", {}, {"roles": [1]}, ["roles"]) == {Operation.EDIT_ROLE, Operation.ALL}
    assert operations_needed("user", {}, {"email": "x@example.org"}, ["email"]) == {Operation.EDIT_ALL, Operation.ALL}
    assert operations_needed("team", {}, {"policies": [1], "users": [1]}, ["policies", "users"]) == {
        Operation.EDIT_POLICY,
        Operation.EDIT_USERS,
    }
    assert operations_needed("role", {}, {"policies": [1]}, ["policies"]) == {Operation.EDIT_ALL}
