"""Recipients of changes that are only rehearsed, found by the stages of the pipeline: dry runs of sources, checks.

Each event is judged by itself, after all that is in the log. Next: ``flow/pipeline.py``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import chain
from typing import NamedTuple

from sqlalchemy import Engine

from tocsin.access.permission_cache import PermissionCache
from tocsin.access.visibility import TypedDocument
from tocsin.chunks import chunks_of
from tocsin.clock import Clock
from tocsin.flow.match.local import accepted_answers
from tocsin.flow.match.plan import plan_of
from tocsin.flow.match.streak import report_of, with_facts
from tocsin.flow.pipeline import (
    MATCHING,
    NOTIFYING,
    AlertFacts,
    Batch,
    Context,
    Lookups,
    alert_facts_of,
    drafts_of,
    run,
)
from tocsin.flow.resolve.portions import MatchedEvent
from tocsin.model.change import ChangeEvent, LoggedEvent
from tocsin.model.entity import Document
from tocsin.model.mute import Mute
from tocsin.model.notification_draft import NotificationDraft, head_of
from tocsin.model.stored import CapturedEvent
from tocsin.model.subscription import Channel, EventSubscription
from tocsin.store.catalogue.access.subjects import SqlSubjects
from tocsin.store.catalogue.alerts.subscriptions import Subscriptions
from tocsin.store.catalogue.people.identities import People
from tocsin.store.eventlog.log import EventLog
from tocsin.store.eventlog.reports import Reports
from tocsin.store.outbox.notification_ids import read_id_scheme
from tocsin.store.outbox.preferences import SqlPreferences
from tocsin.store.recipients.directory import SqlDirectory
from tocsin.store.recipients.event_subjects import SqlEvents
from tocsin.store.recipients.holding import Holding
from tocsin.store.recipients.roots import Roots

_EVENTS_AT_ONCE = 200


@dataclass
class TellingAlert:
    """An alert that would tell a person: of how many events, for which reasons, and on which channels of its own.

    The channels are those of its destinations, whatever the person has set for themselves.
    """

    name: str
    events: int = 0
    reasons: set[str] = field(default_factory=set)
    channels: set[Channel] = field(default_factory=set)


@dataclass
class RecipientCounts:
    """What one person would be told: of how many events, and by which alerts, by their ids."""

    events: int = 0
    alerts: dict[str, TellingAlert] = field(default_factory=dict)

    def as_document(self) -> Document:
        """Return it with the names of the alerts."""
        alerts = self.alerts.values()
        return {
            "events": self.events,
            "alerts": sorted({alert.name for alert in alerts}),
            "reasons": sorted({reason for alert in alerts for reason in alert.reasons}),
        }


class AddressOfAlert(NamedTuple):
    """The addresses of one channel that an alert names."""

    alert_id: str
    alert: str
    channel: str


class RehearsedEvents(SqlEvents):
    """Events that are in no log, beside the store's; what each is about is as the event has it."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self.by_offset: dict[int, ChangeEvent] = {}

    def subjects(self, offsets: Collection[int]) -> dict[int, list[TypedDocument]]:
        """Return what each of these events is about: its entity as it would be, others as they are."""
        return {
            offset: [self._as_rehearsed(subject, self.by_offset[offset]) for subject in subjects]
            for offset, subjects in super().subjects(offsets).items()
        }

    def _as_rehearsed(self, subject: TypedDocument, event: ChangeEvent) -> TypedDocument:
        is_entity = subject[1].get("id") == event.entity_id and event.entity is not None
        return (subject[0], event.entity or {}) if is_entity else subject

    def _read(self, offsets: Collection[int]) -> dict[int, ChangeEvent]:
        return {offset: self.by_offset[offset] for offset in offsets}


class UnmutedDirectory(SqlDirectory):
    """Directory of a store in which no person has muted anything: it is theirs to know what they have muted."""

    def mutes(self, who: Collection[str], about_ids: Collection[str]) -> Iterator[Mute]:
        """Return what addresses that are no users' have unsubscribed from."""
        return super().mutes([one for one in who if "@" in one], about_ids)


