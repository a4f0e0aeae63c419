"""Tests of match, notification and read counts of alerts on both stores."""

from __future__ import annotations

import pytest
from sqlalchemy import Engine
from tests.company import SmallCompany
from tests.drafts import draft, match_results, notification_due_at_once, reason
from tests.notifying import notify_all

from tocsin.flow.schedule.messages import ScheduledNotification
from tocsin.model.inbox import Mark
from tocsin.model.notification import ReasonKind
from tocsin.model.notification_draft import head_of
from tocsin.store.database.tables import pipeline_progress
from tocsin.store.eventlog.log import EventLog
from tocsin.store.outbox.firings import Firings, Tally
from tocsin.store.outbox.inbox import Inbox
from tocsin.store.outbox.notifications import Notifications
from tocsin.store.outbox.told_events import ToldEvents

FAR_MS = 2**60


@pytest.fixture
def company(store_engine: Engine) -> SmallCompany:
    small_company = SmallCompany(store_engine)
    bell, mail = {"type": "ActivityFeed"}, {"type": "Email"}
    rule = "fieldChanged == 'description'"
    small_company.alert("bell", [{"category": "Owners", **bell}, {"category": "Followers", **bell}], rule)
    small_company.alert("both", [{"category": "Owners", **bell}, {"category": "Owners", **mail}], rule)
    for table in ("orders", "orders", "revenue"):
        small_company.describe(table, f"at {small_company.clock.now_ms()}", by="ben")
    return small_company


def tallies(company: SmallCompany) -> dict[str, Tally]:
    all_tallies = Firings(company.engine).tallies(0)
    return {name: all_tallies[company.ids[name]] for name in ("bell", "both")}


def test_what_alerts_tell_is_counted_per_event_and_once(company: SmallCompany) -> None:
    notify_all(company.engine)
    first_tallies = tallies(company)
    assert first_tallies["bell"] == Tally(fired_count=3, notified_count=5, person_count=5, app_count=5)
    assert first_tallies["both"] == Tally(fired_count=3, notified_count=6, person_count=6, app_count=3)
    with company.engine.begin() as connection:
        connection.execute(pipeline_progress.delete().where(pipeline_progress.c.query_name == "match_stream"))
    notify_all(company.engine)
    assert tallies(company) == first_tallies
    firings = Firings(company.engine)
    assert firings.people([company.ids["bell"], company.ids["both"]], 0) == {
        company.ids["bell"]: 3,
        company.ids["both"]: 2,
    }
    assert firings.start_of(FAR_MS) == 2**62
    assert firings.tally(company.ids["bell"], 2**62) == Tally()


def test_events_that_other_alerts_told_of_are_counted(company: SmallCompany) -> None:
    notify_all(company.engine)
    firings, log = Firings(company.engine), EventLog(company.engine)
    offsets = range(log.readable_end() + 1)
    assert firings.overlaps(offsets, besides="new") == {company.ids["bell"]: 3, company.ids["both"]: 3}
    newest = [firing.log_offset for firing in firings.of(company.ids["bell"], 0, limit=2)]
    assert firings.overlaps(newest, besides=company.ids["bell"]) == {company.ids["both"]: 2}
    assert firings.overlaps([], besides="new") == {}


def test_the_newest_events_that_alerts_told_of_are_whole_within_their_bounds(company: SmallCompany) -> None:
    notify_all(company.engine)
    told_events, alert_ids = ToldEvents(company.engine), [company.ids["bell"], company.ids["both"]]
    pairs = told_events.newest(alert_ids, 0, limit=100, most_notified=100)
    offsets = sorted({pair.log_offset for pair in pairs}, reverse=True)
    assert [pair.log_offset for pair in pairs] == [offset for offset in offsets for _ in alert_ids]
    assert len(offsets) == 3
    cut_by_limit = told_events.newest(alert_ids, 0, limit=5, most_notified=100)
    assert {pair.log_offset for pair in cut_by_limit} == set(offsets[:2])
    cut_by_sum = told_events.newest(alert_ids, 0, limit=100, most_notified=4)
    assert {pair.log_offset for pair in cut_by_sum} == {offsets[0]}
    assert told_events.newest([], 0, limit=100, most_notified=100) == []
    assert told_events.newest(alert_ids, offsets[0] + 1, limit=100, most_notified=100) == []


