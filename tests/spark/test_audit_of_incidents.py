"""Tests that the self-audit knows incidents, reminders and scheduled checks: sound ones, and each loss of one."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from sqlalchemy import Engine, delete, select, update
from tests.company import SmallCompany
from tests.spark.test_audit import HOUR_MS, change, parts
from tests.store.test_alert_incidents import BELL
from tests.store.test_reminders import company_of_dia, fail, look, notify
from tests.stores import ON_BOTH_STORES, store_url

from tocsin.flow.match.plan import plan_of
from tocsin.jobs.audit import AuditParts, audit
from tocsin.jobs.overdue import OverdueParts, overdue
from tocsin.jobs.reminders import JOB
from tocsin.model.audit_finding import AuditFinding
from tocsin.store.catalogue.alerts.subscriptions import Subscriptions
from tocsin.store.database.alert_tables import alert_incident, incident_watcher
from tocsin.store.eventlog.job_runs import ScheduledJobs
from tocsin.store.outbox.scheduled_checks import LastCheck, ScheduledChecks

__all__ = ["parts", "store_url"]

pytestmark = pytest.mark.spark

AT_EIGHT = {"triggerType": "Scheduled", "cronExpression": "0 0 8 * * ?"}


@pytest.fixture
def company(store_engine: Engine) -> SmallCompany:
    """Two pipelines of which one fails and one has recovered; an alert reminds every hour, another asks at eight."""
    small_company = company_of_dia(store_engine)
    small_company.alert("at eight", [BELL], "stillFailing()", resources=("pipeline",), trigger=AT_EIGHT)
    fail(small_company, "etl", "loads")
    small_company.run("loads", "Successful")
    notify(small_company)
    return small_company


Finding = tuple[str, str, str]
"""Kind, name of the alert, and what about."""


def kinds_found(parts: AuditParts, company: SmallCompany) -> list[Finding]:
    """Return the findings of an audit."""
    return in_words(audit(parts).findings, company)


def overdue_now(parts: AuditParts, company: SmallCompany) -> list[Finding]:
    """Return the findings about reminders and checks alone, for which an audit needs no Spark."""
    alerts = Subscriptions(company.engine).list_enabled()
    overdue_parts = OverdueParts(company.engine, parts.allowance_ms, company.clock)
    triggers = {alert.id: alert.trigger for alert in alerts}
    return in_words(overdue(overdue_parts, [plan_of(alert) for alert in alerts], triggers), company)


def in_words(findings: Iterable[AuditFinding], company: SmallCompany) -> list[Finding]:
    names = {identity: name for name, identity in company.ids.items()}
    return sorted((one.kind.value, names[one.subscription_id], one.about) for one in findings)


def look_for_reminders(company: SmallCompany) -> None:
    """Note that the job of the reminders has looked, by now."""
    company.clock.advance(1)
    ScheduledJobs(company.engine).ran(JOB, now_ms=company.clock.now_ms())


@ON_BOTH_STORES
def test_lost_incidents_and_ends_of_incidents_are_found(company: SmallCompany, parts: AuditParts) -> None:
    """Nothing is found before that (``test_a_look_at_a_time_that_has_not_come_is_not_judged``)."""
    row = alert_incident.c
    lasting = {"status": "open", "recovered_offset": None, "recovered_event_id": None, "resolved_at_ms": None}
    change(company.engine, update(alert_incident).where(row.number == 2).values(lasting))
    with company.engine.connect() as connection:
        lost_incident = connection.execute(select(row.id, row.opened_event_id).where(row.number == 1)).one()
    change(company.engine, delete(incident_watcher).where(incident_watcher.c.incident_id == lost_incident.id))
    findings = audit(parts).findings
    assert in_words(findings, company) == [("incidentMissing", "hourly", ""), ("incidentUnresolved", "hourly", "INC-2")]
    assert [one.event_id for one in findings if not one.about] == [lost_incident.opened_event_id]


@ON_BOTH_STORES
def test_a_success_that_is_history_leaves_its_incident_and_is_no_finding(
    company: SmallCompany, parts: AuditParts
) -> None:
    company.run("etl", "Successful", at_ms=company.clock.now_ms() + 1, after_s=8 * 24 * 3_600)
    notify(company)
    assert [kind for kind, *_ in kinds_found(parts, company)] == []


@ON_BOTH_STORES
def test_a_look_at_a_time_that_has_not_come_is_not_judged(company: SmallCompany, parts: AuditParts) -> None:
    ScheduledJobs(company.engine).ran(JOB, now_ms=company.clock.now_ms() + 5 * HOUR_MS)
    assert kinds_found(parts, company) == []


@ON_BOTH_STORES
def test_a_reminder_that_the_job_did_not_write_is_found(company: SmallCompany, parts: AuditParts) -> None:
    company.clock.advance(3 * HOUR_MS)
    assert overdue_now(parts, company) == [], "no pipeline has run"
    assert look(company) == 1
    look_for_reminders(company)
    assert overdue_now(parts, company) == []
    company.clock.advance(2 * HOUR_MS - 3)
    look_for_reminders(company)
    assert overdue_now(parts, company) == [], "it is within the allowance"
    look_for_reminders(company)
    assert kinds_found(parts, company) == [("reminderMissing", "hourly", "INC-1")]
    company.put("pipeline", {"name": "etl", "service": "airflow", "description": "of now"})
    assert overdue_now(parts, company) == [], "the asset was changed after the job has looked"


def test_a_check_without_which_a_digest_has_gone_is_found(company: SmallCompany, parts: AuditParts) -> None:
    trigger = next(one.trigger for one in Subscriptions(company.engine).list_enabled() if one.name == "at eight")
    checks = ScheduledChecks(company.engine)
    checks.keep({trigger.schedule_id: LastCheck(company.clock.now_ms())})
    for hours, expected_kinds in ((24, []), (3, ["checkMissing"])):
        company.clock.advance(hours * HOUR_MS)
        assert look(company) == 1
        assert overdue_now(parts, company) == [], "no pipeline has looked, or the digest still waits"
        look_for_reminders(company)
        assert [kind for kind, *_ in overdue_now(parts, company)] == expected_kinds
    assert kinds_found(parts, company) == [("checkMissing", "at eight", "2025-10-10 08:00:00 UTC")]
    checks.keep({trigger.schedule_id: LastCheck(company.clock.now_ms())})
    assert overdue_now(parts, company) == []
