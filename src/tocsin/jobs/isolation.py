"""Isolation of alerts that stop a micro-batch: they are identified, and the others are matched without them.

A condition may be slow on a single event, or fail when Spark plans, compiles or evaluates it. ``run_isolated`` then
tries the alerts in halves, without effect, until each part passes or is a single alert; the micro-batch is processed
without those. Alerts that pass alone and fail or are slow together are left out, the costliest first, until the rest
passes. Nothing is set aside for a failure that matching nothing has as well, that names the store or the disk, or that
Tocsin's own alerts have. If all alerts that match fail, ``CONTROL`` tells whether they or the events are to blame.
Next: ``alerts/events.py``, which disables the alerts and notifies their owners.
"""

from __future__ import annotations

import itertools
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Generic, NamedTuple, TypeVar

import structlog
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from tocsin.conditions.check import parse_and_check
from tocsin.flow.match.plan import Plan
from tocsin.jobs.intervals import brief
from tocsin.model.audit_finding import FindingKind
from tocsin.model.subscription import ALL_RESOURCES
from tocsin.spark.match import Index
from tocsin.store.database.faults import fault_in
from tocsin.threads import run_beside

_AGAIN_AFTER_S = 0.5
_TIMES = 3
_TOGETHER_TIMES = 6
_INTERRUPTION = "java.lang.InterruptedException"
"""What stops a query says."""

_OF_STORE = re.compile(r"\b(sqlalchemy|sqlite3|psycopg)\.")
"""What names an error of the store, whatever it says."""

_TAGS = itertools.count(1)
_LOG = structlog.get_logger(__name__)
T = TypeVar("T")

CONTROL = "control"
"""Id of the alert that reads the document of every event and matches it."""

STOPPED = (Py4JError, PySparkException, RecursionError)
"""How Spark fails at what an alert asks: in parsing, planning, compiling or executing it."""


class TimeLimitExceeded(RuntimeError):
    """Spark was stopped, because it took longer than it may."""


class SetAside(NamedTuple):
    """An alert that a micro-batch is processed without; ``reason`` is what Spark said of it, on one line."""

    subscription_id: str
    kind: FindingKind
    reason: str = ""


@dataclass(frozen=True)
class Processing(Generic[T]):
    """A micro-batch and what is done with it, each for the alerts of an index.

    Attributes
    ----------
    work : processes the micro-batch; it must have no effect twice
    match : matches and forgets
    rehearse : does what ``work`` does, takes it back, and returns the number of matches
    costs : the cost of each alert, for those that are too costly only together (``flow/match/plan_cost.py``)
    own_alert_ids : Tocsin's own alerts, which are never set aside: nobody but us is to blame for them
    narrow : returns the same without the matches that are withheld, which its ``work`` takes by themselves; None if
        none are. It is read before an alert is blamed, which thus depends on nothing that its editors may not view.
    """

    session: SparkSession
    work: Callable[[Index], T]
    match: Callable[[Index], object]
    rehearse: Callable[[Index], int]
    costs: Mapping[str, int]
    own_alert_ids: frozenset[str] = frozenset()
    narrow: Callable[[Index], Processing[T] | None] = lambda _index: None


def run_isolated(batch: Processing[T], index: Index, *, limit_s: float) -> tuple[T, list[SetAside]]:
    """Return what ``batch.work`` makes of the index without the alerts that stop it, and those alerts.

    An alert is too slow if matching it alone takes longer than ``limit_s``, and ``_TIMES`` as long as matching all that
    have only facts: no alert is slow because of a busy machine.

    Raises
    ------
    PySparkException, Py4JError : processing fails, and no alert is the reason
    """
    aside: list[SetAside] = []
    is_limited = True
    while True:
        remaining_index = index.with_plans([one.subscription_id for one in aside], ()) if aside else index
        try:
            return _in_time(batch, remaining_index, limit_s) if is_limited else batch.work(remaining_index), aside
        except TimeLimitExceeded:
            if narrowed_batch := batch.narrow(remaining_index):
                batch = narrowed_batch
                continue
            slow_alerts = _too_slow(batch, remaining_index, limit_s)
            if slow_alerts:  # else Java was still compiling, or the machine busy
                _LOG.warning("matching_too_slow", limit_s=limit_s, alerts=len(slow_alerts))
            aside += slow_alerts
            is_limited = False  # what is left takes as long as it does: many recipients, or a busy machine
        except STOPPED as error:
            is_interrupted = _INTERRUPTION in str(error)
            if not is_interrupted and (narrowed_batch := batch.narrow(remaining_index)):
                batch = narrowed_batch
                continue
            failing_alerts = [] if is_interrupted else _failing_alerts(batch, remaining_index, limit_s)
            if not failing_alerts:
                raise
            _LOG.warning("matching_failed", reason=brief(str(error)), alerts=len(failing_alerts))
            aside += failing_alerts


