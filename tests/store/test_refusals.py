"""Tests of who hears of a refused access: the followers and owners of the asset, on both stores."""

from __future__ import annotations

import json

import pytest
from sqlalchemy import Engine, select
from tests.company import STARTED_MS, SmallCompany
from tests.notifying import notify_all

from tocsin.access.defaults import POLICIES, ROLES, ROOT_TEAM
from tocsin.catalogue.people.violations import Violation, add_violation
from tocsin.catalogue.writes import Writes
from tocsin.clock import FixedClock
from tocsin.flow.schedule.preferences import NEVER_MS
from tocsin.model.mute import FOR_GOOD_MS, Mute, MuteKind
from tocsin.model.people import SYSTEM
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue
from tocsin.store.database.engine import reading
from tocsin.store.database.tables import notification
from tocsin.store.recipients.mutes import Mutes

RULE = {"name": "pii", "effect": "deny", "operations": ["EditTags"], "resources": ["table"]}
TO_FOLLOWERS = {"category": "Followers", "type": "ActivityFeed", "config": {}}
TO_OWNERS = {"category": "Owners", "type": "ActivityFeed", "config": {"sendToOwners": True}}


@pytest.fixture
def company(store_engine: Engine) -> SmallCompany:
    """A company in which refused accesses to what is tagged are told to owners and followers."""
    writes = Writes(SqlCatalogue(store_engine), FixedClock(STARTED_MS))
    for entity_type, requests in (("policy", POLICIES), ("role", ROLES), ("team", (ROOT_TEAM,))):
        for request in requests:
            writes.create(entity_type, request, actor=SYSTEM)
    company = SmallCompany(store_engine)
    company.put("policy", {"name": "Pii", "rules": [RULE]})
    condition = "eventType == 'policyViolation' && tags.contains('PII.Sensitive')"
    company.alert("refusals", [TO_FOLLOWERS, TO_OWNERS], condition, resources=("policy",))
    return company


def refuse(company: SmallCompany, person: str, table: str) -> None:
    """Record that a person was refused to tag a table."""
    details = {
        "operation": "EditTags",
        "entity": {"id": company.ids[table], "type": "table", "fullyQualifiedName": f"pg.store.public.{table}"},
        "tags": ["PII.Sensitive"],
        "user": {"id": company.ids[person], "type": "user", "name": person},
    }
    add_violation(company.writes, Violation(company.ids["Pii"], details), company.actor(person))


def reasons_by_person(company: SmallCompany) -> dict[str, list[tuple[str, bool | None]]]:
    """Return who was notified, each with the kinds of their reasons, and whether these are of the asset.

    What a person has muted is stored, due never.
    """
    names = {identity: name for name, identity in company.ids.items()}
    with reading(company.engine) as connection:
        query = select(notification.c.recipient_id, notification.c.reasons).where(notification.c.due_at_ms < NEVER_MS)
        notifications = connection.execute(query).all()
    return {
        names[row.recipient_id]: [(one["kind"], one.get("ofSubject")) for one in json.loads(row.reasons)]
        for row in notifications
    }


def test_a_refused_access_reaches_the_owners_and_followers_of_the_asset(company: SmallCompany) -> None:
    refuse(company, "dia", "orders")
    notify_all(company.engine)
    assert reasons_by_person(company) == {
        "ana": [("owner", True)],
        "ben": [("owner", True)],
        "cem": [("follower", True)],
    }


def test_each_refusal_reaches_those_of_its_own_asset_and_never_who_was_refused(company: SmallCompany) -> None:
    refuse(company, "cem", "orders")
    refuse(company, "ana", "revenue")
    notify_all(company.engine)
    assert reasons_by_person(company) == {name: [("owner", True)] for name in ("ana", "ben", "dia")}


def test_who_may_not_view_the_asset_hears_nothing(company: SmallCompany) -> None:
    hiding = {"name": "hide", "effect": "deny", "operations": ["ViewBasic"], "resources": ["table"]}
    company.put("policy", {"name": "Hidden", "rules": [hiding]})
    company.put("role", {"name": "Kept away", "policies": ["Hidden"]})
    kept_away = {"name": "cem", "email": "cem@example.com", "roles": [{"id": company.ids["Kept away"], "type": "role"}]}
    company.put("user", kept_away)
    refuse(company, "dia", "orders")
    notify_all(company.engine)
    assert set(reasons_by_person(company)) == {"ana", "ben"}


def test_who_owns_the_policy_hears_as_well_and_a_mute_of_the_asset_counts(company: SmallCompany) -> None:
    company.put("policy", {"name": "Pii", "rules": [RULE], "owners": [{"id": company.ids["dia"], "type": "user"}]})
    mute = Mute(company.ids["cem"], MuteKind.ASSET, company.ids["orders"], since_ms=0, until_ms=FOR_GOOD_MS)
    Mutes(company.engine).put(mute)
    refuse(company, "ben", "orders")
    notify_all(company.engine)
    assert reasons_by_person(company) == {"ana": [("owner", True)], "dia": [("owner", None)]}
