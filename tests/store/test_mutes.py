"""Tests of mutes on both stores: found by either key and applied to recipients."""

from __future__ import annotations

import pytest
from sqlalchemy import Engine, func, select, text
from tests.company import SmallCompany
from tests.notifying import dependencies_of, notify_all
from tests.store.test_broad_mutes import dropped_mails
from tests.store.test_container_follows import BELL
from tests.store.test_preferences import NIGHT_MS, company_of, in_app
from tests.stores import drop_newest_tables

from tocsin.flow.once import notifications_for
from tocsin.flow.schedule.preferences import NEVER_MS
from tocsin.model.mute import FOR_GOOD_MS, Mute, MuteKind
from tocsin.model.people import SYSTEM
from tocsin.model.preferences import DefaultPreferences, Layer, Preferences
from tocsin.store.catalogue.access.quotas import Quotas
from tocsin.store.catalogue.alerts.subscriptions import Subscriptions
from tocsin.store.database.engine import reading
from tocsin.store.database.schema import migrate
from tocsin.store.database.tables import notification, quota_use
from tocsin.store.eventlog.log import EventLog
from tocsin.store.outbox.preferences import SqlPreferences
from tocsin.store.recipients.directory import SqlDirectory
from tocsin.store.recipients.mutes import Mutes


@pytest.fixture
def company(store_engine: Engine) -> SmallCompany:
    small_company = SmallCompany(store_engine)
    small_company.alert(
        "bell", [{"category": "Owners", "type": "ActivityFeed"}, {"category": "Followers", "type": "Email"}]
    )
    outside = {"category": "External", "type": "Email", "config": {"receivers": ["Out@example.com"]}}
    small_company.alert("again", [{"category": "Owners", "type": "ActivityFeed"}, outside])
    return small_company


def notify_of_change(company: SmallCompany, table: str = "orders") -> set[tuple[str, str, tuple[str, ...]]]:
    """Change a table; return (channel, recipient, alerts) of its notifications that no mute keeps back."""
    event = company.describe(table, f"at {company.clock.now_ms()}")
    assert event is not None
    engine = company.engine
    logged_event = EventLog(engine).find(event["id"])
    assert logged_event is not None
    alerts = Subscriptions(engine).list_enabled()
    dependencies = dependencies_of(engine, alerts, company.clock)
    names = {identity: name for name, identity in company.ids.items()}
    scheduled_notifications = notifications_for(logged_event, alerts, dependencies)
    drafts = [one.draft for one in scheduled_notifications if one.slot.choice.layer is not Layer.MUTE]
    return {
        (draft.channel, names.get(draft.key, draft.key), tuple(r.subscription_name for r in draft.reasons.in_order))
        for draft in drafts
    }


def mute(company: SmallCompany, who: str, about: str, **options: object) -> Mute:
    kind = MuteKind.ASSET if about == "orders" else MuteKind.ALERT
    new_mute = Mute(company.ids.get(who, who), kind, company.ids[about], since_ms=company.clock.now_ms(), **options)  # type: ignore[arg-type]  # a test's own keys
    Mutes(company.engine).put(new_mute)
    return new_mute


BEN = ("ActivityFeed", "ben", ("again", "bell"))
CEM = ("Email", "cem@example.com", ("bell",))
OUT = ("Email", "out@example.com", ("again",))


def test_a_muted_alert_is_quiet_and_others_still_tell(company: SmallCompany) -> None:
    mute(company, "ana", "bell")
    assert notify_of_change(company) == {BEN, CEM, OUT, ("ActivityFeed", "ana", ("again",))}
    mute(company, "ana", "again")
    mute(company, "cem", "bell", channel="ActivityFeed")
    assert notify_of_change(company) == {BEN, CEM, OUT}
    mute(company, "cem", "bell", channel="Email")
    assert notify_of_change(company) == {BEN, OUT}
    assert Mutes(company.engine).counts([company.ids["bell"]], company.clock.now_ms()) == {company.ids["bell"]: (2, 0)}


def test_a_muted_asset_is_quiet_whatever_the_alert_until_it_ends(company: SmallCompany) -> None:
    """Fault scenario 38."""
    mute(company, "ana", "orders", until_ms=company.clock.now_ms() + 1_500)
    assert notify_of_change(company) == {BEN, CEM, OUT}
    assert notify_of_change(company) == {BEN, CEM, OUT, ("ActivityFeed", "ana", ("again", "bell"))}
    assert Mutes(company.engine).of(company.ids["ana"], company.clock.now_ms()) == []


