"""Tests of the self-audit: no finding on a sound store, one exact finding per damage, recorded once.

Where a test is about damage, the Python engine notifies; what the pipeline itself stores is found sound by the others.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from sqlalchemy import Engine, delete, func, insert, select, update
from tests.acceptance.earlier_features import check_what_has_no_owner, delete_schema, handle_failures
from tests.company import SmallCompany
from tests.notifying import notify_all
from tests.spark.test_match_stream import (
    FOLLOWERS_BELL,
    HOOK,
    OWNERS_MAIL,
    has_caught_up,
    running,
    stored_notifications,
)
from tests.spark.test_streak_stream import following
from tests.spark.test_streak_stream import has_read_all_reports as streaks_caught_up
from tests.store.test_change_upkeep import ask_for_answer
from tests.store.test_reminders import reminder_events
from tests.stores import ON_BOTH_STORES, store_url
from tests.waiting import until

from tocsin.jobs.audit import Audited, AuditParts, audit
from tocsin.jobs.expiry import ExpiryJob
from tocsin.jobs.lake import LakeParts, grow
from tocsin.model.change import LoggedEvent
from tocsin.model.mute import EVERYTHING_ID, Mute, MuteKind
from tocsin.model.people import SYSTEM
from tocsin.spark.lake import HistoryLocation
from tocsin.spark.session import register_source
from tocsin.spark.sources import LogSource
from tocsin.store.database.alert_tables import match_result
from tocsin.store.database.tables import attempt, message, notification, past_relation
from tocsin.store.eventlog.lake import Lake
from tocsin.store.eventlog.log import EventLog
from tocsin.store.recipients.mutes import Mutes

__all__ = ["store_url"]

pytestmark = pytest.mark.spark

HOUR_MS = 3_600_000


@pytest.fixture
def company(store_engine: Engine) -> SmallCompany:
    small_company = SmallCompany(store_engine)
    small_company.clock.advance(1_000)
    small_company.alert("mail", [OWNERS_MAIL, HOOK], "fieldChanged == 'description'", resources=("table",))
    small_company.alert("bell", [FOLLOWERS_BELL], resources=("all",))
    small_company.alert("nobody", [{"category": "Admins", "type": "ActivityFeed"}], resources=("table",))
    return small_company


@pytest.fixture
def parts(spark: SparkSession, company: SmallCompany, tmp_path: Path) -> AuditParts:
    engine, session = company.engine, spark.newSession()
    register_source(session, LogSource)
    place = HistoryLocation(str(tmp_path / "lake"), engine.url.render_as_string(hide_password=False))
    history = LakeParts(session, EventLog(engine), Lake(engine), place, company.clock, events_per_segment=30)
    return AuditParts(history, engine, window_ms=24 * HOUR_MS, allowance_ms=HOUR_MS)


def notified_events(company: SmallCompany, count: int = 4) -> None:
    """Make some changes, and notify of them without Spark."""
    for number in range(count):
        company.describe("orders", f"text {number}")
    notify_all(company.engine, now_ms=company.clock.now_ms())


def processed_events(spark: SparkSession, company: SmallCompany, checkpoint: Path, count: int = 4) -> None:
    """Make some changes, and let the pipeline process them."""
    with running(spark, company.engine, checkpoint):
        for number in range(count):
            company.describe("orders", f"text {number}")
        until(lambda: has_caught_up(company.engine), within_s=120)


def kinds(audited: Audited) -> list[str]:
    return [finding.kind.value for finding in audited.findings]


def findings_in(log: EventLog) -> list[LoggedEvent]:
    return [one for one in log.read(0, 10_000) if one.event.event_type == "auditFinding"]


def change(engine: Engine, statement: object) -> None:
    with engine.begin() as connection:
        connection.execute(statement)  # type: ignore[call-overload]


@ON_BOTH_STORES
def test_a_sound_history_gives_nothing_even_while_the_pipeline_notifies(
    spark: SparkSession, company: SmallCompany, parts: AuditParts, tmp_path: Path
) -> None:
    with running(spark, company.engine, tmp_path / "checkpoint", batch=10):
        company.describe("orders", "one")
        assert audit(parts).findings == ()
        company.describe("orders", "two")
        until(lambda: has_caught_up(company.engine), within_s=120)
    audited = audit(parts)
    assert (audited.findings, audited.through) == ((), parts.history.log.readable_end())
    assert audited.judged >= 2 * 3
    grow(parts.history)
    assert audit(parts).findings == ()
    assert findings_in(parts.history.log) == []


def test_neither_what_is_withheld_nor_what_no_consumer_claims_is_a_finding(
    company: SmallCompany, parts: AuditParts
) -> None:
    """Where a condition fails on what editors may not view, the pipeline knows only that the facts match."""
    queue = {"category": "External", "type": "GovernanceWorkflowChangeEvent"}
    company.alert("queue", [queue], "fieldChanged == 'description'", resources=("table",))
    notified_events(company, 2)
    overdue = company.clock.now_ms() - 2 * HOUR_MS
    change(company.engine, update(message).where(message.c.status == "queued").values(due_at_ms=overdue))
    with company.engine.connect() as connection:
        waiting = connection.execute(select(message.c.channel).where(message.c.due_at_ms == overdue)).scalars().all()
    assert waiting == [queue["type"]] * 2
    change(company.engine, _notified_without_match(company))
    row = match_result.c
    is_of_mail = row.subscription_id == company.ids["mail"]
    change(company.engine, update(match_result).where(is_of_mail).values(withheld_for="ana", notified_count=0))
    change(company.engine, delete(notification).where(notification.c.channel.in_(["Email", "Webhook"])))
    assert audit(parts).findings == ()


def test_a_lost_checkpoint_and_an_alert_that_was_changed_are_no_finding(
    spark: SparkSession, company: SmallCompany, parts: AuditParts, tmp_path: Path
) -> None:
    processed_events(spark, company, tmp_path / "first")
    before = stored_notifications(company.engine)
    company.clock.advance(1_000)
    company.alert("mail", [OWNERS_MAIL], "fieldChanged == 'columns'", resources=("table",))
    company.writes.follow("table", company.ids["orders"], company.ids["ben"], actor=company.actor("ben"))
    processed_events(spark, company, tmp_path / "second")  # takes the whole log anew
    assert before.items() <= stored_notifications(company.engine).items()
    audited = audit(parts)
    assert audited.findings == ()
    assert audited.unjudged >= 4


def test_relations_that_are_lost_before_a_deletion_is_reported_are_found(
    company: SmallCompany, parts: AuditParts
) -> None:
    company.writes.delete("table", company.key("orders"), actor=SYSTEM, hard=True)
    change(company.engine, delete(past_relation).where(past_relation.c.relation == "follower"))
    notified_events(company, 0)
    findings = [(one.kind.value, one.expected, one.actual) for one in audit(parts).findings]
    assert findings == [("relationMissing", 3, 2)] * 2  # of the default alert, and of the alert that notifies nobody


Break = Callable[[SmallCompany], object]


def _lost_notification(company: SmallCompany) -> object:
    first_of_feed = select(notification.c.id).where(notification.c.channel == "ActivityFeed").limit(1)
    return delete(notification).where(notification.c.id == first_of_feed.scalar_subquery())


def _copied_notification(company: SmallCompany) -> object:
    columns = [column for column in notification.c if column.name != "id"]
    original = select(*columns).where(notification.c.channel == "ActivityFeed").limit(1)
    with company.engine.connect() as connection:
        row = dict(connection.execute(original).mappings().one())
    return insert(notification).values(id="copy", **row)


def _lost_message(company: SmallCompany) -> object:
    first_of_webhook = select(message.c.id).where(message.c.channel == "Webhook").limit(1)
    return delete(message).where(message.c.id == first_of_webhook.scalar_subquery())


def _sent_twice(company: SmallCompany) -> object:
    first_of_webhook = select(message.c.id).where(message.c.channel == "Webhook").limit(1)
    with company.engine.connect() as connection:
        attempt_values = {
            "message_id": connection.execute(first_of_webhook).scalar_one(),
            "outcome": "delivered",
            "reason": "ok",
        }
    times = {"started_at_ms": 1, "duration_ms": 1}
    return insert(attempt).values([{**attempt_values, **times, "number": number} for number in (1, 2)])


def _stuck_message(company: SmallCompany) -> object:
    first_of_webhook = select(message.c.id).where(message.c.channel == "Webhook").limit(1)
    overdue = company.clock.now_ms() - 2 * HOUR_MS
    return update(message).where(message.c.id == first_of_webhook.scalar_subquery()).values(due_at_ms=overdue)


def _never_notified(company: SmallCompany) -> object:
    columns = match_result.c
    first_offset = select(columns.log_offset).where(columns.subscription_id == company.ids["nobody"]).limit(1)
    is_of_nobody = columns.subscription_id == company.ids["nobody"]
    return delete(match_result).where(columns.log_offset == first_offset.scalar_subquery(), is_of_nobody)


def _notified_without_match(company: SmallCompany) -> object:
    columns = match_result.c
    offsets_of_bell = select(columns.log_offset).where(columns.subscription_id == company.ids["bell"])
    tables = select(columns.log_offset).where(columns.subscription_id == company.ids["mail"])
    with company.engine.connect() as connection:
        offset = connection.execute(
            offsets_of_bell.where(columns.log_offset.not_in(tables)).order_by(columns.log_offset.desc()).limit(1)
        ).scalar_one()
    row = {"log_offset": offset, "subscription_id": company.ids["mail"], "notified_count": 0, "resolved_at_ms": 1}
    return insert(match_result).values(row)


BROKEN: dict[str, Break] = {
    "notificationMissing": _lost_notification,
    "notifiedTwice": _copied_notification,
    "deliveryMissing": _lost_message,
    "deliveredTwice": _sent_twice,
    "deliveryStuck": _stuck_message,
    "resultMissing": _never_notified,
    "notMatched": _notified_without_match,
}


@ON_BOTH_STORES
def test_each_thing_that_is_broken_is_named_and_reported_once(company: SmallCompany, parts: AuditParts) -> None:
    notified_events(company)
    for break_something in BROKEN.values():
        change(company.engine, break_something(company))
    audit_result = audit(parts)
    assert sorted(kinds(audit_result)) == sorted(BROKEN)
    assert audit_result.notified == len(BROKEN)
    events = [one.event for one in findings_in(parts.history.log)]
    assert {(event.entity_type, event.user_name) for event in events} == {("eventsubscription", "system")}
    reported_findings = [
        event.change_description.fields_added[0].new_value for event in events if event.change_description
    ]
    assert sorted(one["kind"] for one in reported_findings) == sorted(BROKEN)
    assert all(parts.history.log.find(one["eventId"]) for one in reported_findings)
    assert audit(parts).notified == 0
    assert len(findings_in(parts.history.log)) == len(BROKEN)


def test_what_a_mute_keeps_back_and_a_limit_defers_is_no_finding_until_it_is_damaged(
    company: SmallCompany, parts: AuditParts
) -> None:
    ana, cem, bell = company.ids["ana"], company.ids["cem"], company.ids["bell"]
    now_ms = company.clock.now_ms()
    Mutes(company.engine).put(Mute(ana, MuteKind.EVERYTHING, EVERYTHING_ID, since_ms=now_ms))
    Mutes(company.engine).put(Mute(cem, MuteKind.ALERT, bell, since_ms=now_ms))
    notified_events(company, 3)
    next_hour_ms = company.clock.now_ms() + HOUR_MS
    is_of_ben = message.c.recipient == "ben@example.com"
    change(company.engine, update(message).where(is_of_ben).values(due_at_ms=next_hour_ms))  # as a limit holds it
    assert audit(parts).findings == ()
    of_ana = notification.c.recipient == "ana@example.com", notification.c.preferred.startswith("mute never")
    with company.engine.connect() as connection:
        (lost_id,) = connection.scalars(select(notification.c.message_id).where(*of_ana).distinct())
    change(company.engine, delete(message).where(message.c.id == lost_id))
    overdue_ms = company.clock.now_ms() - 2 * HOUR_MS
    change(company.engine, update(message).where(is_of_ben).values(due_at_ms=overdue_ms))
    first_of_cem = select(func.min(notification.c.id)).where(notification.c.recipient_id == cem).scalar_subquery()
    change(company.engine, update(notification).where(notification.c.id == first_of_cem).values(preferred=None))
    assert set(kinds(audit(parts))) == {"deliveryMissing", "deliveryStuck", "notificationUnexpected"}


def test_what_depends_on_earlier_reports_is_judged_by_all_the_reports_in_the_log(
    spark: SparkSession, company: SmallCompany, parts: AuditParts, tmp_path: Path
) -> None:
    company.pipeline("etl", owners=[{"type": "user", "name": "ana"}])
    company.clock.advance(1_000)
    third = company.alert("third", [OWNERS_MAIL], "matchStatusInARow('Failed', {3,5})")
    company.alert("every", [OWNERS_MAIL], "pipelineStatus == 'Failed'")
    with running(spark, company.engine, tmp_path / "match"), following(spark, company.engine, tmp_path / "streaks"):
        for _ in range(4):
            company.run("etl", "Failed")
        until(lambda: has_caught_up(company.engine) and streaks_caught_up(company.engine), within_s=120)
    with company.engine.connect() as connection:
        of_third = select(match_result.c.log_offset).where(match_result.c.subscription_id == third)
        (offset,) = connection.execute(of_third).scalars()

    company.run("etl", "Failed")
    with running(spark, company.engine, tmp_path / "match"):
        until(lambda: has_caught_up(company.engine), within_s=120)
    late = audit(parts)
    assert (late.findings, late.through) == ((), parts.history.log.readable_end()), (
        "who tells of reports has yet to come to it"
    )
    assert late.judged >= 5, "of the other alert, the last report, too"

    change(
        company.engine,
        update(match_result).where(match_result.c.subscription_id == third).values(log_offset=offset + 1),
    )
    assert {"notMatched", "resultMissing"} <= set(kinds(audit(parts)))


def test_what_nobodys_change_made_is_told_as_spark_matches_it_and_a_lost_reminder_is_found(
    company: SmallCompany, parts: AuditParts
) -> None:
    """Checks, reminders, what people do to incidents, parts of a deletion, answers, and an alert that expires."""
    check_what_has_no_owner(company)
    kinds_by_resource = {
        "pipeline": "'alertIncidentUpdated'",
        "table": "'changeRequestUpdated'",
        "eventsubscription": "'alertExpiring'",
    }
    for resource, kind in kinds_by_resource.items():
        company.alert(f"of {resource}", [HOOK], f"matchAnyEventType({{{kind}}})", resources=(resource,))
    handle_failures(company)
    delete_schema(company)
    ask_for_answer(company, "dia", why="unused", comment="soon")
    assert ExpiryJob(company.engine, company.clock).look() == 1
    notify_all(company.engine, now_ms=company.clock.now_ms())
    audit_result = audit(parts)
    assert (audit_result.findings, audit_result.through) == ((), parts.history.log.readable_end())
    (reminder,) = reminder_events(company)
    change(company.engine, delete(notification).where(notification.c.event_id == reminder.id))
    assert kinds(audit(parts)) == ["notificationMissing"]


def test_whoever_has_an_alert_on_findings_is_notified_of_them(company: SmallCompany, parts: AuditParts) -> None:
    notified_events(company, 1)
    receivers = {"category": "Users", "type": "ActivityFeed", "config": {"receivers": ["dia"]}}
    company.clock.advance(1)
    company.alert("findings", [receivers], "eventType == 'auditFinding'", resources=("eventsubscription",))
    change(company.engine, _lost_notification(company))
    company.clock.advance(1)
    assert audit(parts).notified == 1
    notify_all(company.engine, now_ms=company.clock.now_ms())
    (event,) = findings_in(parts.history.log)
    assert [row[3] for row in stored_notifications(company.engine).values() if row[0] == event.event.id] == [
        company.ids["dia"]
    ]
    assert kinds(audit(parts)) == ["notificationMissing"]


def test_what_is_older_than_two_windows_is_forgotten_and_not_judged(company: SmallCompany, parts: AuditParts) -> None:
    notified_events(company, 2)
    company.clock.advance(3 * 24 * HOUR_MS)
    company.describe("orders", "much later")
    notify_all(company.engine, now_ms=company.clock.now_ms())
    parts.allowance_ms = 30 * 24 * HOUR_MS  # nobody delivers here
    audited = audit(parts)
    assert (audited.findings, audited.after) == ((), parts.history.log.readable_end() - 1)
    assert parts.match_results.last_forgotten_offset() == audited.after
    change(company.engine, delete(notification).where(notification.c.log_offset <= audited.after))
    assert audit(parts).findings == ()


def test_what_another_alert_triggers_is_no_finding_until_that_one_did_not_match(
    spark: SparkSession, company: SmallCompany, parts: AuditParts, tmp_path: Path
) -> None:
    triggered_id = company.alert("triggered", [OWNERS_MAIL], "eventType == 'entityDeleted'")
    link = {"op": "add", "path": "/triggers", "value": [{"id": triggered_id, "type": "eventsubscription"}]}
    company.clock.advance(1_000)
    company.writes.patch("eventsubscription", company.key("mail"), [link], actor=SYSTEM)
    processed_events(spark, company, tmp_path / "checkpoint")
    result = match_result.c
    is_triggered = (result.subscription_id == triggered_id, result.triggered_by == company.ids["mail"])
    with company.engine.connect() as connection:
        counts = list(connection.scalars(select(result.notified_count).where(*is_triggered)))
    assert counts
    assert all(counts), "the owners are notified of what the other alert matched"
    assert audit(parts).findings == ()
    change(company.engine, update(match_result).where(*is_triggered).values(triggered_by="nobody"))
    assert set(kinds(audit(parts))) == {"notMatched"}
