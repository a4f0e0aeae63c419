"""Tests of the main streaming query, from the log to stored notifications, on both stores, against ``flow/once``."""

from __future__ import annotations

import json
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from sqlalchemy import Engine, select, update
from tests.company import STARTED_MS, SmallCompany
from tests.losing import lose
from tests.notifying import dependencies_of, notify_all
from tests.waiting import until

from tocsin.catalogue.feed.operations import FeedWrites
from tocsin.clock import FixedClock
from tocsin.errors import Conflict
from tocsin.flow.match.local import matches
from tocsin.flow.match.plan import plan_of
from tocsin.flow.match.streak import with_facts
from tocsin.flow.once import notifications_for
from tocsin.jobs.alerts import CurrentAlerts
from tocsin.jobs.findings import finding_log
from tocsin.jobs.match_stream import QUERY_NAME, MatchStreamParts, streaming, warm_up
from tocsin.jobs.resolving import StoreAddress
from tocsin.model.change_kinds import Frequency
from tocsin.model.follow_choices import FollowChoices
from tocsin.model.mute import Mute, MuteKind
from tocsin.model.people import SYSTEM
from tocsin.model.preferences import Preferences
from tocsin.model.stored import Key
from tocsin.server.bootstrap import ACTIVITY_FEED_ALERT, CONVERSATION_ALERT
from tocsin.settings import Settings
from tocsin.spark.session import configure, with_fast_checkpoints
from tocsin.store.catalogue.alerts.subscriptions import Subscriptions
from tocsin.store.database.alert_tables import match_result
from tocsin.store.database.tables import change_event, message, notification
from tocsin.store.eventlog.log import EventLog
from tocsin.store.eventlog.reports import Reports
from tocsin.store.outbox.firings import Firings
from tocsin.store.outbox.notifications import Notifications
from tocsin.store.outbox.preferences import SqlPreferences
from tocsin.store.recipients.mutes import Mutes
from tocsin.store.upkeep.backup.making import BackupContents, back_up
from tocsin.store.upkeep.backup.restoring import restore

pytestmark = pytest.mark.spark

OWNERS_MAIL = {"category": "Owners", "type": "Email"}
FOLLOWERS_BELL = {"category": "Followers", "type": "ActivityFeed"}
DOWNSTREAM_BELL = {"category": "Owners", "type": "ActivityFeed", "notifyDownstream": True}
MAILED = notification.c.channel == "Email"
HOOK = {"category": "External", "type": "Webhook", "config": {"endpoint": "http://127.0.0.1:9/hook"}}


def parts_of(spark: SparkSession, engine: Engine, checkpoint: Path, *, batch: int = 10_000) -> MatchStreamParts:
    url = engine.url.render_as_string(hide_password=False)
    return MatchStreamParts(
        session=with_fast_checkpoints(spark),
        alerts=CurrentAlerts(QUERY_NAME, Subscriptions(engine)),
        store=StoreAddress(url, "NORMAL"),
        progress=Notifications(engine),
        clock=FixedClock(STARTED_MS),
        source_options={
            "url": url,
            "maxEventsPerBatch": str(batch),
            "eventsPerPartition": "7",
        },
        checkpoint=str(checkpoint),
        findings=finding_log(engine),
    )


def running(
    spark: SparkSession, engine: Engine, checkpoint: Path, *, batch: int = 10_000
) -> AbstractContextManager[object]:
    return streaming(parts_of(spark, engine, checkpoint, batch=batch))


def pass_over_the_log(engine: Engine, *query_names: str) -> None:
    """Let queries begin after what is in the log, such as what made a company, as if they had read it."""
    for name in query_names:
        Notifications(engine).advance(name, EventLog(engine).readable_end(), now_ms=STARTED_MS)


def has_caught_up(engine: Engine) -> bool:
    log = EventLog(engine)
    return log.progress(QUERY_NAME) == log.readable_end()


def is_restored(backup: Path, settings: Settings, clock: FixedClock) -> bool:
    try:
        restore(backup, settings, force=True, clock=clock, report=lambda _done, _total: None)
    except Conflict:  # Spark's Python processes end a moment after their query
        return False
    return True


def stored_notifications(engine: Engine) -> dict[str, tuple[Any, ...]]:
    row_columns = notification.c
    columns = (
        row_columns.id,
        row_columns.event_id,
        row_columns.channel,
        row_columns.recipient,
        row_columns.recipient_id,
        row_columns.reasons,
    )
    with engine.connect() as connection:
        notification_rows = connection.execute(select(*columns)).all()
    return {row.id: (*row[1:5], json.loads(row.reasons)) for row in notification_rows}


