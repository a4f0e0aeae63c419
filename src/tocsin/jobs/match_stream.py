"""Main streaming query of the pipeline: matches events, resolves recipients and stores notifications.

Log -> match -> resolve -> schedule -> store; ``notify`` below runs those stages for one micro-batch, as one Spark job
whose tasks do all of it (``jobs/resolving.py``). A micro-batch may be repeated after a crash between any two steps:
every row it writes has a deterministic id.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import pyarrow as pa
import structlog
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from sqlalchemy import Engine

from tocsin.alerts.events import FindingLog
from tocsin.clock import Clock, SystemClock
from tocsin.errors import NotFound
from tocsin.flow.eventlog.readers import MATCH_STREAM
from tocsin.flow.match.plan import RECOVERY
from tocsin.jobs.alerts import Alerts, CurrentAlerts
from tocsin.jobs.checkpoint import PlannedRanges
from tocsin.jobs.event_portions import NotifyPortions, notify_portions
from tocsin.jobs.findings import finding_log
from tocsin.jobs.heartbeat import take_back
from tocsin.jobs.isolation import Processing, SetAside, evaluate, run_isolated
from tocsin.jobs.kept_plan import KeptPlans
from tocsin.jobs.query_progress import (
    MonitoredQuery,
    Progress,
    ReadThrough,
    Stream,
    as_committed,
    following_the_log,
    log_options,
)
from tocsin.jobs.resolving import COUNTS, OF_EVENT, Notify, Shared, StoreAddress, settle_incidents
from tocsin.jobs.supervision import Supervised
from tocsin.jobs.withheld_pairs import Unevaluated, only_pairs, record_withheld, withheld_pairs, without_pairs
from tocsin.model.audit_finding import AuditFinding, FindingKind
from tocsin.model.match_result import Pair
from tocsin.settings import Settings, StoreSettings
from tocsin.spark.match import Index, matches
from tocsin.spark.session import session_of, with_fast_checkpoints
from tocsin.spark.sources import LOG_FORMAT, OffsetRange
from tocsin.spark.tasks import in_tasks
from tocsin.store.catalogue.alerts.subscriptions import Subscriptions
from tocsin.store.database.engine import open_engine
from tocsin.store.database.group_commit import PATIENT
from tocsin.store.database.schema import migrate
from tocsin.store.database.vault import use_vault
from tocsin.store.eventlog.job_runs import ScheduledJobs
from tocsin.store.outbox.event_portions import EventPortions
from tocsin.store.outbox.notifications import Notifications
from tocsin.store.upkeep.high_water_marks import check_and_warn

QUERY_NAME = MATCH_STREAM
"""Names the query and its checkpoint; a query whose state changes gets a new one."""

MOST_RECIPIENTS = 50_000
"""So many people are notified of an event in one transaction; with more of them tasks share it."""

_LOG = structlog.get_logger(__name__)
_ERROR_CLASS = re.compile(r"^\[[A-Z0-9_.]+\]|^[\w.]+(?:Error|Exception)(?=:)")
"""What Spark or Python calls the kind of an error, at the beginning of its text."""


@dataclass(frozen=True)
class MatchStreamParts:
    """What the pipeline is made of; ``build`` puts it together.

    With ``portions`` the tasks share events that have more than ``most_recipients``.
    """

    session: SparkSession
    alerts: CurrentAlerts
    store: StoreAddress
    progress: Progress
    clock: Clock
    source_options: dict[str, str]
    checkpoint: str
    findings: FindingLog
    match_limit_s: float = 60.0
    max_event_age_ms: int | None = None
    work: Callable[[StoreAddress, Shared, int, int | None], Notify] = Notify
    portions: EventPortions | None = None
    most_recipients: int = MOST_RECIPIENTS
    unevaluated: Unevaluated = field(default_factory=Unevaluated)
    read_through: ReadThrough = as_committed


def pipeline_engine(settings: StoreSettings) -> Engine:
    """Return the engine of a pipeline, which all its queries and jobs share; the caller disposes of it."""
    return open_engine(settings.store_url(), synchronous=settings.sqlite_synchronous, writers=PATIENT)


def build(settings: Settings, engine: Engine) -> MatchStreamParts:
    """Wire the pipeline as ``settings`` say."""
    check_and_warn(engine, settings)
    use_vault(engine, settings)
    migrate(engine)
    take_back(ScheduledJobs(engine))  # before Spark starts, which takes its time
    return MatchStreamParts(
        session=with_fast_checkpoints(session_of(settings)),
        alerts=CurrentAlerts(QUERY_NAME, Subscriptions(engine)),
        store=StoreAddress(settings.store_url(), settings.sqlite_synchronous),
        progress=Notifications(engine),
        portions=EventPortions(engine),
        clock=SystemClock(),
        source_options=log_options(settings),
        checkpoint=str(settings.checkpoint_dir() / QUERY_NAME),
        findings=finding_log(engine),
        match_limit_s=settings.pipeline_match_limit_s,
        max_event_age_ms=settings.max_event_age_ms(),
    )


def notify(events: DataFrame, parts: MatchStreamParts, kept_range: KeptRange | None = None) -> int:
    """Take a micro-batch of ``EVENTS``, one row per event, through the stages; return the number of notifications.

    ``kept_range`` are the same events, for a plan that is kept.
    """
    alerts = parts.alerts.read()
    batch = _MicroBatch(events, alerts, parts, _work(alerts, parts), kept_range)
    # Portions wait for no condition, so they have no time limit: those of earlier events first, then the batch's own.
    earlier_count = batch.notify_pending_portions()
    count, aside = run_isolated(batch.processing(), alerts.index, limit_s=parts.match_limit_s)
    portion_count = batch.notify_pending_portions(left_out={one.subscription_id for one in aside})
    _report(alerts, aside, events, parts)
    return earlier_count + count + portion_count


@dataclass(frozen=True)
class KeptRange:
    """A micro-batch as a range of the log, and the plans that are kept for such."""

    plans: KeptPlans
    offsets: OffsetRange


@dataclass(frozen=True)
class _MicroBatch:
    """A micro-batch, with the alerts and the work as they are at its beginning."""

    events: DataFrame
    alerts: Alerts
    parts: MatchStreamParts
    work: Notify
    kept_range: KeptRange | None = None

    def processing(self) -> Processing[int]:
        """Return its processing. What is withheld from alerts that are not evaluated there is recorded first."""
        unevaluated = self.parts.unevaluated.among(self.alerts)
        withheld = withheld_pairs(self.events, self.alerts.index.only(unevaluated), self.work) if unevaluated else {}
        record_withheld(self.events, withheld, self.work)
        batch = _processing(without_pairs(self.events, withheld), self.alerts, self.work)
        if self.kept_range is not None and not withheld and self._is_one_job(self.kept_range):
            batch = replace(batch, work=partial(self._by_kept_plan, self.kept_range, batch.work))
        return replace(batch, narrow=lambda index: self._narrow(index, withheld))

    def _is_one_job(self, kept_range: KeptRange) -> bool:
        """Return whether its tasks need no job before theirs, which settles incidents."""
        return not self.alerts.facts.reads_incidents or len(kept_range.plans.ranges(kept_range.offsets)) == 1

    def _by_kept_plan(self, kept_range: KeptRange, work: Callable[[Index], int], index: Index) -> int:
        """Process the micro-batch by the plan that is kept, or, without some alert, by one of its own."""
        if index is not self.alerts.index:
            return work(index)
        return _totals(kept_range.plans.counts(self.alerts, self.work, kept_range.offsets))["notified"]

    def notify_pending_portions(self, left_out: Collection[str] = ()) -> int:
        """Store the notifications of pending portions, without alerts that are ``left_out``; return how many."""
        keys = [] if self.parts.portions is None else self.parts.portions.pending_keys()
        if not keys:
            return 0
        return notify_portions(self.events.sparkSession, NotifyPortions(self.work, keys, left_out))

    def _narrow(self, index: Index, before: Collection[Pair]) -> Processing[int] | None:
        """Return the processing of what is withheld from nobody, and then of the rest; None if there is no rest."""
        withheld = withheld_pairs(without_pairs(self.events, before), index.only(index.costly_ids()), self.work)
        if not withheld:
            return None
        visible_part = _processing(without_pairs(self.events, {*before, *withheld}), self.alerts, self.work)

        def work(remaining: Index) -> int:
            return visible_part.work(remaining) + self._process_withheld(withheld, remaining)

        return replace(visible_part, work=work)

    def _process_withheld(self, withheld: Mapping[Pair, str], index: Index) -> int:
        """Match and store what is withheld. Alerts that fail or are slow there lose nothing but this evaluation."""
        concerned_index = index.only({alert for _, alert in withheld})
        batch = _processing(only_pairs(self.events, withheld), self.alerts, self.work)
        count, aside = run_isolated(batch, concerned_index, limit_s=self.parts.match_limit_s)
        unevaluated_ids = {alert.subscription_id for alert in aside}
        self.parts.unevaluated.add(unevaluated_ids, self.alerts)
        record_withheld(
            self.events, {pair: editor for pair, editor in withheld.items() if pair[1] in unevaluated_ids}, self.work
        )
        for subscription_id, kind, reason in aside:
            _LOG.warning(
                "alert_not_evaluated_where_withheld", subscription_id=subscription_id, kind=kind, reason=reason
            )
        return count


def _processing(events: DataFrame, alerts: Alerts, work: Notify) -> Processing[int]:
    rehearsal = replace(work, is_rehearsal=True)

    def match(index: Index) -> None:
        evaluate(matches(events, index))

    return Processing(
        session=events.sparkSession,
        work=lambda index: _counts(events, index, work)["notified"],
        match=match,
        rehearse=lambda index: _counts(events, index, rehearsal)["matched"],
        costs={one: cost.weight for one, cost in alerts.costs.items()},
        own_alert_ids=frozenset({RECOVERY, *alerts.facts.of_tocsin}),
    )


def _report(alerts: Alerts, aside: Sequence[SetAside], events: DataFrame, parts: MatchStreamParts) -> None:
    """Say on the alerts concerned that they are unreadable, or that ``events`` were processed without them."""
    for subscription_id, reason in alerts.unreadable.items():
        with suppress(NotFound):
            parts.findings.add(AuditFinding(FindingKind.UNREADABLE, "", 0, subscription_id, reason))
    costly = [SetAside(one, FindingKind.TOO_COSTLY, reason) for one, reason in alerts.too_costly.items()]
    if not aside and not costly:
        return
    ((event_id, offset),) = events.selectExpr("min_by(event_id, log_offset)", "min(log_offset)").collect()
    for subscription_id, kind, reason in (*aside, *costly):
        _LOG.error("alert_set_aside", subscription_id=subscription_id, kind=kind, reason=reason, log_offset=offset)
        limit_ms = round(parts.match_limit_s * 1000) if kind is FindingKind.TOO_SLOW else 0
        about = _without_values(reason) if kind is FindingKind.FAILING else reason
        parts.findings.set_aside(AuditFinding(kind, event_id, offset, subscription_id, about, expected=limit_ms))


def _without_values(reason: str) -> str:
    """Return the class of an error: its text may repeat values of an asset that the alert's readers may not view."""
    error_class = _ERROR_CLASS.search(reason)
    return f"{error_class[0] if error_class else 'An error'}: the pipeline's log says more (alert_set_aside)."


