"""Tests of incidents of alerts on both stores: the same whatever the order, repetition and number of writers."""

from __future__ import annotations

import random
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any

import pytest
from sqlalchemy import Engine, Row, delete, select
from tests.company import SmallCompany
from tests.notifying import incident_work, notify_all
from tests.soak import SOAK

from tocsin.alerts.incidents import Handling, handle
from tocsin.catalogue.observations.silences import Silence, add_silence
from tocsin.errors import Conflict, NotFound
from tocsin.flow.match.local import matches
from tocsin.flow.match.plan import plan_of
from tocsin.flow.track.alert_incidents import IncidentWork
from tocsin.model.alert_incident import AlertIncident, IncidentStatus, StepKind
from tocsin.model.change import LoggedEvent
from tocsin.model.match_result import Pair
from tocsin.model.severity import Severity
from tocsin.model.stored import Written
from tocsin.model.subscription import AlertType
from tocsin.store.catalogue.alerts.incidents import AlertIncidentFilter, AlertIncidentLog
from tocsin.store.catalogue.alerts.subscriptions import Subscriptions
from tocsin.store.database.alert_tables import alert_incident, incident_watcher
from tocsin.store.database.engine import writing
from tocsin.store.eventlog.log import EventLog
from tocsin.store.outbox.notifications import Notifications

BELL = {"category": "Owners", "type": "ActivityFeed"}
OPEN, ACKNOWLEDGED, RESOLVED = IncidentStatus.OPEN, IncidentStatus.ACKNOWLEDGED, IncidentStatus.RESOLVED
PIPELINES = ("etl", "loads")


@pytest.fixture
def company(store_engine: Engine) -> SmallCompany:
    """Two pipelines, an alert whose condition is about failures, and one that asks for nothing."""
    small_company = SmallCompany(store_engine)
    for name in PIPELINES:
        small_company.pipeline(name, owners=[{"type": "user", "name": "dia"}])
    small_company.clock.advance(1_000)
    small_company.alert("failed", [BELL], "pipelineStatus == 'Failed'", resources=("pipeline",))
    small_company.alert("everything", [BELL], resources=("pipeline",))
    return small_company


def rows_of_incidents(engine: Engine) -> list[tuple[object, ...]]:
    """Every incident without its number, and who watches which since when."""
    columns = [one for one in alert_incident.c if one.name not in ("number", "updated_at_ms")]
    with engine.connect() as connection:
        incident_rows = sorted(tuple(row) for row in connection.execute(select(*columns)))
        return [*incident_rows, *sorted(tuple(row) for row in connection.execute(select(incident_watcher)))]


def watchers(company: SmallCompany, name: str = "INC-1") -> list[str]:
    """Names of the alerts that watch an incident, in the order in which they began."""
    log, names = AlertIncidentLog(company.engine), {identity: name for name, identity in company.ids.items()}
    incident = log.find(name)
    assert incident is not None
    return [names[alert] for alert in log.watchers([incident.lead_id])[incident.lead_id]]


def observe_everything(company: SmallCompany) -> None:
    """Let the other alert open incidents as well."""
    patch = [{"op": "replace", "path": "/alertType", "value": AlertType.OBSERVABILITY.value}]
    company.writes.patch("eventsubscription", company.key("everything"), patch, actor=company.actor("ana"))


def incidents(company: SmallCompany, **parameters: object) -> list[AlertIncident]:
    found_incidents = AlertIncidentLog(company.engine).page(AlertIncidentFilter(**parameters), limit=100)  # type: ignore[arg-type]
    return list(reversed(found_incidents))


def states(company: SmallCompany) -> list[tuple[str, IncidentStatus, bool]]:
    """Name and status of each incident, and whether a success has resolved it."""
    return [(one.name, one.status, one.recovered_offset is not None) for one in incidents(company)]


def handle_incident(company: SmallCompany, name: str, handling: Handling, by: str = "dia") -> Written:
    incident = AlertIncidentLog(company.engine).find(name)
    assert incident is not None
    company.clock.advance(1_000)
    return company.writes.within(lambda record: handle(record, incident.id, handling), actor=company.actor(by))


