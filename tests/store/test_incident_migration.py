"""Tests of the revision that makes one incident of those that alerts had of the same failure."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine, MetaData, insert, select
from tests.company import SmallCompany
from tests.notifying import notify_all
from tests.postgres import Cluster

from tocsin.model.alert_incident import IncidentName, IncidentStatus
from tocsin.store.catalogue.alerts.incidents import AlertIncidentFilter, AlertIncidentLog
from tocsin.store.database.alert_tables import alert_held_back, alert_incident, incident_watcher
from tocsin.store.database.engine import open_engine, writing
from tocsin.store.database.schema import migrate

BEFORE = "0043_notification_ids"
OPEN, ACKNOWLEDGED, RESOLVED = IncidentStatus.OPEN, IncidentStatus.ACKNOWLEDGED, IncidentStatus.RESOLVED


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def older(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    """Return an empty store of the revision before."""
    url = f"sqlite:///{tmp_path / 'unmerged.db'}"
    if request.param == "postgresql":
        cluster: Cluster = request.getfixturevalue("postgres")
        cluster.run("DROP DATABASE IF EXISTS unmerged")
        cluster.run("CREATE DATABASE unmerged")
        url = cluster.url("unmerged")
    engine = open_engine(url)
    migrate(engine, BEFORE)
    yield engine
    engine.dispose()


def fill(older: Engine, table: str, *records: dict[str, object]) -> None:
    schema = MetaData()
    with older.begin() as connection:
        schema.reflect(connection)
        connection.execute(insert(schema.tables[table]), list(records))


def incident_row(number: int, alert: str, asset: str, status: IncidentStatus, **values: object) -> dict[str, object]:
    """An incident of an alert, as it was stored before; it begins at ten times its number."""
    moment = number * 10
    return {
        "id": f"i{number}",
        "number": number,
        "subscription_id": alert,
        "entity_id": asset,
        "entity_type": "testCase",
        "status": status.value,
        "opened_offset": moment,
        "opened_at_ms": moment,
        "opened_event_id": f"e{moment}",
        "updated_at_ms": moment,
        "assignee_id": None,
        "assignee_type": None,
        "recovered_offset": None,
        **values,
    }


def test_the_oldest_unresolved_number_stays_for_all_alerts_and_the_others_lead_to_it(older: Engine) -> None:
    fill(
        older,
        "alert_incident",
        incident_row(1, "a", "case", RESOLVED, recovered_offset=15),
        incident_row(2, "b", "case", RESOLVED, recovered_offset=15),
        incident_row(3, "b", "case", OPEN),
        incident_row(4, "a", "case", ACKNOWLEDGED, opened_offset=25, opened_event_id="e25", opened_at_ms=25),
        incident_row(5, "c", "case", OPEN, assignee_id="ann", assignee_type="user"),
        incident_row(6, "a", "other", OPEN),
    )
    fill(
        older,
        "alert_held_back",
        {"incident_id": "i3", "subscription_id": "x", "log_offset": 70},
        {"incident_id": "i4", "subscription_id": "x", "log_offset": 60},
        {"incident_id": "i4", "subscription_id": "y", "log_offset": 61},
        {"incident_id": "i5", "subscription_id": "y", "log_offset": 62},
    )
    step = {"kind": "acknowledged", "user_id": "u", "user_name": "ben", "at_ms": 1}
    fill(older, "alert_incident_step", {**step, "id": "s", "incident_id": "i4"})
    migrate(older)

    log = AlertIncidentLog(older)
    lead = log.find("INC-3")
    assert lead is not None
    assert (lead.status, lead.opened_offset, lead.opened_event_id) == (ACKNOWLEDGED, 25, "e25")
    assert (lead.assignee, lead.merged_into) == ({"id": "ann", "type": "user"}, None)
    for number in (4, 5):
        part = log.find(f"INC-{number}")
        assert part is not None
        assert (part.id, part.status, part.merged_into) == (f"i{number}", ACKNOWLEDGED, IncidentName("i3", 3))
    assert log.watchers(["i1", "i2", "i3", "i6"]) == {"i1": ["a"], "i2": ["b"], "i3": ["a", "b", "c"], "i6": ["a"]}
    assert [step.user_name for step in log.steps("i3")] == ["ben"]
    assert [one.number for one in log.page(AlertIncidentFilter(unresolved=True), limit=9)] == [6, 3]
    with older.connect() as connection:
        claims = sorted(tuple(row) for row in connection.execute(select(alert_held_back)))
        since = dict(
            connection.execute(
                select(incident_watcher.c.subscription_id, incident_watcher.c.opened_offset).where(
                    incident_watcher.c.incident_id == "i3"
                )
            ).all()
        )
    assert claims == [("i3", "x", 70), ("i3", "y", 61)]
    assert since == {"a": 25, "b": 30, "c": 50}, "each holds others back from its own first failure"


def test_what_fails_after_the_migration_belongs_to_the_incident_that_stayed(store_engine: Engine) -> None:
    company = SmallCompany(store_engine)
    company.pipeline("etl")
    company.clock.advance(1_000)
    for name in ("first", "second"):
        company.alert(name, [], "pipelineStatus == 'Failed'", resources=("pipeline",))
    company.run("etl", "Failed")
    notify_all(store_engine)
    with writing(store_engine) as connection:  # the id that the incident of an alert had
        connection.execute(alert_incident.update().values(id="of an alert"))
        connection.execute(incident_watcher.update().values(incident_id="of an alert"))
    for status in ("Failed", "Successful"):
        company.run("etl", status)
    notify_all(store_engine)
    (incident,) = AlertIncidentLog(store_engine).page(AlertIncidentFilter(), limit=9)
    assert (incident.id, incident.number, incident.status) == ("of an alert", 1, RESOLVED)


def test_the_record_of_a_test_to_which_a_stored_incident_belongs_is_found(older: Engine) -> None:
    fill(
        older,
        "alert_incident",
        *(incident_row(number, "a", "case", status) for number, status in ((1, RESOLVED), (3, RESOLVED), (5, OPEN))),
        incident_row(6, "a", "etl", OPEN, entity_type="pipeline"),
    )
    step = {"test_case_id": "case", "tested_id": "t", "latest": False, "document": "{}"}
    steps = (("first", 5, "New"), ("first", 20, "Resolved"), ("second", 28, "New"), ("second", 60, "Ack"))
    states = [
        {**step, "id": f"s{at}", "state_id": state, "timestamp_ms": at, "status": status, "latest": at == 60}
        for state, at, status in steps
    ]
    fill(older, "incident_status", *states)
    migrate(older)
    log = AlertIncidentLog(older)
    incidents = [log.find(f"INC-{number}") for number in (1, 3, 5, 6)]
    assert [one and one.state_id for one in incidents] == ["first", "second", "second", None]
