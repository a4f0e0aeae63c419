"""Findings of the audit about what some time should have brought: reminders of incidents, checks of schedules.

What is judged is the last time at which the job of the reminders looked: before, the pipeline may have been down.
Next: ``jobs/audit.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Engine

from tocsin.clock import Clock, to_datetime
from tocsin.flow.match.plan import Plan
from tocsin.flow.schedule.check_times import last_check_ms
from tocsin.flow.schedule.decide import CHECK_WAIT_MS
from tocsin.jobs.reminders import JOB, repeats_ms_of
from tocsin.model.alert_incident import name_of
from tocsin.model.audit_finding import AuditFinding, FindingKind
from tocsin.model.subscription import Trigger
from tocsin.store.catalogue.alerts.reminders import Reminders
from tocsin.store.eventlog.job_runs import ScheduledJobs
from tocsin.store.outbox.scheduled_checks import ScheduledChecks


@dataclass(frozen=True)
class OverdueParts:
    """The store behind ``engine``; what is late by at most ``allowance_ms`` is no finding."""

    engine: Engine
    allowance_ms: int
    clock: Clock


def overdue(parts: OverdueParts, plans: Sequence[Plan], triggers: Mapping[str, Trigger]) -> Iterator[AuditFinding]:
    """Yield the reminders and checks of these alerts that are missing; ``triggers`` are those of the alerts, by id.

    Nothing is, if the job has looked at a time that has not come: the clock has been set back since.
    """
    looked_at_ms = ScheduledJobs(parts.engine).ran_at_ms(JOB)
    if looked_at_ms > parts.clock.now_ms():
        return
    yield from _missing_reminders(parts, plans, looked_at_ms)
    yield from _missing_checks(parts, plans, triggers, looked_at_ms)


def _missing_reminders(parts: OverdueParts, plans: Sequence[Plan], looked_at_ms: int) -> Iterator[AuditFinding]:
    repeats_ms = repeats_ms_of({plan.subscription_id: plan for plan in plans})
    if not repeats_ms:
        return
    late = Reminders(parts.engine).overdue(repeats_ms, looked_at_ms=looked_at_ms, allowance_ms=parts.allowance_ms)
    for alert_id, number, event_id, offset in late:
        yield AuditFinding(FindingKind.REMINDER_MISSING, event_id, offset, alert_id, name_of(number), expected=1)


def _missing_checks(
    parts: OverdueParts, plans: Sequence[Plan], triggers: Mapping[str, Trigger], looked_at_ms: int
) -> Iterator[AuditFinding]:
    """Yield the checks without which a digest has gone: it waits no longer than an hour."""
    checking = [plan.subscription_id for plan in plans if plan.states]
    last_checks = ScheduledChecks(parts.engine).last_checks() if checking else {}
    for alert_id in checking:
        last = last_checks.get(triggers[alert_id].schedule_id)
        due_at_ms = last_check_ms(triggers[alert_id], looked_at_ms - CHECK_WAIT_MS - parts.allowance_ms)
        if last is not None and due_at_ms is not None and due_at_ms > last.due_at_ms:
            about = f"{to_datetime(due_at_ms):%Y-%m-%d %H:%M:%S} UTC"
            yield AuditFinding(FindingKind.CHECK_MISSING, "", 0, alert_id, about, expected=1)
