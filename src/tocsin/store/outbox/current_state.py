"""State of now in messages: the open incidents of failures, change requests, and their answers.

Days may pass between an event and its message. Incidents are found for all messages of a claim at once, and asked only
where one tells of a failure; likewise requests, where one tells of any, and answers, where one reminds of a request.
Next: ``delivery/links/acknowledge.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import islice

from sqlalchemy import Connection, Engine, select

from tocsin.delivery.dispatch import Dispatch, FailureContext, FailureIncident
from tocsin.delivery.wording.incidents import tells_of_incident
from tocsin.delivery.wording.reports import belongs_to_incident, is_recovery
from tocsin.delivery.wording.surroundings import tells_of_failure
from tocsin.model.alert_incident import HandledAt, IncidentStatus, OpenIncident
from tocsin.model.change import OF_CHANGE_REQUESTS, ChangeEvent, EventType
from tocsin.model.change_request import request_in
from tocsin.model.channels import WORDED
from tocsin.model.message import Entry
from tocsin.model.notification import ReasonKind
from tocsin.store.database.alert_tables import alert_incident
from tocsin.store.database.engine import reading
from tocsin.store.database.keys import rows_by_key
from tocsin.store.outbox.failure_incidents import ReportPlace, incidents_at
from tocsin.store.outbox.failure_messages import incident_told, streaks_of
from tocsin.store.recipients.asked import people_who_answered, requests_now, requests_that_ask

_MOST_STREAKS = 100
"""Of so many failures a digest says since when: chats show fewer."""

_ROW = alert_incident.c
Opened = tuple[int, OpenIncident]
"""An incident, and the place of its first failure in the log."""


class CurrentStates:
    """What messages say of the state of now, asked again for those that have waited in a worker."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def judge_again(self, dispatches: Sequence[Dispatch]) -> list[Dispatch]:
        """Return claimed messages with the incidents and answers of now; what depends on them is to be asked again."""
        with reading(self._engine) as connection:
            current_dispatches = with_incidents(connection, with_requests(connection, dispatches))
        return list(map(_without_answers, current_dispatches))

    def open_incidents(self, places: Collection[ReportPlace]) -> dict[ReportPlace, OpenIncident]:
        """Return the incidents that nobody has acknowledged yet, by the failures that belong to them."""
        with reading(self._engine) as connection:
            opened = _open_incidents(connection, {place.entity_id for place in places}) if places else {}
        incidents = ((place, _incident_at(place.entity_id, place.offset, opened)) for place in places)
        return {place: incident for place, incident in incidents if incident is not None}


def _without_answers(dispatch: Dispatch) -> Dispatch:
    """Return a message without what was asked about it: a copy only if anything was."""
    is_new = dispatch.failure is None and dispatch.read_only is None
    return dispatch if is_new else replace(dispatch, failure=None, read_only=None)


def with_incidents(connection: Connection, dispatches: Sequence[Dispatch]) -> list[Dispatch]:
    """Return these messages, those about failures and silences with the incidents that nobody has acknowledged yet.

    So are reminders, on every channel: they are not sent where there is none. Digests, and messages about the handling
    of one, also name the others; digests say of their failures since when and how often in a row.
    """
    failing = [
        entry
        for dispatch in dispatches
        for entry in dispatch.entries
        if entry.carried.reminds_of is EventType.INCIDENT_REMINDER
        or (dispatch.message.channel in WORDED and entry.carried.remember(belongs_to_incident))
    ]
    named_incidents, streaks = _named_incidents(connection, dispatches), _streaks_in_digests(connection, dispatches)
    if not (failing or named_incidents or streaks):
        return list(dispatches)
    open_incidents = _open_incidents(connection, {entry.event.entity_id for entry in failing})
    incident_by_notification = {
        entry.notification_id: _incident_at(entry.event.entity_id, entry.log_offset, open_incidents)
        for entry in failing
    }

    def with_own_incident(entry: Entry) -> Entry:
        incident = incident_by_notification.get(entry.notification_id)
        return entry if incident == entry.incident else replace(entry, incident=incident)

    return [
        replace(
            dispatch,
            entries=tuple(map(with_own_incident, dispatch.entries)),
            incidents=named_incidents.get(dispatch.message.id, {}),
            streaks=streaks.get(dispatch.message.id, {}),
        )
        for dispatch in dispatches
    ]


def _named_incidents(
    connection: Connection, dispatches: Sequence[Dispatch]
) -> Mapping[str, Mapping[str, FailureIncident]]:
    """Return the incidents, open or not, to which failures in digests belong, or that were handled or resolved.

    By message and notification.
    """
    reports = [
        (dispatch.message.id, entry, ReportPlace(entry.event.entity_id, entry.log_offset))
        for dispatch in dispatches
        if dispatch.message.channel in WORDED
        for entry in dispatch.entries
        if entry.carried.remember(tells_of_incident)
        or (len(dispatch.entries) > 1 and entry.carried.remember(_may_have_incident))
    ]
    incidents = incidents_at(connection, {place for *_, place in reports}) if reports else {}
    named_incidents: dict[str, dict[str, FailureIncident]] = defaultdict(dict)
    for message_id, entry, place in reports:
        if incident := incident_told(entry.event, incidents.get(place)):
            named_incidents[message_id][entry.notification_id] = incident
    return named_incidents


