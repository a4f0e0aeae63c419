"""Python pipeline for tests without Spark: the Python engine over the whole log, results written to the store."""

from __future__ import annotations

import json

from sqlalchemy import Engine

from tocsin.access.views import Views
from tocsin.clock import SystemClock
from tocsin.flow.eventlog.readers import MATCH_STREAM
from tocsin.flow.match.local import matches
from tocsin.flow.match.plan import plan_of
from tocsin.flow.match.streak import with_facts
from tocsin.flow.once import World, scheduled_for
from tocsin.flow.resolve.only_visible import NotificationRow, only_visible
from tocsin.flow.schedule.due import Scheduled
from tocsin.model.match_result import Pair, match_results_of
from tocsin.store.access.views import SqlSubjects
from tocsin.store.alerts.directory import SqlDirectory
from tocsin.store.alerts.event_subjects import SqlEvents
from tocsin.store.alerts.subscriptions import Subscriptions
from tocsin.store.eventlog.log import EventLog
from tocsin.store.eventlog.reports import Reports
from tocsin.store.outbox.notifications import Notifications


def notify_all(engine: Engine) -> int:
    """Take every event that the pipeline has not reached through the stages; return how many rows that gave."""
    log, notifications, clock = EventLog(engine), Notifications(engine), SystemClock()
    alerts = Subscriptions(engine).list_enabled()
    world = World(log.find, alerts, SqlDirectory(engine), {}, clock)
    rows: list[NotificationRow] = []
    pairs: list[Pair] = []
    for plain in log.read(log.progress(MATCH_STREAM), 10_000):
        logged = with_facts(plain, Reports(engine).before(plain))
        matched = [one for one in alerts if matches(plan_of(one), logged)]
        pairs += [(logged.offset, one.id) for one in matched]
        rows += [_row(one) for one in scheduled_for(logged, matched, world)]
    rows = only_visible(rows, Views(SqlSubjects(engine)).now(), SqlEvents(engine))
    notifications.add(rows, match_results_of(pairs, rows, now_ms=clock.now_ms()))
    notifications.advance(MATCH_STREAM, log.readable_end(), now_ms=clock.now_ms())
    return len(rows)


def _row(one: Scheduled) -> dict[str, object]:
    notification = one.notification
    return {
        "id": notification.id,
        "event_id": notification.event_id,
        "log_offset": notification.log_offset,
        "channel": notification.channel,
        "key": notification.recipient,
        "target": one.target,
        "recipient_id": notification.recipient_id,
        "reasons": json.dumps([reason.to_wire() for reason in notification.reasons]),
        "due_at_ms": notification.due_at_ms,
        "created_at_ms": notification.created_at_ms,
        "message_id": one.message_id,
        "subscription_id": one.reason.subscription_id,
        "destination_id": one.reason.destination_id,
        "subscription_ids": sorted({reason.subscription_id for reason in notification.reasons}),
    }