def _in_time(batch: Processing[T], index: Index, limit_s: float) -> T:
    if not index.costly_ids():
        return batch.work(index)
    matches_fast = partial(_passes_within, batch, limit_s, index)
    return within(batch.session, limit_s, lambda: batch.work(index), unless=matches_fast)


def _passes_within(batch: Processing[T], limit_s: float, index: Index) -> bool:
    """Return whether matching alone ends within the limit."""
    try:
        within(batch.session, limit_s, lambda: batch.match(index))
    except TimeLimitExceeded:
        return False
    return True


def _too_slow(batch: Processing[T], index: Index, limit_s: float) -> list[SetAside]:
    """Return the alerts that are too slow alone; if none is, those without which the others are fast enough."""
    costly_ids = index.costly_ids()
    patience_s = _patience_s(batch, index, limit_s)

    def is_fast(part: Sequence[str]) -> bool:
        return _passes_within(batch, patience_s, index.only(part))

    def is_fast_again(subscription_id: str) -> bool:
        # The machine may have been busy for a moment.
        return _passes_within(batch, _patience_s(batch, index, limit_s), index.only([subscription_id]))

    slow = [one for one in _alone(costly_ids, is_fast) if not (one in batch.own_alert_ids or is_fast_again(one))]
    if slow or _passes_within(batch, _TOGETHER_TIMES * patience_s, index):
        return [SetAside(one, FindingKind.TOO_SLOW) for one in slow]
    return _costliest(batch, costly_ids, lambda some: _passes_within(batch, patience_s, index.with_plans(some, ())))


def _patience_s(batch: Processing[T], index: Index, limit_s: float) -> float:
    """Return how long an alert may take: several times as long as all that have only facts do now."""
    began = time.monotonic()
    batch.match(index.with_plans(index.costly_ids(), ()))
    return max(limit_s, _TIMES * (time.monotonic() - began))


def _failing_alerts(batch: Processing[T], index: Index, limit_s: float) -> list[SetAside]:
    """Return the alerts that are to blame for a failure; none if all pass now, or something else is."""
    empty_index = index.only(())
    for trial in (batch.match, batch.rehearse):
        trials = _Trials(batch.session, trial, limit_s)
        if trials.reason(empty_index) is not None:
            return []
        if trials.reason(index) is None:
            continue
        failing_alerts = trials.failing_alerts(index) or _costliest(
            batch,
            index.subscription_ids(),
            lambda some: trials.reason(index.with_plans(some, ())) is None,  # noqa: B023
        )
        # The fault of a store or disk may have begun, or be over, in between.
        is_sure = not trials.met_fault and trials.reason(empty_index) is None
        names = [one.subscription_id for one in failing_alerts]
        may_be_events = trial is batch.rehearse or trials.reason(empty_index.with_plans((), [_control()])) is not None
        are_to_blame = is_sure and _are_to_blame(batch, index, names, may_be_events=may_be_events)
        return failing_alerts if are_to_blame else []
    return []


def _control() -> Plan:
    return Plan(CONTROL, (ALL_RESOURCES,), parse_and_check("!(entity.name == '')"), created_at_ms=0)


def _are_to_blame(batch: Processing[T], index: Index, failing: Sequence[str], *, may_be_events: bool) -> bool:
    """Return whether some alerts fail for what they ask: not if Tocsin's own fail as well.

    If it may be a fault of the events, others must match and pass.
    """
    if not batch.own_alert_ids.isdisjoint(failing):
        return False
    return len(failing) == 1 or not may_be_events or batch.rehearse(index.with_plans(failing, ())) > 0