def expected_notifications(company: SmallCompany, *, after: int = 0) -> dict[str, tuple[Any, ...]]:
    """What ``flow/once`` says of every event in the log of a company after an offset."""
    return expected_notifications_in(company.engine, after=after)


def expected_notifications_in(engine: Engine, *, after: int = 0) -> dict[str, tuple[Any, ...]]:
    """What ``flow/once`` says of every event in the log of a store after an offset."""
    alerts = Subscriptions(engine).list_enabled()
    earlier = Reports(engine).before
    dependencies = dependencies_of(engine, alerts, FixedClock(STARTED_MS))
    notified: dict[str, tuple[Any, ...]] = {}
    for plain in EventLog(engine).read(after, 10_000):
        logged = with_facts(plain, earlier(plain))
        matched = [one for one in alerts if matches(plan_of(one), logged)]
        for due in notifications_for(logged, matched, dependencies):
            draft = due.draft
            reasons = [reason.to_wire() for reason in draft.reasons.in_order]
            notified[due.id] = (draft.event.event_id, str(draft.channel), draft.key, draft.recipient_id, reasons)
    return notified


def test_a_query_with_nothing_to_do_reports_as_soon_as_it_has_looked_at_the_log(
    spark: SparkSession, sqlite_engine: Engine, tmp_path: Path
) -> None:
    SmallCompany(sqlite_engine)
    log = EventLog(sqlite_engine)
    pass_over_the_log(sqlite_engine, QUERY_NAME)
    parts = replace(parts_of(spark, sqlite_engine, tmp_path / "checkpoint"), clock=FixedClock(STARTED_MS + 60_000))
    configure(parts.session, {"spark.sql.streaming.noDataProgressEventInterval": "3600000"})
    with streaming(parts):  # Spark would not speak of it within the hour
        until(lambda: log.reported_at_ms(QUERY_NAME) == STARTED_MS + 60_000, within_s=90)


def test_people_are_told_once_with_every_reason(spark: SparkSession, store_engine: Engine, tmp_path: Path) -> None:
    """Fault scenario 28."""
    company = SmallCompany(store_engine)
    company.clock.advance(1_000)
    company.alert("schema", [OWNERS_MAIL, HOOK], "fieldChanged == 'description'", resources=("table",))
    company.alert("bell", [FOLLOWERS_BELL, DOWNSTREAM_BELL])
    company.alert("also", [FOLLOWERS_BELL, OWNERS_MAIL], "eventType == 'entityUpdated'")
    warm_up(parts_of(spark, store_engine, tmp_path / "checkpoint"))  # as the pipeline does: it tells of nothing
    assert stored_notifications(store_engine) == {}
    with running(spark, store_engine, tmp_path / "checkpoint", batch=12):
        for number in range(9):
            company.describe("orders", f"text {number}", by="dia" if number % 2 else "ana")
        until(lambda: has_caught_up(store_engine), within_s=120)
    notifications = stored_notifications(store_engine)
    assert notifications == expected_notifications(company)
    last = [row for row in notifications.values() if row[2] == "ben@example.com"]
    assert len(last) == 9
    assert {reason["subscriptionName"] for row in last for reason in row[4]} == {"schema", "also"}
    assert not [row for row in notifications.values() if row[3] == company.ids["dia"] and row[1] == "Email"]


def test_what_is_too_old_is_told_to_nobody_and_written_down_all_the_same(
    spark: SparkSession, sqlite_engine: Engine, tmp_path: Path
) -> None:
    company = SmallCompany(sqlite_engine)
    company.clock.advance(1_000)
    alert = company.alert("bell", [FOLLOWERS_BELL], "fieldChanged == 'description'")
    for hours in (0, 9):
        company.clock.advance(hours * 3_600_000)
        company.describe("orders", f"after {hours} hours", by="dia")
    parts = parts_of(spark, sqlite_engine, tmp_path / "checkpoint")
    with streaming(replace(parts, clock=FixedClock(company.clock.now_ms()), max_event_age_ms=3_600_000)):
        until(lambda: has_caught_up(sqlite_engine), within_s=120)
    notified_event_ids = {row[0] for row in stored_notifications(sqlite_engine).values()}
    with sqlite_engine.connect() as connection:
        ends = connection.execute(
            select(match_result.c.log_offset, match_result.c.notified_count).order_by(match_result.c.log_offset)
        )
        counts = [row.notified_count for row in ends]
    assert (len(notified_event_ids), counts) == (1, [0, 1])
    assert Firings(sqlite_engine).tallies(0)[alert].silent_count == 1