class RehearsalAudience:
    """Whom events would notify; ``add`` takes them as they are rehearsed, ``as_document`` says it of all of them."""

    def __init__(self, engine: Engine, clock: Clock, *, max_event_age_ms: int | None = None) -> None:
        self._engine, self._clock, self._max_age_ms = engine, clock, max_event_age_ms
        self._events, self._reports = RehearsedEvents(engine), Reports(engine)
        self._offset = EventLog(engine).readable_end()
        self._waiting: list[LoggedEvent] = []
        self._wholes: dict[str, LoggedEvent] = {}
        self._event_count = 0
        self._people: dict[str, RecipientCounts] = {}
        self._addresses: Counter[AddressOfAlert] = Counter()

    def add(self, events: Sequence[CapturedEvent]) -> None:
        """Take the events of one write."""
        for captured in events:
            self._offset += 1
            self._event_count += 1
            logged = LoggedEvent(self._offset, captured.event, captured.derived)
            reports = self._reports.before(logged) if report_of(logged) is not None else None
            self._waiting.append(logged if reports is None else with_facts(logged, reports))
        if len(self._waiting) >= _EVENTS_AT_ONCE:
            self._resolve()

    def people(self) -> Mapping[str, RecipientCounts]:
        """Return what each person would be told, by their ids."""
        self._resolve()
        return self._people

    def addresses(self) -> Mapping[AddressOfAlert, int]:
        """Return of how many events the addresses of each alert would be told."""
        self._resolve()
        return self._addresses

    def as_document(self) -> Document:
        """Return the number of events, and what each recipient would be told, those with most first."""
        self._resolve()
        people = People(self._engine)
        persons = {user_id: people.by_id(user_id) for user_id in self._people}
        recipients = [
            {"name": person.name if (person := persons[user_id]) else user_id, **counts.as_document()}
            for user_id, counts in self._people.items()
        ]
        addresses = [
            {"alert": address.alert, "channel": address.channel, "events": count}
            for address, count in sorted(self._addresses.items(), key=lambda pair: pair[0][1:])
        ]
        recipients.sort(key=lambda one: (-one["events"], one["name"]))
        return {"events": self._event_count, "people": recipients, "addresses": addresses}

    @cached_property
    def _alerts(self) -> list[EventSubscription]:
        return Subscriptions(self._engine).list_enabled()

    @cached_property
    def _facts(self) -> AlertFacts:
        return alert_facts_of(self._alerts)

    @cached_property
    def _lookups(self) -> Lookups:
        return Lookups(
            directory=UnmutedDirectory(self._engine),
            policies=PermissionCache(SqlSubjects(self._engine)).current_policies(),
            events=self._events,
            find_held_back=partial(Holding(self._engine).find_held_back, may_claim=False),
            find_roots=Roots(self._engine).of,
            find_wholes=self._find_wholes,
            find_preferences=SqlPreferences(self._engine).of_recipients,
            ids=read_id_scheme(self._engine),
        )

    def _resolve(self) -> None:
        events, self._waiting = self._waiting, []
        now_ms = self._clock.now_ms()
        oldest_ms = None if self._max_age_ms is None else now_ms - self._max_age_ms
        context = Context(self._facts, self._lookups, now_ms, oldest_ms)
        self._events.by_offset = {logged.offset: logged.event for logged in events}
        self._wholes = {logged.event.id: logged for logged in events if logged.event.is_whole}
        for portion in chunks_of(events, _EVENTS_AT_ONCE):
            batch = run((*MATCHING, *NOTIFYING), Batch([self._match_of(logged) for logged in portion]), context)
            self._count(list(chain.from_iterable(drafts_of(batch, context))))

    def _find_wholes(self, alerts_by_whole: Mapping[str, Collection[str]]) -> list[MatchedEvent]:
        """Return wholes, which come with their parts, with the alerts that match them."""
        return [self._match_of(self._wholes[one]) for one in alerts_by_whole if one in self._wholes]

    def _match_of(self, logged: LoggedEvent) -> MatchedEvent:
        answers = {alert.id: accepted_answers(plan_of(alert), logged) for alert in self._alerts}
        return MatchedEvent(head_of(logged), {alert: ways for alert, ways in answers.items() if ways})

    def _count(self, drafts: Sequence[NotificationDraft]) -> None:
        counted_events: set[tuple[int, str, str]] = set()
        for draft in drafts:
            reasons = draft.reasons.in_order
            if draft.recipient_id is None:
                addresses = (
                    AddressOfAlert(reason.subscription_id, reason.subscription_name, draft.channel.value)
                    for reason in reasons
                )
                self._addresses.update(set(addresses))
                continue
            counts = self._people.setdefault(draft.recipient_id, RecipientCounts())
            place = (draft.event.offset, draft.recipient_id)
            counts.events += (*place, "") not in counted_events
            counted_events.add((*place, ""))
            for reason in reasons:
                alert_id = reason.subscription_id
                alert = counts.alerts.setdefault(alert_id, TellingAlert(reason.subscription_name))
                alert.events += (*place, alert_id) not in counted_events
                counted_events.add((*place, alert_id))
                alert.reasons.add(reason.kind.value)
                alert.channels.add(draft.channel)
