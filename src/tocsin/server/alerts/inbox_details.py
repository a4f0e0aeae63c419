"""What mails say of failures beside their events, for entries of an inbox: since when, the incident, what to do, rows.

All of it is as it is when it is read, as far as its reader may see it. Next: ``server/routes/notifications/inbox.py``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from tocsin.access.decide import Permissions
from tocsin.access.incident_rights import may_acknowledge
from tocsin.access.person_visibility import Visibility
from tocsin.delivery.dispatch import (
    NO_GUIDANCE,
    Advice,
    DefinitionRunbook,
    FailingRows,
    FailureContext,
    FailureIncident,
    Guidance,
    Routes,
)
from tocsin.delivery.wording.guidance import advice_to_onlooker, guidance_of_notification, needs_guidance
from tocsin.delivery.wording.reports import reported_at_ms
from tocsin.errors import InvalidInput
from tocsin.logic import ALWAYS
from tocsin.model.access import Operation
from tocsin.model.change import ChangeEvent
from tocsin.model.change_request import AskedFor
from tocsin.model.entity_type import OWNING
from tocsin.model.message import CarriedEvent, Entry
from tocsin.model.phrases import suggestion_for
from tocsin.model.severity import Severity
from tocsin.server.alert_stores import AlertStores
from tocsin.store.catalogue.access.entity_states import SqlEntityStates
from tocsin.store.catalogue.alerts.subscriptions import UNREADABLE
from tocsin.store.outbox.failing_rows import FailedRowSamples, ResultPlace, is_failed_test
from tocsin.store.outbox.failure_incidents import ReportPlace
from tocsin.store.outbox.inbox import Inbox, InboxEntry
from tocsin.store.recipients.asked import AskedConsumers

SEVERITY, RUNBOOKS, FAILING_ROWS, FAILURE, INCIDENT = "severity", "runbooks", "failingRows", "failure", "incident"
DETAILS = (SEVERITY, RUNBOOKS, FAILING_ROWS, FAILURE, INCIDENT)
"""The keys of an entry that are read only where they are asked for."""

_OF_INCIDENTS = frozenset({SEVERITY, RUNBOOKS, INCIDENT})


@dataclass(frozen=True)
class EntryDetails:
    """What was asked for of an entry: how bad it is, what is to be done, rows that failed the test.

    ``failure`` says since when and how often its asset fails, or did; ``incident`` which one its failure belongs to.
    ``advice`` is what its reader can do who may not acknowledge that incident, empty where a runbook says what is to be
    done; None for all others.
    """

    severity: Severity | None = None
    runbooks: tuple[Advice, ...] = ()
    failing_rows: FailingRows | None = None
    failure: FailureContext | None = None
    incident: FailureIncident | None = None
    advice: str | None = None


NO_DETAILS = EntryDetails()


def parse_details(text: str | None) -> frozenset[str]:
    """Return which details a request asks for, from a comma list; raise ``InvalidInput`` for others."""
    names = frozenset(name.strip() for name in (text or "").split(",") if name.strip())
    for name in sorted(names.difference(DETAILS)):
        raise InvalidInput(f"unknown field {name!r}; {suggestion_for(name, DETAILS)}", field="fields")
    return names


@dataclass(frozen=True)
class DetailReader:
    """Reads details for one reader."""

    inbox: Inbox
    stores: AlertStores
    samples: FailedRowSamples
    standing: SqlEntityStates
    permissions: Permissions = field(repr=False)
    visibility: Visibility = field(repr=False)

    def of(self, entries: Sequence[InboxEntry], names: frozenset[str]) -> dict[str, EntryDetails]:
        """Return the details of entries by their ids."""
        events = {_place_of(entry): entry.event for entry in entries}
        messages = self.stores.failure_messages
        incidents, runbooks = messages.incidents_and_runbooks(events) if names & _OF_INCIDENTS else ({}, {})
        incidents = shown_incidents(incidents, self.visibility)
        guidance = self._guidance(entries, incidents, runbooks) if names & _OF_INCIDENTS else {}
        failing_rows = self._failing_rows(entries) if FAILING_ROWS in names else {}
        streaks = messages.streaks(events) if FAILURE in names else {}
        advice = self._advice_to_onlookers(events, incidents) if INCIDENT in names else {}
        return {
            entry.id: EntryDetails(
                guidance[entry.id].severity if SEVERITY in names else None,
                guidance[entry.id].advice if RUNBOOKS in names else (),
                failing_rows.get(entry.id),
                _failure_of(entry, streaks.get(_place_of(entry))),
                incidents.get(_place_of(entry)) if INCIDENT in names else None,
                "" if _place_of(entry) in advice and guidance[entry.id].advice else advice.get(_place_of(entry)),
            )
            for entry in entries
        }

    def _advice_to_onlookers(
        self, events: Mapping[ReportPlace, ChangeEvent], incidents: Mapping[ReportPlace, FailureIncident]
    ) -> dict[ReportPlace, str]:
        """Return what the reader can do about each failure whose incident is open and theirs to look at only."""
        places = [place for place, incident in incidents.items() if not incident.is_handled]
        open_incidents = self.stores.current_states.open_incidents(places)
        assets = self.standing.of({one.entity_id for incident in open_incidents.values() for one in incident.places})
        tables = self.standing.tested_tables(assets)
        sees_owners = all(self.permissions.scope(kind, Operation.VIEW_BASIC) is ALWAYS for kind in OWNING)
        return {
            place: advice_to_onlooker(events[place], is_whole=sees_owners)
            for place, incident in open_incidents.items()
            if not may_acknowledge(incident, self.permissions, assets, tables)
        }

    def _guidance(
        self,
        entries: Sequence[InboxEntry],
        incidents: Mapping[ReportPlace, FailureIncident],
        runbooks: Mapping[ReportPlace, DefinitionRunbook],
    ) -> dict[str, Guidance]:
        """Return what alerts, incidents and tests say of each entry: of several severities the worst."""
        routes = self._routes(entries)
        visible_names = self.visibility.sees_named({one.definition for one in runbooks.values()})
        guidance: dict[str, Guidance] = {}
        for entry in entries:
            place = _place_of(entry)
            notification = Entry(entry.id, entry.log_offset, CarriedEvent.of(entry.event), entry.reasons)
            from_alerts = guidance_of_notification(notification, routes) if needs_guidance(entry.event) else NO_GUIDANCE
            incident, runbook = incidents.get(place), runbooks.get(place)
            severities = (from_alerts.severity, incident.severity if incident else None)
            severity = min((one for one in severities if one is not None), default=None)
            guidance[entry.id] = Guidance(severity, from_alerts.advice or _advice_of(runbook, visible_names))
        return guidance

    def _routes(self, entries: Sequence[InboxEntry]) -> Routes:
        alerts = {reason.subscription_id for entry in entries for reason in entry.reasons}
        routes_by_alert = self.stores.routes.of_all(alerts)
        return {
            (alert, destination): route
            for alert, routes in routes_by_alert.items()
            if not isinstance(routes, UNREADABLE)
            for destination, route in routes.items()
        }

    def _failing_rows(self, entries: Sequence[InboxEntry]) -> dict[str, FailingRows]:
        results = {
            entry.id: ResultPlace(entry.event.entity_id, reported_at_ms(entry.event))
            for entry in entries
            if is_failed_test(entry.event)
        }
        failing_rows = self.samples.visible_to(self.permissions.subject.id, results.values())
        return {identity: failing_rows[place] for identity, place in results.items() if place in failing_rows}


def shown_incidents(
    incidents: Mapping[ReportPlace, FailureIncident], visibility: Visibility
) -> dict[ReportPlace, FailureIncident]:
    """Return incidents of failures without the display names of those who acknowledged them and may not be seen."""
    visible_ids = visibility.sees(
        {"id": str(incident.acknowledger_id), "type": "user"}
        for incident in incidents.values()
        if incident.acknowledger is not None
    )
    return {
        place: incident
        if incident.acknowledger is None or str(incident.acknowledger_id) in visible_ids
        else incident.without_display_name()
        for place, incident in incidents.items()
    }


def _place_of(entry: InboxEntry) -> ReportPlace:
    return ReportPlace(entry.event.entity_id, entry.log_offset)


def _failure_of(entry: InboxEntry, streak: FailureContext | None) -> FailureContext | None:
    """Return since when and how often; the first failure is one since its own time."""
    if streak is None or not streak.count:
        return None
    return streak if streak.since_ms is not None else replace(streak, since_ms=reported_at_ms(entry.event))


def answerable_of(
    entries: Sequence[InboxEntry], visibility: Visibility, asked_consumers: AskedConsumers
) -> dict[str, AskedFor]:
    """Return what change requests ask the owner of an inbox for, by entry, as far as the reader may see it."""
    answerable_by_entry = {
        entry.id: asked_consumers.of_notification(entry.event, entry.reasons, entry.recipient_id) for entry in entries
    }
    visible_names = visibility.sees_named({name for one in answerable_by_entry.values() for name in one.full_names})
    return {identity: one.among(visible_names) for identity, one in answerable_by_entry.items()}


def _advice_of(runbook: DefinitionRunbook | None, visible_names: set[str]) -> tuple[Advice, ...]:
    return (Advice(runbook.runbook),) if runbook is not None and runbook.definition in visible_names else ()
