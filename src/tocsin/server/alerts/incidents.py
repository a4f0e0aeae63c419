"""Incidents: who sees one, who may change it, and JSON with the names that the caller may see.

Next: ``server/routes/alerts/alert_incidents.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from tocsin.access.incident_rights import may_change_incident, may_edit_table
from tocsin.alerts.incident_merging import dismissed_causes
from tocsin.delivery.wording.timelines import incident_sentence
from tocsin.errors import Forbidden, NotFound
from tocsin.model.access import Operation
from tocsin.model.alert_incident import (
    ABOUT_CAUSES,
    REASONS,
    AlertIncident,
    AlertIncidentStep,
    IncidentName,
    IncidentStatus,
    StepKind,
    name_of,
)
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.severity import Severity
from tocsin.server.access.permissions import require
from tocsin.server.access.references import with_names
from tocsin.server.http.answer_shapes import Shape, json_of
from tocsin.server.http.json_schema import ID, OPEN, TEXT, TIME, array, either, exact_object, nullable
from tocsin.server.request import Caller
from tocsin.store.recipients.related_incidents import Cause

ROW = ENTITY_TYPES["eventsubscription"]
NAME: Document = {"type": "string", "examples": ["INC-7"]}
MOST_CAUSES = 5
"""Most incidents that an answer names as probable causes."""


def asset_of(incident: AlertIncident) -> Document:
    """Return the reference, by id and type, to the asset of an incident."""
    return {"id": incident.entity_id, "type": incident.entity_type}


def alert_reference(alert_id: str) -> Document:
    """Return the reference, by id and type, to an alert."""
    return {"id": alert_id, "type": "eventsubscription"}


def incidents_json(incidents: Sequence[AlertIncident], caller: Caller) -> list[Document]:
    """Return incidents for an answer, with those of the alerts that watch them which the caller may see."""
    by_incident = caller.parts.alert_stores.incidents.watchers({one.lead_id for one in incidents})
    watchers = [alert_reference(one) for one in sorted({alert for many in by_incident.values() for alert in many})]
    visible_ids = caller.visibility.sees(watchers)
    assignees = [one.assignee for one in incidents if one.assignee]
    related_incidents = _related_incidents(incidents, caller)
    kinds = (StepKind.ACKNOWLEDGED, StepKind.RESOLVED)
    steps = caller.parts.alert_stores.incidents.steps_of_kind({one.lead_id for one in incidents}, *kinds)
    people = [_author_of(step) for many in steps.values() for step in many]
    references = with_names(
        [*map(asset_of, (*incidents, *related_incidents.incidents.values())), *watchers, *assignees, *people], caller
    )
    return [
        json_of(
            INCIDENT,
            NamedIncident(
                incident,
                references,
                [references[alert] for alert in by_incident[incident.lead_id] if alert in visible_ids],
                related_incidents.lead_of(incident),
                related_incidents.parts_of(incident),
                steps.get(incident.lead_id, ()),
            ),
        )
        for incident in incidents
    ]


class _Related(NamedTuple):
    """The incidents that some are parts of, and their parts: those whose asset the caller may see, by id."""

    incidents: Mapping[str, AlertIncident]

    def lead_of(self, incident: AlertIncident) -> IncidentName | None:
        """Return what an incident is part of."""
        lead = self.incidents.get(incident.part_of or "")
        return incident.merged_into if lead is None else IncidentName(lead.id, lead.number)

    def parts_of(self, incident: AlertIncident) -> list[AlertIncident]:
        """Return the parts of an incident."""
        return [each for each in self.incidents.values() if each.part_of == incident.id]


def _related_incidents(incidents: Sequence[AlertIncident], caller: Caller) -> _Related:
    log = caller.parts.alert_stores.incidents
    leads = log.by_ids({one.part_of for one in incidents if one.part_of})
    parts = [part for many in log.parts({one.id for one in incidents}).values() for part in many]
    return _Related({one.id: one for one in visible_incidents(caller, [*leads.values(), *parts]) if one is not None})


def causes_json(incident: AlertIncident, caller: Caller) -> list[Document]:
    """Return the first incidents upstream that probably caused one, as far as the caller may view them."""
    causes = visible_causes(incident, caller)[:MOST_CAUSES]
    types = {one: kind for one, (kind, _) in caller.parts.access.standing.of({it.asset_id for it in causes}).items()}
    assets = [{"id": one, "type": kind} for one, kind in types.items()]
    references = with_names([*assets, *(asset_of(cause.incident) for cause in causes)], caller)
    return [
        _part_json(cause.incident, references[cause.incident.entity_id]) | {"asset": references[cause.asset_id]}
        for cause in causes
    ]


def visible_causes(incident: AlertIncident, caller: Caller) -> list[Cause]:
    """Return the incidents upstream that probably caused one: those whose asset, and what it tests, is visible."""
    causes = caller.parts.alert_stores.related_incidents.causes_of_incident(incident)
    visible_incident_ids = {one.id for one in visible_incidents(caller, [cause.incident for cause in causes]) if one}
    standing = caller.parts.access.standing.of({cause.asset_id for cause in causes})
    visible_asset_ids = caller.visibility.sees([{"id": one, "type": kind} for one, (kind, _) in standing.items()])
    return [
        cause for cause in causes if cause.incident.id in visible_incident_ids and cause.asset_id in visible_asset_ids
    ]


def dismissed_causes_json(
    incident: AlertIncident, steps: Sequence[AlertIncidentStep], caller: Caller
) -> list[Document]:
    """Return the incidents that people have dismissed as the cause of one, as far as the caller may view them."""
    causes = caller.parts.alert_stores.incidents.by_ids(dismissed_causes(steps, incident.lead_id))
    shown_incidents = [one for one in visible_incidents(caller, list(causes.values())) if one]
    references = with_names([asset_of(one) for one in shown_incidents], caller)
    return [_part_json(one, references[one.entity_id]) for one in shown_incidents]


def moments_of(incident: AlertIncident, steps: Sequence[AlertIncidentStep], caller: Caller) -> list[Document]:
    """Return what happened to an incident and what people did to it: who, when, what.

    Of a merge or split it names the other incident where the caller may see that one's asset.
    """
    people = [{"id": one.for_id, "type": "user"} for one in steps if one.for_id]
    assignees = [one.assignee for one in steps if one.assignee]
    references = with_names([*map(_author_of, steps), *people, *assignees], caller)
    joined = caller.parts.alert_stores.incidents.by_ids(
        {one for step in steps if step.other_id for one in (step.other_id, step.incident_id)}
    )
    visible = visible_incidents(caller, list(joined.values()))
    names = {one.id: IncidentName(one.id, one.number) for one in visible if one}
    own_steps = [one for one in steps if one.other_id != incident.lead_id or one.incident_id in names]
    return list(_moments(incident, own_steps, (references, names), caller.zone))


def _author_of(step: AlertIncidentStep) -> Document:
    return {"id": step.user_id, "type": "user", "name": step.user_name}


def _moments(
    incident: AlertIncident,
    steps: Sequence[AlertIncidentStep],
    names: tuple[Mapping[str, Document], Mapping[str, IncidentName]],
    zone: str,
) -> Iterator[Document]:
    references, incident_names = names
    yield _moment(StepKind.OPENED, incident.opened_at_ms, incident.opened_event_id, {}, zone)
    for step in steps:
        details: Document = {}
        if step.kind is not StepKind.REMINDED:  # nobody did it
            details["user"] = references[step.user_id]
        if step.kind is StepKind.ASSIGNED and step.assignee:
            details["assignee"] = references.get(step.assignee["id"], step.assignee)
        if step.for_id is not None:
            person = references.get(step.for_id, {"id": step.for_id, "type": "user"})
            details |= {"for": person, "awayUntil": step.away_until_ms}
        joined_id = step.incident_id if step.other_id == incident.lead_id else step.other_id
        joined_name = incident_names.get(joined_id or "")
        details |= {"incident": _name_json(joined_name)} if joined_name else {}
        # Who handles one incident may write into its timeline, and not into that of a cause that they judge.
        is_of_effect = step.kind in ABOUT_CAUSES and step.other_id == incident.lead_id
        texts = {"comment": None if is_of_effect else step.comment, "reason": step.reason}
        details |= {key: text for key, text in texts.items() if text}
        yield _moment(step.kind, step.at_ms, step.event_id, details, zone)
    if incident.recovered_event_id is not None and incident.resolved_at_ms is not None:
        yield _moment(StepKind.RECOVERED, incident.resolved_at_ms, incident.recovered_event_id, {}, zone)


def _moment(kind: StepKind, at_ms: int, event_id: str | None, details: Document, zone: str) -> Document:
    moment = {"kind": kind.value, "timestamp": at_ms, "eventId": event_id} | details
    return moment | {"says": incident_sentence(moment, zone)}


class NamedIncident(NamedTuple):
    """An incident, the references, by id, that it names, and those to its watchers.

    ``lead`` is what it is part of, and ``parts`` are its own. ``steps`` are its acknowledgements, and its end by hand.
    """

    incident: AlertIncident
    references: Mapping[str, Document]
    watchers: Sequence[Document]
    lead: IncidentName | None = None
    parts: Sequence[AlertIncident] = ()
    steps: Sequence[AlertIncidentStep] = ()

    @property
    def acknowledgement(self) -> AlertIncidentStep | None:
        """Return the last acknowledgement, of an incident that is acknowledged or was until it ended."""
        acknowledgements = [step for step in self.steps if step.kind is StepKind.ACKNOWLEDGED]
        return acknowledgements[-1] if acknowledgements and self.incident.status is not IncidentStatus.OPEN else None

    @property
    def resolution(self) -> Document | None:
        """Return who ended it, and what they said; None while it lasts, and of what a success ended."""
        step = next((step for step in self.steps if step.kind is StepKind.RESOLVED), None)
        if step is None or self.incident.is_open:
            return None
        return {"user": self.references[step.user_id], "reason": step.reason, "comment": step.comment}

    def reference(self, reference: Document | None) -> Document | None:
        """Return a reference with the names that may be seen."""
        return reference and self.references.get(reference["id"], reference)


INCIDENT: Shape[NamedIncident] = {
    "id": (ID, lambda named: named.incident.id),
    "name": (NAME, lambda named: named.incident.name),
    "status": (either(*IncidentStatus), lambda named: named.incident.status.value),
    "severity": (
        nullable(either(*Severity)),
        lambda named: named.incident.severity and named.incident.severity.value,
    ),
    "alert": (nullable(OPEN), lambda named: next(iter(named.watchers), None)),
    "watchers": (array(OPEN), lambda named: list(named.watchers)),
    "entity": (OPEN, lambda named: named.reference(asset_of(named.incident))),
    "stateId": (nullable(ID), lambda named: named.incident.state_id),
    "assignee": (nullable(OPEN), lambda named: named.reference(named.incident.assignee)),
    "acknowledgedBy": (
        nullable(OPEN),
        lambda named: named.acknowledgement and named.references[named.acknowledgement.user_id],
    ),
    "acknowledgedAt": (nullable(TIME), lambda named: named.acknowledgement and named.acknowledgement.at_ms),
    "openedAt": (TIME, lambda named: named.incident.opened_at_ms),
    "resolvedAt": (nullable(TIME), lambda named: named.incident.resolved_at_ms),
    "resolvedBy": (
        nullable(either(StepKind.RECOVERED, StepKind.RESOLVED)),
        lambda named: None if named.incident.is_open else _ending_of(named.incident).value,
    ),
    "resolution": (
        nullable(exact_object({"user": OPEN, "reason": nullable(either(*REASONS)), "comment": nullable(TEXT)})),
        lambda named: named.resolution,
    ),
    "updatedAt": (TIME, lambda named: named.incident.updated_at_ms),
    "mergedInto": (
        nullable(exact_object({"id": ID, "name": NAME})),
        lambda named: _name_json(named.lead),
    ),
    "parts": (
        array(exact_object({"id": ID, "name": NAME, "status": either(*IncidentStatus), "entity": OPEN})),
        lambda named: [_part_json(part, named.reference(asset_of(part))) for part in named.parts],
    ),
}
"""An incident, without its timeline. ``alert`` is the first of ``watchers``."""

STEP_MOMENT = exact_object(
    {"kind": either(*StepKind), "timestamp": TIME, "eventId": nullable(ID), "says": TEXT},
    {
        "user": OPEN,
        "assignee": OPEN,
        "for": OPEN,
        "awayUntil": TIME,
        "comment": TEXT,
        "reason": either(*REASONS),
        "incident": exact_object({"id": ID, "name": NAME}),
    },
)
"""A moment of a timeline at which something happened to the incident, or a person did something to it."""


_PART_KEYS: Document = {"id": ID, "name": NAME, "status": either(*IncidentStatus), "entity": OPEN}
PART = exact_object(_PART_KEYS)
"""An incident that another one names, and what failed."""
CAUSE = exact_object({**_PART_KEYS, "asset": OPEN})
"""An incident that probably caused another one; ``asset`` is what its test checks, or its pipeline."""


def _name_json(incident: IncidentName | None) -> Document | None:
    return None if incident is None else {"id": incident.id, "name": name_of(incident.number)}


def _part_json(part: AlertIncident, asset: Document | None) -> Document:
    return {"id": part.id, "name": part.name, "status": part.status.value, "entity": asset}


def _ending_of(incident: AlertIncident) -> StepKind:
    return StepKind.RESOLVED if incident.recovered_event_id is None else StepKind.RECOVERED


def found_incident(name: str, caller: Caller) -> AlertIncident:
    """Return an incident whose asset the caller may see; to others it does not exist.

    Raises
    ------
    NotFound : there is none that the caller may see
    """
    require(caller, Operation.VIEW_BASIC, ROW)
    incident = caller.parts.alert_stores.incidents.find(name)
    if incident is None or visible_incidents(caller, [incident]) == [None]:
        raise NotFound(f"incident {name} not found")
    return incident


def visible_incidents(caller: Caller, incidents: Sequence[AlertIncident]) -> list[AlertIncident | None]:
    """Return each of these incidents whose asset the caller may see."""
    visible_ids = caller.visibility.sees(map(asset_of, incidents))
    return [one if one.entity_id in visible_ids else None for one in incidents]


def as_listed(caller: Caller, incidents: Sequence[AlertIncident]) -> list[AlertIncident | None]:
    """Return each of these incidents whose asset the caller may see, but for parts of others that are shown."""
    shown_incidents = visible_incidents(caller, incidents)
    leads = caller.parts.alert_stores.incidents.by_ids({one.part_of for one in shown_incidents if one and one.part_of})
    seen_leads = {one.id for one in visible_incidents(caller, list(leads.values())) if one}
    return [None if one is None or one.part_of in seen_leads else one for one in shown_incidents]


def incident_to_change(incident: AlertIncident, caller: Caller) -> AlertIncident:
    """Return what changes where a person changes an incident: that which it is part of, if they may change that one.

    Raises
    ------
    Forbidden : the caller may change neither
    """
    lead = caller.parts.alert_stores.incidents.by_ids({incident.part_of}) if incident.part_of else {}
    for target in visible_incidents(caller, list(lead.values())):
        if target is not None and may_change(target, caller):
            return target
    check_may_change(incident, caller)
    return incident


def may_change(incident: AlertIncident, caller: Caller) -> bool:
    """Return whether the caller is assigned to an incident, or may edit its asset; of a test, its table too."""
    if caller.actor.is_admin:
        return True
    standing = caller.parts.access.standing
    assets = standing.of([incident.entity_id])
    assignee_id = incident.assignee["id"] if incident.assignee else None
    if may_change_incident(caller.permissions, assignee_id, assets.get(incident.entity_id)):
        return True
    return may_edit_table(caller.permissions, standing.tested_tables(assets).get(incident.entity_id))


def check_may_change(incident: AlertIncident, caller: Caller) -> None:
    """Refuse who is not assigned to it and may edit neither its asset nor the table of a test.

    To edit an alert that watches it is not enough.

    Raises
    ------
    Forbidden : the caller may not
    """
    if not may_change(incident, caller):
        raise Forbidden(
            f"Only the assignee of {incident.name} and editors of its asset or, of a test, of its table may change it."
        )
