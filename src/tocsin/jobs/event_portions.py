"""Storing the portions of events that have very many recipients: one task and one transaction per portion.

A task of the micro-batch has written them down (``jobs/resolving.py``). Any executor stores any of them, at once or one
after the other; one that is stored changes nothing when it is stored again.
Next: ``store/outbox/event_portions.py``; why: ``docs/decisions/0132-recipients-of-one-event-in-portions.md``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import SparkSession

from tocsin.flow.eventlog.position import LogPosition
from tocsin.flow.pipeline import Batch, audiences_in, drafts_of, events_without, schedule
from tocsin.jobs.resolving import COUNTS, Notify, Resolving, tuned_interpreter
from tocsin.model.match_result import MatchCounts
from tocsin.spark.tasks import in_tasks
from tocsin.store.outbox.event_portions import PortionKey, PortionStored, RecipientPortion


@dataclass(frozen=True)
class NotifyPortions:
    """The work of a task that stores portions: those of ``keys`` whose places are its rows.

    Alerts that are ``left_out`` notify nobody, like those that are gone.
    """

    work: Notify
    keys: Sequence[PortionKey]
    left_out: Collection[str] = ()

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Take places of portions, and yield one row of ``COUNTS``."""
        notified = 0
        with closing(self.work.open_resolving()) as resolving, tuned_interpreter():
            for batch in batches:
                for place in batch["id"].to_pylist():
                    portion = resolving.portions.find(self.keys[place])
                    notified += 0 if portion is None else self._store(portion, resolving)
        yield pa.RecordBatch.from_pylist([{"matched": 0, "notified": notified}])

    def _store(self, portion: RecipientPortion, resolving: Resolving) -> int:
        """Store a portion in one transaction; return how many notifications that is."""
        context, head = self.work.context(resolving), portion.event.head
        pairs = Batch([portion.event]).pairs
        batch = Batch(events_without([portion.event], {(head.offset, alert) for alert in self.left_out}))
        audiences = audiences_in(batch, context, portion.people)
        parts = resolving.prepare(schedule(drafts_of(batch, context, audiences), context))
        counts, last = MatchCounts(pairs), LogPosition(head.offset, head.event_id)
        with suppress(PortionStored), resolving.notifications.storing(pairs, last=last, portion=portion) as under_way:
            for notifications in parts:
                counts.add(notification.offset_and_alerts for notification in notifications)
                under_way.add(notifications)
            results = counts.results(now_ms=self.work.now_ms)
            count_by_alert = {result.subscription_id: result.notified_count for result in results}
            under_way.finish_portion(portion, count_by_alert, now_ms=self.work.now_ms)
            return counts.row_count
        return 0


def notify_portions(session: SparkSession, work: NotifyPortions) -> int:
    """Store the notifications of these portions of recipients, one Spark task each; return how many there are."""
    count = len(work.keys)
    counts = in_tasks(session.range(0, count, 1, count), work, COUNTS).toArrow()
    return sum(counts["notified"].to_pylist())
