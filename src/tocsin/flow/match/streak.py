"""Streaks of an entity's reports: state folded over the log, on Spark or in Python.

A report states the result of a test or a run. ``advance`` keeps what is needed of earlier reports in a ``Streak`` and
returns the *facts*, the event fields that conditions read. Folding the same reports in log order gives the same
streak. Next: ``spark/streaks.py``, ``jobs/streak_stream.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from tocsin.clock import FUTURE_MS
from tocsin.model.change import LoggedEvent
from tocsin.model.entity import Document
from tocsin.model.status import SUCCESS, is_failure, verdict_of

Facts = Mapping[str, str | int]
"""Fields that depend on earlier reports, by name; those that an event has not got are not there."""

NO_FACTS: Facts = {}


@dataclass(frozen=True, slots=True)
class StatusReport:
    """One status that an entity reports.

    Attributes
    ----------
    status : the reported status; None for a check that finds nothing new (a silence)
    at_ms : the time it refers to, never after the time of the event
    is_ahead : whether it is dated so far after the event that the reporter's clock is wrong: it then has no verdict
    """

    status: str | None
    at_ms: int
    is_ahead: bool = False

    @property
    def verdict(self) -> str | None:
        """Return the verdict that it reports; None if it reports none."""
        return None if self.status is None or self.is_ahead else verdict_of(self.status)


@dataclass(frozen=True, slots=True)
class Streak:
    """State of an entity's reports so far.

    Attributes
    ----------
    since_ms : its last success; its first report as long as it has had none
    verdict : its last verdict; None before the first
    length : number of consecutive reports with that verdict
    failures : failures since the last success
    newest_ms : the time that its last verdict refers to
    without_ms : time without success at the last check
    """

    since_ms: int
    verdict: str | None = None
    length: int = 0
    failures: int = 0
    newest_ms: int = 0
    without_ms: int = 0


def report_of(logged: LoggedEvent) -> StatusReport | None:
    """Return what an event reports, or None if it is no report."""
    return report_in(logged.derived, logged.event.timestamp)


def report_in(derived: Document, arrived_at_ms: int) -> StatusReport | None:
    """Return what an event with these derived fields, captured at that moment, reports; None if it is no report."""
    status = derived.get("testStatus") or derived.get("pipelineStatus")
    at_ms = derived.get("reportedAt")
    if status is None and at_ms is None:
        return None
    if at_ms is None:
        return StatusReport(status, arrived_at_ms)
    return StatusReport(status, min(at_ms, arrived_at_ms), is_ahead=at_ms > arrived_at_ms + FUTURE_MS)


def advance(streak: Streak | None, report: StatusReport) -> tuple[Streak, Facts]:
    """Return the entity's streak after ``report``, and the facts that the report adds given those before it.

    A status without a verdict has no effect. A report of an earlier time than the newest is history, and one of
    the same time with the same verdict is a repetition: neither makes a transition.
    """
    before = streak or Streak(since_ms=report.at_ms)
    if report.status is None:
        return _measure_wait(before, report.at_ms)
    verdict = report.verdict
    if verdict is None:
        return before, NO_FACTS
    is_repeated = report.at_ms == before.newest_ms and verdict == before.verdict
    if before.verdict is not None and (report.at_ms < before.newest_ms or is_repeated):
        return _with_history(before, verdict, report.at_ms), NO_FACTS
    return _with_verdict(before, verdict, report.at_ms)


def streak_of_reports(reports: Iterable[StatusReport]) -> Streak | None:
    """Return an entity's streak after all ``reports``, which are in log order."""
    streak: Streak | None = None
    for report in reports:
        streak, _ = advance(streak, report)
    return streak


def with_facts(logged: LoggedEvent, earlier: Iterable[StatusReport]) -> LoggedEvent:
    """Return ``logged`` with the facts that follow from its entity's ``earlier`` reports, in the order of the log."""
    report = report_of(logged)
    if report is None:
        return logged
    _, facts = advance(streak_of_reports(earlier), report)
    return replace(logged, derived={**logged.derived, **facts})


def _with_verdict(before: Streak, verdict: str, at_ms: int) -> tuple[Streak, Facts]:
    length = before.length + 1 if verdict == before.verdict else 1
    facts: dict[str, str | int] = {"streak": length}
    if before.verdict is not None:
        facts["previousStatus"] = before.verdict
    after = replace(before, verdict=verdict, length=length, newest_ms=at_ms)
    if verdict == SUCCESS:
        facts["failuresBefore"] = before.failures
        return replace(after, since_ms=at_ms, failures=0, without_ms=0), facts
    if is_failure(verdict):
        after = replace(after, failures=before.failures + 1)
        facts["failures"] = after.failures
    streak, lapse = _measure_wait(after, at_ms)
    return streak, facts | lapse


def _measure_wait(before: Streak, at_ms: int) -> tuple[Streak, dict[str, str | int]]:
    """Look how long the entity has been without success."""
    now_ms = max(0, at_ms - before.since_ms)
    facts: dict[str, str | int] = {"withoutSuccess": now_ms, "withoutSuccessBefore": before.without_ms}
    return replace(before, without_ms=max(before.without_ms, now_ms)), facts


def _with_history(before: Streak, verdict: str, at_ms: int) -> Streak:
    """Return ``before`` after a report of an earlier moment: a success may have been later than the last one known."""
    if verdict != SUCCESS or at_ms <= before.since_ms:
        return before
    return replace(before, since_ms=at_ms, without_ms=max(0, before.without_ms - (at_ms - before.since_ms)))
