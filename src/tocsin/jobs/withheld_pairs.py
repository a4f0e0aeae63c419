"""Withheld pairs of event and alert, found before any condition is evaluated, after a micro-batch has failed.

Otherwise conditions come first and rights later (``flow/pipeline.py``). But whether an alert is set aside must not
tell what its editors may not view, so an alert that fails or is slow there is only ``Unevaluated``: on events that are
withheld from it its facts decide alone (``docs/decisions/0107-blame-follows-rights.md``).
Next: ``jobs/match_stream.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial

import pyarrow as pa
from pyspark.sql import DataFrame

from tocsin.chunks import chunks_of
from tocsin.flow.pipeline import Batch, withhold
from tocsin.jobs.alerts import Alerts
from tocsin.jobs.resolving import COUNTS, EVENTS_AT_ONCE, OF_EVENT, Notify, matched_events
from tocsin.model.match_result import MatchCounts, Pair
from tocsin.spark.match import Index, matches, with_skipped_alerts
from tocsin.spark.schema import NUMBER, TEXT, record_batch, struct_of
from tocsin.spark.tasks import in_tasks

WITHHELD = struct_of(("log_offset", NUMBER), ("subscription_id", TEXT), ("editor_id", TEXT), nullable=False)
"""One row per pair: ``editor_id`` is who may not view the event."""


@dataclass
class Unevaluated:
    """Alerts whose conditions are not evaluated on what is withheld, until they change; forgotten at a restart."""

    marks: dict[str, int] = field(default_factory=dict)

    def add(self, subscription_ids: Collection[str], alerts: Alerts) -> None:
        """Remember these alerts as they are in ``alerts``."""
        self.marks |= {alert: alerts.marks[alert] for alert in subscription_ids}

    def among(self, alerts: Alerts) -> frozenset[str]:
        """Return those of ``alerts`` that are remembered and have not changed."""
        return frozenset(alert for alert, mark in self.marks.items() if alerts.marks.get(alert) == mark)


def withheld_pairs(events: DataFrame, index: Index, work: Notify) -> dict[Pair, str]:
    """Return which events are withheld from which alerts of ``index``, and for which editor, as rights are now.

    ``events`` have one row per event. Pairs that do not match by the facts are left out; no condition is evaluated.
    """
    candidates = matches(events, index.by_facts(), columns=OF_EVENT)
    withheld = in_tasks(candidates, partial(find_withheld, work), WITHHELD).toArrow()
    columns = (withheld[name].to_pylist() for name in WITHHELD.names)
    return {(offset, alert): editor_id for offset, alert, editor_id in zip(*columns, strict=True)}


def record_withheld(events: DataFrame, withheld: Mapping[Pair, str], work: Notify) -> None:
    """Store that these pairs are withheld, as one row per pair; doing it again changes nothing."""
    if withheld:
        records = [(*pair, editor_id) for pair, editor_id in sorted(withheld.items())]
        frame = events.sparkSession.createDataFrame(records, WITHHELD)
        in_tasks(frame, partial(store_withheld, work), COUNTS).toArrow()


def without_pairs(events: DataFrame, pairs: Collection[Pair]) -> DataFrame:
    """Return the events, to be matched without these pairs: one row per event, as before."""
    return with_skipped_alerts(events, _by_offset(pairs)) if pairs else events


def only_pairs(events: DataFrame, pairs: Collection[Pair]) -> DataFrame:
    """Return the events of these pairs, one row per event, to be matched with the alerts of these pairs alone."""
    alerts = {alert for _, alert in pairs}
    skipped = {offset: alerts.difference(with_event) for offset, with_event in _by_offset(pairs).items()}
    return with_skipped_alerts(events, skipped, with_others=False)


def find_withheld(work: Notify, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield, in a task, which of its matches are withheld as rights are now, as rows of ``WITHHELD``.

    ``batches`` are matches, rows of ``spark/match.matches`` with ``OF_EVENT``.
    """
    with closing(work.open_resolving()) as resolving:
        for events in chunks_of(matched_events(batches), EVENTS_AT_ONCE):
            withheld = withhold(Batch(events), work.context(resolving)).withheld
            yield record_batch([(*pair, editor_id) for pair, editor_id in sorted(withheld.items())], WITHHELD)


def store_withheld(work: Notify, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Store, in a task, that the pairs in rows of ``WITHHELD`` are withheld; yield one row of ``COUNTS``: zeros."""
    with closing(work.open_resolving()) as resolving:
        for batch in batches:
            withheld = {(row["log_offset"], row["subscription_id"]): row["editor_id"] for row in batch.to_pylist()}
            with resolving.notifications.storing([]) as under_way:
                under_way.finish(MatchCounts(()).results(now_ms=work.now_ms, withheld=withheld))
    yield pa.RecordBatch.from_pylist([dict.fromkeys(COUNTS.names, 0)])


def _by_offset(pairs: Collection[Pair]) -> dict[int, set[str]]:
    alerts_by_offset = dict[int, set[str]]()
    for offset, alert in pairs:
        alerts_by_offset.setdefault(offset, set()).add(alert)
    return alerts_by_offset
