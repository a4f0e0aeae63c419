"""Shapes of answers about retention: legal holds, and readers of the log.

Next: ``server/routes/system/retention.py``.
"""

from __future__ import annotations

from tocsin.model.retention import LegalHold
from tocsin.server.http.answer_shapes import Shape
from tocsin.server.http.json_schema import COUNT, ID, TEXT, TIME, nullable
from tocsin.store.upkeep.retention.overview import ReaderState

HOLD: Shape[LegalHold] = {
    "id": (ID, lambda hold: hold.id),
    "reason": (TEXT, lambda hold: hold.reason),
    "entityId?": (ID, lambda hold: hold.entity_id),
    "userName?": (TEXT, lambda hold: hold.user_name),
    "since?": (TIME, lambda hold: hold.since_ms),
    "until?": (TIME, lambda hold: hold.until_ms),
    "setBy": (TEXT, lambda hold: hold.set_by),
    "setAt": (TIME, lambda hold: hold.set_at_ms),
    "liftedBy?": (TEXT, lambda hold: hold.lifted_by),
    "liftedAt?": (TIME, lambda hold: hold.lifted_at_ms),
}

READER: Shape[ReaderState] = {
    "name": (TEXT, lambda state: state.reader.name),
    "logOffset": (COUNT, lambda state: state.reader.log_offset),
    "waitsSince": (nullable(TIME), lambda state: state.reader.waits_since_ms),
    "toldAt": (nullable(TIME), lambda state: state.told_at_ms or None),
    "passedCount": (COUNT, lambda state: state.passed_count),
}
