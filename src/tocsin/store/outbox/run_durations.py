"""Usual durations of runs, for messages about one that failed or succeeds again.

Next: ``store/outbox/failure_messages.py``.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from statistics import median

from sqlalchemy import Connection, Select, literal, select, union_all

from tocsin.chunks import chunks_of
from tocsin.delivery.wording.reports import RUN, took_ms_of
from tocsin.model.status import SUCCESS, verdict_of
from tocsin.store.database.observation_tables import series
from tocsin.store.outbox.failure_incidents import ReportPlace

_MOST_RUNS = 20
_FEWEST_RUNS = 3
"""Of so few runs nothing is usual."""

_PLACES_EACH = 50


def usual_durations(connection: Connection, times: Mapping[ReportPlace, int]) -> dict[ReportPlace, int]:
    """Return the median duration, in milliseconds, of the latest successful runs before each of these.

    ``times`` are when the runs that the messages are about were reported to have begun, epoch milliseconds.
    """
    durations: dict[ReportPlace, list[int]] = defaultdict(list)
    for chunk in chunks_of(sorted(times), _PLACES_EACH):
        queries = [select(_runs_before(place, times[place]).subquery()) for place in chunk]
        for row in connection.execute(union_all(*queries) if len(queries) > 1 else queries[0]):
            took_ms = took_ms_of(json.loads(row.document)) if verdict_of(row.status or "") == SUCCESS else None
            if took_ms is not None:
                durations[ReportPlace(row.entity_id, row.before)].append(took_ms)
    return {place: int(median(each)) for place, each in durations.items() if len(each) >= _FEWEST_RUNS}


def _runs_before(place: ReportPlace, at_ms: int) -> Select[str, int, str | None, str]:
    place_columns = (literal(place.entity_id).label("entity_id"), literal(place.offset).label("before"))
    query = select(*place_columns, series.c.status, series.c.document).where(
        series.c.entity_id == place.entity_id, series.c.kind == RUN, series.c.timestamp_ms < at_ms
    )
    return query.order_by(series.c.timestamp_ms.desc()).limit(_MOST_RUNS)
