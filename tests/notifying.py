"""Python pipeline for tests without Spark: the Python engine over the whole log, results written to the store."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from sqlalchemy import Engine

from tocsin.clock import Clock, SystemClock
from tocsin.flow.eventlog.readers import MATCH_STREAM
from tocsin.flow.match.local import matches
from tocsin.flow.match.plan import plan_of, recovery_plan
from tocsin.flow.match.streak import with_facts
from tocsin.flow.once import Dependencies
from tocsin.flow.pipeline import MATCHING, Batch, Context, alert_facts_of, drafts_of, run, schedule
from tocsin.flow.track.alert_incidents import IncidentWork
from tocsin.jobs.resolving import Resolving
from tocsin.model.match_result import MatchCounts, Pair
from tocsin.model.notification_draft import NotificationDraft
from tocsin.model.subscription import EventSubscription
from tocsin.store.catalogue.alerts.subscriptions import Subscriptions
from tocsin.store.eventlog.log import EventLog
from tocsin.store.eventlog.reports import Reports
from tocsin.store.outbox.notifications import Notifications


def notify_all(engine: Engine, *, now_ms: int = 0) -> int:
    """Take every event that the pipeline has not reached through the stages; return how many rows that gave.

    With ``now_ms`` that is the time, and the time of the events.
    """
    log, notifications, clock = EventLog(engine), Notifications(engine), SystemClock()
    subscriptions = Subscriptions(engine)
    alerts = subscriptions.with_past_names(subscriptions.list_enabled(), after=log.progress(MATCH_STREAM))
    at_ms = now_ms or clock.now_ms()
    context = Context(alert_facts_of(alerts), Resolving(engine).lookups(may_claim=False), at_ms)
    hidden: dict[Pair, str] = {}
    drafts: list[NotificationDraft] = []
    pairs: list[Pair] = []
    for plain in log.read(log.progress(MATCH_STREAM), 10_000):
        logged = with_facts(plain, Reports(engine).before(plain))
        matching = [alert for alert in alerts if matches(plan_of(alert), logged)]
        batch = run(MATCHING, Batch.of_event(logged, matching), context)
        hidden |= batch.withheld
        pairs += batch.pairs
        for draft in chain.from_iterable(drafts_of(batch, context)):
            event = draft.event._replace(timestamp_ms=now_ms or logged.event.timestamp)
            drafts.append(draft._replace(event=event))
    scheduled = list(chain.from_iterable(schedule([drafts], context)))
    counts = MatchCounts(pairs)
    counts.add(notification.offset_and_alerts for notification in scheduled)
    results = counts.results(now_ms=clock.now_ms(), withheld=hidden)
    notifications.add(scheduled, results, work=incident_work(engine, pairs, now_ms=clock.now_ms()))
    notifications.advance(MATCH_STREAM, log.readable_end(), now_ms=clock.now_ms())
    return len(scheduled)


def dependencies_of(engine: Engine, alerts: Sequence[EventSubscription], clock: Clock) -> Dependencies:
    """Return what ``flow/once`` needs of a store."""
    lookups = Resolving(engine).lookups(may_claim=False)
    return Dependencies(EventLog(engine).find, alerts, lookups, clock, earlier=Reports(engine).before)


def incident_work(engine: Engine, pairs: list[Pair], *, now_ms: int, after: int = 0) -> IncidentWork:
    """Return what these matches, and the successes after an offset, mean for incidents: as tasks find it."""
    opening = {one.id for one in Subscriptions(engine).list_enabled() if plan_of(one).opens_incidents}
    failing = tuple(pair for pair in pairs if pair[1] in opening)
    recovery, log = recovery_plan(), EventLog(engine)
    recovering = {one.event.entity_id for one in log.read(after, 10_000) if matches(recovery, one)}
    return IncidentWork(failing, frozenset(recovering), now_ms)