def warm_up(parts: MatchStreamParts) -> None:
    """Take no event through the stages: the first one does not wait for what Spark starts and compiles."""
    alerts = parts.alerts.read()
    KeptPlans(parts.session, parts.source_options).counts(alerts, _work(alerts, parts), OffsetRange(0, 0))


def _work(alerts: Alerts, parts: MatchStreamParts) -> Notify:
    """Return what tasks do with the matches of one micro-batch."""
    now_ms = parts.clock.now_ms()
    oldest_ms = None if parts.max_event_age_ms is None else now_ms - parts.max_event_age_ms
    work = parts.work(parts.store, alerts.broadcast(parts.session), now_ms, oldest_ms)
    return work if parts.portions is None else replace(work, most_recipients=parts.most_recipients)


def _counts(events: DataFrame, index: Index, work: Notify) -> dict[str, int]:
    """Match, resolve, schedule and store in one Spark job; return the numbers of ``COUNTS``.

    If several tasks read the incidents that their events open, a job before it opens all of them.
    """
    match_frame = matches(events, index, columns=OF_EVENT)
    settles = work.alerts.value.reads_incidents and not work.is_rehearsal
    if settles and events.rdd.getNumPartitions() > 1:
        in_tasks(match_frame, partial(settle_incidents, work), COUNTS).toArrow()
        work = replace(work, are_incidents_settled=True)
    return _totals(in_tasks(match_frame, work, COUNTS).toArrow())