class _Trials:
    """Trials of parts of an index; ``met_fault`` once one failed for the store or the disk."""

    def __init__(self, session: SparkSession, trial: Callable[[Index], object], limit_s: float) -> None:
        self._session, self._trial, self._limit_s = session, trial, limit_s
        self.met_fault = False

    def reason(self, index: Index) -> str | None:
        """Return why the trial fails for ``index``; None if it passes."""
        try:
            within(self._session, _TOGETHER_TIMES * self._limit_s, lambda: self._trial(index))
        except TimeLimitExceeded:
            return "it takes too long"
        except STOPPED as error:
            self.met_fault |= fault_in(str(error)) is not None or _OF_STORE.search(str(error)) is not None
            return brief(str(error))
        return None

    def failing_alerts(self, index: Index) -> list[SetAside]:
        """Return the alerts of ``index`` that fail alone."""
        reasons: dict[str, str] = {}

        def passes(part: Sequence[str]) -> bool:
            reason = None if self.met_fault else self.reason(index.only(part))
            if reason is not None:
                reasons[part[0]] = reason
            return reason is None

        return [SetAside(one, FindingKind.FAILING, reasons[one]) for one in _alone(index.subscription_ids(), passes)]


def _alone(subscription_ids: Sequence[str], passes: Callable[[Sequence[str]], bool]) -> list[str]:
    """Return those among ``subscription_ids`` that do not pass alone; they are tried in halves."""
    parts, failing = [subscription_ids] if subscription_ids else [], list[str]()
    while parts:
        part = parts.pop()
        if not passes(part):
            half = len(part) // 2
            failing += [] if half else part
            parts += [part[half:], part[:half]] if half else []
    return failing


def _costliest(
    batch: Processing[T], subscription_ids: Sequence[str], passes_without: Callable[[Sequence[str]], bool]
) -> list[SetAside]:
    """Return about as few of ``subscription_ids`` as possible, the costliest first, without which the others pass."""
    ordered = sorted(set(subscription_ids) - batch.own_alert_ids, key=lambda one: (-batch.costs.get(one, 0), one))
    least, enough = 0, len(ordered)
    while enough - least > 1:
        middle = (least + enough) // 2
        least, enough = (least, middle) if passes_without(ordered[:middle]) else (middle, enough)
    return [SetAside(one, FindingKind.TOO_COSTLY) for one in ordered[:enough]]


def within(
    session: SparkSession, limit_s: float, work: Callable[[], T], *, unless: Callable[[], bool] = lambda: False
) -> T:
    """Return what ``work`` returns, which runs jobs of ``session``; they are cancelled after ``limit_s`` seconds.

    ``unless`` is called then, in a thread of its own, while the jobs go on; if it is true, they have no limit.

    Raises
    ------
    TimeLimitExceeded : it took longer.
    """
    tag = f"tocsin-limit-{next(_TAGS)}"
    with _cancelling(session, tag, limit_s, unless) as is_late:
        try:
            return work()
        except (Py4JError, PySparkException) as error:
            if is_late():
                raise TimeLimitExceeded from error
            raise


def evaluate(frame: DataFrame) -> None:
    """Compute the results of a trial, one row per event and alert that matches it, and forget them.

    To cancel it is no error in Spark's log, which it is of the sink ``noop``.
    """
    frame._jdf.queryExecution().toRdd().count()


@contextmanager
def _cancelling(
    session: SparkSession, tag: str, limit_s: float, unless: Callable[[], bool]
) -> Iterator[Callable[[], bool]]:
    """Tag the jobs of the block; cancel them once ``limit_s`` have passed, and those that are submitted late."""
    is_late = threading.Event()

    def cancel(is_over: threading.Event) -> None:
        if is_over.wait(limit_s) or unless() or is_over.is_set():
            return
        is_late.set()
        while True:
            session.sparkContext.cancelJobsWithTag(tag)
            if is_over.wait(_AGAIN_AFTER_S):
                return

    session.sparkContext.addJobTag(tag)
    try:
        with run_beside(cancel, tag):
            yield is_late.is_set
    finally:
        session.sparkContext.removeJobTag(tag)
