"""The stages from the matches of events to their notifications: the one list that everything runs.

``jobs/resolving.py`` runs it in the tasks of the pipeline, ``jobs/backtest_tasks.py`` in those of a backtest,
``server/alerts/explanations.py`` and ``flow/once.py`` for one event. The stages are pure and work on many events at
once; what they look up is behind ``Lookups``. Next: ``flow/resolve/withholding.py``, the first stage.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from types import MappingProxyType
from typing import Protocol

from tocsin.access.permission_cache import PolicySnapshot
from tocsin.chunks import chunks_of
from tocsin.flow.match.cascade import Cascades, cascades_of, links_of, with_triggered
from tocsin.flow.match.local import accepted_answers
from tocsin.flow.match.plan import RECOVERY, plan_of
from tocsin.flow.resolve.counted import SimilarEvents, recipients_of_similar
from tocsin.flow.resolve.directory import Directory, Portion
from tocsin.flow.resolve.holding import HeldBack, Hidden, Waiting, name_incidents
from tocsin.flow.resolve.only_visible import Events, only_visible
from tocsin.flow.resolve.portions import (
    PEOPLE_AT_ONCE,
    Audiences,
    MatchedEvent,
    PrefetchPortions,
    ResolvedEvent,
    audiences_of,
    resolve_audiences,
)
from tocsin.flow.resolve.recipient_rules import RecipientRule, recipient_rules
from tocsin.flow.resolve.wholes import FindWholes, TellingAlerts, alerts_by_whole, telling_alerts_of, without_told_parts
from tocsin.flow.resolve.withholding import (
    AlertAssets,
    Reads,
    hidden_assets,
    limits_nobody,
    reads_of_triggered,
    withheld,
)
from tocsin.flow.schedule.messages import ScheduledNotification, Timings, scheduled_notifications, timings_of
from tocsin.flow.schedule.preferences import Preferred
from tocsin.flow.schedule.roots import GroupedMatch, RootsOfAlerts, by_root, under_roots
from tocsin.flow.track.alert_incidents import NO_WORK, IncidentWork
from tocsin.model.change import LoggedEvent
from tocsin.model.match_result import Pair
from tocsin.model.notification import NotificationIdScheme
from tocsin.model.notification_draft import NotificationDraft, head_of
from tocsin.model.subscription import EventSubscription

DRAFTS_AT_ONCE = 10_000
MOST_APART = 1_000
"""People who share an address; an event with more of them stays whole."""

Rules = Mapping[str, Sequence[RecipientRule]]
"""The recipient rules of each alert."""

Rights = Mapping[Pair, str | None]
"""Matches with the editor for whom each is withheld; None: for nobody."""

_NO_ROOTS: RootsOfAlerts = MappingProxyType({})


@dataclass(frozen=True)
class AlertFacts:
    """What the stages need of the alerts: the recipient rules of each, the timings of those that may gather or wait.

    ``opening`` are those whose failures open incidents; ``cascades`` those that others trigger, ``depending`` those
    that incidents of others hold back. ``of_tocsin`` are Tocsin's own, whose matches depend on nobody's rights.
    ``reads`` is what the condition of each reads.
    """

    rules: Rules
    timings: Timings
    opening: frozenset[str] = frozenset()
    cascades: Cascades = field(default_factory=dict)
    depending: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    of_tocsin: Collection[str] = frozenset()
    reads: Reads = field(default_factory=dict)

    @cached_property
    def reads_incidents(self) -> bool:
        """Return whether incidents hold some alert back or decide how it groups."""
        return bool(self.depending) or bool(by_root(self.timings, self.timings))


def alert_facts_of(alerts: Iterable[EventSubscription]) -> AlertFacts:
    """Return the facts of enabled alerts.

    Raises
    ------
    InvalidInput : an alert is none that can be matched
    """
    alerts_by_id = {alert.id: alert for alert in alerts}
    plans = {alert_id: plan_of(alert) for alert_id, alert in alerts_by_id.items()}
    return AlertFacts(
        rules={id_: recipient_rules(one, plans[id_].questions, plans[id_].states) for id_, one in alerts_by_id.items()},
        timings=timings_of(alerts_by_id.values(), [alert_id for alert_id, plan in plans.items() if plan.states]),
        opening=frozenset(alert_id for alert_id, plan in plans.items() if plan.opens_incidents),
        cascades=cascades_of({alert_id: links_of(alert) for alert_id, alert in alerts_by_id.items()}),
        depending=dependencies_of(alerts_by_id.values()),
        of_tocsin=frozenset(alert_id for alert_id, alert in alerts_by_id.items() if alert.is_of_tocsin),
        reads={alert_id: plan.reads for alert_id, plan in plans.items()},
    )


def dependencies_of(alerts: Iterable[EventSubscription]) -> dict[str, tuple[str, ...]]:
    """Return the alerts on which each of these depends; one that depends on none has no entry."""
    return {alert.id: tuple(other.id for other in alert.depends_on) for alert in alerts if alert.depends_on}


class FindHeldBack(Protocol):
    """Finds the incidents that hold alerts back."""

    def __call__(self, waiting: Sequence[Waiting], *, hidden: Hidden) -> Mapping[Pair, HeldBack]:
        """Return those of these that are held back; incidents of ``hidden`` assets do not hold an alert back."""


class FindRoots(Protocol):
    """Finds lineage roots."""

    def __call__(self, matches: Sequence[GroupedMatch], *, hidden: Hidden) -> Mapping[int, RootsOfAlerts]:
        """Return the roots of these matches, by offset; assets ``hidden`` from an alert are no roots of its groups."""


@dataclass(frozen=True)
class Lookups:
    """What the stages look up: relations, rights as of one moment, events, incidents, roots and preferences.

    ``ids`` are those of the store's notifications. ``find_decisions`` returns, of some matches (alerts by offset),
    those about whose rights the pipeline has decided before; without it, rights are those of now.
    """

    directory: Directory
    policies: PolicySnapshot
    events: Events
    find_held_back: FindHeldBack
    find_roots: FindRoots
    find_wholes: FindWholes
    find_preferences: Callable[[Sequence[NotificationDraft]], Preferred]
    ids: NotificationIdScheme
    find_decisions: Callable[[Mapping[int, Collection[str]]], Rights] | None = None


@dataclass(frozen=True)
class Context:
    """What all stages of one run share; ``now_ms`` is its time.

    Events before ``oldest_ms`` notify nobody, but count as matched. ``prefetch`` may look up a portion of the people
    while the one before it is used.
    """

    alerts: AlertFacts
    lookups: Lookups
    now_ms: int
    oldest_ms: int | None = None
    people_at_once: int = PEOPLE_AT_ONCE
    drafts_at_once: int = DRAFTS_AT_ONCE
    prefetch: PrefetchPortions = iter

    def find_hidden(self, assets: AlertAssets) -> AlertAssets:
        """Return those of these assets that are hidden from alerts; none is hidden from Tocsin's own."""
        of_people = {(alert, asset) for alert, asset in assets if alert not in self.alerts.of_tocsin}
        return hidden_assets(of_people, self.lookups.policies, self.lookups.events)


