"""Tests of access decisions: deny wins over allow, and the default is deny."""

from __future__ import annotations

import pytest
from tests.unit.access.people import ALICE, OTHER, TEAM, permissions, policy, rule, table, table_owned_by

from tocsin.access.decide import Permissions
from tocsin.access.subject import Grant, Subject
from tocsin.logic import ALWAYS, NEVER
from tocsin.model.access import Operation


def test_what_no_rule_allows_is_denied() -> None:
    assert not permissions().may(Operation.VIEW_BASIC, "table", table())
    assert permissions().verdict(Operation.VIEW_BASIC, "table", table()).ruling is None


def test_deny_wins_whichever_comes_first() -> None:
    for rules in ((rule("allow", "All"), rule("deny", "Delete")), (rule("deny", "Delete"), rule("allow", "All"))):
        rights = permissions(*rules)
        assert rights.may(Operation.EDIT_ALL, "table", table())
        assert not rights.may(Operation.DELETE, "table", table())
        denied = rights.verdict(Operation.DELETE, "table", table()).ruling
        assert denied is not None
        assert denied.rule.name == "deny Delete all None"


def test_an_operation_that_includes_others_stands_for_them() -> None:
    rights = permissions(rule("allow", "EditAll ViewAll"))
    assert rights.may(Operation.EDIT_DESCRIPTION, "table", table())
    assert rights.may(Operation.VIEW_SAMPLE_DATA, "table", table())
    assert not rights.may(Operation.CREATE, "table", table())
    assert not rights.may(Operation.DELETE, "table", table())


def test_a_part_of_an_operation_does_not_stand_for_the_whole() -> None:
    assert not permissions(rule("allow", "EditDescription")).may(Operation.EDIT_ALL, "table", table())


def test_a_rule_speaks_of_the_resources_it_names() -> None:
    rights = permissions(rule("allow", "ViewAll", on="table topic"))
    assert rights.may(Operation.VIEW_BASIC, "topic", table())
    assert not rights.may(Operation.VIEW_BASIC, "dashboard", table())


def test_an_administrator_may_everything() -> None:
    assert permissions(rule("deny", "All"), is_admin=True).may(Operation.DELETE, "table", table())


@pytest.mark.parametrize(
    ("condition", "document", "holds"),
    [
        ("isOwner()", table_owned_by(ALICE), True),
        ("isOwner()", table_owned_by(TEAM, kind="team"), True),
        ("isOwner()", table_owned_by(OTHER), False),
        ("!isOwner()", table_owned_by(OTHER), True),
        ("noOwner()", table(), True),
        ("noOwner()", table_owned_by(OTHER), False),
        ("noOwner() || isOwner()", table_owned_by(ALICE), True),
        ("matchAnyTag('PII.Sensitive', 'PII.None')", table(tags=[{"tagFQN": "PII.None"}]), True),
        ("matchAnyTag({'PII.Sensitive'})", table(columns=[{"tags": [{"tagFQN": "PII.Sensitive"}]}]), True),
        ("matchAllTags('PII.Sensitive', 'PII.None')", table(tags=[{"tagFQN": "PII.None"}]), False),
        ("matchAnyCertification('C.Gold')", table(certification={"tagLabel": {"tagFQN": "C.Gold"}}), True),
        ("matchAnyCertification('C.Gold')", table(), False),
        ("hasDomain()", table(domains=[{"id": "sales"}]), True),
        ("hasDomain()", table(domains=[{"id": "hr"}]), False),
        ("hasDomain()", table(), False),
        ("noDomain()", table(), True),
        ("inAnyTeam('Shop')", table(), True),
        ("inAnyTeam('Bank')", table(), False),
        ("hasAnyRole('Steward', 'Other')", table(), True),
        ("isBot() || isAdmin()", table(), False),
        ("isBot() == false && (true && !isAdmin())", table(), True),
        ("matchTeam()", table_owned_by(TEAM, kind="team"), False),
    ],
)
def test_every_function_asks_what_its_name_says(condition: str, document: dict[str, object], holds: bool) -> None:
    facts = {"teams": frozenset({TEAM}), "team_names": frozenset({"Shop"}), "role_names": frozenset({"Steward"})}
    rights = permissions(rule("allow", "ViewAll", when=condition), domains=frozenset({"sales"}), **facts)
    assert rights.may(Operation.VIEW_BASIC, "table", document) is holds
    assert rights.verdict(Operation.VIEW_BASIC, "table", document).is_allowed is holds


def test_without_a_domain_one_shares_what_has_none() -> None:
    rights = permissions(rule("allow", "ViewAll", when="hasDomain()"))
    assert rights.may(Operation.VIEW_BASIC, "table", table())
    assert not rights.may(Operation.VIEW_BASIC, "table", table(domains=[{"id": "hr"}]))
    assert rights.may(Operation.VIEW_BASIC, "user", table(domains=[{"id": "hr"}]))


def test_a_user_owns_themselves() -> None:
    rights = permissions(rule("allow", "EditAll", when="isOwner()"))
    assert rights.may(Operation.EDIT_ALL, "user", {"id": ALICE})
    assert not rights.may(Operation.EDIT_ALL, "user", {"id": OTHER})


def test_what_asks_nothing_of_the_document_is_settled_once() -> None:
    assert permissions(rule("allow", "ViewAll")).scope("table", Operation.VIEW_BASIC) is ALWAYS
    assert permissions(rule("allow", "ViewAll", when="isBot()")).scope("table", Operation.VIEW_BASIC) is NEVER
    assert permissions(rule("allow", "ViewAll"), rule("deny", "All")).scope("table", Operation.VIEW_BASIC) is NEVER


def test_a_team_that_keeps_to_itself_keeps_others_out_and_its_own_in() -> None:
    only = policy(rule("deny", "All", when="!matchTeam()"))
    everything = Grant(policy(rule("allow", "All"), name="Q"))
    members = {TEAM: frozenset({TEAM, ALICE})}
    inside = Permissions(Subject(ALICE, "alice", grants=(everything, Grant(only, team_id=TEAM)), members=members))
    outside = Permissions(
        Subject(OTHER, "bob", grants=(everything, Grant(only, team_id=TEAM, is_foreign=True)), members=members)
    )
    theirs, of_nobody = table_owned_by(TEAM, kind="team"), table()
    assert inside.may(Operation.VIEW_BASIC, "table", theirs)
    assert inside.may(Operation.VIEW_BASIC, "table", table_owned_by(ALICE))
    assert not inside.may(Operation.VIEW_BASIC, "table", of_nobody)
    assert not outside.may(Operation.VIEW_BASIC, "table", theirs)
    assert outside.may(Operation.VIEW_BASIC, "table", of_nobody)
