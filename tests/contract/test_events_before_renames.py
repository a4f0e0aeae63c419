"""Tests of events that were logged before a rename and are matched after it: by what an alert means."""

from __future__ import annotations

import httpx
import pytest
from sqlalchemy import Engine, select
from tests.contract.test_access import create_entity, send_patch
from tests.contract.test_explain import alert, alert_in, assign_owners, describe, explanation_of
from tests.notifying import notify_all
from tests.serving import Json, Served

from tocsin.store.database.entity_tables import renaming

_RENAME = {"op": "replace", "path": "/name"}


def _rule(condition: str) -> Json:
    return {"name": "r", "effect": "include", "condition": condition}


def _rename(client: httpx.Client, path: str, name: str) -> None:
    assert send_patch(client, path, {**_RENAME, "value": name}).is_success


def _tag(client: httpx.Client, orders: Json, *fqns: str) -> None:
    labels = [{"tagFQN": one, "source": "Classification"} for one in fqns]
    assert send_patch(client, f"/tables/{orders['id']}", {"op": "add", "path": "/tags", "value": labels}).is_success


def _tags(client: httpx.Client, *names: str) -> None:
    if client.get("/classifications/name/Secret").status_code == 404:
        create_entity(client, "/classifications", name="Secret", description="x")
    for name in names:
        create_entity(client, "/tags", name=name, classification="Secret", description="x")


def has_matched(client: httpx.Client, event_id: str, name: str) -> bool:
    return bool(alert_in(explanation_of(client, event_id, subscription=name), name)["matched"])


@pytest.fixture
def owner(served: Served, administrator: httpx.Client, orders: Json) -> str:
    user_id, client = served.person("ann")
    client.close()
    assign_owners(administrator, orders, user_id)
    return user_id


@pytest.mark.parametrize(
    "condition",
    [
        "matchAnyTag('Secret.Old')",
        "tags.startsWith('Secret.Old')",
        r"tags matches 'Secret\.Ol.*'",
        "entity.tags.tagFQN == 'Secret.Old'",
    ],
)
def test_a_tag(condition: str, administrator: httpx.Client, orders: Json, owner: str, sqlite_engine: Engine) -> None:
    _tags(administrator, "Old", "Other")
    alert(administrator, "secret", _rule(condition))
    alert(administrator, "other", _rule("matchAnyTag('Secret.Other')"))
    _tag(administrator, orders, "Secret.Old")
    before = describe(administrator, orders, "before")
    _rename(administrator, "/classifications/name/Secret", "Private")
    after = describe(administrator, orders, "after")
    notify_all(sqlite_engine)
    for event in (before, after):
        assert has_matched(administrator, event, "secret")
        assert not has_matched(administrator, event, "other")
    inbox = administrator.get(f"/users/{owner}/notifications").json()["data"]
    assert {before, after} <= {one["eventId"] for one in inbox}


def test_the_trace_shows_the_condition_with_the_name_of_the_event(
    administrator: httpx.Client, orders: Json, owner: str
) -> None:
    _tags(administrator, "Old")
    alert(administrator, "secret", _rule("matchAnyTag('Secret.Old')"))
    _tag(administrator, orders, "Secret.Old")
    before = describe(administrator, orders, "before")
    _rename(administrator, "/tags/name/Secret.Old", "New")
    after = describe(administrator, orders, "after")
    for event, name in ((before, "Secret.Old"), (after, "Secret.New")):
        (rule,) = alert_in(explanation_of(administrator, event, subscription="secret"), "secret")["rules"]
        assert (rule["holds"], rule["condition"]) == (True, f"matchAnyTag('{name}')")


def test_two_renames_and_a_name_that_comes_back(administrator: httpx.Client, orders: Json, owner: str) -> None:
    _tags(administrator, "A")
    alert(administrator, "a", _rule("matchAnyTag('Secret.A')"))
    _tag(administrator, orders, "Secret.A")
    events = [describe(administrator, orders, "first")]
    for old, new in (("A", "B"), ("B", "C"), ("C", "A")):
        _rename(administrator, f"/tags/name/Secret.{old}", new)
        events.append(describe(administrator, orders, new))
    assert [has_matched(administrator, one, "a") for one in events] == [True] * 4


def test_two_tags_that_swap_their_names(administrator: httpx.Client, orders: Json, owner: str) -> None:
    _tags(administrator, "A", "B")
    alert(administrator, "a", _rule("matchAnyTag('Secret.A')"))
    alert(administrator, "b", _rule("matchAnyTag('Secret.B')"))
    _tag(administrator, orders, "Secret.A")
    before = describe(administrator, orders, "before")
    for old, new in (("A", "C"), ("B", "A"), ("C", "B")):
        _rename(administrator, f"/tags/name/Secret.{old}", new)
    after = describe(administrator, orders, "after")
    for event in (before, after):
        assert [has_matched(administrator, event, one) for one in "ab"] == [True, False]


def test_a_new_tag_of_the_name_was_not_meant_before(administrator: httpx.Client, orders: Json, owner: str) -> None:
    _tags(administrator, "A")
    alert(administrator, "first", _rule("matchAnyTag('Secret.A')"))
    made_alert = alert(administrator, "second", _rule("matchAnyTag('Secret.None')"))
    _tag(administrator, orders, "Secret.A")
    before = describe(administrator, orders, "before")
    _rename(administrator, "/tags/name/Secret.A", "B")
    _tags(administrator, "A")
    rule = {"op": "replace", "path": "/filteringRules/rules/0/condition", "value": "matchAnyTag('Secret.A')"}
    assert send_patch(administrator, f"/events/subscriptions/{made_alert['id']}", rule).is_success
    assert [has_matched(administrator, before, one) for one in ("first", "second")] == [True, False]
    _tag(administrator, orders, "Secret.A")
    after = describe(administrator, orders, "after")
    assert [has_matched(administrator, after, one) for one in ("first", "second")] == [False, True]


def test_owners_and_places(administrator: httpx.Client, orders: Json) -> None:
    team = create_entity(administrator, "/teams", name="sales", teamType="Group")
    assign_owners(administrator, orders, team["id"], kind="team")
    schema, asset = orders["databaseSchema"]["fullyQualifiedName"], orders["fullyQualifiedName"]
    conditions = {
        "owner": "matchAnyOwnerName('sales')",
        "path": "entity.owners.name == 'sales'",
        "schema": f"matchAnySchema('{schema}')",
        "below": f"entityFullyQualifiedName.startsWith('{schema}.')",
        "asset": f"matchAnyEntityFqn('{asset}')",
    }
    for name, condition in conditions.items():
        alert(administrator, name, _rule(condition))
    before = describe(administrator, orders, "before")
    _rename(administrator, f"/teams/{team['id']}", "reve.nue")
    after = describe(administrator, orders, "after")
    for event in (before, after):
        assert [name for name in conditions if not has_matched(administrator, event, name)] == []


def test_renames_of_what_is_gone_for_good_are_forgotten(
    administrator: httpx.Client, orders: Json, sqlite_engine: Engine
) -> None:
    team = create_entity(administrator, "/teams", name="sales", teamType="Group")
    _rename(administrator, f"/teams/{team['id']}", "revenue")
    with sqlite_engine.connect() as connection:
        assert connection.scalars(select(renaming.c.old_fqn)).all() == ["sales"]
    assert administrator.delete(f"/teams/{team['id']}?hardDelete=true").is_success
    with sqlite_engine.connect() as connection:
        assert connection.scalars(select(renaming.c.old_fqn)).all() == []