@dataclass(frozen=True)
class Batch:
    """Events with the alerts that match each, and what the stages have decided about these matches.

    ``withheld`` names an editor, ``triggered`` the alert whose match triggers another one, ``held_back`` an incident.
    """

    events: Sequence[MatchedEvent]
    withheld: Mapping[Pair, str] = field(default_factory=dict)
    triggered: Mapping[Pair, str] = field(default_factory=dict)
    held_back: Mapping[Pair, HeldBack] = field(default_factory=dict)
    incident_work: IncidentWork = NO_WORK

    @classmethod
    def of_event(cls, logged: LoggedEvent, matching: Iterable[EventSubscription]) -> Batch:
        """Return a batch of one event, with the alerts whose conditions it meets."""
        answers = {alert.id: accepted_answers(plan_of(alert), logged) for alert in matching}
        return cls([MatchedEvent(head_of(logged), answers)])

    @property
    def pairs(self) -> list[Pair]:
        """Return the matches, in order."""
        return [(event.head.offset, alert) for event in self.events for alert in sorted(event.answers_by_alert)]


Stage = Callable[[Batch, Context], Batch]


def withhold(batch: Batch, context: Context) -> Batch:
    """Leave out the matches of alerts whose editors may not view the event, as rights are now."""
    matched = {event.head.offset: event.answers_by_alert.keys() for event in batch.events}
    hidden = _find_withheld(matched, context.alerts.reads, context)
    return replace(batch, events=events_without(batch.events, hidden), withheld=hidden)