def test_a_failure_opens_one_incident_and_the_next_success_resolves_it(company: SmallCompany) -> None:
    for status in ("Failed", "Failed"):
        company.run("etl", status)
    notify_all(company.engine)
    assert states(company) == [("INC-1", OPEN, False)]
    assert watchers(company) == ["failed"]
    company.run("loads", "Failed")
    company.run("etl", "Pending")
    notify_all(company.engine)
    assert states(company) == [("INC-1", OPEN, False), ("INC-2", OPEN, False)]
    company.run("etl", "Successful")
    company.run("etl", "Failed")
    notify_all(company.engine)
    assert states(company) == [("INC-1", RESOLVED, True), ("INC-2", OPEN, False), ("INC-3", OPEN, False)]
    assert [one.number for one in incidents(company, unresolved=True, asset_id=company.ids["etl"])] == [3]


def test_incidents_are_found_by_who_owns_what_failed_and_whether_anybody_is_on_them(company: SmallCompany) -> None:
    for pipeline in ("etl", "loads"):
        company.run(pipeline, "Failed")
    notify_all(company.engine)
    owners = [{"op": "add", "path": "/owners", "value": [{"id": company.ids["ben"], "type": "user"}]}]
    company.writes.patch("pipeline", company.key("etl"), owners, actor=company.actor("ana"))
    ben = {company.ids["ben"]}
    assert [one.name for one in incidents(company, owner_ids=ben)] == ["INC-1"]
    assert incidents(company, owner_ids=set()) == []
    assert [one.name for one in incidents(company, unattended=True)] == ["INC-1", "INC-2"]
    handle_incident(company, "INC-1", Handling(StepKind.ACKNOWLEDGED))
    assert [one.name for one in incidents(company, unattended=True)] == ["INC-2"]
    assert incidents(company, owner_ids=ben, unattended=True) == []


def test_alerts_that_match_a_failure_watch_one_incident_acknowledged_and_resolved_for_all(
    company: SmallCompany,
) -> None:
    company.run("etl", "Failed")
    notify_all(company.engine)
    assert watchers(company) == ["failed"]
    observe_everything(company)
    company.run("etl", "Failed")
    notify_all(company.engine)
    assert (states(company), watchers(company)) == ([("INC-1", OPEN, False)], ["failed", "everything"])
    for name in ("failed", "everything"):
        assert [one.number for one in incidents(company, subscription_id=company.ids[name])] == [1]
    handle_incident(company, "INC-1", Handling(StepKind.ACKNOWLEDGED))
    company.run("etl", "Failed")
    notify_all(company.engine)
    assert states(company) == [("INC-1", ACKNOWLEDGED, False)]
    handle_incident(company, "INC-1", Handling(StepKind.RESOLVED))
    company.run("etl", "Failed")
    notify_all(company.engine)
    assert states(company) == [("INC-1", RESOLVED, False), ("INC-2", OPEN, False)]
    assert set(watchers(company, "INC-2")) == {"failed", "everything"}
    company.run("etl", "Successful")
    notify_all(company.engine)
    assert states(company) == [("INC-1", RESOLVED, False), ("INC-2", RESOLVED, True)]


def test_severity_is_the_worst_of_the_tier_and_of_the_alerts_that_watch_it(company: SmallCompany) -> None:
    def tag(tier: int) -> dict[str, object]:
        return {"tagFQN": f"Tier.Tier{tier}", "source": "Classification", "labelType": "Manual", "state": "Confirmed"}

    company.put("classification", {"name": "Tier", "description": "Tiers"})
    for number in (2, 4):
        company.put("tag", {"name": f"Tier{number}", "classification": "Tier", "description": "A tier"})
    company.table("orders", tags=[tag(2)])
    for name in ("untiered", "tiered"):
        company.test_case("orders", name, **({"tags": [tag(4)]} if name == "tiered" else {}))
        company.result("orders", "Failed", name)
    company.alert("tests", [BELL], "testStatus == 'Failed'", resources=("testCase",))
    company.clock.advance(1_000)
    for name in ("untiered", "tiered"):
        company.result("orders", "Failed", name)
    company.run("etl", "Failed")
    notify_all(company.engine)

    def severities() -> dict[str, object]:
        names = {identity: name for name, identity in company.ids.items()}
        return {names[one.entity_id]: one.severity for one in incidents(company)}

    assert severities() == {"untiered": Severity.SEVERITY_2, "tiered": Severity.SEVERITY_4, "etl": None}
    assert [one.number for one in incidents(company, severity=Severity.SEVERITY_2)] == [1]

    def fail_again(*alerts: tuple[str, str]) -> None:
        for name, severity in alerts:
            company.alert(name, [BELL], "testStatus == 'Failed'", resources=("testCase",), severity=severity)
        company.clock.advance(1_000)
        company.result("orders", "Failed", "untiered")
        notify_all(company.engine)

    fail_again(("lenient", "Severity5"))
    assert severities()["untiered"] == Severity.SEVERITY_2, "a watcher never lowers it"
    lower = [{"op": "replace", "path": "/tags", "value": [tag(4)]}]
    company.writes.patch("table", company.key("orders"), lower, actor=company.actor("ana"))
    fail_again(("middle", "Severity3"))
    assert severities()["untiered"] == Severity.SEVERITY_2, "nor does it follow a tier that was lowered"
    fail_again(("strict", "Severity1"))
    assert severities() == {"untiered": Severity.SEVERITY_1, "tiered": Severity.SEVERITY_4, "etl": None}


