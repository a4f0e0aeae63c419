"""Traffic of the estate: any number of change events, written to the log in bulk.

Each is one of the estate's real events, of the asset itself or of a copy, with a fresh id and the current time, also of
what it reports: as the log would hold it, without the writes that led to it. Next: ``bench/backlog.py``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from random import Random
from typing import Any

from sqlalchemy import Engine, RowMapping, func, insert, select
from uuid_utils import uuid7

from bench.estate import COPIED_TYPES, COPY_COUNT, copy_id, copy_text, stem_of
from bench.measured import Report
from tocsin.clock import SystemClock
from tocsin.model.change import REPORTED_AT
from tocsin.store.database.engine import reading, writing
from tocsin.store.database.tables import change_event

Row = dict[str, Any]  # Any: column values

_ROWS_PER_TRANSACTION = 5_000
_REPORT_TIME = re.compile(rf'("{REPORTED_AT}":\s*)\d+')


@dataclass(frozen=True)
class Template:
    """A real event and what its copies share."""

    row: RowMapping
    stem: str

    def copy_row(self, number: int, now_ms: int) -> Row:
        """Return the row of the same event of copy ``number``, as if it had happened at ``now_ms``."""
        row, event_id = self.row, str(uuid7())
        document = row["document"].replace(row["id"], event_id)
        document = document.replace(f'"timestamp":{row["timestamp_ms"]}', f'"timestamp":{now_ms}')
        return {
            **{key: row[key] for key in ("event_type", "entity_type", "user_name")},
            "id": event_id,
            "entity_id": copy_id(row["entity_id"], number),
            "entity_fqn": self._text(row["entity_fqn"], number),
            "timestamp_ms": now_ms,
            "document": self._text(document, number),
            "derived": _REPORT_TIME.sub(rf"\g<1>{now_ms}", self._text(row["derived"], number)),
        }

    def _text(self, text: str, number: int) -> str:
        return copy_text(text, self.row["entity_id"], self.stem, number)


def templates(engine: Engine) -> list[Template]:
    """Return the real events of the estate's assets."""
    query = select(change_event).where(change_event.c.entity_type.in_(COPIED_TYPES))
    with reading(engine) as connection:
        event_rows = connection.execute(query.order_by(change_event.c.log_offset)).mappings().all()
    return [Template(row, stem_of(row["entity_fqn"])) for row in event_rows]


def happenings(event_templates: Sequence[Template], *, seed: int) -> Iterator[Row]:
    """Yield rows of the log without end."""
    rng, clock = Random(seed), SystemClock()
    while True:
        yield rng.choice(event_templates).copy_row(rng.randrange(COPY_COUNT), clock.now_ms())


def append(engine: Engine, event_rows: Sequence[Row]) -> range:
    """Append rows to the log; return their offsets."""
    with writing(engine) as connection:
        before = int(connection.scalar(select(func.max(change_event.c.log_offset))) or 0)
        connection.execute(insert(change_event), event_rows)
    return range(before + 1, before + len(event_rows) + 1)


def append_events(engine: Engine, count: int, report: Report, *, seed: int = 11) -> range:
    """Append ``count`` events to the log; return their offsets."""
    event_rows, columns = happenings(templates(engine), seed=seed), change_event.c
    with reading(engine) as connection:
        before = int(connection.scalar(select(func.max(columns.log_offset))) or 0)
    for done_count in range(0, count, _ROWS_PER_TRANSACTION):
        report(done_count, count)
        with writing(engine) as connection:
            part = list(islice(event_rows, min(_ROWS_PER_TRANSACTION, count - done_count)))
            connection.execute(insert(change_event), part)
    return range(before + 1, before + count + 1)