def note_incidents(batch: Batch, context: Context) -> Batch:
    """Work out which incidents the events open or resolve; successes are no matches of an alert."""
    opening = context.alerts.opening
    recovering_ids = frozenset(event.head.entity_id for event in batch.events if RECOVERY in event.answers_by_alert)
    if not opening and not recovering_ids:
        return batch
    failing_matches = (
        (event.head.offset, alert)
        for event in recent_events(batch.events, context)
        for alert in opening.intersection(event.answers_by_alert)
    )
    direct = events_without(batch.events, {(event.head.offset, RECOVERY) for event in batch.events})
    work = IncidentWork(tuple(failing_matches), recovering_ids, context.now_ms)
    return replace(batch, events=[event for event in direct if event.answers_by_alert], incident_work=work)


def trigger(batch: Batch, context: Context) -> Batch:
    """Add the alerts that the matching ones trigger, unless their editors may not view the event."""
    if not context.alerts.cascades:
        return batch
    triggered_pairs, barred_pairs = dict[Pair, str](), dict[Pair, str]()
    while True:
        events, by = _with_triggered(batch.events, context.alerts.cascades, barred_pairs)
        triggered_pairs |= by
        reads = reads_of_triggered(by, context.alerts.reads)
        newly_barred = _find_withheld(_alerts_by_offset(by), reads, context) if by else {}
        if not newly_barred:
            break
        barred_pairs |= newly_barred  # what they alone trigger is not triggered either
    not_otherwise = {pair: editor for pair, editor in batch.withheld.items() if pair not in by}
    return replace(batch, events=events, triggered=triggered_pairs, withheld={**not_otherwise, **barred_pairs})


def leave_out_old(batch: Batch, context: Context) -> Batch:
    """Leave out events that are too old to notify anybody of."""
    return replace(batch, events=recent_events(batch.events, context))


def leave_out_held_back(batch: Batch, context: Context) -> Batch:
    """Leave out matches that an incident of another alert holds back, except the first of each alert and incident."""
    depending = context.alerts.depending
    waiting_matches = [
        Waiting(event.head.offset, event.head.entity_id, alert, depending[alert])
        for event in batch.events
        for alert in depending.keys() & event.answers_by_alert.keys()
    ]
    held_back = context.lookups.find_held_back(waiting_matches, hidden=context.find_hidden) if waiting_matches else {}
    stopped_pairs = {pair for pair, held in held_back.items() if not held.passes}
    return replace(batch, events=events_without(batch.events, stopped_pairs), held_back=held_back)


MATCHING: tuple[Stage, ...] = (withhold, note_incidents, trigger)
"""Which alerts match."""

NOTIFYING: tuple[Stage, ...] = (leave_out_old, leave_out_held_back)
"""Which of these notify. Then ``drafts_of`` resolves recipients, and ``schedule`` says when each is notified."""


def run(stages: Iterable[Stage], batch: Batch, context: Context) -> Batch:
    """Return what these stages make of a batch, one after the other."""
    for stage in stages:
        batch = stage(batch, context)
    return batch


def notifications_of(batch: Batch, context: Context) -> Iterator[list[ScheduledNotification]]:
    """Yield the notifications of what ``MATCHING`` left of a batch, a bounded number at a time."""
    return schedule(drafts_of(run(NOTIFYING, batch, context), context), context)


def audiences_in(batch: Batch, context: Context, people: Sequence[Portion] | None = None) -> Audiences:
    """Return the audiences of a batch that ``NOTIFYING`` left; of these portions of the people, if they are named."""
    directory = context.lookups.directory.with_rights(context.lookups.policies)
    return audiences_of(batch.events, context.alerts.rules, directory, people or context.people_at_once)


