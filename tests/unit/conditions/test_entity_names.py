"""Tests of names of entities in conditions: which there are, and that only they are replaced."""

from __future__ import annotations

import pytest

from tocsin.alerts.filters import FILTERS
from tocsin.conditions.check import parse_and_check
from tocsin.conditions.entity_names import OF_ARGUMENT, Comparing, EntityName, entity_names, with_renamed


@pytest.mark.parametrize(
    ("condition", "names"),
    [
        ("matchAnyTag('PII.Sensitive')", [("tag", "PII.Sensitive")]),
        ("tags.contains({'a.b', \"c.d\"}) && tier == 'Tier.1'", [("tag", "a.b"), ("tag", "c.d"), ("tag", "Tier.1")]),
        ("!('Finance' in domains)", [("domain", "Finance")]),
        ("{'ann','bob'}.contains(userName)", [("user", "ann"), ("user", "bob")]),
        ("user.isMemberOf({'sales','hr'})", [("team", "sales"), ("team", "hr")]),
        ("matchAnyChange('tag', 'add', '*', 'PII.Sensitive')", [("tag", "PII.Sensitive")]),
        ("matchAnyChange('*', '*', '*', '*')", []),
        ("matchConversationUser('all')", []),
        ("entity.columns.tags.tagFQN == 'a.b'", [("tag", "a.b")]),
        ("newValue('tags').tagFQN == 'a.b'", [("tag", "a.b")]),
        ("entity.dataProducts[0].name == 'p'", [("dataProduct", "p")]),
        ("entity.owners.name.contains('sales')", [("user", "sales")]),
        ("team.name == 'sales'", [("team", "sales")]),
        ("entity.name == 'sales' || eventType == 'entityUpdated' || entity.description == 'x'", []),
        ("service == 'pg'", [("databaseService", "pg")]),
        ("matchAnySchema('mart')", [("databaseSchema", "mart")]),
        (
            "inAnyTeam('sales') || hasAnyRole('R') || matchAllTags('a.b')",
            [("team", "sales"), ("role", "R"), ("tag", "a.b")],
        ),
        ("this is no condition", []),
    ],
)
def test_the_names_of_a_condition_are_found(condition: str, names: list[tuple[str, str]]) -> None:
    assert [(one.types[0], one.text) for one in entity_names(condition)] == names


def test_prefixes_and_patterns_are_told_from_names() -> None:
    names = entity_names("tags.startsWith('PII.') || domains.matches('Fin.*') || service matches 'p.'")
    assert [one.comparing for one in names] == [Comparing.PREFIX, Comparing.PATTERN, Comparing.PATTERN]


def test_only_what_selects_recipients_is_marked_so() -> None:
    names = entity_names("owners.contains('sales') && user.isMemberOf('sales')")
    assert [one.is_recipient for one in names] == [False, True]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("  matchAnyTag( 'a.b' )\n\t&& isBot()", "  matchAnyTag( 'it''s' )\n\t&& isBot()"),
        ('tags.contains("a.b")', 'tags.contains("it\'s")'),
        ("isBot()\n|| tags == {'x.y','a.b', 'a.b'}", "isBot()\n|| tags == {'x.y','it''s', 'it''s'}"),
        ("entity.description == 'a.b'", "entity.description == 'a.b'"),
        ("'ünïcode' in owners && tags == 'a.b'", "'ünïcode' in owners && tags == 'it''s'"),
    ],
)
def test_nothing_but_the_name_is_replaced(before: str, after: str) -> None:
    def rename(name: EntityName) -> str | None:
        return "it's" if "tag" in name.types and name.text == "a.b" else None

    assert with_renamed(before, rename) == after
    parse_and_check(after)


def test_a_condition_that_would_become_too_long_stays_as_it_is() -> None:
    assert with_renamed("matchAnyTag('a')", lambda _name: "b" * 5_000) == "matchAnyTag('a')"


def test_arguments_of_named_filters_name_what_their_conditions_name() -> None:
    types_by_argument: dict[str, tuple[str, ...]] = {}
    for row in FILTERS.values():
        condition = row.condition
        for argument in row.arguments:
            condition = condition.replace("${" + argument + "}", f"'{argument}'")
        types_by_argument |= {one.text: one.types for one in entity_names(condition) if one.text in row.arguments}
    assert types_by_argument == OF_ARGUMENT


def test_a_quoted_name_of_a_person_or_team_follows_a_rename() -> None:
    condition = """owners == '"data.team"' && domains == '"data.team"'"""
    assert [name.text for name in entity_names(condition)] == ["data.team", '"data.team"']
    renamed = with_renamed(condition, lambda name: "data" if "team" in name.types else None)
    assert renamed == """owners == 'data' && domains == '"data.team"'"""
