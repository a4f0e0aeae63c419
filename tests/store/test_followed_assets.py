"""Tests of what people follow, and of how often it has told them, on both stores."""

from __future__ import annotations

from decimal import Decimal

import pytest
from sqlalchemy import Engine, delete
from tests.company import STARTED_MS, SmallCompany
from tests.notifying import notify_all

from tocsin.catalogue.feed.operations import FeedWrites
from tocsin.model.follow_review import NEVER_TOLD, ToldCount
from tocsin.model.people import SYSTEM
from tocsin.model.stored import Key
from tocsin.model.thread import THREAD
from tocsin.store.database.engine import writing
from tocsin.store.database.tables import change_event
from tocsin.store.outbox.inbox import Inbox
from tocsin.store.outbox.told_counts import ToldCounts
from tocsin.store.outbox.told_months import ToldMonths
from tocsin.store.recipients.followed_assets import FollowedAssets

DAY_MS = 86_400_000


@pytest.fixture
def company(store_engine: Engine) -> SmallCompany:
    small_company = SmallCompany(store_engine)
    bell = [{"category": "Followers", "type": "ActivityFeed"}]
    small_company.alert("bell", bell)
    small_company.alert("threads", bell, resources=("conversation",))
    small_company.clock.advance(1)
    return small_company


def counts_of(company: SmallCompany, who: str, *tables: str, most_counted: int = 100) -> dict[str, ToldCount]:
    """Return how often a person was told of these tables, by their names."""
    names = {company.ids[table]: table for table in tables}
    counts = ToldCounts(company.engine, most_counted=most_counted)
    by_place = counts.of(company.ids[who], company.clock.now_ms(), names)
    return {names[table_id]: count for (table_id, column), count in by_place.items() if column is None}


def test_a_follow_has_its_time_and_the_last_version_of_its_asset(company: SmallCompany) -> None:
    followed_assets = FollowedAssets(company.engine)
    company.clock.advance(10)
    since_ms = company.clock.now_ms()
    for table in ("orders", "revenue"):
        company.writes.follow("table", company.ids[table], company.ids["ben"], actor=SYSTEM)
    company.clock.advance(10)
    company.describe("orders", "Changed.")
    company.writes.delete("table", Key.by_id(company.ids["revenue"]), actor=SYSTEM)
    orders, revenue = sorted(followed_assets.of(company.ids["ben"]), key=lambda one: str(one.reference["name"]))
    assert orders.reference == {
        "id": company.ids["orders"],
        "type": "table",
        "name": "orders",
        "fullyQualifiedName": "pg.store.public.orders",
    }
    assert (orders.since_ms, orders.changed_ms, orders.version) == (since_ms, company.clock.now_ms(), Decimal("0.2"))
    assert (orders.is_deleted, revenue.is_deleted, revenue.since_ms) == (False, True, since_ms)
    assert followed_assets.of(company.ids["ana"]) == []


def test_a_follow_whose_event_has_left_the_log_has_no_time(company: SmallCompany) -> None:
    with writing(company.engine) as connection:
        connection.execute(delete(change_event))
    (orders,) = FollowedAssets(company.engine).of(company.ids["cem"])
    assert (orders.reference["name"], orders.since_ms, orders.changed_ms) == ("orders", None, STARTED_MS)


def test_notifications_are_counted_by_asset_with_those_of_its_threads_and_tests(company: SmallCompany) -> None:
    assert counts_of(company, "cem", "orders", "revenue") == {}
    company.describe("orders", "One.")
    company.describe("revenue", "One.")
    company.test_case("orders")
    thread = {"about": "<#E::table::pg.store.public.orders>", "message": "Why?"}
    FeedWrites(company.writes).create(thread, actor=SYSTEM)
    notify_all(company.engine)
    counts = counts_of(company, "cem", "orders", "revenue")
    inbox, now_ms = Inbox(company.engine), company.clock.now_ms()
    entries = inbox.page(company.ids["cem"], now_ms, limit=10)
    assert set(counts) == {"orders"}
    assert (counts["orders"].count, counts["orders"].unread_count) == (len(entries), len(entries))
    assert {one.event.entity_type for one in entries} == {"table", "testCase", THREAD}
    inbox.mark_read(company.ids["cem"], entries[0].id, now_ms)
    counts = counts_of(company, "cem", "orders")
    assert (counts["orders"].count, counts["orders"].unread_count) == (len(entries), len(entries) - 1)
    assert counts_of(company, "ben", "orders") == {}