def find_divisible(batch: Batch, context: Context, audiences: Audiences, *, limit: int) -> dict[int, Sequence[Portion]]:
    """Return the events of a batch with more than ``limit`` recipients, by offset, and the portions of their people.

    Events stay whole whose portions depend on each other: whose alerts ask conditions of people, or wait for incidents
    and group by them. So do those with many people who share an address.
    """
    divisible: dict[int, Sequence[Portion]] = {}
    if len(audiences) * context.people_at_once <= limit:
        return divisible
    for event in batch.events:
        if not _is_whole(event, context.alerts):
            people = audiences_in(replace(batch, events=[event]), context).portions
            if len(people) * context.people_at_once > limit and len(people[0].apart) <= MOST_APART:
                divisible[event.head.offset] = people
    return divisible


def _is_whole(event: MatchedEvent, alerts: AlertFacts) -> bool:
    names = event.answers_by_alert
    is_grouped = any(by_root(names, alerts.timings)) or not alerts.depending.keys().isdisjoint(names)
    return is_grouped or any(rule.questions for alert in names for rule in alerts.rules.get(alert, ()))


def drafts_of(batch: Batch, context: Context, audiences: Audiences | None = None) -> Iterator[list[NotificationDraft]]:
    """Yield whom a batch notifies, as far as they may view what it is about, a bounded number at a time.

    ``audiences`` are those of the batch, where the caller has them. Who is told of a whole is not told of its parts.
    """
    lookups, telling_alerts = context.lookups, find_telling_alerts(batch, context, audiences)
    drafts = _group(_resolve(batch, context, audiences), _find_roots(batch, context))
    for drafts_part in chunks_of(drafts, context.drafts_at_once):
        yield without_told_parts(only_visible(drafts_part, lookups.policies, lookups.events), telling_alerts)


def find_telling_alerts(batch: Batch, context: Context, audiences: Audiences | None = None) -> TellingAlerts:
    """Return whom alerts tell of the wholes that events of a batch are parts of; of the people of these audiences.

    An alert that waits for incidents may not tell of the whole, so that it tells of each part.
    """
    alerts = alerts_by_whole(batch.events)
    wholes = context.lookups.find_wholes(alerts) if alerts else ()
    if not wholes:
        return {}
    matched = run((withhold, trigger, leave_out_old), Batch(wholes), context)
    depending = {pair for pair in matched.pairs if pair[1] in context.alerts.depending}
    telling = replace(matched, events=events_without(matched.events, depending))
    people = None if audiences is None else audiences.portions
    drafts = drafts_of(telling, context, audiences_in(telling, context, people))
    return telling_alerts_of(chain.from_iterable(drafts))


def shows_everything(context: Context) -> bool:
    """Return whether rights change nothing about any event: neither for recipients nor for editors of the alerts."""
    alerts, lookups = context.alerts, context.lookups
    return limits_nobody(alerts.rules.keys() - alerts.of_tocsin, lookups.policies, lookups.events)


def drafts_of_similar(
    similar: Sequence[SimilarEvents], context: Context
) -> Iterator[tuple[list[NotificationDraft], Sequence[int]]]:
    """Yield pairs of drafts, as ``drafts_of`` yields them, and the offsets of all events that have just these.

    For backtests. Incidents must hold back the same matches of all events of a group; ``shows_everything`` must be
    true; there may be no alerts that group by roots, and no links that begin to hold at some offset.
    """
    alerts, by_offset = context.alerts, {events.first.head.offset: events for events in similar}
    batch = run((*MATCHING, *NOTIFYING), Batch([events.first for events in similar]), context)
    telling_alerts = find_telling_alerts(batch, context)
    notifying_events = [by_offset[event.head.offset]._replace(first=event) for event in batch.events]
    directory, people_at_once = context.lookups.directory, context.people_at_once
    for head, recipients, offsets in recipients_of_similar(
        notifying_events, alerts.rules, directory, people_at_once=people_at_once
    ):
        yield without_told_parts([recipient.draft(head) for recipient in recipients], telling_alerts), offsets