def _may_have_incident(event: ChangeEvent) -> bool:
    return belongs_to_incident(event) or is_recovery(event)


def _streaks_in_digests(
    connection: Connection, dispatches: Sequence[Dispatch]
) -> Mapping[str, Mapping[str, FailureContext]]:
    """Return since when, and how often in a row, what fails does that digests tell of, the first of each.

    By message and notification.
    """
    failures = {
        (dispatch.message.id, entry.notification_id): (
            ReportPlace(entry.event.entity_id, entry.log_offset),
            entry.event,
        )
        for dispatch in dispatches
        if dispatch.message.channel in WORDED and len(dispatch.entries) > 1
        for entry in islice((one for one in dispatch.entries if one.carried.remember(tells_of_failure)), _MOST_STREAKS)
    }
    contexts = streaks_of(connection, dict(failures.values())) if failures else {}
    streaks: dict[str, dict[str, FailureContext]] = defaultdict(dict)
    for (message_id, notification_id), (place, _) in failures.items():
        streaks[message_id][notification_id] = contexts[place]
    return streaks


def _open_incidents(connection: Connection, entity_ids: set[str]) -> Mapping[str, Sequence[Opened]]:
    """Return the open incidents of these assets, the oldest first."""
    lead = alert_incident.alias()
    of_lead = (lead.c.entity_id.label("lead_entity_id"), lead.c.assignee_id.label("lead_assignee_id"))
    columns = (_ROW.entity_id, _ROW.opened_offset, _ROW.number, _ROW.assignee_id)
    query = select(*columns, *of_lead).outerjoin(lead, lead.c.id == _ROW.part_of)
    query = query.where(_ROW.status == IncidentStatus.OPEN.value, _ROW.merged_into.is_(None))
    incidents_by_entity: dict[str, list[Opened]] = defaultdict(list)
    for row in rows_by_key(connection, query, _ROW.entity_id, entity_ids):
        lead_place = HandledAt(row.lead_entity_id, row.lead_assignee_id) if row.lead_entity_id else None
        incident = OpenIncident(row.number, HandledAt(row.entity_id, row.assignee_id), lead_place)
        incidents_by_entity[row.entity_id].append((row.opened_offset, incident))
    for incidents in incidents_by_entity.values():
        incidents.sort(key=lambda one: (one[0], one[1].number))
    return incidents_by_entity


def _incident_at(entity_id: str, offset: int, opened: Mapping[str, Sequence[Opened]]) -> OpenIncident | None:
    """Return the incident that a failure at a place in the log belongs to, whichever alerts watch it."""
    return next((incident for opening, incident in opened.get(entity_id, ()) if opening <= offset), None)


def with_requests(connection: Connection, dispatches: Sequence[Dispatch]) -> list[Dispatch]:
    """Return these messages with the change requests that they tell of, and what of them asks nobody any more."""
    requests = {
        dispatch.message.id: {
            str(request["id"])
            for entry in dispatch.entries
            if entry.event.event_type in OF_CHANGE_REQUESTS and (request := request_in(entry.event))
        }
        for dispatch in dispatches
        if dispatch.message.channel in WORDED
    }
    request_ids = set[str]().union(*requests.values())
    answered_dispatches = _with_answered_reasons(connection, dispatches)
    if not request_ids:
        return answered_dispatches
    current = requests_now(connection, request_ids)
    return [
        replace(
            dispatch, requests={one: current[one] for one in requests.get(dispatch.message.id, ()) if one in current}
        )
        for dispatch in answered_dispatches
    ]


def _with_answered_reasons(connection: Connection, dispatches: Sequence[Dispatch]) -> list[Dispatch]:
    """Return these messages, reminders of change requests with the reasons for which these no longer ask anybody."""
    requests = {
        entry.carried.id: request["id"]
        for dispatch in dispatches
        for entry in dispatch.entries
        if entry.carried.reminds_of is EventType.CHANGE_REQUEST_REMINDER and (request := request_in(entry.event))
    }
    if not requests:
        return list(dispatches)
    asking_ids = requests_that_ask(connection, set(requests.values()))
    people = people_who_answered(connection, asking_ids)

    def with_own_reasons(entry: Entry) -> Entry:
        if entry.carried.id not in requests:
            return entry
        is_over = requests[entry.carried.id] not in asking_ids
        is_answered = entry.recipient_id in people.get(entry.carried.id, ())
        reasons = (one for one in entry.reasons if is_over or (is_answered and one.kind is ReasonKind.ASKED))
        return replace(entry, answered_reasons=tuple(reasons))

    return [replace(dispatch, entries=tuple(map(with_own_reasons, dispatch.entries))) for dispatch in dispatches]
