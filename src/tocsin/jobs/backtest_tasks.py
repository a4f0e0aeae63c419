"""Counting would-be notifications on the executors: what a Spark task of a backtest does with its matches.

Runs the stages of ``flow/pipeline.py``, as ``jobs/resolving.py`` does, and stores nothing.
Next: ``jobs/backtest.py`` adds the counts up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import ArrayType

from tocsin.chunks import chunks_of
from tocsin.flow.pipeline import MATCHING, NOTIFYING, AlertFacts, Batch, Context, drafts_of, run
from tocsin.flow.resolve.holding import HeldBack, Hidden, Waiting
from tocsin.flow.resolve.only_visible import RememberedEvents
from tocsin.jobs.backtest_counts import RecipientCount
from tocsin.jobs.resolving import EVENTS_AT_ONCE, Resolving, StoreAddress, matched_events, open_resolving
from tocsin.model.match_result import Pair
from tocsin.model.notification_draft import NotificationDraft
from tocsin.spark.schema import NUMBER, TEXT, struct_of

COUNTED = struct_of(
    *(("channel", TEXT), ("key", TEXT), ("target", TEXT), ("recipient_id", TEXT)),
    *(("notified", NUMBER), ("ways", NUMBER), ("kinds", ArrayType(TEXT)), ("alerts", ArrayType(TEXT))),
)
"""One row per task and (channel, key): ``notified`` events, ``ways`` (reasons in all), their ``kinds`` and ``alerts``.

More rows per task have no ``channel``: one for each alert, its id as ``key`` and in ``notified`` the number of
notifications with a reason of it; and one without ``key``, with the number of events that notify anybody. Their other
columns are null.
"""


@dataclass(frozen=True)
class Count:
    """The work of a task of a backtest, for ``spark/tasks.in_tasks``: from matches to rows of ``COUNTED``.

    ``asker_id`` is whoever asked for the backtest: an alert that is not stored yet would be theirs. ``held_back`` are
    the matches that incidents hold back.
    """

    store: StoreAddress
    alerts: AlertFacts
    asker_id: str
    held_back: Collection[Pair]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Take matches, rows of ``spark/match.matches`` with ``resolving.OF_EVENT``, and yield rows of ``COUNTED``."""
        counts = _Counts()
        with closing(open_resolving(self.store)) as resolving:
            for events in chunks_of(matched_events(batches), EVENTS_AT_ONCE):
                context = self._context(resolving)
                batch = run((*MATCHING, *NOTIFYING), Batch(events), context)
                for drafts in drafts_of(batch, context):
                    counts.add(drafts)
        yield counts.rows()

    def _context(self, resolving: Resolving) -> Context:
        """Return what the stages share: rights as of now, incidents as they were."""
        lookups = replace(
            resolving.lookups(may_claim=False),
            events=RememberedEvents(resolving.events, (self.asker_id,)),
            find_held_back=self._find_held_back,
        )
        return Context(self.alerts, lookups, now_ms=0)

    def _find_held_back(self, waiting: Sequence[Waiting], *, hidden: Hidden) -> dict[Pair, HeldBack]:
        """Return those of these matches that incidents hold back."""
        pairs = {(one.log_offset, one.subscription_id) for one in waiting}
        return {pair: HeldBack("", passes=False) for pair in pairs.intersection(self.held_back)}


class _Counts:
    """The counts of one task so far."""

    def __init__(self) -> None:
        self._offsets: set[int] = set()
        self._recipients: dict[tuple[str, str], RecipientCount] = {}
        self._by_alert = Counter[str]()

    def add(self, drafts: Sequence[NotificationDraft]) -> None:
        self._offsets.update(draft.event.offset for draft in drafts)
        for draft in drafts:
            at, reasons = (draft.channel.value, draft.key), draft.reasons
            if at not in self._recipients:
                self._recipients[at] = RecipientCount(draft.channel.value, draft.target, draft.recipient_id)
            self._recipients[at].add(1, len(reasons.in_order), reasons.kinds, reasons.destination_ids)
            self._by_alert.update(reasons.destination_ids.keys())

    def rows(self) -> pa.RecordBatch:
        recipients = [
            {**vars(count), "key": key, "kinds": sorted(count.kinds), "alerts": sorted(count.alerts)}
            for (_, key), count in self._recipients.items()
        ]
        counts = [(None, len(self._offsets)), *self._by_alert.items()]
        records = [*recipients, *({"key": key, "notified": count} for key, count in counts)]
        return pa.RecordBatch.from_pylist(records, schema=to_arrow_schema(COUNTED))
