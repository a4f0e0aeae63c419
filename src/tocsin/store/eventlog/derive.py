"""Backfill of derived event fields that did not exist when the events were written, in slices.

The meaning of an event's changes is in the event itself; the time of the asset's previous change is in the previous
event. Next: ``conditions/changes.py``, ``conditions/fields.py``.
"""

from __future__ import annotations

from sqlalchemy import Connection, Engine, bindparam, or_, select, update

from tocsin.conditions.changes import CHANGES, derived_changes
from tocsin.conditions.fields import UNCHANGED_FOR, unchanged_for
from tocsin.flow.capture.write import last_changed_ms
from tocsin.model.change import ChangeEvent, EventType
from tocsin.model.entity import Document
from tocsin.model.thread import THREAD
from tocsin.store.documents import from_text, to_text
from tocsin.store.engine import writing
from tocsin.store.tables import change_event

_SLICE = 500
_EVENT = change_event.c
_LACKS = or_(_EVENT.derived.not_like(f'%"{CHANGES}":[%'), _EVENT.derived.not_like(f'%"{UNCHANGED_FOR}":%'))
_FILL = update(change_event).where(_EVENT.log_offset == bindparam("at")).values(derived=bindparam("filled"))


def derive_missing(engine: Engine) -> int:
    """Backfill missing derived fields of all events; return how many events there were.

    Safe to repeat and to stop; each slice is its own transaction, so writers wait for one at most.
    """
    count, after = 0, -1
    while True:
        with writing(engine) as connection:
            query = select(_EVENT.log_offset, _EVENT.document, _EVENT.derived).where(_EVENT.log_offset > after, _LACKS)
            rows = connection.execute(query.order_by(_EVENT.log_offset).limit(_SLICE)).all()
            if not rows:
                return count
            filled = [{"at": row.log_offset, "filled": _filled(connection, *row)} for row in rows]
            connection.execute(_FILL, filled)
        count, after = count + len(rows), rows[-1].log_offset


def _filled(connection: Connection, log_offset: int, document: str, derived: str) -> str:
    known, event = from_text(derived), ChangeEvent.model_validate_json(document)
    if CHANGES not in known:
        known |= derived_changes(event)
    if UNCHANGED_FOR not in known:
        known[UNCHANGED_FOR] = unchanged_for(event, _last_changed_ms(connection, log_offset, event))
    return to_text(known)


def _last_changed_ms(connection: Connection, log_offset: int, event: ChangeEvent) -> int | None:
    """Return when the asset that an event is about had changed last; None when the log does not say."""
    asset_id = _asset_of(event)
    if asset_id is None:
        return None
    before = select(_EVENT.document).where(_EVENT.entity_id == asset_id, _EVENT.log_offset < log_offset)
    found = connection.execute(before.order_by(_EVENT.log_offset.desc()).limit(1)).scalar_one_or_none()
    entity = from_text(found).get("entity") if found else None
    return last_changed_ms(entity) if isinstance(entity, dict) else None


def _asset_of(event: ChangeEvent) -> str | None:
    if event.entity_type == THREAD:
        about: Document = (event.entity or {}).get("entityRef") or {}
        return about.get("id")
    return None if event.event_type is EventType.ENTITY_CREATED else event.entity_id