def test_notifications_of_a_month_are_counted_by_day_and_by_what_they_came_for(company: SmallCompany) -> None:
    company.writes.follow("databaseSchema", company.ids["public"], company.ids["cem"], actor=SYSTEM)
    notify_all(company.engine, now_ms=company.clock.now_ms())
    company.clock.advance(40 * DAY_MS)
    for days, tables in ((5, ("orders", "revenue")), (1, ("orders", "orders")), (0, ())):
        for table in tables:
            company.describe(table, f"At {company.clock.now_ms()}.")
            company.clock.advance(1)
        notify_all(company.engine, now_ms=company.clock.now_ms())
        company.clock.advance(days * DAY_MS)
    orders, public = company.ids["orders"], company.ids["public"]
    fqns = {orders: "pg.store.public.orders", public: "pg.store.public"}
    month = ToldMonths(company.engine).of(company.ids["cem"], company.clock.now_ms(), fqns)
    assert month.days[orders] == [*[0] * 23, 1, *[0] * 4, 2, 0]
    assert month.days[public] == [*[0] * 23, 2, *[0] * 4, 2, 0]
    assert (month.told_count, month.read_count) == (4, 0)
    assert [month.count_without(keys) for keys in ([orders], [public], [orders, public])] == [0, 1, 4]


def test_a_notification_counts_for_each_container_through_which_a_person_follows_its_asset(
    company: SmallCompany,
) -> None:
    for kind, name in (("databaseSchema", "public"), ("databaseService", "pg")):
        company.writes.follow(kind, company.ids[name], company.ids["cem"], actor=SYSTEM)
    notify_all(company.engine)
    names = ("orders", "revenue", "public", "pg")
    before = counts_of(company, "cem", *names)
    for table in ("orders", "orders", "revenue"):
        company.describe(table, f"At {company.clock.now_ms()}.")
        company.clock.advance(1)
    notify_all(company.engine)
    counts = counts_of(company, "cem", *names)
    new_counts = {name: count.count - before.get(name, NEVER_TOLD).count for name, count in counts.items()}
    assert new_counts == {"orders": 2, "revenue": 1, "public": 3, "pg": 3}
    assert counts["pg"].unread_count == counts["pg"].count


def test_a_followed_column_counts_what_it_told_and_when_that_was_read(company: SmallCompany) -> None:
    company.table("people")
    people, cem = company.ids["people"], company.ids["cem"]
    for column in ("id", "email"):
        company.writes.follow("table", people, cem, actor=SYSTEM, column=column)
    notify_all(company.engine)
    for number, text in ((1, "addresses"), (1, "mails"), (0, "numbers")):
        company.clock.advance(1)
        change = [{"op": "add", "path": f"/columns/{number}/description", "value": text}]
        company.writes.patch("table", company.key("people"), change, actor=SYSTEM)
    notify_all(company.engine)
    inbox, counts = Inbox(company.engine), ToldCounts(company.engine)
    now_ms, fqns = company.clock.now_ms(), {people: "elsewhere.a.b.people"}
    counts_by_place = counts.of(cem, now_ms, fqns)
    assert {column: counts_by_place[people, column].count for column in ("id", "email", None)} == {
        "id": 1,
        "email": 2,
        None: 3,
    }
    (entry, *_) = inbox.page(cem, now_ms, limit=10)
    inbox.mark_read(cem, entry.id, now_ms)
    counts_by_place = counts.of(cem, now_ms, fqns)
    assert (counts_by_place[people, "id"].unread_count, counts_by_place[people, "id"].opened_ms) == (0, now_ms)
    assert (counts_by_place[people, "email"].unread_count, counts_by_place[people, "email"].opened_ms) == (2, None)


def test_only_the_newest_notifications_are_counted(company: SmallCompany) -> None:
    company.writes.follow("table", company.ids["revenue"], company.ids["cem"], actor=SYSTEM)
    for table in ("revenue", "orders", "orders"):
        company.clock.advance(1)
        company.describe(table, f"At {company.clock.now_ms()}.")
    notify_all(company.engine)
    counts = counts_of(company, "cem", "orders", "revenue", most_counted=2)
    assert {table: count.count for table, count in counts.items()} == {"orders": 2}
    assert {table: count.count for table, count in counts_of(company, "cem", "orders", "revenue").items()} == {
        "orders": 2,
        "revenue": 2,
    }, "the follow is an event, too"
