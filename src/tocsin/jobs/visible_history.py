"""What one person may view of the history, as rows that exist before any query of theirs runs.

A view with a filter is no barrier: errors, casts and the time that a predicate takes tell about rows that it hides.
Events are as visible as the API shows them (``access/person_visibility.py``). Next: ``jobs/query_main.py``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import orjson
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType
from sqlalchemy import Engine

from tocsin.access.permission_cache import PermissionCache
from tocsin.access.person_visibility import Visibility
from tocsin.errors import Forbidden
from tocsin.model.change import ChangeEvent
from tocsin.spark.lake import VIEWED_COLUMNS, change_events
from tocsin.spark.schema import EVENTS
from tocsin.spark.tasks import in_tasks
from tocsin.store.catalogue.access.entity_states import SqlEntityStates
from tocsin.store.catalogue.access.subjects import SqlSubjects
from tocsin.store.catalogue.people.identities import People
from tocsin.store.database.engine import open_engine

_VIEWED = StructType([EVENTS[name] for name in VIEWED_COLUMNS])
_AT_ONCE = 500


def visibility_of(engine: Engine, viewer_id: str) -> Visibility:
    """Return what one person may see, by the policies as they are now.

    Raises
    ------
    Forbidden : they are deleted
    """
    viewer = People(engine).by_id(viewer_id)
    if viewer is None or viewer.deleted:
        raise Forbidden("Whoever asked is deleted.")
    return Visibility(PermissionCache(SqlSubjects(engine)).now().of(viewer_id), SqlEntityStates(engine))


def visible_rows(events: DataFrame, url: str, viewer_id: str) -> DataFrame:
    """Return the rows of the view ``change_events`` that one person may view: one row per event.

    Needs ``VIEWED_COLUMNS`` of ``EVENTS``. No shuffle; tasks ask the store at ``url``.
    """
    return change_events(in_tasks(events.select(*VIEWED_COLUMNS), _VisibleEvents(url, viewer_id), _VIEWED))


@dataclass(frozen=True)
class _VisibleEvents:
    """The work of a task, for ``spark/tasks.in_tasks``: events without what one person may not view."""

    url: str
    viewer_id: str

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        engine = open_engine(self.url, pool_size=1)
        try:
            visibility = visibility_of(engine, self.viewer_id)
            for batch in batches:
                for start in range(0, batch.num_rows, _AT_ONCE):
                    yield _visible(batch.slice(start, _AT_ONCE), visibility)
        finally:
            engine.dispose()


def _visible(batch: pa.RecordBatch, visibility: Visibility) -> pa.RecordBatch:
    records = batch.to_pylist()
    events = [ChangeEvent.model_validate_json(record["event"]) for record in records]
    visible_events = visibility.visible_events(events)
    domain_names = visibility.sees_named({name for record in records for name in record["domains"] or ()})
    visible_records = []
    for record, event, visible_event in zip(records, events, visible_events, strict=True):
        if visible_event is None:
            continue
        if visible_event is not event:
            record["event"] = orjson.dumps(visible_event.to_wire()).decode()
        record["domains"] = [name for name in record["domains"] or () if name in domain_names]
        visible_records.append(record)
    return pa.RecordBatch.from_pylist(visible_records, schema=to_arrow_schema(_VIEWED))
