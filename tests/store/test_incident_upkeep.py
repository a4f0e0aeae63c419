"""Tests of incidents and their reminders through backups, retention, erasure, renames and fsck, on both stores."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import Engine, select, text
from tests.company import SmallCompany
from tests.store.test_alert_incidents import BELL, handle_incident
from tests.store.test_backup import folder, make_backup, put_back, settings
from tests.store.test_erasure import ADDRESS, FULL_NAME, NAME, damage, erase, traces
from tests.store.test_erasure import company as company_of_zoe
from tests.store.test_incident_merging import ACKNOWLEDGE, act, incident, merge_incident, split_incident
from tests.store.test_reminders import (
    FAILED,
    HOUR_MS,
    company,
    facts_of,
    fail,
    hourly,
    look,
    notify,
    reminded_people,
    reminder_events,
)
from tests.store.test_retention import check_sound, plan_at, read_all, run

from tocsin.alerts.incident_merging import merge
from tocsin.alerts.incidents import Handling
from tocsin.model.alert_incident import AlertIncident, AlertIncidentStep, StepKind
from tocsin.model.people import SYSTEM
from tocsin.settings import Settings
from tocsin.store.catalogue.alerts.incidents import AlertIncidentFilter, AlertIncidentLog
from tocsin.store.database.alert_tables import incident_watcher
from tocsin.store.eventlog.log import EventLog
from tocsin.store.upkeep.fsck.inspection import inspect

__all__ = ["company", "company_of_zoe", "folder", "settings"]  # fixtures

_NOBODY = "00000000-0000-4000-8000-00000000dead"
_State = tuple[list[AlertIncident], list[list[AlertIncidentStep]], list[tuple[object, ...]]]


def state_of(engine: Engine) -> _State:
    """Return all incidents, the steps of each, and who watches them, with the last reminders."""
    log = AlertIncidentLog(engine)
    incidents = sorted(log.page(AlertIncidentFilter(), limit=99), key=lambda one: one.number)
    with engine.connect() as connection:
        watchers = sorted(tuple(row) for row in connection.execute(select(incident_watcher)))
    return incidents, [log.steps(one.id) for one in incidents], watchers


def test_restored_incidents_are_as_they_were_and_missed_reminders_are_one(
    company: SmallCompany, settings: Settings, folder: Path
) -> None:
    fail(company, "etl", "loads")
    merge_incident(company, "INC-2", "INC-1")
    assert look(company, after_ms=HOUR_MS) == 1
    before = state_of(company.engine)
    make_backup(company.engine, settings, folder)
    for _ in range(2):
        assert look(company, after_ms=HOUR_MS) == 1
    split_incident(company, "INC-2")
    handle_incident(company, "INC-1", ACKNOWLEDGE)
    put_back(company.engine, settings, folder)
    assert state_of(company.engine) == before
    assert [look(company), look(company)] == [1, 0], "of the reminders that were due since the backup"
    assert [len(reminder_events(company)), reminded_people(company)] == [2, [("dia", 2)]]
    company.pipeline("imports", owners=[{"type": "user", "name": "dia"}])
    fail(company, "imports")
    assert incident(company, "INC-3").entity_id == company.ids["imports"], "numbers go on"
    assert inspect(company.engine, deep=True).counts == {}


def test_a_reminder_that_a_restored_store_has_lost_has_the_same_id_when_it_is_made_up_for(
    company: SmallCompany, settings: Settings, folder: Path
) -> None:
    """Receivers that compare ids hear of it once."""
    fail(company)
    make_backup(company.engine, settings, folder)
    assert look(company, after_ms=HOUR_MS) == 1
    (lost_reminder,) = reminder_events(company)
    put_back(company.engine, settings, folder)
    assert look(company) == 1
    assert [one.id for one in reminder_events(company)] == [lost_reminder.id]


def test_incidents_keep_their_events_and_go_on_when_others_expire(company: SmallCompany) -> None:
    fail(company, "etl", "loads")
    merge_incident(company, "INC-2", "INC-1")
    assert look(company, after_ms=HOUR_MS) == 1
    for number in range(5):  # the last event of the log is kept
        company.describe("revenue", f"text {number}")
    before = state_of(company.engine)
    read_all(company)
    assert sum(run(company, plan_at(company)).removed.values()) > 0
    assert state_of(company.engine) == before
    event_ids = {one.event.id for one in EventLog(company.engine).read(0, 10_000)}
    incidents, steps, _ = before
    named_ids = {one.opened_event_id for one in incidents} | {step.event_id for each in steps for step in each}
    assert named_ids <= event_ids
    assert look(company, after_ms=HOUR_MS) == 1
    check_sound(company.engine)


def test_nothing_of_a_person_who_handled_incidents_is_left_and_what_they_did_is(company_of_zoe: SmallCompany) -> None:
    engine = company_of_zoe.engine
    for name in ("etl", "loads"):
        company_of_zoe.pipeline(name, owners=[{"type": "user", "name": NAME}])
    company_of_zoe.clock.advance(1_000)
    about_her = f"Call {FULL_NAME}, {ADDRESS}."
    company_of_zoe.alert("hourly", [BELL], FAILED, resources=("pipeline",), trigger=hourly(), runbook=about_her)
    fail(company_of_zoe, "etl", "loads")
    assert look(company_of_zoe, after_ms=HOUR_MS) == 2
    part_id, target_id = incident(company_of_zoe, "INC-2").id, incident(company_of_zoe, "INC-1").id
    comment = f"{FULL_NAME} says so, ask {ADDRESS}"
    act(company_of_zoe, lambda record: merge(record, part_id, target_id, comment=comment), NAME)
    for handling in (
        Handling(StepKind.ASSIGNED, comment, {"type": "user", "name": NAME}),
        Handling(StepKind.RESOLVED, comment, reason="MissingData"),
    ):
        handle_incident(company_of_zoe, "INC-1", handling, NAME)
    before = state_of(engine)
    assert list(traces(engine))
    erase(company_of_zoe)
    assert list(traces(engine)) == []
    assert damage(engine) == {}
    after = state_of(engine)
    assert [one.status for one in after[0]] == [one.status for one in before[0]]
    assert [[(one.kind, one.reason) for one in steps] for steps in after[1]] == [
        [(one.kind, one.reason) for one in steps] for steps in before[1]
    ]


def test_a_filter_follows_the_rename_of_a_label_between_a_failure_and_its_reminder(company: SmallCompany) -> None:
    company.put("classification", {"name": "Run", "description": "How it runs."})
    company.put("tag", {"name": "Nightly", "classification": "Run", "description": "At night."})
    company.pipeline("etl", owners=[{"type": "user", "name": "dia"}], tags=[{"tagFQN": "Run.Nightly"}])
    condition = f"{FAILED} && tags == 'Run.Nightly'"
    company.alert("of nightly", [BELL], condition, resources=("pipeline",), trigger=hourly(2))
    fail(company)
    rename = [{"op": "replace", "path": "/name", "value": "Late"}]
    company.writes.patch("tag", company.key("Nightly"), rename, actor=SYSTEM)
    assert [look(company, after_ms=HOUR_MS) for _ in range(2)] == [1, 1]
    assert [len(facts_of(one)["alerts"]) for one in reminder_events(company)] == [1, 2], "of both alerts"


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("UPDATE alert_incident_step SET other_id = '{nobody}' WHERE other_id IS NOT NULL", "other_id"),
        ("UPDATE alert_incident_step SET event_id = '{nobody}' WHERE kind = 'reminded'", "event_id"),
        ("UPDATE alert_incident SET part_of = '{nobody}' WHERE part_of IS NOT NULL", "part_of"),
        ("UPDATE alert_incident SET opened_event_id = '{nobody}' WHERE number = 1", "opened_event_id"),
        ("UPDATE alert_incident SET recovered_event_id = '{nobody}' WHERE number = 3", "recovered_event_id"),
    ],
)
def test_what_an_incident_names_and_is_not_there_is_found(company: SmallCompany, statement: str, problem: str) -> None:
    company.pipeline("imports", owners=[{"type": "user", "name": "dia"}])
    fail(company, "etl", "loads", "imports")
    company.run("imports", "Successful")
    notify(company)
    merge_incident(company, "INC-2", "INC-1")
    assert look(company, after_ms=HOUR_MS) == 1
    assert inspect(company.engine).counts == {}
    with company.engine.begin() as connection:
        connection.execute(text(statement.format(nobody=_NOBODY)))
    (finding,) = inspect(company.engine).findings
    assert finding.problem.startswith(f"{problem} {_NOBODY} does not exist in "), finding
