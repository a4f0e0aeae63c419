"""Python pipeline for tests without Spark: the Python engine over the whole log, results written to the store."""

from __future__ import annotations

from sqlalchemy import Engine

from tocsin.access.permission_cache import PermissionCache
from tocsin.clock import SystemClock
from tocsin.flow.eventlog.readers import MATCH_STREAM
from tocsin.flow.match.local import matches
from tocsin.flow.match.plan import plan_of, recovery_plan
from tocsin.flow.match.streak import with_facts
from tocsin.flow.once import World, recipients_of, with_triggered_alerts
from tocsin.flow.resolve.only_visible import only_visible
from tocsin.flow.resolve.withholding import withheld
from tocsin.flow.schedule.messages import scheduled_notifications, timings_of
from tocsin.flow.send.channels.table import GATHERINGS
from tocsin.flow.track.alert_incidents import IncidentWork
from tocsin.model.change import LoggedEvent
from tocsin.model.match_result import MatchCounts, Pair
from tocsin.model.notification_draft import NotificationDraft, head_of
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
    drafts: list[NotificationDraft] = []
    pairs: list[Pair] = []
    for plain in log.read(log.progress(MATCH_STREAM), 10_000):
        logged = with_facts(plain, Reports(engine).before(plain))
        matching = _without_hidden([one for one in alerts if matches(plan_of(one), logged)], logged, hidden, engine)
        matched = _without_hidden(with_triggered_alerts(matching, logged, alerts), logged, hidden, engine)
        pairs += [(logged.offset, one.id) for one in matched]
        event = head_of(logged)._replace(timestamp_ms=now_ms or logged.event.timestamp)
        drafts += [one.draft(event) for one in (recipients_of(logged, matched, world) if matched else ())]
    visible = only_visible(drafts, PermissionCache(SqlSubjects(engine)).now(), SqlEvents(engine))
    preferred, timings = SqlPreferences(engine).among(visible), timings_of(alerts)
    at_ms = now_ms or clock.now_ms()
    scheduled = list(
        scheduled_notifications(visible, timings, now_ms=at_ms, gatherings=GATHERINGS, preferred=preferred)
    )
    counts = MatchCounts(pairs)
    counts.add(notification.offset_and_alerts for notification in scheduled)
    results = counts.results(now_ms=clock.now_ms(), withheld=hidden)
    notifications.add(scheduled, results, work=incident_work(engine, pairs, now_ms=clock.now_ms()))
    notifications.advance(MATCH_STREAM, log.readable_end(), now_ms=clock.now_ms())
    return len(scheduled)


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
