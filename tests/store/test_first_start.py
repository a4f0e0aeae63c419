"""Tests of the bootstrap: repeatable, and safe in concurrent processes.

Tests of what a later start does begin with a copy of what the first one leaves (``tests/serving.start_store``).
"""

from __future__ import annotations

import threading

import pytest
from sqlalchemy import Engine, delete, update
from tests.serving import server_settings, start_store

from tocsin.access.permission_cache import PermissionCache
from tocsin.catalogue.writes import Writes
from tocsin.clock import SystemClock
from tocsin.flow.capture.json_patch import PatchOperation
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.people import SYSTEM, Actor
from tocsin.model.push_browser import PushBrowser
from tocsin.model.stored import Key, Written
from tocsin.server.bootstrap import (
    ASSIGNED_INCIDENTS_ALERT,
    CHANGE_REQUESTS_ALERT,
    MESSAGE_ALERTS,
    MESSAGES,
    POLICY_NAMES,
    PUSH_ALERTS,
    first_start,
)
from tocsin.settings import Settings
from tocsin.store.catalogue.access.revision import PeopleRevision
from tocsin.store.catalogue.access.subjects import SqlSubjects
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue
from tocsin.store.catalogue.people.identities import People
from tocsin.store.catalogue.people.push_browsers import PushBrowsers
from tocsin.store.catalogue.people.tokens import IssuedToken, IssuedTokens, TokenKind
from tocsin.store.database.documents import to_text
from tocsin.store.database.engine import writing
from tocsin.store.database.log_tables import scheduled_job
from tocsin.store.database.tables import entity


