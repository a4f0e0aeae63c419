"""What mails say of failures beside their events, for entries of an inbox: severity, runbooks, rows that failed a test.

All of it is as it is when it is read, as far as its reader may see it. Next: ``server/routes/notifications/inbox.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tocsin.access.person_visibility import Visibility
from tocsin.delivery.dispatch import Advice, DefinitionRunbook, FailingRows, Guidance, Routes
from tocsin.delivery.wording.guidance import guidance_of_notification
from tocsin.delivery.wording.reports import reported_at_ms
from tocsin.errors import InvalidInput
from tocsin.model.message import CarriedEvent, Entry
from tocsin.model.phrases import suggestion_for
from tocsin.model.severity import Severity
from tocsin.server.alert_stores import AlertStores
from tocsin.store.catalogue.alerts.subscriptions import UNREADABLE
from tocsin.store.outbox.failing_rows import FailedRowSamples, ResultPlace, is_failed_test
from tocsin.store.outbox.failure_incidents import ReportPlace
from tocsin.store.outbox.inbox import InboxEntry

SEVERITY, RUNBOOKS, FAILING_ROWS = "severity", "runbooks", "failingRows"
DETAILS = (SEVERITY, RUNBOOKS, FAILING_ROWS)
"""The keys of an entry that are read only where they are asked for."""


@dataclass(frozen=True)
class EntryDetails:
    """What was asked for of an entry: how bad it is, what is to be done, and rows that failed the test."""

    severity: Severity | None = None
    runbooks: tuple[Advice, ...] = ()
    failing_rows: FailingRows | None = None


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

    stores: AlertStores
    samples: FailedRowSamples
    reader_id: str
    visibility: Visibility = field(repr=False)

    def of(self, entries: Sequence[InboxEntry], names: frozenset[str]) -> dict[str, EntryDetails]:
        """Return the details of entries by their ids."""
        guidance = self._guidance(entries) if names & {SEVERITY, RUNBOOKS} else {}
        failing_rows = self._failing_rows(entries) if FAILING_ROWS in names else {}
        return {
            entry.id: EntryDetails(
                guidance[entry.id].severity if SEVERITY in names else None,
                guidance[entry.id].advice if RUNBOOKS in names else (),
                failing_rows.get(entry.id),
            )
            for entry in entries
        }

    def _guidance(self, entries: Sequence[InboxEntry]) -> dict[str, Guidance]:
        """Return what alerts, incidents and tests say of each entry: of several severities the worst."""
        routes = self._routes(entries)
        places = {entry.id: ReportPlace(entry.event.entity_id, entry.log_offset) for entry in entries}
        events = {places[entry.id]: entry.event for entry in entries}
        incidents, runbooks = self.stores.failure_messages.incidents_and_runbooks(events)
        visible_names = self.visibility.sees_named({one.definition for one in runbooks.values()})
        guidance: dict[str, Guidance] = {}
        for entry in entries:
            place = places[entry.id]
            notification = Entry(entry.id, entry.log_offset, CarriedEvent.of(entry.event), entry.reasons)
            from_alerts = guidance_of_notification(notification, routes)
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
        failing_rows = self.samples.visible_to(self.reader_id, results.values())
        return {identity: failing_rows[place] for identity, place in results.items() if place in failing_rows}


def _advice_of(runbook: DefinitionRunbook | None, visible_names: set[str]) -> tuple[Advice, ...]:
    return (Advice(runbook.runbook),) if runbook is not None and runbook.definition in visible_names else ()