def test_what_is_asked_of_people_is_asked_of_each(spark: SparkSession, store_engine: Engine, tmp_path: Path) -> None:
    company = SmallCompany(store_engine)
    company.clock.advance(1_000)
    everybody = {"category": "Users", "type": "Email", "config": {"receivers": ["ana", "ben", "cem", "dia"]}}
    whoever = {"category": "Users", "type": "ActivityFeed"}
    company.alert("seed", [whoever, HOOK], "user.follows(entity)")
    for name, owner in (("follows", {"id": company.ids["cem"], "type": "user"}), ("else", _shop(company))):
        company.alert(f"of who {name}", [HOOK], "user.follows(entity)", owners=[owner])
    company.alert(
        "mixed", [everybody], "!user.follows(entity) && user.isMemberOf('shop') || user.owns(entity) && isBot()"
    )
    company.alert("others", [everybody], "entityType == 'table' && !(user.owns(entity) || user.follows(entity))")
    with running(spark, store_engine, tmp_path / "checkpoint"):
        company.describe("orders", "one", by="dia")
        company.describe("revenue", "two", by="ana")
        until(lambda: has_caught_up(store_engine), within_s=120)
    notifications = stored_notifications(store_engine)
    assert notifications == expected_notifications(company)
    reasons_by_recipient = {
        (row[2], reason["subscriptionName"], reason["kind"]) for row in notifications.values() for reason in row[4]
    }
    assert {one for one in reasons_by_recipient if one[1] == "seed"} == {
        (company.ids["cem"], "seed", "follower"),
        (f"{company.ids['seed']}:http://127.0.0.1:9/hook", "seed", "external"),
    }
    assert {one[0] for one in reasons_by_recipient if one[1] == "mixed"} == {"ana@example.com", "ben@example.com"}
    assert ("cem@example.com", "others", "user") in reasons_by_recipient, "of revenue, not of orders"
    assert {name for _, name, kind in reasons_by_recipient if kind == "external"} == {"seed", "of who follows"}


def _shop(company: SmallCompany) -> dict[str, str]:
    return {"id": company.ids["shop"], "type": "team"}


def test_what_people_muted_is_not_told_and_what_is_told_is_counted(
    spark: SparkSession, sqlite_engine: Engine, tmp_path: Path
) -> None:
    company = SmallCompany(sqlite_engine)
    company.clock.advance(1_000)
    rule = "fieldChanged == 'description'"
    bell = company.alert("bell", [FOLLOWERS_BELL, {"category": "Owners", "type": "ActivityFeed"}], rule)
    mail = company.alert("mail", [OWNERS_MAIL], rule)
    for who, about in (("ana", mail), ("cem", company.ids["orders"])):
        kind = MuteKind.ALERT if about == mail else MuteKind.ASSET
        Mutes(sqlite_engine).put(Mute(company.ids[who], kind, about, since_ms=company.clock.now_ms()))
    with running(spark, sqlite_engine, tmp_path / "checkpoint"):
        company.describe("orders", "quiet", by="dia")
        until(lambda: has_caught_up(sqlite_engine), within_s=120)
    notifications = stored_notifications(sqlite_engine)
    assert notifications == expected_notifications(company)
    bells = {company.ids["ana"], company.ids["ben"]}
    muted_recipients = {company.ids["cem"], "ana@example.com"}
    assert {row[2] for row in notifications.values()} == {*bells, "ben@example.com", *muted_recipients}
    tallies = Firings(sqlite_engine).tallies(0)
    assert {one: (tallies[one].notified_count, tallies[one].app_count) for one in (bell, mail)} == {
        bell: (2, 2),
        mail: (1, 0),
    }


