"""Tests of finding columns by FQN, in every type."""

from __future__ import annotations

import pytest

from tocsin.model.columns import changed_columns, column_fqns

TABLE = {
    "columns": [
        {"name": "id"},
        {"name": "a.b", "children": [{"name": "zip", "children": [{"name": "x"}]}, {"name": "street"}]},
    ]
}


def test_columns_are_named_in_full_with_those_inside_them() -> None:
    assert column_fqns("table", "s.t", TABLE) == {
        *("s.t.id", 's.t."a.b"', 's.t."a.b".zip', 's.t."a.b".zip.x', 's.t."a.b".street'),
    }
    assert column_fqns("topic", "k.t", {"messageSchema": {"schemaFields": [{"name": "f"}]}}) == {"k.t.f"}
    assert column_fqns("pipeline", "p.t", {"tasks": [{"name": "f"}]}) == set()
    assert column_fqns("table", "s.t", {"columns": "garbage"}) == set()
    assert column_fqns("user", "x", {}) == set()


@pytest.mark.parametrize(
    ("path", "value", "columns"),
    [
        ("columns.email.dataType", "INT", {"s.t.email"}),
        ("columns.email", {"name": "email"}, {"s.t.email"}),
        ('columns."a.b".children.zip.tags', [], {'s.t."a.b".zip'}),
        ('columns."a.b".children', [{"name": "zip"}], {'s.t."a.b".zip'}),
        ("columns", [{"name": "id"}, {"name": "x"}], {"s.t.id", "s.t.x"}),
        ("columns", ["id", "email"], set()),
        ("description", "new", set()),
    ],
)
def test_a_field_change_says_which_columns_it_is_about(path: str, value: object, columns: set[str]) -> None:
    assert changed_columns("table", "s.t", [(path, value)]) == columns