def test_an_address_that_nobody_has_can_be_unsubscribed(company: SmallCompany) -> None:
    mute(company, "out@example.com", "again", channel="Email", unsubscribed=True)
    assert OUT not in notify_of_change(company)
    assert Mutes(company.engine).counts([company.ids["again"]], company.clock.now_ms()) == {
        company.ids["again"]: (0, 1)
    }


def test_a_mute_is_changed_and_taken_back(company: SmallCompany) -> None:
    now_ms, mutes = company.clock.now_ms(), Mutes(company.engine)
    first = mute(company, "ana", "orders")
    company.clock.advance(10)
    mute(company, "ana", "orders", until_ms=now_ms + 50)
    (remaining_mute,) = mutes.of(company.ids["ana"], now_ms)
    assert (remaining_mute.since_ms, remaining_mute.until_ms) == (first.since_ms, now_ms + 50)
    assert mutes.remove(company.ids["ana"], company.ids["orders"]) == 1
    assert mutes.of(company.ids["ana"], now_ms) == []


def test_who_asks_for_many_people_finds_the_same_mutes(company: SmallCompany) -> None:
    mute(company, "ana", "orders")
    mutes = Mutes(company.engine).of(company.ids["ana"], company.clock.now_ms())
    many = [company.ids["ana"], *(f"user-{n}" for n in range(1_200))]
    assert list(SqlDirectory(company.engine).mutes(many, [company.ids["orders"]])) == mutes != []


def test_who_muted_a_table_hears_nothing_of_its_tests(company: SmallCompany) -> None:
    case = company.test_case("orders")["id"]
    muted = mute(company, "cem", "orders")
    mutes = SqlDirectory(company.engine).mutes({company.ids["cem"]}, {case})
    assert {one.about_id for one in mutes} == {muted.about_id, case}


def test_what_is_muted_of_an_alert_ends_with_it(company: SmallCompany) -> None:
    mute(company, "ana", "bell")
    Subscriptions(company.engine).forget(company.ids["bell"])
    assert Mutes(company.engine).of(company.ids["ana"], company.clock.now_ms()) == []


def test_whoever_is_erased_leaves_no_mutes_and_no_use_of_quotas(company: SmallCompany) -> None:
    now_ms = company.clock.now_ms()
    mute(company, "ana", "bell")
    mute(company, "cem", "bell")
    quotas = Quotas(company.engine)
    assert quotas.take(company.ids["ana"], "alerts", 1, limit=1, now_ms=now_ms) is None
    company.writes.delete("user", company.key("ana"), actor=SYSTEM, hard=True)
    assert Mutes(company.engine).of(company.ids["ana"], now_ms) == []
    assert Mutes(company.engine).counts([company.ids["bell"]], now_ms) == {company.ids["bell"]: (1, 0)}
    with company.engine.connect() as connection:
        assert connection.execute(select(func.count()).select_from(quota_use)).scalar_one() == 0


def test_an_upgrade_deletes_the_mutes_of_users_erased_before_and_keeps_those_of_addresses(
    company: SmallCompany,
) -> None:
    now_ms = company.clock.now_ms()
    for who in ("ana", "out@example.com", "01a21a39-3702-765e-8682-eb3b7c3bd7d6"):
        mute(company, who, "bell")
    with company.engine.begin() as connection:
        drop_newest_tables(connection)
        connection.execute(text("UPDATE alembic_version SET version_num = '0031_suite_runs'"))
    migrate(company.engine)
    assert Mutes(company.engine).counts([company.ids["bell"]], now_ms) == {company.ids["bell"]: (2, 0)}
    assert len(Mutes(company.engine).of("out@example.com", now_ms)) == 1


