"""Representation of events for each engine: ``LoggedEvent`` for Python, the log source's batches for Spark."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from tocsin.conditions.fields import derive
from tocsin.model.change import ChangeEvent, LoggedEvent
from tocsin.model.entity import Document
from tocsin.spark.log_columns import to_arrow
from tocsin.spark.schema import EVENTS


def event_at_offset(
    offset: int,
    *,
    is_bot: bool = False,
    about: Document | None = None,
    unchanged_for: int | None = None,
    facts: Document | None = None,
    **keys: object,
) -> LoggedEvent:
    """Return the event with these wire keys at ``offset``, derived fields and all.

    ``facts`` are what follows from earlier reports, and ``unchanged_for`` how long nobody had changed the asset.
    """
    wire = {"id": f"event-{offset}", "entityId": f"entity-{offset}", "timestamp": 1_700_000_000_000 + offset, **keys}
    event = ChangeEvent.model_validate(wire)
    last_ms = None if unchanged_for is None else event.timestamp - unchanged_for
    derived = derive(event, actor_is_bot=is_bot, about=about, last_changed_ms=last_ms)
    return LoggedEvent(offset, event, derived | (facts or {}))


def events_frame(spark: SparkSession, events: Sequence[LoggedEvent]) -> DataFrame:
    """Return ``events`` as the log source delivers them to Spark."""
    batch = to_arrow([log_row(one) for one in events])
    return spark.createDataFrame(pa.Table.from_batches([batch]), schema=EVENTS)


def log_row(logged_event: LoggedEvent) -> tuple[int, str, str]:
    """Return one event as the row that the log source reads from the store."""
    return logged_event.offset, json.dumps(logged_event.event.to_wire()), json.dumps(logged_event.derived)
