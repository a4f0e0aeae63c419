"""Python pipeline for tests without Spark: the Python engine over the whole log, results written to the store."""

from __future__ import annotations

import json

from sqlalchemy import Engine

from tocsin.access.permission_cache import PermissionCache
from tocsin.clock import SystemClock
from tocsin.flow.eventlog.readers import MATCH_STREAM
from tocsin.flow.match.local import matches
from tocsin.flow.match.plan import plan_of, recovery_plan
from tocsin.flow.match.streak import with_facts
from tocsin.flow.once import World, recipients_of, with_triggered_alerts
from tocsin.flow.resolve.local import Recipient, destinations_of
from tocsin.flow.resolve.only_visible import NotificationRow, only_visible
from tocsin.flow.resolve.withholding import withheld
from tocsin.flow.schedule.messages import scheduled_notifications, timings_of
from tocsin.flow.send.channels.table import GATHERINGS
from tocsin.flow.track.alert_incidents import IncidentWork
from tocsin.model.change import LoggedEvent
from tocsin.model.match_result import MatchCounts, Pair
from tocsin.model.subscription import EventSubscription
from tocsin.store.access.subjects import SqlSubjects
from tocsin.store.alerts.directory import SqlDirectory
from tocsin.store.alerts.event_subjects import SqlEvents
from tocsin.store.alerts.subscriptions import Subscriptions
from tocsin.store.eventlog.log import EventLog
from tocsin.store.eventlog.reports import Reports
from tocsin.store.outbox.notifications import Notifications
from tocsin.store.people.preferences import SqlPreferences


def notify_all(engine: Engine, *, now_ms: int = 0) -> int:
    """Take every event that the pipeline has not reached through the stages; return how many rows that gave.

    With ``now_ms`` that is the time, and the time of the events.
    """
    log, notifications, clock = EventLog(engine), Notifications(engine), SystemClock()
    subscriptions = Subscriptions(engine)
    alerts = subscriptions.with_past_names(subscriptions.list_enabled(), after=log.progress(MATCH_STREAM))
    world = World(log.find, alerts, SqlDirectory(engine), {}, clock)
    hidden: dict[Pair, str] = {}
    found: list[NotificationRow] = []
    pairs: list[Pair] = []
    for plain in log.read(log.progress(MATCH_STREAM), 10_000):
        logged = with_facts(plain, Reports(engine).before(plain))
        matching = _without_hidden([one for one in alerts if matches(plan_of(one), logged)], logged, hidden, engine)
        matched = _without_hidden(with_triggered_alerts(matching, logged, alerts), logged, hidden, engine)
        pairs += [(logged.offset, one.id) for one in matched]
        found += [_row(one, logged) for one in (recipients_of(logged, matched, world) if matched else ())]
    shown = only_visible(found, PermissionCache(SqlSubjects(engine)).now(), SqlEvents(engine))
    timings = timings_of(alerts)
    timed = [row | {"timestamp_ms": now_ms or row["timestamp_ms"]} for row in shown]
    preferred = SqlPreferences(engine).among(timed)
    at_ms = now_ms or clock.now_ms()
    rows = list(scheduled_notifications(timed, timings, now_ms=at_ms, gatherings=GATHERINGS, preferred=preferred))
    counts = MatchCounts(pairs)
    counts.add(rows)
    results = counts.results(now_ms=clock.now_ms(), withheld=hidden)
    notifications.add(rows, results, work=incident_work(engine, pairs, now_ms=clock.now_ms()))
    notifications.advance(MATCH_STREAM, log.readable_end(), now_ms=clock.now_ms())
    return len(rows)


def _without_hidden(
    matched: list[EventSubscription], logged: LoggedEvent, hidden: dict[Pair, str], engine: Engine
) -> list[EventSubscription]:
    """Return the alerts whose editors may view the event; ``hidden`` gathers the others."""
    ids = [one.id for one in matched if not one.is_of_tocsin]
    reads = {one.id: plan_of(one).reads for one in matched}
    hidden |= withheld({logged.offset: ids}, reads, PermissionCache(SqlSubjects(engine)).now(), SqlEvents(engine))
    return [one for one in matched if (logged.offset, one.id) not in hidden]


def incident_work(engine: Engine, pairs: list[Pair], *, now_ms: int, after: int = 0) -> IncidentWork:
    """Return what these matches, and the successes after an offset, mean for incidents: as tasks find it."""
    opening = {one.id for one in Subscriptions(engine).list_enabled() if plan_of(one).opens_incidents}
    failing = tuple(pair for pair in pairs if pair[1] in opening)
    recovery, log = recovery_plan(), EventLog(engine)
    recovering = {one.event.entity_id for one in log.read(after, 10_000) if matches(recovery, one)}
    return IncidentWork(failing, frozenset(recovering), now_ms)


def _row(one: Recipient, logged: LoggedEvent) -> dict[str, object]:
    subscription_id, destination_id = one.reasons[0].destination_key
    destination_ids = destinations_of(reason.destination_key for reason in one.reasons)
    return {
        "event_id": logged.event.id,
        "log_offset": logged.offset,
        "entity_id": logged.event.entity_id,
        "timestamp_ms": logged.event.timestamp,
        "channel": one.channel,
        "key": one.key,
        "target": one.target,
        "recipient_id": one.user_id,
        "reasons": json.dumps([reason.to_wire() for reason in one.reasons]),
        "subscription_id": subscription_id,
        "destination_id": destination_id,
        "subscription_ids": list(destination_ids),
        "destination_ids": destination_ids,
    }