def test_who_marks_something_as_done_acts_on_what_all_its_alerts_told(company: SmallCompany) -> None:
    notify_all(company.engine)
    inbox, ana = Inbox(company.engine), company.ids["ana"]
    entry = inbox.page(ana, FAR_MS, limit=10)[0]
    told_events = ToldEvents(company.engine)
    inbox.mark_read(ana, entry.id, FAR_MS)
    assert told_events.acts_between(0, FAR_MS) == set()
    inbox.mark(ana, [entry.id], Mark.DONE, FAR_MS)
    (offset,) = {offset for offset, _ in told_events.acts_between(0, FAR_MS)}
    assert told_events.acts_between(offset, offset) == {
        (offset, company.ids["bell"]),
        (offset, company.ids["both"]),
    }
    assert told_events.acts_between(offset + 1, FAR_MS) == set()


def test_a_read_notification_counts_for_every_alert_in_it(company: SmallCompany) -> None:
    notify_all(company.engine)
    inbox, ana = Inbox(company.engine), company.ids["ana"]
    first = inbox.page(ana, FAR_MS, limit=10)[0]
    inbox.mark_read(ana, first.id, FAR_MS)
    inbox.mark_read(ana, first.id, FAR_MS)
    assert {name: one.opened_count for name, one in tallies(company).items()} == {"bell": 1, "both": 1}
    assert inbox.mark_all_read(ana, FAR_MS).entry_count == 1
    assert inbox.mark_all_read(ana, FAR_MS).entry_count == 0
    inbox.mark_all_read(company.ids["cem"], FAR_MS)
    assert {name: one.opened_count for name, one in tallies(company).items()} == {"bell": 4, "both": 2}
    newest, *_ = Firings(company.engine).of(company.ids["bell"], 0, limit=1)
    assert (newest.notified_count, newest.opened_count) == (1, 0)
    assets = Firings(company.engine).by_asset(company.ids["bell"], 0, limit=5)
    assert [(name, one.notified_count, one.opened_count) for _, _, name, one in assets] == [
        ("pg.store.public.orders", 4, 4),
        ("pg.store.public.revenue", 1, 0),
    ]


def test_what_matches_and_notifies_nobody_is_counted_as_fired(company: SmallCompany) -> None:
    admins = [{"category": "Admins", "type": "ActivityFeed"}]
    company.clock.advance(1)
    quiet = company.alert("quiet", admins, "fieldChanged == 'description'")
    company.describe("orders", "again", by="ben")
    notify_all(company.engine)
    firings = Firings(company.engine)
    assert firings.tallies(0)[quiet] == Tally(fired_count=1, silent_count=1)
    assert firings.of(quiet, 0, limit=5) == []
    assert firings.by_asset(quiet, 0, limit=5) == []
    assert firings.people([quiet], 0) == {}


def test_what_two_queries_notify_counts_for_the_alerts_of_both(company: SmallCompany) -> None:
    """Two queries may notify the same person of the same event: one notification with the reasons of both."""
    notifications, alerts = Notifications(company.engine), (company.ids["bell"], company.ids["both"])
    for alert in alerts:
        scheduled = [in_app(company, alert, who) for who in (("ana",) if alert == alerts[0] else ("ana", "cem"))]
        notifications.add(scheduled, match_results(scheduled))
        notifications.add(scheduled, match_results(scheduled))
    tallies_before = Firings(company.engine).tallies(0)
    assert [tallies_before[one].notified_count for one in alerts] == [1, 2]
    assert [tallies_before[one].fired_count for one in alerts] == [1, 1]
    assert Inbox(company.engine).mark_all_read(company.ids["ana"], FAR_MS).entry_count == 1
    tallies_after = Firings(company.engine).tallies(0)
    assert [tallies_after[one].noise for one in alerts] == [0, 1]


def in_app(company: SmallCompany, alert_id: str, who: str) -> ScheduledNotification:
    """Return a notification as a query writes it, of the first event of the log."""
    (logged,) = EventLog(company.engine).read(0, 1)
    person, owned = company.ids[who], reason(alert_id, ReasonKind.OWNER)
    return notification_due_at_once(
        draft("ActivityFeed", owned, event=head_of(logged), key=person, recipient_id=person)
    )
