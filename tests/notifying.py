"""Python pipeline for tests without Spark: the Python engine over the whole log, results written to the store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from sqlalchemy import Engine

from tocsin.chunks import chunks_of
from tocsin.clock import Clock, SystemClock
from tocsin.flow.eventlog.readers import MATCH_STREAM
from tocsin.flow.match.local import accepted_answers, matches
from tocsin.flow.match.plan import plan_of, recovery_plan
from tocsin.flow.match.streak import report_of, with_facts
from tocsin.flow.once import Dependencies
from tocsin.flow.pipeline import MATCHING, Batch, Context, alert_facts_of, drafts_of, run, schedule
from tocsin.flow.resolve.portions import MatchedEvent
from tocsin.flow.track.alert_incidents import IncidentWork
from tocsin.jobs.resolving import Resolving
from tocsin.model.change import LoggedEvent
from tocsin.model.match_result import MatchCounts, Pair
from tocsin.model.notification_draft import NotificationDraft, head_of
from tocsin.model.subscription import EventSubscription
from tocsin.store.catalogue.alerts.subscriptions import Subscriptions
from tocsin.store.eventlog.log import EventLog
from tocsin.store.eventlog.reports import Reports
from tocsin.store.outbox.notifications import Notifications

_EVENTS_AT_ONCE = 500


def notify_all(engine: Engine, *, now_ms: int = 0) -> int:
    """Take every event that the pipeline has not reached through the stages; return how many rows that gave.

    With ``now_ms`` that is the time, and the time of the events.
    """
    log, notifications, clock = EventLog(engine), Notifications(engine), SystemClock()
    subscriptions, after = Subscriptions(engine), log.progress(MATCH_STREAM)
    alerts = subscriptions.with_past_names(subscriptions.list_enabled(), after=after)
    facts = alert_facts_of(alerts)
    context = Context(facts, Resolving(engine).lookups(may_claim=False), now_ms or clock.now_ms())
    logged_events = log.read(after, 10_000)
    times = {one.offset: now_ms or one.event.timestamp for one in logged_events}
    withheld_pairs: dict[Pair, str] = {}
    drafts: list[NotificationDraft] = []
    pairs: list[Pair] = []
    for events in chunks_of(_matched_events(engine, alerts, logged_events), _EVENTS_AT_ONCE):
        batch = run(MATCHING, Batch(events), context)
        withheld_pairs |= batch.withheld
        pairs += batch.pairs
        for draft in chain.from_iterable(drafts_of(batch, context)):
            event = draft.event._replace(timestamp_ms=times[draft.event.offset])
            drafts.append(draft._replace(event=event))
    scheduled_notifications = list(chain.from_iterable(schedule([drafts], context)))
    counts = MatchCounts(pairs)
    counts.add(notification.offset_and_alerts for notification in scheduled_notifications)
    results = counts.results(now_ms=context.now_ms, withheld=withheld_pairs)
    work = incident_work(engine, pairs, now_ms=clock.now_ms(), after=after)
    notifications.add(scheduled_notifications, results, work=work)
    notifications.advance(MATCH_STREAM, log.readable_end(), now_ms=clock.now_ms())
    return len(scheduled_notifications)


def _matched_events(
    engine: Engine, alerts: Iterable[EventSubscription], logged: Iterable[LoggedEvent]
) -> Iterator[MatchedEvent]:
    """Yield those of the events that match some alert."""
    plans, reports = {alert.id: plan_of(alert) for alert in alerts}, Reports(engine)
    for plain in logged:
        with_reports = with_facts(plain, reports.before(plain)) if report_of(plain) else plain
        answers = {alert_id: accepted_answers(plan, with_reports) for alert_id, plan in plans.items()}
        if any(answers.values()):
            accepted = {alert_id: accepting for alert_id, accepting in answers.items() if accepting}
            yield MatchedEvent(head_of(with_reports), accepted)


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
