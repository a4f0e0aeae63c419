"""Counting would-be notifications on the executors: what a Spark task of a backtest does with its matches.

Runs the stages of ``flow/pipeline.py``, as ``jobs/resolving.py`` does, and stores nothing.
Next: ``jobs/backtest.py`` adds the counts up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import chain, groupby

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import ArrayType

from tocsin.chunks import chunks_of
from tocsin.flow.match.plan import Plan
from tocsin.flow.pipeline import (
    MATCHING,
    NOTIFYING,
    AlertFacts,
    Batch,
    Context,
    drafts_of,
    drafts_of_similar,
    run,
    shows_everything,
)
from tocsin.flow.resolve.counted import Moment, SimilarEvents
from tocsin.flow.resolve.holding import HeldBack, Hidden, Waiting
from tocsin.flow.resolve.only_visible import RememberedEvents
from tocsin.flow.resolve.portions import MatchedEvent
from tocsin.jobs.backtest_counts import RecipientCount
from tocsin.jobs.resolving import EVENTS_AT_ONCE, Resolving, StoreAddress, open_resolving
from tocsin.model.match_result import Pair
from tocsin.model.notification_draft import EventHead, NotificationDraft
from tocsin.spark.schema import NUMBER, TEXT, struct_of
from tocsin.store.recipients.wholes import Wholes

COUNTED = struct_of(
    *(("channel", TEXT), ("key", TEXT), ("target", TEXT), ("recipient_id", TEXT)),
    *(("first_offset", NUMBER), ("notified", NUMBER), ("ways", NUMBER)),
    *(("kinds", ArrayType(TEXT)), ("alerts", ArrayType(TEXT))),
)
"""One row per task and (channel, key): ``notified`` events, ``ways`` (reasons in all), their ``kinds`` and ``alerts``.

``target`` and ``recipient_id`` are those at the ``first_offset`` of the events.

More rows per task have no ``channel``: one for each alert, its id as ``key`` and in ``notified`` the number of
notifications with a reason of it; and one without ``key``, with the number of events that notify anybody. Their other
columns are null.
"""


SIMILAR = ("entity_id", "user_id", "asked", "held_back", "part_of", "log_offset_list", "timestamp_ms_list")
"""Columns of what a task takes: one row for the matches of one entity that one person changed.

They have the same ``asked`` answers, are ``part_of`` the same whole if of any, and are held back from the same alerts,
whose ids stand in ``held_back`` with spaces between. The rows of an entity follow each other.
"""


@dataclass(frozen=True)
class Count:
    """The work of a task of a backtest, for ``spark/tasks.in_tasks``: from matches to rows of ``COUNTED``.

    ``asker_id`` is who started the backtest: an alert that is not stored yet would be theirs. ``held_back`` are
    the matches that incidents hold back. ``plan`` is that of the alert that is evaluated.
    """

    store: StoreAddress
    plan: Plan
    alerts: AlertFacts
    asker_id: str
    held_back: Collection[Pair]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Take rows of ``SIMILAR`` and yield rows of ``COUNTED``."""
        counts = _Counts()
        with closing(open_resolving(self.store)) as resolving:
            for similar in chunks_of(_similar_events(batches, self.plan.subscription_id), EVENTS_AT_ONCE):
                for drafts, offsets in self._drafts_of(similar, resolving):
                    counts.add(drafts, offsets)
        yield counts.rows()

    def _drafts_of(
        self, similar: Sequence[SimilarEvents], resolving: Resolving
    ) -> Iterator[tuple[Sequence[NotificationDraft], Sequence[int]]]:
        """Yield notifications, and the offsets of the events that have them in common."""
        if shows_everything(context := self._context(resolving)):
            yield from drafts_of_similar(similar, context)
            return
        for events in chunks_of(chain.from_iterable(each.events() for each in similar), EVENTS_AT_ONCE):
            context = self._context(resolving)
            batch = run((*MATCHING, *NOTIFYING), Batch(events), context)
            for draft in chain.from_iterable(drafts_of(batch, context)):
                if draft.mute is None:
                    yield [draft], [draft.event.offset]

    def _context(self, resolving: Resolving) -> Context:
        """Return what the stages share: rights as of now, incidents as they were."""
        lookups = replace(
            resolving.lookups(may_claim=False),
            events=RememberedEvents(resolving.events, (self.asker_id,)),
            find_held_back=self._find_held_back,
            find_wholes=Wholes(resolving.engine, lambda _alerts, _since_offset: [self.plan]).of,
        )
        return Context(self.alerts, lookups, now_ms=0)

    def _find_held_back(self, waiting: Sequence[Waiting], *, hidden: Hidden) -> dict[Pair, HeldBack]:
        """Return those of these matches that incidents hold back."""
        pairs = {(one.log_offset, one.subscription_id) for one in waiting}
        return {pair: HeldBack("", passes=False) for pair in pairs.intersection(self.held_back)}


def _similar_events(batches: Iterable[pa.RecordBatch], alert_id: str) -> Iterator[SimilarEvents]:
    """Yield the events of rows of ``SIMILAR``, those of an entity together."""
    columns = ((batch[name].to_pylist() for name in SIMILAR) for batch in batches)
    records = chain.from_iterable(zip(*lists, strict=True) for lists in columns)
    for (entity_id, answers, _, part_of), entity_rows in groupby(records, lambda row: (row[0], *row[2:5])):
        moments_by_author = {
            row[1]: [Moment(*moment) for moment in zip(row[5], row[6], strict=True)] for row in entity_rows
        }
        first = min(moments[0] for moments in moments_by_author.values())
        head = EventHead(first.log_offset, "", entity_id, None, first.timestamp_ms, part_of)
        yield SimilarEvents(MatchedEvent(head, {alert_id: answers}), moments_by_author)


class _Counts:
    """The counts of one task so far."""

    def __init__(self) -> None:
        self._offsets: set[int] = set()
        self._recipients: dict[tuple[str, str], RecipientCount] = {}
        self._by_alert = Counter[str]()

    def add(self, drafts: Sequence[NotificationDraft], offsets: Sequence[int]) -> None:
        """Count notifications that the events at these offsets have in common."""
        self._offsets.update(offsets)
        event_count, first_offset = len(offsets), min(offsets)
        for draft in drafts:
            at, reasons = (draft.channel.value, draft.key), draft.reasons
            before = self._recipients.get(at)
            if before is None:
                before = self._recipients[at] = RecipientCount(
                    draft.channel.value, draft.target, draft.recipient_id, first_offset
                )
            before.name(draft.target, draft.recipient_id, first_offset)
            before.add(event_count, event_count * len(reasons.in_order), reasons.kinds, reasons.destination_ids)
            for alert in reasons.destination_ids:
                self._by_alert[alert] += event_count

    def rows(self) -> pa.RecordBatch:
        recipients = [
            {**vars(count), "key": key, "kinds": sorted(count.kinds), "alerts": sorted(count.alerts)}
            for (_, key), count in self._recipients.items()
        ]
        counts = [(None, len(self._offsets)), *self._by_alert.items()]
        records = [*recipients, *({"key": key, "notified": count} for key, count in counts)]
        return pa.RecordBatch.from_pylist(records, schema=to_arrow_schema(COUNTED))