def test_an_alert_of_who_is_no_administrator_rates_no_incident(company: SmallCompany) -> None:
    company.alert("shared", [BELL], "pipelineStatus == 'Failed'", resources=("pipeline",), severity="Severity4")
    company.alert("bens", [BELL], "pipelineStatus == 'Failed'", resources=("pipeline",), severity="Severity1")
    described = [{"op": "add", "path": "/description", "value": "mine"}]
    company.writes.patch("eventsubscription", company.key("bens"), described, actor=company.actor("ben"))
    company.clock.advance(1_000)
    company.run("etl", "Failed")
    notify_all(company.engine)
    assert ([one.severity for one in incidents(company)], "bens" in watchers(company)) == ([Severity.SEVERITY_4], True)


def test_a_silence_opens_an_incident_as_a_failure_does_and_a_success_ends_it(company: SmallCompany) -> None:
    company.alert("late", [BELL], "noSuccessFor('1h')", resources=("pipeline",))
    company.run("etl", "Successful")
    since_ms = company.clock.now_ms()
    notify_all(company.engine)
    company.clock.advance(3_600_000)
    silence = Silence(company.ids["etl"], since_ms, 3_600_000, company.clock.now_ms())
    add_silence(company.writes, "pipeline", silence)
    notify_all(company.engine)
    assert (states(company), watchers(company)) == ([("INC-1", OPEN, False)], ["late"])
    company.run("etl", "Failed")
    notify_all(company.engine)
    assert (states(company), watchers(company)) == ([("INC-1", OPEN, False)], ["late", "failed"])
    company.run("etl", "Successful")
    notify_all(company.engine)
    assert states(company) == [("INC-1", RESOLVED, True)]


def test_an_observability_alert_opens_incidents_without_a_condition(company: SmallCompany) -> None:
    observe_everything(company)
    company.run("etl", "Failed")
    notify_all(company.engine)
    assert set(watchers(company)) == {"failed", "everything"}
    company.run("etl", "Successful")
    notify_all(company.engine)
    assert [one.status for one in incidents(company)] == [RESOLVED]


def test_a_late_report_of_an_earlier_run_neither_opens_nor_resolves(company: SmallCompany) -> None:
    company.run("etl", "Failed")
    old_ms = company.clock.now_ms() - 30_000
    company.run("etl", "Successful", at_ms=old_ms)
    notify_all(company.engine)
    assert states(company) == [("INC-1", OPEN, False)]
    company.run("loads", "Successful")
    company.run("loads", "Failed", at_ms=old_ms)
    notify_all(company.engine)
    assert len(incidents(company)) == 1


def test_what_fails_after_it_was_resolved_by_hand_is_another_incident(company: SmallCompany) -> None:
    company.run("etl", "Failed")
    notify_all(company.engine)
    assert handle_incident(company, "INC-1", Handling(StepKind.RESOLVED)).event is not None
    assert states(company) == [("INC-1", RESOLVED, False)]
    with pytest.raises(Conflict, match=r"INC-1 is resolved"):
        handle_incident(company, "INC-1", Handling(StepKind.ASSIGNED, assignee={"type": "user", "name": "ana"}))
    assert handle_incident(company, "INC-1", Handling(StepKind.RESOLVED)).event is None, "it is resolved already"
    company.run("etl", "Failed")
    company.run("etl", "Successful")
    before = notify_and_show(company)
    assert states(company) == [("INC-1", RESOLVED, False), ("INC-2", RESOLVED, True)]
    process(company.engine, pieces(company.engine, random.Random(5)))
    assert rows_of_incidents(company.engine) == before