def test_a_mandatory_kind_comes_through_mutes_of_asset_and_alert_and_the_rest_is_stored_with_its_mute(
    store_engine: Engine,
) -> None:
    company = company_of(store_engine)
    ana, preferences = company.ids["ana"], SqlPreferences(store_engine)
    preferences.put_defaults(DefaultPreferences(mandatory=("name",)), now_ms=0)
    Mutes(store_engine).put(Mute(ana, MuteKind.ASSET, company.ids["orders"], since_ms=company.clock.now_ms()))
    company.describe("orders", "text")
    notify_all(store_engine, now_ms=NIGHT_MS)
    assert in_app(store_engine, ana) == [(NEVER_MS, f"mute never asset|{company.ids['orders']}|{FOR_GOOD_MS}")]
    assert dropped_mails(store_engine, NIGHT_MS) == [(False, ["muted: the recipient muted the asset permanently"])]
    name = [{"op": "add", "path": "/displayName", "value": "Orders"}]
    company.writes.patch("table", company.key("orders"), name, actor=company.actor("dia"))
    notify_all(store_engine, now_ms=NIGHT_MS)
    assert sorted(due_ms for due_ms, _ in in_app(store_engine, ana)) == [NIGHT_MS, NEVER_MS]
    assert sorted(may for may, _ in dropped_mails(store_engine, NIGHT_MS)) == [False, True]
    preferences.put_defaults(DefaultPreferences(), now_ms=0)
    assert [may for may, _ in dropped_mails(store_engine, NIGHT_MS)] == [False, False], "no longer mandatory"


@pytest.mark.parametrize("is_muted", [False, True])
def test_a_kind_that_is_mandatory_for_owners_comes_to_them_and_not_to_who_follows_the_asset_alone(
    store_engine: Engine, *, is_muted: bool
) -> None:
    company = company_of(store_engine)
    company.alert("bell", BELL, poll_interval_s=0)
    preferences, orders = SqlPreferences(store_engine), company.ids["orders"]
    of_owners = DefaultPreferences.model_validate({"mandatoryRoles": {"owned": ["description"]}})
    preferences.put_defaults(of_owners, now_ms=0)
    off = Preferences.model_validate({"kinds": {"description": {"ActivityFeed": "never"}}, "frequency": "never"})
    for who in ("ana", "cem"):
        if is_muted:
            Mutes(store_engine).put(Mute(company.ids[who], MuteKind.ASSET, orders, since_ms=company.clock.now_ms()))
        else:
            preferences.put(company.ids[who], off, now_ms=0)
    company.describe("orders", "text")
    notify_all(store_engine, now_ms=NIGHT_MS)
    of_owner = in_app(store_engine, company.ids["ana"])
    assert of_owner == [(NIGHT_MS, None if is_muted else "mandatory immediate owned/description")]
    assert [due_ms for due_ms, _ in in_app(store_engine, company.ids["cem"])] == [NEVER_MS]


def test_what_is_mandatory_comes_to_who_never_wants_anything(store_engine: Engine) -> None:
    company = company_of(store_engine)
    preferences, ana = SqlPreferences(store_engine), company.ids["ana"]
    preferences.put_defaults(DefaultPreferences(mandatory=("description",)), now_ms=0)
    preferences.put(ana, Preferences.model_validate({"frequency": "never"}), now_ms=0)
    company.describe("orders", "text")
    notify_all(store_engine, now_ms=NIGHT_MS)
    with reading(store_engine) as connection:
        mailed = select(notification.c.preferred).where(notification.c.message_id.is_not(None))
        own_mails = connection.scalars(mailed.where(notification.c.recipient_id == ana)).all()
    assert list(own_mails) == ["mandatory immediate description"]


def test_what_was_muted_when_it_happened_stays_so_after_the_mute_has_ended(store_engine: Engine) -> None:
    company = company_of(store_engine)
    until_ms = company.clock.now_ms() + 60_000
    mute(company, "ana", "orders", until_ms=until_ms)
    company.describe("orders", "while")
    notify_all(store_engine, now_ms=company.clock.now_ms())
    company.clock.advance(120_000)
    company.describe("orders", "after")
    notify_all(store_engine, now_ms=company.clock.now_ms())
    assert sorted(due_ms != NEVER_MS for due_ms, _ in in_app(store_engine, company.ids["ana"])) == [False, True]
    assert sorted(may for may, _ in dropped_mails(store_engine, company.clock.now_ms())) == [False, True]
    Mutes(store_engine).remove(company.ids["ana"], company.ids["orders"])
    assert [may for may, _ in dropped_mails(store_engine, company.clock.now_ms())] == [True, True], "nothing is lost"
