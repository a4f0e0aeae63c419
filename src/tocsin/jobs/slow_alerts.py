"""Matching under a time limit: slow alerts are identified, and the others are matched without them.

A condition may be slow on a single event. When a micro-batch exceeds the limit, its events are matched once more beside
it, and nothing else is done with the matches: if that is fast, it is left alone, since many recipients take their time.
Else it is cancelled and matched in halves of the alerts with residual conditions, until each part is fast or a single
alert, and then processed without the slow ones.
Next: ``catalogue/alerts/findings.py``, which suspends the alerts found.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TypeVar

import structlog
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from tocsin.spark.match import Index, matches

_AGAIN_AFTER_S = 0.5
_TIMES = 3
_TAGS = itertools.count(1)
_LOG = structlog.get_logger(__name__)
T = TypeVar("T")


class TimeLimitExceeded(RuntimeError):
    """Spark was stopped, because it took longer than it may."""


def in_time(events: DataFrame, index: Index, *, limit_s: float, work: Callable[[Index], T]) -> tuple[T, list[str]]:
    """Return what ``work`` makes of the index, and the ids of alerts that were too slow to evaluate: without those.

    ``events`` has one row per event. Nothing is set aside unless ``work`` takes longer than ``limit_s``, and so does
    matching alone; then ``work`` is stopped, matching is tried in parts, and ``work`` is done once more, with the
    alerts that are left: it must have no effect twice. An alert is too slow if it alone takes longer than ``limit_s``,
    and ``_TIMES`` as long as all that have only facts: no alert is slow because of a busy machine.
    """
    if not index.asking():
        return work(index), []
    try:
        matches_fast = partial(_matches_within, limit_s, events, index)
        return within(events.sparkSession, limit_s, lambda: work(index), unless=matches_fast), []
    except TimeLimitExceeded:
        _LOG.warning("matching_too_slow", limit_s=limit_s, alerts=len(index.subscription_ids()))
    slow = _too_slow(events, index, limit_s)
    return work(index.changed(slow, ())), slow


def _too_slow(events: DataFrame, index: Index, limit_s: float) -> list[str]:
    costly = index.asking()
    began = time.monotonic()
    _match(events, index.changed(costly, ()))
    patience_s = max(limit_s, _TIMES * (time.monotonic() - began))
    parts, slow = [costly] if costly else [], list[str]()
    while parts:
        part = parts.pop()
        own = index.changed(set(index.subscription_ids()).difference(part), ())
        try:
            within(events.sparkSession, patience_s, partial(_match, events, own))
        except TimeLimitExceeded:
            half = len(part) // 2
            slow += [] if half else part
            parts += [part[half:], part[:half]] if half else []
    return slow


def _matches_within(limit_s: float, events: DataFrame, index: Index) -> bool:
    """Say whether matching alone ends within the limit."""
    try:
        within(events.sparkSession, limit_s, lambda: _match(events, index))
    except TimeLimitExceeded:
        return False
    return True


def _match(events: DataFrame, index: Index) -> None:
    """Match and forget."""
    matches(events, index).write.format("noop").mode("overwrite").save()


def within(
    session: SparkSession, limit_s: float, work: Callable[[], T], *, unless: Callable[[], bool] = lambda: False
) -> T:
    """Return what ``work`` returns, which runs jobs of ``session``; they are cancelled after ``limit_s`` seconds.

    ``unless`` is asked then, in a thread of its own, while the jobs go on; if it is true, they take as long as they do.

    Raises
    ------
    TimeLimitExceeded : it took longer.
    """
    tag = f"tocsin-limit-{next(_TAGS)}"
    with _tagged(session, tag), _cancelling(session, tag, limit_s, unless) as is_late:
        try:
            return work()
        except (Py4JError, PySparkException) as error:
            if is_late():
                raise TimeLimitExceeded from error
            raise


@contextmanager
def _tagged(session: SparkSession, tag: str) -> Iterator[None]:
    session.sparkContext.addJobTag(tag)
    try:
        yield
    finally:
        session.sparkContext.removeJobTag(tag)


@contextmanager
def _cancelling(
    session: SparkSession, tag: str, limit_s: float, unless: Callable[[], bool]
) -> Iterator[Callable[[], bool]]:
    """Cancel the jobs with ``tag`` once ``limit_s`` have passed, and those that are submitted late, until it ends."""
    done, late = threading.Event(), threading.Event()

    def cancel() -> None:
        if done.wait(limit_s) or unless() or done.is_set():
            return
        late.set()
        while True:
            session.sparkContext.cancelJobsWithTag(tag)
            if done.wait(_AGAIN_AFTER_S):
                return

    thread = threading.Thread(target=cancel, name=tag, daemon=True)
    thread.start()
    try:
        yield late.is_set
    finally:
        done.set()
        thread.join()
