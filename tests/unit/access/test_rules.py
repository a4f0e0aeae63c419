"""Tests of parsing policies into checked rules."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.access.people import rule

from tocsin.access.defaults import POLICIES, ROLES, ROOT_TEAM
from tocsin.access.language import parse_condition
from tocsin.access.resources import RESOURCES
from tocsin.access.rules import checked_rules, policy_of
from tocsin.errors import InvalidCondition, InvalidInput
from tocsin.model.access import Operation
from tocsin.model.entity_types import ENTITY_TYPES


@pytest.mark.parametrize(
    ("text", "line", "column", "says"),
    [
        ("isOwnr()", 1, 1, "did you mean isOwner?"),
        ("isOwner() &&\n  noOwnr()", 2, 3, "did you mean noOwner?"),
        ("isOwner", 1, 1, "did you mean isOwner()?"),
        ("isOwner('x')", 1, 9, "takes no argument"),
        ("matchAnyTag()", 1, 1, "needs the name of a tag"),
        ("matchAnyTag(1)", 1, 13, "a name must be text in quotes"),
        ("isOwner() &", 1, 11, "&&"),
        ("'a' == 'b'", 1, 1, "consists of functions"),
        ("user.name == 'x'", 1, 6, "consists of functions"),
        ("", 1, 1, "empty"),
        ("inAnyTeam('Shpo')", 1, 11, "did you mean Shop?"),
    ],
)
def test_a_condition_is_refused_with_its_place_and_what_would_do(text: str, line: int, column: int, says: str) -> None:
    with pytest.raises(InvalidCondition) as refused:
        parse_condition(text, lambda kind, name: None if kind != "team" or name == "Shop" else ["Shop", "Bank"])
    assert (refused.value.line, refused.value.column) == (line, column)
    assert says in refused.value.message or says in refused.value.expected


@pytest.mark.parametrize(
    ("rules", "field"),
    [
        (None, "rules"),
        (["x"], "rules[0]"),
        ([{**rule("allow", "All"), "name": " "}], "rules[0].name"),
        ([{**rule("allow", "All"), "effect": "maybe"}], "rules[0].effect"),
        ([rule("allow", "EditDescrption")], "rules[0].operations"),
        ([{**rule("allow", "All"), "operations": []}], "rules[0].operations"),
        ([rule("allow", "All", on="tabel")], "rules[0].resources"),
        ([{**rule("allow", "All"), "extra": 1}], "rules[0].extra"),
        ([rule("allow", "All", when="x()")], "rules[0].condition"),
        ([{**rule("allow", "All"), "condition": 1}], "rules[0].condition"),
        ([rule("allow", "All"), rule("allow", "All")], "rules"),
    ],
)
def test_a_malformed_rule_is_refused_where_it_stands(rules: Any, field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        checked_rules({"name": "P", "rules": rules}, RESOURCES)
    assert refused.value.field == field


def test_the_nearest_operation_and_resource_are_named() -> None:
    with pytest.raises(InvalidInput, match="did you mean EditDescription"):
        checked_rules({"name": "P", "rules": [rule("allow", "EditDescrption")]}, RESOURCES)
    with pytest.raises(InvalidInput, match="did you mean table"):
        checked_rules({"name": "P", "rules": [rule("allow", "All", on="tabel")]}, RESOURCES)


def test_a_rule_gets_its_full_name_and_keeps_its_resources_as_they_are_written() -> None:
    (checked_rule,) = checked_rules({"name": "My.Policy", "rules": [rule("deny", "*", on="All")]}, RESOURCES)
    assert checked_rule["fullyQualifiedName"] == '"My.Policy".deny * All None'
    assert (checked_rule["operations"], checked_rule["resources"]) == (["All"], ["All"])


@pytest.mark.parametrize("resource", ["Table", "TABLE", "table", "All", "*"])
def test_resources_are_named_in_any_case(resource: str) -> None:
    rules = checked_rules({"name": "P", "rules": [rule("deny", "ViewAll", on=resource)]}, RESOURCES)
    (parsed_rule,) = policy_of({"id": "p", "name": "P", "rules": rules}).rules
    assert parsed_rule.is_about("table", Operation.VIEW_BASIC)
    assert parsed_rule.is_about("eventSubscription", Operation.VIEW_BASIC) == (resource in ("All", "*"))


def test_the_default_policies_are_well_formed_and_roles_name_them() -> None:
    for document in POLICIES:
        checked_rules(document, RESOURCES)
    names = {policy["name"] for policy in POLICIES}
    assert {policy for role in (*ROLES, ROOT_TEAM) for policy in role["policies"]} <= names
    assert set(ROOT_TEAM["defaultRoles"]) <= {role["name"] for role in ROLES}


def test_every_type_of_entity_is_a_resource() -> None:
    assert set(ENTITY_TYPES) <= RESOURCES