def schedule(parts: Iterable[list[NotificationDraft]], context: Context) -> Iterator[list[ScheduledNotification]]:
    """Yield the notifications with their times and messages, as alerts and recipients want them."""
    for drafts in parts:
        preferred = context.lookups.find_preferences(drafts)
        timings, now_ms, ids = context.alerts.timings, context.now_ms, context.lookups.ids
        yield list(scheduled_notifications(drafts, timings, now_ms=now_ms, preferred=preferred, ids=ids))


def recent_events(events: Sequence[MatchedEvent], context: Context) -> Sequence[MatchedEvent]:
    """Return the events that are not too old to notify anybody of."""
    oldest_ms = context.oldest_ms
    return [event for event in events if oldest_ms is None or event.head.timestamp_ms >= oldest_ms]


def events_without(events: Sequence[MatchedEvent], pairs: Collection[Pair]) -> Sequence[MatchedEvent]:
    """Return the events without these matches."""
    if not pairs:
        return events
    return [
        event._replace(
            answers_by_alert={
                alert: ways for alert, ways in event.answers_by_alert.items() if (event.head.offset, alert) not in pairs
            }
        )
        for event in events
    ]


def _find_withheld(alerts_by_offset: Mapping[int, Collection[str]], reads: Reads, context: Context) -> dict[Pair, str]:
    """Return which of these matches, alerts by offset, are withheld, and for which editor."""
    exempt, lookups = {RECOVERY, *context.alerts.of_tocsin}, context.lookups
    judged_alerts = {offset: set(alerts) - exempt for offset, alerts in alerts_by_offset.items()}
    if lookups.find_decisions is None:
        return withheld(judged_alerts, reads, lookups.policies, lookups.events)
    decisions = lookups.find_decisions(judged_alerts)
    undecided_alerts = {
        offset: {alert for alert in alerts if (offset, alert) not in decisions}
        for offset, alerts in judged_alerts.items()
    }
    earlier_editors = {pair: editor for pair, editor in decisions.items() if editor is not None}
    return earlier_editors | withheld(undecided_alerts, reads, lookups.policies, lookups.events)


def _with_triggered(
    events: Sequence[MatchedEvent], cascades: Cascades, barred: Collection[Pair]
) -> tuple[list[MatchedEvent], dict[Pair, str]]:
    """Return the events with the alerts that are triggered, unless they are barred; and whose match did it."""
    with_cascades, triggering_alerts, barred_alerts = list[MatchedEvent](), dict[Pair, str](), _alerts_by_offset(barred)
    for event in events:
        offset = event.head.offset
        answers_by_alert, by = with_triggered(event.answers_by_alert, offset, cascades, barred_alerts.get(offset, ()))
        with_cascades.append(event._replace(answers_by_alert=answers_by_alert))
        triggering_alerts |= {(offset, alert): other for alert, other in by.items()}
    return with_cascades, triggering_alerts


def _resolve(batch: Batch, context: Context, audiences: Audiences | None) -> Iterable[ResolvedEvent]:
    if not batch.events:
        return ()
    if audiences is None:
        audiences = audiences_in(batch, context)
    resolved = resolve_audiences(audiences, batch.events, context.alerts.rules, context.prefetch)
    return name_incidents(resolved, batch.held_back) if batch.held_back else resolved


def _find_roots(batch: Batch, context: Context) -> Mapping[int, RootsOfAlerts]:
    grouped = [
        GroupedMatch(event.head.offset, event.head.entity_id, alert)
        for event in batch.events
        for alert in by_root(event.answers_by_alert, context.alerts.timings)
    ]
    return context.lookups.find_roots(grouped, hidden=context.find_hidden) if grouped else {}


def _group(events: Iterable[ResolvedEvent], roots: Mapping[int, RootsOfAlerts]) -> Iterator[NotificationDraft]:
    for head, recipients in events:
        drafts = (recipient.draft(head) for recipient in recipients)
        yield from under_roots(drafts, roots.get(head.offset, _NO_ROOTS))


def _alerts_by_offset(pairs: Iterable[Pair]) -> dict[int, list[str]]:
    alerts_by_offset: dict[int, list[str]] = {}
    for offset, alert in pairs:
        alerts_by_offset.setdefault(offset, []).append(alert)
    return alerts_by_offset
