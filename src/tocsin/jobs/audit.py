"""Self-audit job: checks on Spark that every match in a sliding window of the log has exactly one result.

Every event is matched again against the current alerts and joined with the stored results: match results,
notifications, messages, incidents. A mismatch is recorded once, as an event on the alert. An alert that changed inside
the window is audited from its last change on. Streaks are computed from all reports in the log, not taken from the
pipeline's state. Next: ``spark/audit.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice, pairwise

import pyarrow as pa
import structlog
from pyspark.sql import functions as F  # the name everybody knows it by
from sqlalchemy import Engine
from sqlalchemy.exc import IntegrityError

from tocsin.errors import InvalidInput, NotFound
from tocsin.flow.eventlog.readers import MATCH_STREAM, STREAK_STREAM
from tocsin.flow.match.plan import Plan, at_reports, between_reports, plan_of
from tocsin.jobs.findings import finding_log
from tocsin.jobs.lake import LakeParts
from tocsin.jobs.overdue import OverdueParts, overdue
from tocsin.jobs.withheld_pairs import without_pairs
from tocsin.model.audit_finding import AuditFinding, FindingKind
from tocsin.model.subscription import EventSubscription, Trigger
from tocsin.settings import PipelineSettings
from tocsin.spark.audit import MATCHED, findings, judgement_counts, lay_out
from tocsin.spark.lake import is_between, span_events, status_events
from tocsin.spark.match import Index, index_of, matches
from tocsin.store.catalogue.alerts.audit import AuditRows
from tocsin.store.catalogue.alerts.subscriptions import Subscriptions
from tocsin.store.eventlog.reports import Reports
from tocsin.store.outbox.match_results import MatchResults

MOST_REPORTED = 100
"""The most findings that become events in one run; the next run records the rest."""

_EVENTS_PER_STEP = 50_000
_HOUR_MS = 3_600_000
_ANY_AGE_MS = 2**53
_LOG = structlog.get_logger(__name__)


class AuditParts:
    """What the audit is made of, over the history and the store behind ``engine``."""

    def __init__(
        self,
        history: LakeParts,
        engine: Engine,
        *,
        window_ms: int,
        allowance_ms: int,
        longest_age_ms: int | None = None,
    ) -> None:
        self.history, self.window_ms, self.allowance_ms = history, window_ms, allowance_ms
        self.longest_age_ms = _ANY_AGE_MS if longest_age_ms is None else longest_age_ms
        self.engine = engine
        self.audit_rows, self.alerts = AuditRows(engine), Subscriptions(engine)
        self.reports, self.match_results = Reports(engine), MatchResults(engine)
        self.finding_log = finding_log(engine, history.clock)


@dataclass(frozen=True)
class Audited:
    """Result of an audit run.

    ``after`` and ``through`` bound the audited part of the log; ``judgement_counts`` and ``unjudged`` count the
    matches in it that could be judged, and those of alerts that have changed since or are not fully processed yet;
    ``notified`` the findings that were recorded as events in this run.
    """

    after: int
    through: int
    judged: int
    unjudged: int
    findings: tuple[AuditFinding, ...]
    notified: int


def build(settings: PipelineSettings, history: LakeParts, engine: Engine) -> AuditParts:
    """Build the audit from ``settings``, over the history and the store behind ``engine``."""
    window_ms, allowance_ms = round(settings.audit_window_hours * _HOUR_MS), round(settings.audit_allowance_s * 1000)
    longest_age_ms = settings.max_event_age_ms()
    return AuditParts(history, engine, window_ms=window_ms, allowance_ms=allowance_ms, longest_age_ms=longest_age_ms)


def audit(parts: AuditParts) -> Audited:
    """Audit the window once, and record the findings on their alerts."""
    now_ms = parts.history.clock.now_ms()
    through = parts.history.log.progress(MATCH_STREAM)  # first: whatever changes from here on was not part of it
    after = _window_start(parts, now_ms - parts.window_ms, through)
    subject = _subject(parts, after, through)
    findings: list[AuditFinding] = []
    judged_count = unjudged_count = 0
    for span in pairwise([*range(after, through, _EVENTS_PER_STEP), through]):
        findings += _judge(parts, subject, span, now_ms)
        (row,) = judgement_counts(parts.history.session).collect()
        judged_count, unjudged_count = judged_count + row.judged, unjudged_count + row.unjudged
    findings += overdue(
        OverdueParts(parts.engine, parts.allowance_ms, parts.history.clock), subject.plans, subject.triggers
    )
    notified_count = len(list(islice(filter(lambda finding: _report(parts, finding), findings), MOST_REPORTED)))
    parts.match_results.forget(through=_window_start(parts, now_ms - 2 * parts.window_ms, through), now_ms=now_ms)
    audit_result = Audited(after, through, judged_count, unjudged_count, tuple(findings), notified_count)
    _LOG.info(
        "audited",
        after=after,
        through=through,
        judged=audit_result.judged,
        findings=len(findings),
        notified=notified_count,
    )
    return audit_result


def _window_start(parts: AuditParts, since_ms: int, through: int) -> int:
    """Return the offset after which the window begins: not before the first match result, nor after ``through``."""
    first = parts.audit_rows.first_offset(since_ms)
    begins = through if first is None else first - 1
    return min(max(begins, parts.match_results.last_forgotten_offset()), through)


@dataclass(frozen=True)
class _Subject:
    """What is judged: the alerts, ready to be matched.

    ``alerts`` are rows of the view ``audit_alerts`` (``spark/audit.py``); ``at_reports`` holds the matches that depend
    on earlier reports, None where no alert asks for any or nothing was reported.
    """

    index: Index
    plans: Sequence[Plan]
    triggers: Mapping[str, Trigger]
    alerts: list[tuple[str, int, int, int, int]]
    at_reports: pa.Table | None


def _subject(parts: AuditParts, after: int, through: int) -> _Subject:
    # Read first, and bounded by the next report: notifications written from here on are not part of this run.
    next_report_offset = parts.reports.first_between(parts.history.log.progress(STREAK_STREAM), through)
    judged_through = through if next_report_offset is None else next_report_offset - 1
    subscriptions = parts.alerts.list_enabled()
    # After they were read: what changed in between is judged from there.
    change_times = parts.audit_rows.alerts_changed_at()
    plans = list(_plans(subscriptions))
    alerts = [
        (
            plan.subscription_id,
            change_times.get(plan.subscription_id, 0),
            judged_through if plan.asks_of_streaks else through,
            int(plan.asks_of_streaks),
            int(plan.opens_incidents),
        )
        for plan in plans
    ]
    return _Subject(
        index_of(between_reports(plans)),
        plans,
        {one.id: one.trigger for one in subscriptions},
        alerts,
        _matched_at_reports(parts, plans, (after, judged_through)),
    )


def _plans(subscriptions: Iterable[EventSubscription]) -> Iterator[Plan]:
    for subscription in subscriptions:
        with suppress(InvalidInput):  # the pipeline leaves it out, too
            yield plan_of(subscription)


def _matched_at_reports(parts: AuditParts, plans: Sequence[Plan], span: tuple[int, int]) -> pa.Table | None:
    """Return which reports between two offsets match which alerts (``spark/audit.MATCHED``); reads all before them."""
    asking = at_reports(plans)
    if not asking or parts.reports.first_between(*span) is None:
        return None
    reports = status_events(parts.history.session, parts.history.place, span[1]).where(F.col("log_offset") > span[0])
    return matches(reports, index_of(asking), columns=("event_id",)).toArrow()


def _judge(parts: AuditParts, subject: _Subject, span: tuple[int, int], now_ms: int) -> Iterator[AuditFinding]:
    session, history = parts.history.session, parts.history
    lay_out(
        session,
        {
            "audit_alerts": subject.alerts,
            "audit_match_results": parts.audit_rows.match_results(*span),
            "audit_notes": parts.audit_rows.notifications(*span),
            "audit_messages": parts.audit_rows.messages(*span),
            "audit_reports": parts.audit_rows.reports(*span),
            "audit_incidents": parts.audit_rows.watched_incidents(*span),  # last: they are stored with the results
        },
    )
    events = span_events(session, history.place, history.extent(), *span)
    evaluated_events = without_pairs(events, parts.audit_rows.withheld(*span))
    match_frame = matches(evaluated_events, subject.index, columns=("event_id",)).select(*MATCHED.names)
    if subject.at_reports is not None:
        of_reports = session.createDataFrame(subject.at_reports).select(*MATCHED.names)
        match_frame = match_frame.union(of_reports.where(is_between(*span)))
    frame = findings(
        session,
        events.select("log_offset", "event_id"),
        match_frame,
        overdue_ms=now_ms - parts.allowance_ms,
        longest_age_ms=parts.longest_age_ms,
    )
    for kind, event_id, offset, alert_id, about, expected_count, actual_count in sorted(frame.collect()):
        yield AuditFinding(FindingKind(kind), event_id, offset, alert_id, about, int(expected_count), int(actual_count))


def _report(parts: AuditParts, finding: AuditFinding) -> bool:
    """Put a finding on its alert, once; returns whether it is new."""
    try:
        return parts.finding_log.add(finding)
    except IntegrityError:
        return False  # another audit was faster
    except NotFound:
        _LOG.warning("finding_on_no_alert", **finding.to_wire(), subscription_id=finding.subscription_id)
        return False
