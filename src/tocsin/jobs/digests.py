"""Digests: shortly before they are due, Spark's tasks compose those of all people, each person's once.

A task takes a share of the messages that are due soon, in order of their time, reads them from the store, and stores
the words of each (``jobs/digest_composer.py``). Workers send them when they are due, and judge rights, mutes and
preferences then as always: if one of them changed since, they compose the words anew. So nothing is claimed here:
a task that runs twice stores the same rows, a run that was killed is resumed with what has none, and what is not
composed in time, or while no pipeline runs, is composed by the worker. Why:
docs/decisions/0235-digests-are-composed-on-spark.md. Next: ``store/outbox/composed_digests.py``.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import ceil
from time import perf_counter

import pyarrow as pa
import structlog
from pyspark.sql import SparkSession
from sqlalchemy import Engine

from tocsin.clock import Clock, SystemClock
from tocsin.jobs.digest_composer import DigestComposer
from tocsin.jobs.intervals import FAILURES
from tocsin.jobs.resolving import StoreAddress
from tocsin.settings import Settings
from tocsin.spark.schema import NUMBER, TEXT, struct_of
from tocsin.spark.session import interpreting_session, work_in_background
from tocsin.spark.tasks import in_tasks
from tocsin.store.database.engine import open_engine
from tocsin.store.database.group_commit import PATIENT
from tocsin.store.eventlog.job_runs import ScheduledJobs
from tocsin.store.outbox.composed_digests import ComposedDigests, DueShare

DIGESTS = "tocsin-digests"
"""The thread that composes digests, and what Spark calls its jobs."""

THROUGH = "digests composed"
"""What the store calls the due time through which all digests have been looked at."""

SHARE_SIZE, _AT_ONCE = 1_000, 500
"""Messages of a task, and of a portion that it reads and stores: a task lasts a second or two."""

_LOOK_EVERY_S = 30.0
_AGAIN_AFTER_S = 5.0
_LEAD_MS, _LONGEST_LEAD_MS = 120_000, 3_600_000
_PER_S, _SAFETY = 300.0, 1.5
"""People a second, until some were composed, and by how much longer than that the time ahead is."""

_SHARE = struct_of(("first_ms", NUMBER), ("first_id", TEXT), ("end_ms", NUMBER), ("end_id", TEXT), nullable=False)
_COUNT = struct_of(("composed", NUMBER), nullable=False)
_LOG = structlog.get_logger(__name__)


class DigestParts:
    """Parts of the job over the store behind ``engine``; ``session`` is for nothing else.

    Attributes
    ----------
    per_s : how many digests a second were composed last
    """

    def __init__(self, session: SparkSession, engine: Engine, work: ComposeDigests, clock: Clock) -> None:
        self.session, self.work, self.clock = session, work, clock
        self.digests, self.jobs = ComposedDigests(engine), ScheduledJobs(engine)
        self.per_s = _PER_S


def build(settings: Settings, session: SparkSession, engine: Engine) -> DigestParts:
    """Build the job from ``settings``, in a session separate from ``session``."""
    store = StoreAddress(settings.store_url(), settings.sqlite_synchronous)
    work = ComposeDigests(store, settings.base_url())
    return DigestParts(interpreting_session(session), engine, work, SystemClock())


def run(parts: DigestParts, stopping: threading.Event) -> None:
    """Compose what is due soon, until ``stopping`` is set."""
    work_in_background(parts.session, DIGESTS)
    while not stopping.wait(_LOOK_EVERY_S):
        try:
            look(parts)
        except FAILURES as error:
            if not stopping.is_set():
                _LOG.error("digests_not_composed", reason=str(error).splitlines()[0])
            stopping.wait(_AGAIN_AFTER_S)


def look(parts: DigestParts) -> int:
    """Compose the digests that are due soon and have no words yet, in one Spark job; return how many were stored.

    The more are due within an hour, the sooner it begins, as fast as it was last. What was composed of messages that
    are sent is removed.
    """
    now_ms = parts.clock.now_ms()
    parts.digests.forget_sent(now_ms)
    through_ms = parts.jobs.ran_at_ms(THROUGH)
    after_ms = through_ms if through_ms <= now_ms + _LONGEST_LEAD_MS else 0  # the clock has been set back since
    due_count = parts.digests.count_due(after_ms, now_ms + _LONGEST_LEAD_MS)
    until_ms = now_ms + lead_ms(due_count, parts.per_s)
    if until_ms <= after_ms or not due_count:
        return 0
    composed_count = _compose(parts, after_ms, until_ms, now_ms)
    parts.jobs.ran(THROUGH, now_ms=until_ms)
    return composed_count


def lead_ms(due_count: int, per_s: float) -> int:
    """Return how long before their time (milliseconds) so many digests begin to be composed: at most an hour."""
    return min(_LONGEST_LEAD_MS, _LEAD_MS + ceil(1_000 * _SAFETY * due_count / per_s))


def _compose(parts: DigestParts, after_ms: int, until_ms: int, now_ms: int) -> int:
    """Compose what is due after one time, until another; return how many digests that were."""
    shares = parts.digests.shares(after_ms, until_ms, SHARE_SIZE)
    if not shares:
        return 0
    started_s = perf_counter()
    composed_count = compose_shares(parts, shares, now_ms)
    if composed_count >= SHARE_SIZE:
        parts.per_s = composed_count / (perf_counter() - started_s)
    _LOG.info("digests_composed", count=composed_count)
    return composed_count


def compose_shares(parts: DigestParts, shares: Sequence[DueShare], now_ms: int) -> int:
    """Compose these shares in one Spark job, a task each; return how many digests were stored."""
    frame = parts.session.createDataFrame(shares, _SHARE).repartition(len(shares))
    counts = in_tasks(frame, ComposeDigests(parts.work.store, parts.work.base_url, now_ms), _COUNT).toArrow()
    return sum(counts["composed"].to_pylist())


@lru_cache(maxsize=8)
def _composer_of(store: StoreAddress, base_url: str) -> DigestComposer:
    """Return what this process composes with; kept, with the layouts and events that it has read."""
    engine = open_engine(store.url, synchronous=store.synchronous, most_connections=2, writers=PATIENT)
    return DigestComposer(engine, base_url)


@dataclass(frozen=True)
class ComposeDigests:
    """The work of a task, for ``spark/tasks.in_tasks``: from shares of messages to stored words, as of ``now_ms``."""

    store: StoreAddress
    base_url: str
    now_ms: int = 0

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Take shares of due messages and yield how many digests were stored."""
        composer = _composer_of(self.store, self.base_url)
        try:
            shares = [DueShare(**values) for batch in batches for values in batch.to_pylist()]
            composed_count = sum(self._compose(composer, share) for share in shares)
        finally:
            composer.engine.dispose()  # nobody knows when this process has another task, or ends
        yield pa.RecordBatch.from_pylist([{"composed": composed_count}])

    def _compose(self, composer: DigestComposer, share: DueShare) -> int:
        digests, count = ComposedDigests(composer.engine), 0
        for messages in digests.waiting_messages(share, _AT_ONCE):
            contents = {one.message.id: one for one in composer.compose(messages, now_ms=self.now_ms)}
            count += digests.store({key: (one.message.due_at_ms, one.content) for key, one in contents.items()})
        return count
