"""Ends of mutes that end by an event: the next change of what is muted, or the end of an incident.

Both are places in the log, so that the pipeline, explanations and a repeated run judge alike. ``jobs/mutes.py`` writes
down what has ended, before retention removes these events. Next: ``flow/resolve/candidates.py``.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from sqlalchemy import Connection, Select, exists, func, or_, select

from tocsin.conditions.event_kinds import kinds_of
from tocsin.model.alert_incident import IncidentStatus, StepKind
from tocsin.model.change import EventType
from tocsin.model.change_kinds import CHANGE_KINDS, KindGroup
from tocsin.model.mute import Mute, MuteEnd
from tocsin.model.status import SUCCESS
from tocsin.store.catalogue.alerts.incidents import is_out_of_order
from tocsin.store.database.alert_tables import alert_incident, alert_incident_step
from tocsin.store.database.keys import rows_by_key
from tocsin.store.database.log_tables import status_report
from tocsin.store.database.tables import change_event, entity

CHANGES = frozenset(
    name
    for name, kind in CHANGE_KINDS.items()
    if kind.group in (KindGroup.METADATA, KindGroup.STRUCTURE, KindGroup.GOVERNANCE) and kind.has_events
)
"""Kinds of what changes an asset: no result of a test, no profile, follower, vote or word about it."""

_DELETIONS = (EventType.ENTITY_DELETED.value, EventType.ENTITY_SOFT_DELETED.value)
_EVENT, _STEP = change_event.c, alert_incident_step.c
_OF_MUTE = tuple[str, str, str]
"""Whose mute, of what, over which channel."""


def key_of(mute: Mute) -> _OF_MUTE:
    """Return the key of a mute in the store."""
    return mute.who, mute.about_id, mute.channel


def with_ends(connection: Connection, mutes: Sequence[Mute]) -> Sequence[Mute]:
    """Return these mutes with the places of the events that have ended them, in their order; asks only if some may."""
    waiting = [one for one in mutes if one.ends_by is not None and one.until_offset is None]
    if not waiting:
        return mutes
    places = dict(_ends(connection, waiting))
    return [replace(one, until_offset=places.get(key_of(one), one.until_offset)) for one in mutes]


def _ends(connection: Connection, mutes: Sequence[Mute]) -> Iterator[tuple[_OF_MUTE, int]]:
    changed_ids = {one.ends_of for one in mutes if one.ends_by is MuteEnd.CHANGED}
    incident_ids = {one.ends_of for one in mutes if one.ends_by is MuteEnd.RESOLVED}
    after = min(one.ends_after for one in mutes)
    places: dict[tuple[MuteEnd, str], list[int]] = {}
    if changed_ids:
        columns = (_EVENT.entity_id, _EVENT.log_offset, _EVENT.event_type, _EVENT.derived)
        query = select(*columns).where(_EVENT.log_offset >= after)
        for entity_id, offset, event_type, facts in rows_by_key(connection, query, _EVENT.entity_id, changed_ids):
            if any(one.kind in CHANGES for one in kinds_of(event_type, json.loads(facts))):
                places.setdefault((MuteEnd.CHANGED, entity_id), []).append(offset)
    if incident_ids:
        for incident_id, offset in rows_by_key(
            connection, _ends_of_incidents(after), alert_incident.c.id, incident_ids
        ):
            places.setdefault((MuteEnd.RESOLVED, incident_id), []).append(offset)
    for mute in mutes:
        offsets = places.get((mute.ends_by, mute.ends_of), ()) if mute.ends_by else ()
        place = min((one for one in offsets if one >= mute.ends_after), default=None)
        if place is not None:
            yield key_of(mute), place


def open_incidents(connection: Connection, asset_id: str) -> list[str]:
    """Return the ids of the unresolved incidents of an asset, and of the tests of a table, each merged one once."""
    own_fqn = select(entity.c.fqn).where(entity.c.id == asset_id)
    fqn = connection.scalar(own_fqn)
    tests = select(entity.c.id).where(entity.c.entity_type == "testCase")
    tests = tests.where(entity.c.fqn.startswith(f"{fqn}.", autoescape=True))
    incident = alert_incident.c
    is_open = (incident.status != IncidentStatus.RESOLVED.value, incident.merged_into.is_(None))
    is_of_asset = or_(incident.entity_id == asset_id, incident.entity_id.in_(tests))
    return list(connection.scalars(select(incident.id).where(*is_open, is_of_asset).order_by(incident.number)))


def resolved_incidents(connection: Connection, incident_ids: Collection[str]) -> set[str]:
    """Return those of these incidents that are resolved; of a merged one, what stands for it."""
    lead = alert_incident.alias("lead")
    lead_id = func.coalesce(alert_incident.c.merged_into, alert_incident.c.id)
    query = select(alert_incident.c.id).join(lead, lead.c.id == lead_id)
    query = query.where(lead.c.status == IncidentStatus.RESOLVED.value)
    return {row.id for row in rows_by_key(connection, query, alert_incident.c.id, incident_ids)}


def _ends_of_incidents(after: int) -> Select[str, int]:
    """Return the query of the events from an offset on that end incidents; of a merged one, what stands for it.

    With its asset, an incident is gone as well: nothing else will resolve it.
    """
    lead, report, newer = alert_incident.alias("lead"), status_report.alias("of"), status_report.alias("newer")
    success = exists(
        select(report.c.log_offset).where(
            report.c.log_offset == _EVENT.log_offset, report.c.verdict == SUCCESS, ~is_out_of_order(report, newer)
        )
    )
    by_hand = exists(
        select(_STEP.id).where(
            _STEP.event_id == _EVENT.id, _STEP.incident_id == lead.c.id, _STEP.kind == StepKind.RESOLVED.value
        )
    )
    lead_id = func.coalesce(alert_incident.c.merged_into, alert_incident.c.id)
    query = select(alert_incident.c.id, _EVENT.log_offset).join(lead, lead.c.id == lead_id)
    query = query.join(change_event, _EVENT.entity_id == lead.c.entity_id)
    ends = or_(success, by_hand, _EVENT.event_type.in_(_DELETIONS))
    return query.where(_EVENT.log_offset >= after, _EVENT.log_offset > lead.c.opened_offset, ends)
