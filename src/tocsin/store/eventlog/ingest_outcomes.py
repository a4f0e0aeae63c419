"""Counts of what events of other systems came to, over all processes that take them.

They are counted after the transaction that applies the events, so a process that is killed between the two counts
fewer. Next: ``server/lag.py``.
"""

from __future__ import annotations

from collections.abc import Mapping

import structlog
from sqlalchemy import Engine, select
from sqlalchemy.exc import SQLAlchemyError

from tocsin.store.database.engine import insert_into, reading, writing
from tocsin.store.database.log_tables import ingest_outcome

_ROW = ingest_outcome.c
_log = structlog.get_logger("tocsin.ingest")

Outcome = tuple[str, str]
"""A state (``catalogue/ingest/writes.IngestState``) and, of what is refused, the code of the error."""


class IngestOutcomes:
    """The counts in one store."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def add(self, counts: Mapping[Outcome, int]) -> None:
        """Add to the counts; what the store refuses is passed over, since the events themselves are written."""
        try:
            with writing(self._engine) as connection:
                for (state, reason), count in sorted(counts.items()):
                    values = {"state": state, "reason": reason, "event_count": count}
                    upsert = insert_into(connection, ingest_outcome).values(values)
                    total = {"event_count": _ROW.event_count + count}
                    connection.execute(upsert.on_conflict_do_update(index_elements=["state", "reason"], set_=total))
        except SQLAlchemyError as error:
            _log.warning("ingest.not_counted", reason=str(error).partition("\n")[0])

    def all(self) -> dict[Outcome, int]:
        """Return the counts."""
        query = select(_ROW.state, _ROW.reason, _ROW.event_count).order_by(_ROW.state, _ROW.reason)
        with reading(self._engine) as connection:
            return {(state, reason): count for state, reason, count in connection.execute(query)}
