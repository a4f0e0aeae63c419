"""How do events get derived fields that were not known when they were written? Worked out anew, a slice at a time.

Next: ``conditions/changes.py``.
"""

from __future__ import annotations

from sqlalchemy import Engine, bindparam, select, update

from tocsin.conditions.changes import CHANGES, derived_changes
from tocsin.model.change import ChangeEvent
from tocsin.store.documents import from_text, to_text
from tocsin.store.engine import writing
from tocsin.store.tables import change_event

_SLICE = 500
_EVENT = change_event.c
_FILL = update(change_event).where(_EVENT.log_offset == bindparam("at")).values(derived=bindparam("filled"))


def derive_changes(engine: Engine) -> int:
    """Give every event that has no meaning of its changes yet the one it has; return how many there were.

    Safe to repeat and to stop; each slice is a transaction of its own, so that writers wait for no more than one.
    """
    count, after = 0, -1
    while True:
        with writing(engine) as connection:
            query = select(_EVENT.log_offset, _EVENT.document, _EVENT.derived).where(
                _EVENT.log_offset > after, _EVENT.derived.not_like(f'%"{CHANGES}":[%')
            )
            rows = connection.execute(query.order_by(_EVENT.log_offset).limit(_SLICE)).all()
            if not rows:
                return count
            connection.execute(
                _FILL, [{"at": row.log_offset, "filled": _filled(row.document, row.derived)} for row in rows]
            )
        count, after = count + len(rows), rows[-1].log_offset


def _filled(document: str, derived: str) -> str:
    return to_text(from_text(derived) | derived_changes(ChangeEvent.model_validate_json(document)))