def test_steps_are_kept_and_the_assignee_is_told(company: SmallCompany) -> None:
    company.alert("told", [{"category": "Assignees", "type": "ActivityFeed"}], "eventType == 'alertIncidentUpdated'")
    company.run("etl", "Failed")
    notify_all(company.engine)
    assigning = Handling(StepKind.ASSIGNED, "please look", {"type": "team", "name": "tills"})
    event = handle_incident(company, "INC-1", assigning).event
    assert event is not None
    assert (event.event_type, event.entity_id) == ("alertIncidentUpdated", company.ids["etl"])
    handle_incident(company, "INC-1", Handling(StepKind.ACKNOWLEDGED), by="ben")
    assert handle_incident(company, "INC-1", Handling(StepKind.ACKNOWLEDGED), by="ben").event is None
    company.run("etl", "Failed")
    notify_all(company.engine)
    (incident,) = incidents(company, assignee_ids={company.ids["tills"]})
    assert incident.status is ACKNOWLEDGED
    steps = AlertIncidentLog(company.engine).steps(incident.id)
    assert [(one.kind, one.user_name, one.comment) for one in steps] == [
        (StepKind.ASSIGNED, "dia", "please look"),
        (StepKind.ACKNOWLEDGED, "ben", None),
    ]
    event_ids = [row.event_id for row in inbox(company, "ben")]
    assert event_ids == [event.id], "of the assignment, not of what ben did, nor of what else happens to the asset"


def test_an_alert_that_does_not_name_the_type_hears_of_results_and_not_of_who_acknowledged_them(
    company: SmallCompany,
) -> None:
    company.run("etl", "Failed")
    notify_all(company.engine)
    before = len(inbox(company, "dia"))
    assert handle_incident(company, "INC-1", Handling(StepKind.ACKNOWLEDGED), by="ben").event is not None
    notify_all(company.engine)
    assert (before, len(inbox(company, "dia"))) == (1, 1)


def inbox(company: SmallCompany, name: str) -> list[Row[Any]]:
    from tocsin.store.database.tables import notification

    with company.engine.connect() as connection:
        query = select(notification).where(notification.c.recipient_id == company.ids[name])
        return list(connection.execute(query))


def test_an_incident_that_is_not_there_is_not_found(company: SmallCompany) -> None:
    with pytest.raises(NotFound):
        company.writes.within(
            lambda record: handle(record, "none", Handling(StepKind.RESOLVED)), actor=company.actor("ana")
        )
    assert AlertIncidentLog(company.engine).find("INC-1") is None


def notify_and_show(company: SmallCompany) -> list[tuple[object, ...]]:
    notify_all(company.engine)
    return rows_of_incidents(company.engine)


def pieces(engine: Engine, chance: random.Random) -> list[IncidentWork]:
    """The matches of the whole log as tasks of several queries may meet them: apart, in any order, some twice."""
    alerts = {one.id: plan_of(one) for one in Subscriptions(engine).list_enabled()}
    portions: list[IncidentWork] = []
    for logged in EventLog(engine).read(0, 10_000):
        pairs: list[Pair] = [(logged.offset, one) for one, plan in alerts.items() if matches(plan, logged)]
        full_work = incident_work(engine, pairs, now_ms=1)
        recovering = frozenset({logged.event.entity_id}) if _is_success(logged) else frozenset[str]()
        for pair in full_work.failing:  # each alert by a query of its own
            portions += [IncidentWork((pair,), frozenset(), 1)] * chance.choice((1, 1, 2))
        portions += [IncidentWork((), recovering, 1)] * chance.choice((1, 1, 2))
    chance.shuffle(portions)
    return portions


def _is_success(logged: LoggedEvent) -> bool:
    return logged.derived.get("pipelineStatus") == "Successful"


def process(engine: Engine, works: Sequence[IncidentWork]) -> None:
    for work in works:
        Notifications(engine).add([], work=work)


