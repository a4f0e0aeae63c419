"""Store of a small company in the middle of what takes days, as the commit makes it that this file belongs to.

``python -m tests.acceptance.earlier_features DIR``, with the sources of that commit on the path: incidents that are
merged and reminded of, a check that waits for its digest, a change request with answers, a deleted schema, an alert
that expires soon. ``facts.json`` says what is stored of all this.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, func, select
from tests.company import SmallCompany
from tests.notifying import notify_all
from tests.store.test_alert_incidents import BELL
from tests.store.test_change_upkeep import ask_for_answer
from tests.store.test_incident_merging import merge_incident
from tests.store.test_reminders import FAILED, HOUR_MS, fail, hourly, look
from tests.store.test_scheduled_checks import CEMS_MAIL, EIGHT, due_check, state_of, write

from tocsin.jobs.expiry import ExpiryJob
from tocsin.model.entity import Document
from tocsin.model.preferences import DefaultPreferences
from tocsin.store.catalogue.alerts.incidents import AlertIncidentFilter, AlertIncidentLog
from tocsin.store.catalogue.alerts.subscriptions import Subscriptions
from tocsin.store.catalogue.changes.requests import ChangeRequestLog
from tocsin.store.database.engine import open_engine, reading
from tocsin.store.database.schema import migrate
from tocsin.store.database.tables import message, notification
from tocsin.store.eventlog.log import EventLog
from tocsin.store.outbox.preferences import SqlPreferences
from tocsin.store.outbox.scheduled_checks import LastCheck, ScheduledChecks

DAY_MS = 86_400_000
FACTS = "facts.json"


def main(folder: Path) -> None:
    """Write the store and what is in it."""
    engine = open_engine(f"sqlite:///{folder / 'tocsin.db'}", synchronous="NORMAL")
    migrate(engine)
    SqlPreferences(engine).put_defaults(DefaultPreferences(), now_ms=0)  # nothing waits for a digest of its reader
    company = SmallCompany(engine)
    handle_failures(company)
    check_what_has_no_owner(company)
    delete_schema(company)
    ask_for_answer(company, "dia", why="unused", comment="soon")
    assert ExpiryJob(engine, company.clock).look() == 1
    notify_all(engine, now_ms=company.clock.now_ms())
    facts = facts_of(engine) | {"ids": company.ids, "nowMs": company.clock.now_ms()}
    (folder / FACTS).write_text(json.dumps(facts))
    engine.dispose()


def handle_failures(company: SmallCompany) -> None:
    """Let two pipelines fail, merge their incidents, and remind of them once."""
    for name in ("etl", "loads"):
        company.pipeline(name, owners=[{"type": "user", "name": "dia"}])
    company.clock.advance(1_000)
    own_fields: dict[str, Any] = {"severity": "Severity2", "runbook": "Call."}
    own_fields["expires"] = company.clock.now_ms() + 3 * DAY_MS
    company.alert("hourly", [BELL], FAILED, resources=("pipeline",), trigger=hourly(), **own_fields)
    fail(company, "etl", "loads")
    merge_incident(company, "INC-2", "INC-1")
    assert look(company, after_ms=HOUR_MS) == 1


def check_what_has_no_owner(company: SmallCompany) -> None:
    """Check a schedule, whose digest waits for the pipeline."""
    company.table("orphan")
    alert_id = company.alert("red", [CEMS_MAIL], "stillWithoutOwner()", resources=("table",), trigger=EIGHT)
    (alert,) = Subscriptions(company.engine).list_enabled({alert_id})
    check = due_check(company, alert)
    assert write(company, check, state_of(company, "orphan", may_lack_owner=True)) == 1
    notify_all(company.engine, now_ms=check.due_at_ms)
    through = EventLog(company.engine).readable_end()
    ScheduledChecks(company.engine).keep({check.schedule_id: LastCheck(check.due_at_ms, through)})


def delete_schema(company: SmallCompany) -> None:
    """Delete a schema of two tables, whose owner hears of the tables and not of the schema."""
    owners = [{"type": "user", "name": "dia"}]
    company.put("databaseSchema", {"name": "old", "database": "pg.store"})
    for name in ("first", "second"):
        fields: Document = {"columns": [{"name": "id", "dataType": "INT"}], "owners": owners}
        company.put("table", {"name": name, "databaseSchema": "pg.store.old", **fields})
    company.alert("gone", [BELL], "matchAnyEventType({'entitySoftDeleted'})")
    company.writes.delete("databaseSchema", company.key("old"), actor=company.actor("ana"), recursive=True)


def facts_of(engine: Engine) -> Document:
    """Return what a store holds of all this, as JSON has it."""
    incidents, requests = AlertIncidentLog(engine), ChangeRequestLog(engine)
    stored_incidents = sorted(incidents.page(AlertIncidentFilter(), limit=99), key=lambda one: one.number)
    request = requests.find("CR-1")
    assert request is not None
    with reading(engine) as connection:
        parts = select(func.count()).where(notification.c.whole_id.is_not(None))
        waiting = select(message.c.id, message.c.due_at_ms).order_by(message.c.id)
        return {
            "incidents": [
                [incident.name, incident.status, incident.part_of, [step.kind for step in incidents.steps(incident.id)]]
                for incident in stored_incidents
            ],
            "answers": [[one.consumer.id, one.answer and one.answer.verdict] for one in requests.consumers(request.id)],
            "steps": [step.kind for step in requests.steps(request.id, limit=99)],
            "parts": connection.scalar(parts),
            "messages": [list(row) for row in connection.execute(waiting)],
            "checks": {one: vars(last) for one, last in ScheduledChecks(engine).last_checks().items()},
            "expiries": {one.name: one.expires for one in Subscriptions(engine).list_enabled() if one.expires},
        }


if __name__ == "__main__":
    main(Path(sys.argv[1]))
