"""Expired events of the lake as Spark columns. Next: ``jobs/retention.py``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from operator import or_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # the name everybody knows it by

from tocsin.flow.eventlog.retention import Expiry
from tocsin.model.retention import DAY_MS, LegalHold


def has_expired(expiries: Iterable[Expiry], holds: Sequence[LegalHold]) -> Column:
    """Return whether an event has expired and no hold covers it; needs columns of ``EVENTS``; never null."""
    expired = reduce(or_, map(_covers, expiries), F.lit(False))
    is_held = reduce(or_, map(_is_held, holds), F.lit(False))
    return F.coalesce(expired, F.lit(False)) & ~F.coalesce(is_held, F.lit(False))


def counts_by_kind(events: DataFrame) -> DataFrame:
    """Return how many events there are per ``day`` since the epoch, ``event_type`` and ``entity_type``.

    One row per kind, with ``event_count``; needs the columns of ``EVENTS``. Shuffles once.
    """
    day = F.floor(F.col("timestamp_ms") / F.lit(DAY_MS)).cast("int").alias("day")
    kinds = events.groupBy(day, "event_type", "entity_type")
    return kinds.agg(F.count("*").alias("event_count"))


def _covers(expiry: Expiry) -> Column:
    entity_type = F.col("entity_type")
    covered = (F.col("event_type") == expiry.event_type) & (F.col("timestamp_ms") <= expiry.until_ms)
    if expiry.entity_type is not None:
        return covered & (entity_type == expiry.entity_type)
    return covered & ~entity_type.isin(*sorted(expiry.but_not)) if expiry.but_not else covered


def _is_held(hold: LegalHold) -> Column:
    covered = F.lit(hold.lifted_at_ms is None)
    for column, value in (("entity_id", hold.entity_id), ("user_name", hold.user_name)):
        covered = covered if value is None else covered & (F.col(column) == F.lit(value))
    if hold.since_ms is not None:
        covered = covered & (F.col("timestamp_ms") >= hold.since_ms)
    return covered if hold.until_ms is None else covered & (F.col("timestamp_ms") <= hold.until_ms)