def forget(engine: Engine) -> None:
    with writing(engine) as connection:
        connection.execute(delete(alert_incident))
        connection.execute(delete(incident_watcher))


def random_runs(company: SmallCompany, chance: random.Random, count: int) -> set[tuple[str, int, int | None]]:
    """Report runs, some of an earlier time; return the incidents that follow, worked out one by one."""
    open_at, newest, incident_spans = dict[str, int](), dict[str, int](), list[tuple[str, int, int | None]]()
    for _ in range(count):
        name, status = chance.choice(PIPELINES), chance.choice(("Failed", "Failed", "Successful", "Pending"))
        at_ms = company.clock.now_ms() + 60_000 - chance.choice((0, 0, 0, 90_500))
        if company.run(name, status, at_ms=at_ms) is None:
            continue
        offset = EventLog(company.engine).readable_end()
        if status == "Pending" or at_ms < newest.get(name, 0):
            continue
        newest[name] = at_ms
        if status == "Failed":
            open_at.setdefault(name, offset)
        elif name in open_at:
            incident_spans.append((company.ids[name], open_at.pop(name), offset))
    return {*incident_spans, *((company.ids[name], offset, None) for name, offset in open_at.items())}


@pytest.mark.parametrize("seed", range(12 if SOAK else 1))
@pytest.mark.soak_on_postgresql
def test_repeated_and_reordered_micro_batches_give_the_same_incidents(company: SmallCompany, seed: int) -> None:
    observe_everything(company)
    chance = random.Random(seed)
    expected_incidents = random_runs(company, chance, 24)
    process(company.engine, pieces(company.engine, chance))
    first = rows_of_incidents(company.engine)
    opened_incidents = incidents(company)
    assert {(one.entity_id, one.opened_offset, one.recovered_offset) for one in opened_incidents} == expected_incidents
    assert [one.number for one in opened_incidents] == list(range(1, len(expected_incidents) + 1))
    process(company.engine, pieces(company.engine, chance))
    assert rows_of_incidents(company.engine) == first
    forget(company.engine)
    notify_all(company.engine)
    assert rows_of_incidents(company.engine) == first


def test_two_writers_at_once_open_each_incident_once_and_number_them_without_gaps(company: SmallCompany) -> None:
    observe_everything(company)
    for number in range(8):
        company.pipeline(f"p{number}")
        company.run(f"p{number}", "Failed")
        company.run(f"p{number}", "Successful" if number % 2 else "Failed")
    works = pieces(company.engine, random.Random(1))
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda some: process(company.engine, some), (works, list(reversed(works)))))
    opened_incidents = incidents(company)
    assert [one.number for one in opened_incidents] == list(range(1, 9))
    assert [one.status for one in opened_incidents].count(RESOLVED) == 4
    assert all(set(watchers(company, one.name)) == {"failed", "everything"} for one in opened_incidents)
    assert len(rows_of_incidents(company.engine)) == 8 + 16


def test_acknowledging_while_a_success_resolves_it_leaves_it_resolved(company: SmallCompany) -> None:
    for number in range(6):
        company.pipeline(f"p{number}")
        company.run(f"p{number}", "Failed")
    notify_all(company.engine)
    for number in range(6):
        company.run(f"p{number}", "Successful")
    names = [one.name for one in incidents(company)]

    def acknowledge() -> None:
        for name in names:
            incident = AlertIncidentLog(company.engine).find(name)
            assert incident is not None
            with suppress(Conflict):
                company.writes.within(
                    partial(handle, incident_id=incident.id, handling=Handling(StepKind.ACKNOWLEDGED)),
                    actor=company.actor("ben"),
                )

    with ThreadPoolExecutor(2) as pool:
        handling, resolving = pool.submit(acknowledge), pool.submit(notify_all, company.engine)
        handling.result(), resolving.result()
    notify_all(company.engine)
    assert states(company) == [(name, RESOLVED, True) for name in names]


def test_what_matches_nothing_of_incidents_asks_nothing(company: SmallCompany) -> None:
    company.describe("orders", "text")
    notify_all(company.engine)
    assert incidents(company) == []
    assert not Subscriptions(company.engine).has_open_incidents()
    company.run("etl", "Failed")
    notify_all(company.engine)
    assert Subscriptions(company.engine).has_open_incidents()
