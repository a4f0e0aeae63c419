"""What one person may view of the history, as rows that exist before any query of theirs runs.

A view with a filter is no barrier: errors, casts and the time that a predicate takes tell about rows that it hides.
Events are as visible as the API shows them (``access/person_visibility.py``). Next: ``jobs/query_main.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import partial, reduce
from operator import or_

import orjson
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # the name everybody knows it by
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType
from sqlalchemy import Engine

from tocsin.access.permission_cache import PermissionCache
from tocsin.access.person_visibility import Visibility, event_without, parts_of
from tocsin.access.visibility import CONCERNING
from tocsin.chunks import chunks_of
from tocsin.errors import Forbidden
from tocsin.model.change import ChangeEvent
from tocsin.model.thread import THREAD
from tocsin.spark.conditions import CHANGE_LISTS
from tocsin.spark.lake import change_events, columns_viewed
from tocsin.spark.schema import COLUMNS, EVENTS
from tocsin.spark.tasks import in_tasks
from tocsin.store.catalogue.access.entity_states import SqlEntityStates
from tocsin.store.catalogue.access.subjects import SqlSubjects
from tocsin.store.catalogue.people.identities import People
from tocsin.store.database.engine import open_engine

_AT_ONCE = 500
_CONCERNS_OTHERS = "concerns_others"


def visibility_of(engine: Engine, viewer_id: str) -> Visibility:
    """Return what one person may see, by the policies as they are now.

    Raises
    ------
    Forbidden : they are deleted
    """
    viewer = People(engine).by_id(viewer_id)
    if viewer is None or viewer.deleted:
        raise Forbidden("The person who asked is deleted.")
    return Visibility(PermissionCache(SqlSubjects(engine)).current_policies().of(viewer_id), SqlEntityStates(engine))


def visible_rows(events: DataFrame, url: str, viewer_id: str, names: Collection[str]) -> DataFrame:
    """Return the rows of the view ``change_events`` that one person may view, with the columns ``names``.

    One row per event. Needs ``EVENTS``, of whose JSON only as much is handed to Python as the columns, or the decision,
    ask for. No shuffle; tasks ask the store at ``url``.
    """
    columns = columns_viewed(names)
    event = F.col("event") if "event" in columns else F.when(F.col(_CONCERNS_OTHERS), F.col("event"))
    subjects = events.withColumn(_CONCERNS_OTHERS, _concerns_others()).select(
        *sorted({"entity_type", "entity_id"} | (columns - {"event"})), _CONCERNS_OTHERS, event.alias("event")
    )
    returned = StructType([EVENTS[name] for name in sorted(columns or {"entity_type"})])
    return change_events(in_tasks(subjects, _VisibleEvents(url, viewer_id, returned), returned), names)


def _concerns_others() -> Column:
    """Return whether an event may have other subjects than its entity, which its JSON names."""
    concerning = F.array(*map(F.lit, sorted(CONCERNING)))
    changes = (F.coalesce(F.arrays_overlap(COLUMNS[name], concerning), F.lit(True)) for name in CHANGE_LISTS)
    return reduce(or_, changes, F.col("entity_type") == THREAD)


@dataclass(frozen=True)
class _VisibleEvents:
    """The work of a task, for ``spark/tasks.in_tasks``: events without what one person may not view.

    ``columns`` are those of ``EVENTS`` to return.
    """

    url: str
    viewer_id: str
    columns: StructType

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        engine, schema = open_engine(self.url, most_connections=2), to_arrow_schema(self.columns)
        try:
            visibility = visibility_of(engine, self.viewer_id)
            for batch in batches:
                visible_batch = batch.take(pc.indices_nonzero(_is_visible(batch, visibility)))
                hide = {"event": partial(_visible_texts, visibility), "domains": partial(_visible_names, visibility)}
                columns = [hide.get(name, _pass_on)(visible_batch[name]) for name in schema.names]
                yield pa.RecordBatch.from_arrays(
                    [column.cast(field.type) for column, field in zip(columns, schema, strict=True)], schema=schema
                )
        finally:
            engine.dispose()


def _pass_on(column: pa.Array) -> pa.Array:
    return column


def _is_visible(batch: pa.RecordBatch, visibility: Visibility) -> pa.Array:
    """Return whether each event may be viewed: whether all may that it is about."""
    subjects = pa.Table.from_batches([batch]).group_by(["entity_type", "entity_id"]).aggregate([])
    visible_ids: set[str] = set()
    for part in subjects.to_batches(_AT_ONCE):
        pairs = zip(part["entity_type"].to_pylist(), part["entity_id"].to_pylist(), strict=True)
        visible_ids |= visibility.sees([{"type": kind, "id": entity_id} for kind, entity_id in pairs])
    is_visible = pc.is_in(batch["entity_id"], pa.array(visible_ids, pa.string()))
    concerns_others = batch[_CONCERNS_OTHERS]
    if not concerns_others.true_count:
        return is_visible
    texts = batch["event"].take(pc.indices_nonzero(concerns_others)).to_pylist()
    are_seen: list[bool] = []
    for chunk in chunks_of(texts, _AT_ONCE):
        are_seen += visibility.sees_events([ChangeEvent.model_validate_json(text) for text in chunk])
    return pc.replace_with_mask(is_visible, concerns_others, pa.array(are_seen, pa.bool_()))


def _visible_texts(visibility: Visibility, events: pa.Array) -> pa.Array:
    """Return events as JSON without what they name that may not be viewed."""
    texts = events.to_pylist()
    for start in range(0, len(texts), _AT_ONCE):
        parts = [parts_of(orjson.loads(text)) for text in texts[start : start + _AT_ONCE]]
        for place, hidden in enumerate(visibility.hidden_names_in_each(parts), start):
            if hidden:
                visible_event = event_without(ChangeEvent.model_validate_json(texts[place]), hidden)
                texts[place] = orjson.dumps(visible_event.to_wire()).decode()
    return pa.array(texts, pa.string())


def _visible_names(visibility: Visibility, domains: pa.Array) -> pa.Array:
    """Return the domains of each event without those that may not be viewed; none where there are none."""
    names = pc.unique(domains.flatten()).to_pylist()
    visible_names = visibility.sees_named(names)
    if not domains.null_count and len(visible_names) == len(names):
        return domains
    return pa.array(
        [[name for name in many or () if name in visible_names] for many in domains.to_pylist()], domains.type
    )
