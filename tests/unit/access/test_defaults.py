"""Tests of the default policies: permissions on the first day."""

from __future__ import annotations

import pytest
from tests.unit.access.people import ALICE, OTHER, table, table_owned_by

from tocsin.access.decide import Permissions
from tocsin.access.defaults import POLICIES, ROLES, ROOT_TEAM
from tocsin.access.resources import ASSETS, POWERS, RESOURCES
from tocsin.access.rules import checked_rules, policy_of
from tocsin.access.subject import Grant, Subject
from tocsin.model.access import Operation

_POLICIES = {
    policy["name"]: policy_of({**policy, "id": policy["name"], "rules": checked_rules(policy, RESOURCES)})
    for policy in POLICIES
}
_ROLES = {one["name"]: one["policies"] for one in ROLES}


def permissions(*roles: str, is_bot: bool = False) -> Permissions:
    grants = [Grant(_POLICIES[name], role=role) for role in roles for name in _ROLES[role]]
    if not is_bot:
        grants += [Grant(_POLICIES[name], team_id="org") for name in ROOT_TEAM["policies"]]
        grants += [Grant(_POLICIES[p], role=r, team_id="org") for r in ROOT_TEAM["defaultRoles"] for p in _ROLES[r]]
    return Permissions(Subject(ALICE, "alice", is_bot=is_bot, grants=tuple(grants), organization_id="org"))


PERSON, STEWARD, BOT = permissions(), permissions("DataSteward"), permissions("IngestionBotRole", is_bot=True)


@pytest.mark.parametrize("resource", sorted(RESOURCES))
def test_everybody_views_everything(resource: str) -> None:
    assert PERSON.may(Operation.VIEW_BASIC, resource, {})
    assert BOT.may(Operation.VIEW_BASIC, resource, {})


def test_everybody_describes_and_tags_assets_and_does_no_more() -> None:
    for operation in ("EditDescription", "EditTags", "EditGlossaryTerms", "EditTier", "EditCertification"):
        assert PERSON.may(Operation(operation), "table", table())
    for operation in ("EditDisplayName", "EditAll", "Create", "Delete", "EditLineage", "EditCustomFields"):
        assert not PERSON.may(Operation(operation), "table", table())


def test_owners_may_everything_with_what_they_own_and_others_name_owners_where_there_are_none() -> None:
    for operation in ("EditAll", "Delete", "Create"):
        assert PERSON.may(Operation(operation), "table", table_owned_by(ALICE))
    assert PERSON.may(Operation.EDIT_OWNERS, "table", table())
    assert not PERSON.may(Operation.EDIT_OWNERS, "table", table_owned_by(OTHER))


def test_stewards_name_things_and_say_who_owns_them() -> None:
    for operation in ("EditDisplayName", "EditOwners", "EditLineage"):
        assert STEWARD.may(Operation(operation), "table", table_owned_by(OTHER))
    assert not STEWARD.may(Operation.DELETE, "table", table())


def test_one_says_who_one_is_and_nobody_elses_business() -> None:
    assert PERSON.may(Operation.EDIT_DISPLAY_NAME, "user", {"id": ALICE})
    assert not PERSON.may(Operation.EDIT_DISPLAY_NAME, "user", {"id": OTHER})
    assert not PERSON.may(Operation.EDIT_TEAMS, "user", {"id": ALICE})


@pytest.mark.parametrize("who", [PERSON, STEWARD, BOT], ids=["person", "steward", "bot"])
def test_nobody_but_administrators_gives_powers(who: Permissions) -> None:
    own_document = {"id": ALICE, "owners": [{"id": ALICE, "type": "user"}]}
    for resource in POWERS:
        for operation in ("Create", "Delete", "EditAll", "EditOwners", "EditDescription"):
            assert not who.may(Operation(operation), resource, own_document)
    for resource in ("user", "team"):
        for operation in ("All", "EditRole", "EditPolicy", "Delete"):
            assert not who.may(Operation(operation), resource, own_document)


def test_connectors_bring_assets_people_and_teams_and_leave_names_alone() -> None:
    for resource in (*ASSETS, "user", "team"):
        assert BOT.may(Operation.CREATE, resource, {})
        assert BOT.may(Operation.EDIT_ALL, resource, {})
    assert BOT.may(Operation.DELETE, "table", {})
    assert not BOT.may(Operation.EDIT_DISPLAY_NAME, "table", {})


def test_everybody_makes_alerts_and_changes_their_own() -> None:
    for who in (PERSON, BOT):
        assert who.may(Operation.CREATE, "eventsubscription", {})
        assert who.may(Operation.EDIT_ALL, "eventsubscription", table_owned_by(ALICE))
        assert not who.may(Operation.EDIT_ALL, "eventsubscription", table_owned_by(OTHER))