def test_mail_waits_for_the_time_that_its_recipient_prefers(
    spark: SparkSession, store_engine: Engine, tmp_path: Path
) -> None:
    company = SmallCompany(store_engine)
    company.clock.advance(1_000)
    company.alert("all", [OWNERS_MAIL, FOLLOWERS_BELL], poll_interval_s=0)
    daily = Preferences(categories={"description": Frequency.DAILY}, digest_at="12:00")
    SqlPreferences(store_engine).put(company.ids["ana"], daily, now_ms=1)
    cem, orders = company.ids["cem"], company.ids["orders"]
    hourly = FollowChoices.only([], [], "hourly")
    SqlPreferences(store_engine).choose_for_follows(cem, {orders: hourly}, now_ms=1)
    with running(spark, store_engine, tmp_path / "checkpoint"):
        for text in ("one", "two"):
            company.describe("orders", text)
        until(lambda: has_caught_up(store_engine), within_s=120)
    assert stored_notifications(store_engine) == expected_notifications(company)
    with store_engine.connect() as connection:
        query = select(message.c.due_at_ms).where(message.c.recipient == "ana@example.com")
        due_at_ms = sorted(connection.execute(query.where(message.c.grouping_key.is_not(None))).scalars())
        by_follow = select(notification.c.preferred, notification.c.due_at_ms).where(notification.c.recipient_id == cem)
        of_cem = {tuple(row) for row in connection.execute(by_follow)}
    noon_ms = STARTED_MS - STARTED_MS % 86_400_000 + 86_400_000 // 2
    assert due_at_ms == [noon_ms]
    assert of_cem == {(f"follow hourly  {orders}", (STARTED_MS // 3_600_000 + 1) * 3_600_000)}


def test_those_in_a_thread_are_told_of_it(spark: SparkSession, store_engine: Engine, tmp_path: Path) -> None:
    company = SmallCompany(store_engine)
    company.clock.advance(1_000)
    for alert in (ACTIVITY_FEED_ALERT, CONVERSATION_ALERT):
        company.put("eventsubscription", alert)
    company.alert("mail", [{"category": "Mentions", "type": "Email"}], "threadType == 'Task'", resources=("task",))
    feed = FeedWrites(company.writes)
    about = "<#E::table::pg.store.public.orders>"
    details = {"type": "RequestDescription", "assignees": [{"type": "user", "name": "dia"}]}
    request = {"about": about, "message": "<#E::team::tills>?", "type": "Task", "taskDetails": details}
    with running(spark, store_engine, tmp_path / "checkpoint"):
        thread = feed.create(request, actor=company.actor("ana"))
        company.clock.advance(1_000)
        feed.reply(thread.document["id"], {"message": "Soon, <#E::user::cem>"}, actor=company.actor("dia"))
        company.clock.advance(1_000)
        feed.resolve(thread.document["id"], {"newValue": "Orders."}, actor=company.actor("dia"))
        until(lambda: has_caught_up(store_engine), within_s=120)
    notifications = stored_notifications(store_engine)
    assert notifications == expected_notifications(company)
    kinds = {(row[2], reason["kind"]) for row in notifications.values() for reason in row[4]}
    assert (company.ids["dia"], "assignee") in kinds
    assert {(company.ids["cem"], "mention"), (company.ids["cem"], "participant")} <= kinds
    assert ("ben@example.com", "mention") in kinds


def test_what_becomes_of_an_alert_takes_effect_with_the_very_next_event(
    spark: SparkSession, sqlite_engine: Engine, tmp_path: Path
) -> None:
    company = SmallCompany(sqlite_engine)

    def tells(text: str) -> bool:
        """Change an asset right after the alert; say whether anybody is notified once the pipeline is done."""
        company.clock.advance(1)
        before = len(stored_notifications(sqlite_engine))
        company.describe("orders", text)
        until(lambda: has_caught_up(sqlite_engine), within_s=120)
        return len(stored_notifications(sqlite_engine)) > before

    with running(spark, sqlite_engine, tmp_path / "checkpoint"):
        assert not tells("before")
        alert_id = company.alert("new", [FOLLOWERS_BELL], "fieldChanged == 'description'")
        assert tells("created")
        company.alert("new", [FOLLOWERS_BELL], "fieldChanged == 'columns'")
        assert not tells("updated")
        company.alert("new", [FOLLOWERS_BELL], "entity.description.startsWith('again')")
        assert tells("again: updated, a shape not met before")
        patch = [{"op": "add", "path": "/enabled", "value": False}]
        company.writes.patch("eventsubscription", Key.by_id(alert_id), patch, actor=SYSTEM)
        assert not tells("again: disabled")
        patch = [{"op": "add", "path": "/enabled", "value": True}]
        company.writes.patch("eventsubscription", Key.by_id(alert_id), patch, actor=SYSTEM)
        assert tells("again: enabled")
        company.writes.delete("eventsubscription", Key.by_id(alert_id), actor=SYSTEM)
        assert not tells("again: deleted")


def test_what_happened_before_an_alert_was_made_notifies_nobody(
    spark: SparkSession, sqlite_engine: Engine, tmp_path: Path
) -> None:
    """Fault scenario 15."""
    company = SmallCompany(sqlite_engine)
    company.describe("orders", "long ago")
    company.clock.advance(1_000)
    company.alert("late", [FOLLOWERS_BELL, OWNERS_MAIL])
    with running(spark, sqlite_engine, tmp_path / "checkpoint"):
        until(lambda: has_caught_up(sqlite_engine), within_s=120)
    assert stored_notifications(sqlite_engine) == {}


def test_a_lost_checkpoint_repeats_nothing(spark: SparkSession, sqlite_engine: Engine, tmp_path: Path) -> None:
    company = SmallCompany(sqlite_engine)
    company.alert("mail", [OWNERS_MAIL])
    company.describe("orders", "once")
    with running(spark, sqlite_engine, tmp_path / "first"):
        until(lambda: has_caught_up(sqlite_engine), within_s=120)
    before = stored_notifications(sqlite_engine)
    company.describe("orders", "again")
    with running(spark, sqlite_engine, tmp_path / "second"):
        until(lambda: len(stored_notifications(sqlite_engine)) > len(before), within_s=120)
        until(lambda: has_caught_up(sqlite_engine), within_s=120)
    assert stored_notifications(sqlite_engine) == expected_notifications(company)
    with sqlite_engine.connect() as connection:
        messages = set(connection.execute(select(message.c.id)).scalars())
        carrying = set(connection.execute(select(notification.c.message_id).where(MAILED)).scalars())
    assert messages == carrying


@pytest.mark.postgres
def test_a_cut_checkpoint_is_mended_from_the_store(
    spark: SparkSession, postgres_engine: Engine, tmp_path: Path
) -> None:
    company = SmallCompany(postgres_engine)
    company.clock.advance(1_000)
    company.alert("mail", [OWNERS_MAIL], "fieldChanged == 'description'")
    checkpoint = tmp_path / "match_stream"
    for text in ("one", "two"):
        company.describe("orders", text)
        with running(spark, postgres_engine, checkpoint):
            until(lambda: has_caught_up(postgres_engine), within_s=120)
        last_of(checkpoint).write_bytes(last_of(checkpoint).read_bytes()[:7])
    notifications, reader = stored_notifications(postgres_engine), EventLog(postgres_engine)
    with postgres_engine.begin() as connection:  # a replaced checkpoint begins after the processed events, not before
        connection.execute(
            update(change_event)
            .where(change_event.c.log_offset <= reader.readable_end(), change_event.c.entity_type == "table")
            .values(derived="?")
        )
    with running(spark, postgres_engine, checkpoint):
        company.describe("orders", "three")
        until(lambda: has_caught_up(postgres_engine), within_s=120)
    assert (
        len({row[0] for row in stored_notifications(postgres_engine).values()})
        == len({row[0] for row in notifications.values()}) + 1
        == 3
    )
    assert len(list(tmp_path.glob("match_stream.damaged-*"))) == 1


def test_a_changed_digit_of_a_checkpoint_loses_and_repeats_nothing(
    spark: SparkSession, sqlite_engine: Engine, tmp_path: Path
) -> None:
    company = SmallCompany(sqlite_engine)
    company.clock.advance(1_000)
    company.alert("mail", [OWNERS_MAIL], "fieldChanged == 'description'")
    checkpoint = tmp_path / "match_stream"
    for text in ("one", "two"):
        company.describe("orders", text)
        with running(spark, sqlite_engine, checkpoint):
            until(lambda: has_caught_up(sqlite_engine), within_s=120)
    assert not list(checkpoint.rglob("*.crc")), "checksums are not what finds this"
    version, metadata, offset = last_of(checkpoint).read_text().splitlines()
    earlier = json.dumps(json.loads(offset) | {"offset": json.loads(offset)["offset"] - 1})
    last_of(checkpoint).write_text("\n".join((version, metadata, earlier)))
    company.describe("orders", "three")
    with running(spark, sqlite_engine, checkpoint):
        until(lambda: has_caught_up(sqlite_engine), within_s=120)
    assert len({row[0] for row in stored_notifications(sqlite_engine).values()}) == 3
    assert len(list(tmp_path.glob("match_stream.damaged-*"))) == 1


def last_of(checkpoint: Path) -> Path:
    """Return the file of the last micro-batch that was planned."""
    return max((checkpoint / "offsets").glob("[0-9]*"), key=lambda file: int(file.name))


def test_a_backup_restored_beside_a_newer_checkpoint_tells_of_all_that_comes_after_it_once(
    spark: SparkSession, store_engine: Engine, store_url: str, tmp_path: Path
) -> None:
    """Fault scenario 9."""
    company = SmallCompany(store_engine)
    company.clock.advance(1_000)
    company.alert("mail", [OWNERS_MAIL], "fieldChanged == 'description'")
    settings = Settings(data_dir=tmp_path / "data", database_url=store_url)
    checkpoint, backup = tmp_path / "match_stream", tmp_path / "backup"
    company.describe("orders", "notified before")
    notify_all(store_engine)
    company.describe("orders", "in the backup, and not notified")
    back_up(
        store_engine,
        settings,
        backup,
        contents=BackupContents(),
        clock=company.clock,
        report=lambda _done, _total: None,
    )
    for number in range(5):
        company.describe("orders", f"lost {number}")
    with running(spark, store_engine, checkpoint):
        until(lambda: has_caught_up(store_engine), within_s=120)
    event_ids_before = {row[0] for row in stored_notifications(store_engine).values()}
    store_engine.dispose()
    until(lambda: is_restored(backup, settings, company.clock), within_s=60)
    assert len({row[0] for row in stored_notifications(store_engine).values()} & event_ids_before) == 1
    for number in range(8):  # the first of them have offsets that the checkpoint has passed
        company.describe("orders", f"after {number}")
    with running(spark, store_engine, checkpoint):
        until(lambda: has_caught_up(store_engine), within_s=120)
    notifications = stored_notifications(store_engine)
    assert notifications == expected_notifications(company)
    assert len({row[0] for row in notifications.values()}) == 1 + 1 + 8
    assert len(list(tmp_path.glob("match_stream.damaged-*"))) == 1


def test_a_store_that_is_exchanged_under_a_running_query_stops_it_and_is_told_of_from_there(
    spark: SparkSession, store_engine: Engine, tmp_path: Path
) -> None:
    company = SmallCompany(store_engine)
    company.clock.advance(1_000)
    company.alert("mail", [OWNERS_MAIL], "fieldChanged == 'description'")
    checkpoint = tmp_path / "match_stream"
    last_offset = EventLog(store_engine).readable_end()
    parts = parts_of(spark, store_engine, checkpoint)
    with streaming(parts) as query:
        company.describe("orders", "lost")
        until(lambda: has_caught_up(store_engine), within_s=120)
        lose(store_engine, last_offset)
        until(lambda: not query.isActive, within_s=120)
        assert "LogDiverged" in str(query.exception())
    company.describe("orders", "after")
    with streaming(parts):
        until(lambda: has_caught_up(store_engine), within_s=120)
    notifications = stored_notifications(store_engine)
    assert notifications == expected_notifications(company)
    assert len({row[0] for row in notifications.values()}) == 1


def test_an_event_before_a_rename_is_matched_after_it(
    spark: SparkSession, store_engine: Engine, tmp_path: Path
) -> None:
    company = SmallCompany(store_engine)
    company.put("classification", {"name": "Secret", "description": "x"})
    company.put("tag", {"name": "Old", "classification": "Secret", "description": "x"})
    labels = [{"tagFQN": "Secret.Old", "source": "Classification", "labelType": "Manual", "state": "Confirmed"}]
    company.writes.patch(
        "table", company.key("orders"), [{"op": "add", "path": "/tags", "value": labels}], actor=SYSTEM
    )
    company.alert("secret", [OWNERS_MAIL], "matchAnyTag('Secret.Old')", resources=("table",))
    company.describe("orders", "before")
    rename = [{"op": "replace", "path": "/name", "value": "New"}]
    company.writes.patch("tag", Key.by_name("Secret.Old"), rename, actor=SYSTEM)
    company.describe("orders", "after")
    with running(spark, store_engine, tmp_path / "checkpoint"):
        until(lambda: has_caught_up(store_engine), within_s=120)
    mail_notifications = [row for row in stored_notifications(store_engine).values() if row[1] == "Email"]
    descriptions = {
        logged_event.event.id
        for logged_event in EventLog(store_engine).read(0, 1_000)
        if logged_event.event.entity_type == "table"
        and "description" in logged_event.derived["fieldsUpdated"] + logged_event.derived["fieldsAdded"]
    }
    assert len(descriptions) == 2 and {row[0] for row in mail_notifications} == descriptions
