"""Tests of the choice of anchors."""

from __future__ import annotations

import pytest

from tocsin.conditions.check import parse_and_check
from tocsin.flow.match.indexing import how_found
from tocsin.flow.match.plan import Plan


def plan(condition: str | None, *resources: str) -> Plan:
    return Plan(
        "one", resources or ("all",), None if condition is None else parse_and_check(condition), created_at_ms=0
    )


@pytest.mark.parametrize(
    ("condition", "resources", "by"),
    [
        (None, ("table",), [("entityType",)]),
        ("owners == 'ann'", ("table",), [("owners",)]),
        ("owners == 'ann' || userName == 'ann'", ("all",), [("owners",), ("userName",)]),
        ("isBot() && tags == 'PII'", ("table",), [("entityType", "tags")]),
        ("tags == 'PII' && domains == 'sales'", ("table",), [("domains", "entityType", "tags")]),
        ("tags.containsAny({'A','B'})", ("table",), [("entityType", "tags")]),
        ("entityFullyQualifiedName.startsWith('a.b.c.d_')", ("all",), [("fqnPath",)]),
        (r"entityFullyQualifiedName matches 'a\.b\.c\..*'", ("all",), [("fqnPath",)]),
        ("matchAnyDatabase({'sales','shop.hr'})", ("all",), [("databaseNames",)]),
        ("matchAnySchema('public')", ("all",), [("schemaNames",)]),
        ("entity.columns.dataLength > 7 && owners == 'ann'", ("all",), [("owners",)]),
        ("owners == 'ann' && userName != 'ann'", ("all",), [("owners",)]),
        ("newValue('description').contains('draft')", ("all",), [("fieldChanged",)]),
        ("oldValue('a').toLowerCase() == 'x' || newValue('b') > oldValue('b')", ("all",), [("fieldChanged",)]),
    ],
)
def test_alerts_are_found_by_their_rarest_facts(
    condition: str | None, resources: tuple[str, ...], by: list[tuple[str, ...]]
) -> None:
    keys = how_found(plan(condition, *resources))
    assert sorted(keys.by) == sorted(by)
    assert keys.unindexed is None


@pytest.mark.parametrize(
    "condition",
    [
        None,
        "userName != 'ann'",
        "newValue('columns').size() == 0",
        "oldValue('description') == null",
        "oldValue('description') == 'a' || entity.name == 'orders'",
        "entity.name == 'orders'",
        "entityFullyQualifiedName matches '.*_tmp'",
        "entityFullyQualifiedName.startsWith('ab')",
        "owners == 'ann' || entity.name == 'orders'",
    ],
)
def test_what_nothing_leads_to_says_why(condition: str | None) -> None:
    keys = how_found(plan(condition))
    assert keys.unindexed is not None
    assert "every event" in keys.unindexed


def test_an_alert_that_never_matches_is_found_by_nothing() -> None:
    assert how_found(plan("false")).by == ()
    assert how_found(plan("false")).unindexed is None