def _totals(counts: pa.Table) -> dict[str, int]:
    return {name: sum(counts[name].to_pylist()) for name in COUNTS.names}


def streaming(parts: MatchStreamParts) -> AbstractContextManager[StreamingQuery]:
    """Run the query in the background and give it; it is stopped at the end."""
    reported = MonitoredQuery(QUERY_NAME, parts.checkpoint, parts.progress, parts.clock)
    return following_the_log(parts.session, reported, lambda done: _stream(parts, done))


def supervised_query(parts: MatchStreamParts) -> Supervised:
    """Return the query for supervision (``jobs/supervision.py``)."""
    return Supervised(QUERY_NAME, Path(parts.checkpoint), lambda: streaming(parts))


def _stream(parts: MatchStreamParts, done_offset: int) -> Stream:
    events = parts.session.readStream.format(LOG_FORMAT).options(**parts.source_options, after=str(done_offset)).load()
    plans, ranges = KeptPlans(parts.session, parts.source_options), PlannedRanges(Path(parts.checkpoint))

    def process(batch: DataFrame, batch_id: int) -> None:
        offsets = ranges.range_of(batch_id)
        count = notify(batch, parts, None if offsets is None else KeptRange(plans, offsets))
        _LOG.debug("batch_notified", batch_id=batch_id, notifications=count)

    return events, process