def test_two_first_starts_at_once_leave_one_password(store_engine: Engine) -> None:
    passwords: list[str | None] = []
    threads = [
        threading.Thread(target=lambda: passwords.append(first_start(store_engine, Settings()))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(passwords) == 4
    assert len([password for password in passwords if password is not None]) == 1
    assert first_start(store_engine, Settings()) is None


def test_after_a_first_start_everybody_may_view_everything_until_a_team_keeps_its_own(store_engine: Engine) -> None:
    start_store(store_engine, server_settings())
    permission_cache, catalogue = PermissionCache(SqlSubjects(store_engine)), SqlCatalogue(store_engine)
    assert [one for one in ENTITY_TYPES if not permission_cache.current_policies().is_open(one)] == []
    policy = catalogue.get("policy", Key.by_name("TeamOnlyPolicy"))
    writes, policy_reference = Writes(catalogue, SystemClock()), {"type": "policy", "id": policy["id"]}
    writes.create("team", {"name": "own", "teamType": "Group", "policies": [policy_reference]}, actor=SYSTEM)
    assert not permission_cache.current_policies().is_open("table")


def test_what_a_role_denies_counts_as_soon_as_there_is_the_role(store_engine: Engine) -> None:
    start_store(store_engine, server_settings())
    permission_cache, catalogue = PermissionCache(SqlSubjects(store_engine)), SqlCatalogue(store_engine)
    assert permission_cache.current_policies().is_open("table")
    role = {"name": "apart", "policies": ["DomainOnlyAccessPolicy"]}
    Writes(catalogue, SystemClock()).create("role", role, actor=SYSTEM)
    assert not permission_cache.current_policies().is_open("table")


def test_former_conditions_of_the_activity_feed_are_renewed_and_those_of_administrators_stay(
    store_engine: Engine,
) -> None:
    start_store(store_engine, server_settings())
    catalogue = SqlCatalogue(store_engine)
    writes, key = Writes(catalogue, SystemClock()), Key.by_name("ActivityFeedAlert")
    place = "/filteringRules/rules/{}/condition"
    former = "fieldChanged == 'followers' || fieldChanged == 'votes'"
    operations: list[PatchOperation] = [
        {"op": "replace", "path": place.format(0), "value": former},
        {"op": "replace", "path": place.format(1), "value": "isBot()"},
    ]
    version = writes.patch("eventsubscription", key, operations, actor=SYSTEM).document["version"]
    for _ in range(2):
        first_start(store_engine, Settings())
        stored_alert = catalogue.get("eventsubscription", key)
        conditions = [rule["condition"] for rule in stored_alert["filteringRules"]["rules"]]
        assert conditions[:2] == ["onlyFieldsChanged('followers', 'votes')", "isBot()"]
        assert stored_alert["version"] != version


WITH_MAIL = Settings(smtp_host="mail.example.org")


def are_enabled(engine: Engine) -> list[bool]:
    """Return whether the default alerts are enabled that send messages to owners and followers."""
    catalogue = SqlCatalogue(engine)
    return [catalogue.get("eventsubscription", Key.by_name(one["name"]))["enabled"] for one in MESSAGE_ALERTS]


def as_of_earlier_release(engine: Engine) -> None:
    """Remove from a store what tells it from one that an earlier release has started."""
    writes = Writes(SqlCatalogue(engine), SystemClock())
    for alert in MESSAGE_ALERTS:
        key = Key.by_name(alert["name"])
        user_made = [PatchOperation(op="replace", path="/provider", value="user")]
        writes.patch("eventsubscription", key, user_made, actor=SYSTEM)
        writes.delete("eventsubscription", key, actor=SYSTEM, hard=True)
    with writing(engine) as connection:
        connection.execute(delete(scheduled_job).where(scheduled_job.c.name == MESSAGES))


def test_a_new_store_with_a_mail_server_sends_messages_to_owners_and_followers(store_engine: Engine) -> None:
    first_start(store_engine, WITH_MAIL)
    assert are_enabled(store_engine) == [True, True]


def test_a_new_store_waits_for_its_mail_server_and_an_administrator_has_the_last_word(store_engine: Engine) -> None:
    for _ in range(2):
        first_start(store_engine, Settings())
        assert are_enabled(store_engine) == [False, False]
    first_start(store_engine, WITH_MAIL)
    assert are_enabled(store_engine) == [True, True]
    off: list[PatchOperation] = [{"op": "replace", "path": "/enabled", "value": False}]
    key = Key.by_name(MESSAGE_ALERTS[0]["name"])
    Writes(SqlCatalogue(store_engine), SystemClock()).patch("eventsubscription", key, off, actor=SYSTEM)
    first_start(store_engine, WITH_MAIL)
    assert are_enabled(store_engine) == [False, True]


def test_what_an_administrator_disabled_before_there_was_a_mail_server_stays_so(store_engine: Engine) -> None:
    first_start(store_engine, Settings())
    key, ann = Key.by_name(MESSAGE_ALERTS[0]["name"]), Actor(id="ann", name="ann", is_admin=True)
    described: list[PatchOperation] = [{"op": "replace", "path": "/description", "value": "Not here."}]
    Writes(SqlCatalogue(store_engine), SystemClock()).patch("eventsubscription", key, described, actor=ann)
    first_start(store_engine, WITH_MAIL)
    assert are_enabled(store_engine) == [False, True]


@pytest.mark.parametrize("crashed_after", ["note", "first alert", "nothing"])
def test_a_store_of_an_earlier_release_sends_no_message_more_than_before(
    store_engine: Engine, crashed_after: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first_start(store_engine, Settings())
    as_of_earlier_release(store_engine)
    if crashed_after != "nothing":
        crash_on(monkeypatch, MESSAGE_ALERTS[crashed_after == "first alert"]["name"])
        with pytest.raises(RuntimeError):
            first_start(store_engine, WITH_MAIL)
        monkeypatch.undo()
    first_start(store_engine, WITH_MAIL)
    assert are_enabled(store_engine) == [False, False]


def crash_on(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Let the creation of an alert fail."""
    create = Writes.create

    def crashing(writes: Writes, entity_type: str, request: Document, *, actor: Actor) -> Written:
        if request["name"] == name:
            raise RuntimeError("crashed")
        return create(writes, entity_type, request, actor=actor)

    monkeypatch.setattr(Writes, "create", crashing)


@pytest.mark.parametrize(
    ("alert", "stored", "is_renewed"),
    [
        (CHANGE_REQUESTS_ALERT, "matchAnyEventType({'changeRequestUpdated'})", True),
        (CHANGE_REQUESTS_ALERT, "matchAnyEventType({'changeRequestUpdated'}) && isOwner()", False),
        (CHANGE_REQUESTS_ALERT, "matchAnyEventType({'changeRequestAnswered'})", False),
        (ASSIGNED_INCIDENTS_ALERT, "matchAnyEventType({'alertIncidentUpdated'})", True),
        (ASSIGNED_INCIDENTS_ALERT, "matchAnyEventType({'alertIncidentUpdated'}) && isOwner()", False),
    ],
)
@pytest.mark.soak_on_postgresql
def test_the_former_condition_of_a_default_alert_is_renewed_and_that_of_an_administrator_stays(
    store_engine: Engine, alert: Document, stored: str, *, is_renewed: bool
) -> None:
    start_store(store_engine, server_settings())
    catalogue, key = SqlCatalogue(store_engine), Key.by_name(alert["name"])
    operations: list[PatchOperation] = [{"op": "replace", "path": "/filteringRules/rules/0/condition", "value": stored}]
    Writes(catalogue, SystemClock()).patch("eventsubscription", key, operations, actor=SYSTEM)
    first_start(store_engine, Settings())
    (rule,) = catalogue.get("eventsubscription", key)["filteringRules"]["rules"]
    assert rule["condition"] == (alert["filteringRules"]["rules"][0]["condition"] if is_renewed else stored)


@pytest.mark.parametrize("is_reused", [False, True])
def test_a_policy_of_an_earlier_release_grants_nothing_by_the_name_of_a_deleted_team(
    store_engine: Engine, *, is_reused: bool
) -> None:
    start_store(store_engine, server_settings())
    catalogue = SqlCatalogue(store_engine)
    writes = Writes(catalogue, SystemClock())
    group = {"name": "sales", "teamType": "Group"}
    team = writes.create("team", group, actor=SYSTEM).document
    rule = {"name": "r", "effect": "allow", "operations": ["All"], "resources": ["table"]}
    rules = [rule | {"condition": "inAnyTeam('sales')"}]
    policy = writes.create("policy", {"name": "p", "rules": rules}, actor=SYSTEM).document
    writes.delete("team", Key.by_id(team["id"]), actor=SYSTEM, hard=True)
    _store_as_earlier_release(store_engine, policy)
    with writing(store_engine) as connection:
        connection.execute(delete(scheduled_job).where(scheduled_job.c.name == POLICY_NAMES))
    if is_reused:
        writes.create("team", group, actor=SYSTEM)
    for _ in range(2):
        first_start(store_engine, Settings())
        after = catalogue.get("policy", Key.by_id(policy["id"]))
        assert after["rules"][0]["condition"] == f"inAnyTeam('sales (removed {team['id']})')"


def test_names_in_policies_are_settled_once(store_engine: Engine) -> None:
    """Later, the transactions that delete or write see to it; a start reads no policies."""
    start_store(store_engine, server_settings())
    catalogue = SqlCatalogue(store_engine)
    rule = {"name": "r", "effect": "allow", "operations": ["All"], "resources": ["table"]}
    writes = Writes(catalogue, SystemClock())
    policy = writes.create("policy", {"name": "p", "rules": [rule]}, actor=SYSTEM).document
    _store_as_earlier_release(store_engine, policy | {"rules": [rule | {"condition": "inAnyTeam('sales')"}]})
    first_start(store_engine, Settings())
    after = catalogue.get("policy", Key.by_id(policy["id"]))
    assert after["rules"][0]["condition"] == "inAnyTeam('sales')"


def _store_as_earlier_release(engine: Engine, policy: Document) -> None:
    with writing(engine) as connection:
        connection.execute(update(entity).where(entity.c.id == policy["id"]).values(document=to_text(policy)))


def test_web_push_has_its_alerts_once_it_is_on_and_no_browser_once_it_is_off(sqlite_engine: Engine) -> None:
    catalogue = SqlCatalogue(sqlite_engine)
    keys = [Key.by_name(one["name"]) for one in PUSH_ALERTS]

    def stored_types() -> list[set[str]]:
        stored_keys = [key for key in keys if catalogue.reference("eventsubscription", key)]
        alerts = [catalogue.get("eventsubscription", key) for key in stored_keys]
        return [{destination["type"] for destination in alert["destinations"]} for alert in alerts]

    start_store(sqlite_engine, server_settings())
    assert stored_types() == []
    for _ in range(2):
        first_start(sqlite_engine, Settings(web_push=True, public_url="https://tocsin.example.com"))
        assert stored_types() == [{"Push"}] * len(PUSH_ALERTS)
    admin = People(sqlite_engine).by_name("admin")
    assert admin is not None
    IssuedTokens(sqlite_engine, PeopleRevision()).add(IssuedToken("s", admin.id, TokenKind.BROWSER, "Firefox", 0, None))
    browsers = PushBrowsers(sqlite_engine)
    browsers.put(PushBrowser("s", admin.id, "https://push.example.net/s", "p256dh", "auth", 1))
    assert browsers.holders([admin.id], 1) == {admin.id}
    first_start(sqlite_engine, Settings())
    assert browsers.holders([admin.id], 1) == set()
