"""Incidents that began the failures of which events report: by hand, the one that stands for it; else by lineage.

An incident farther upstream that is found later, or a merge by people, makes it the root of what it has begun; one that
people have dismissed as the cause is no root of it, nor by way of an incident that is part of it.
Next: ``store/outbox/inbox_heads.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from itertools import chain
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, or_, select

from tocsin.flow.resolve.directory import NO_END
from tocsin.model.alert_incident import AlertIncident
from tocsin.store.catalogue.alerts.incidents import ended_offset
from tocsin.store.database.alert_tables import alert_incident
from tocsin.store.database.keys import rows_by_key
from tocsin.store.outbox.failure_incidents import ReportPlace
from tocsin.store.recipients.related_incidents import FailureTime, causes_of, dismissals_of

_ROW = alert_incident.c


class FailureRoot(NamedTuple):
    """An incident that may have begun a failure, and what it is of."""

    incident_id: str
    entity_type: str
    entity_id: str


def roots_at(connection: Connection, places: Collection[ReportPlace]) -> dict[ReportPlace, tuple[FailureRoot, ...]]:
    """Return what may have begun the failure that each of these reports is about: the farthest first, its own last.

    A report that belongs to no incident has no entry.
    """
    incidents = _incidents_at(connection, places)
    if not incidents:
        return {}
    failures = {place: _failure_of(row) for place, row in incidents.items()}
    causes = causes_of(connection, set(failures.values()))
    upstream = {failure: [cause.incident for cause in many] for failure, many in causes.items()}
    lead_ids = {row.part_of for row in incidents.values()}
    lead_ids |= {one.part_of for many in upstream.values() for one in many}
    leads = _leads(connection, {one for one in lead_ids if one})
    are_merged = any(one.part_of in leads for many in upstream.values() for one in many)
    dismissals = dismissals_of(connection, upstream) if are_merged else {}
    roots: dict[ReportPlace, tuple[FailureRoot, ...]] = {}
    for place, row in incidents.items():
        lead = [leads[row.part_of]] if row.part_of in leads else []
        dismissed_ids = dismissals.get(failures[place], ())
        possible_leads = {one: root for one, root in leads.items() if one not in dismissed_ids}
        above = chain.from_iterable(_roots_of(one, possible_leads) for one in upstream[failures[place]])
        roots[place] = (*lead, *above, FailureRoot(row.id, row.entity_type, row.entity_id))
    return roots


def lasting_incidents(connection: Connection, places: Collection[ReportPlace]) -> dict[ReportPlace, bool]:
    """Return, of those of these reports that belong to an incident, whether that lasts."""
    return {place: row.ended is None for place, row in _incidents_at(connection, places).items()}


def _incidents_at(connection: Connection, places: Collection[ReportPlace]) -> dict[ReportPlace, Row[Any]]:
    """Return the incident that each of these reports belongs to, those of failures and of the success that ends it."""
    columns = (
        _ROW.id,
        _ROW.entity_type,
        _ROW.entity_id,
        _ROW.part_of,
        _ROW.opened_offset,
        ended_offset().label("ended"),
    )
    query = select(*columns).where(_ROW.merged_into.is_(None)).order_by(_ROW.number)
    offsets = defaultdict[str, list[int]](list)
    for place in places:
        offsets[place.entity_id].append(place.offset)
    if not offsets:
        return {}
    first = min(place.offset for place in places)
    query = query.where(or_(_ROW.recovered_offset.is_(None), _ROW.recovered_offset >= first))
    return {
        ReportPlace(row.entity_id, offset): row
        for row in rows_by_key(connection, query, _ROW.entity_id, offsets)
        for offset in offsets[row.entity_id]
        if row.opened_offset <= offset <= (row.ended or NO_END)
    }


def _roots_of(incident: AlertIncident, leads: Mapping[str, FailureRoot]) -> list[FailureRoot]:
    """Return the incident with which people merged this one, which may be hidden, and this one itself."""
    lead = leads.get(incident.part_of or "")
    return [*([lead] if lead else ()), FailureRoot(incident.id, incident.entity_type, incident.entity_id)]


def _failure_of(row: Row[Any]) -> FailureTime:
    return FailureTime(row.entity_id, row.opened_offset, row.ended or NO_END)


def _leads(connection: Connection, ids: Collection[str]) -> dict[str, FailureRoot]:
    query = select(_ROW.id, _ROW.entity_type, _ROW.entity_id)
    return {row.id: FailureRoot(*row) for row in rows_by_key(connection, query, _ROW.id, ids)} if ids else {}
