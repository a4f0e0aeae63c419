"""Tests of alerts that incidents of others hold back, on both stores: told once, then nothing until it is over."""

from __future__ import annotations

import json
from collections import ChainMap
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pyarrow as pa
import pytest
from sqlalchemy import Engine, select
from tests.company import SmallCompany
from tests.notifying import dependencies_of, notify_all
from tests.store.test_resolving import Here, match_rows, restrict, work_of

from tocsin.access.permission_cache import PermissionCache
from tocsin.access.person_visibility import Visibility
from tocsin.alerts.incidents import Handling, handle
from tocsin.flow.match.plan import recovery_plan
from tocsin.flow.once import notifications_for
from tocsin.flow.resolve.holding import Waiting
from tocsin.jobs.resolving import Notify
from tocsin.model.alert_incident import StepKind
from tocsin.model.notification import Reason
from tocsin.model.people import SYSTEM
from tocsin.store.catalogue.access.entity_states import SqlEntityStates
from tocsin.store.catalogue.access.subjects import SqlSubjects
from tocsin.store.catalogue.alerts.incidents import AlertIncidentLog
from tocsin.store.catalogue.alerts.subscriptions import Subscriptions
from tocsin.store.database.alert_tables import match_result
from tocsin.store.database.tables import notification
from tocsin.store.eventlog.log import EventLog
from tocsin.store.recipients.holding import Holding

BELL = [{"category": "Owners", "type": "ActivityFeed"}]


@pytest.fixture
def company(store_engine: Engine) -> SmallCompany:
    """The pipeline ``load`` feeds the table ``orders``, and that ``revenue``; changes of tables depend on ``load``."""
    small_company = SmallCompany(store_engine)
    small_company.pipeline("load")
    small_company.pipeline("other")
    ends = {
        "fromEntity": {"id": small_company.ids["load"], "type": "pipeline"},
        "toEntity": {"id": small_company.ids["orders"]},
    }
    small_company.writes.put_edge(
        {**ends, "toEntity": {"id": small_company.ids["orders"], "type": "table"}}, actor=SYSTEM
    )
    small_company.clock.advance(1_000)
    small_company.alert("loads", BELL, "pipelineStatus == 'Failed'", resources=("pipeline",))
    small_company.alert("tables", BELL, "fieldChanged == 'description'", resources=("table",))
    link = {
        "op": "add",
        "path": "/dependsOn",
        "value": [{"id": small_company.ids["loads"], "type": "eventsubscription"}],
    }
    small_company.writes.patch("eventsubscription", small_company.key("tables"), [link], actor=SYSTEM)
    return small_company


def process(company: SmallCompany, *, at_once: bool = False) -> Notify:
    """Let a task resolve the whole log once more: each event as a micro-batch, or all in one; return the work."""
    work = work_of(company.engine)
    alerts = Subscriptions(company.engine).list_enabled()
    depending = {one.id: tuple(each.id for each in one.depends_on) for one in alerts if one.depends_on}
    shared = replace(work.alerts.value, opening=frozenset({company.ids["loads"]}), depending=depending)
    work = replace(work, alerts=Here(shared))
    all_matches = match_rows(company.engine, recovery_plan())
    for matches in [all_matches] if at_once else [[row] for row in all_matches]:
        list(work(iter([pa.RecordBatch.from_pylist(matches)])))
    return work


def held_by_text(company: SmallCompany) -> list[tuple[str, bool]]:
    """Of each notification of a table, its text and whether it names an incident."""
    log = EventLog(company.engine)
    with company.engine.connect() as connection:
        notification_rows = connection.execute(
            select(notification).order_by(notification.c.log_offset, notification.c.id)
        ).all()
    texts = {}
    for row in notification_rows:
        event = log.find(row.event_id)
        assert event is not None
        if event.event.entity_type == "table":
            texts[str((event.event.entity or {}).get("description"))] = "INC-1" in row.reasons
    return list(texts.items())


@pytest.mark.parametrize("at_once", [False, True])
def test_downstream_of_an_incident_one_notification_names_it_and_the_rest_waits(
    company: SmallCompany, at_once: bool
) -> None:
    company.describe("orders", "before")
    company.run("load", "Failed")
    for table, text in (("revenue", "first"), ("orders", "second"), ("revenue", "third")):
        company.describe(table, text, by="cem")
    process(company, at_once=at_once)
    assert held_by_text(company) == [("before", False), ("first", True)]
    company.run("load", "Successful")
    company.describe("orders", "after", by="cem")
    process(company, at_once=at_once)
    expected_texts = [("before", False), ("first", True), ("after", False)]
    assert held_by_text(company) == expected_texts
    process(company, at_once=at_once)
    assert held_by_text(company) == expected_texts, "repeating everything tells nothing more"
    with company.engine.connect() as connection:
        result = match_result.c
        counts = select(result.notified_count).where(result.subscription_id == company.ids["tables"])
        assert sorted(connection.scalars(counts)) == [0, 0, 1, 2, 2]


def test_one_event_at_a_time_says_the_same(company: SmallCompany) -> None:
    company.run("load", "Failed")
    for table, text in (("revenue", "first"), ("orders", "second")):
        company.describe(table, text, by="cem")
    process(company)
    alerts = [alert for alert in Subscriptions(company.engine).list_enabled() if alert.name == "tables"]
    dependencies = dependencies_of(company.engine, alerts, company.clock)
    first, second = EventLog(company.engine).read(0, 1_000)[-2:]
    incidents = {
        reason.held_by
        for notification in notifications_for(first, alerts, dependencies)
        for reason in notification.draft.reasons.in_order
    }
    assert incidents == {"INC-1"}
    assert notifications_for(second, alerts, dependencies) == []


def test_what_is_not_downstream_or_does_not_depend_is_not_held_back(company: SmallCompany) -> None:
    company.run("other", "Failed")
    for text in ("one", "two"):
        company.describe("orders", text, by="cem")
    process(company)
    assert held_by_text(company) == [("one", False), ("two", False)]


def test_an_incident_that_is_resolved_by_hand_holds_back_no_longer(company: SmallCompany) -> None:
    company.run("load", "Failed")
    for text in ("one", "two"):
        company.describe("orders", text, by="cem")
    process(company)
    incident = AlertIncidentLog(company.engine).find("INC-1")
    assert incident is not None
    company.writes.within(lambda record: handle(record, incident.id, Handling(StepKind.RESOLVED)), actor=SYSTEM)
    company.describe("orders", "three", by="cem")
    process(company)
    assert held_by_text(company) == [("one", True), ("three", False)]


def test_of_two_writers_at_once_one_event_passes(company: SmallCompany) -> None:
    company.run("load", "Failed")
    notify_all(company.engine)
    offsets = []
    for text in ("one", "two", "three", "four"):
        company.describe("orders", text, by="cem")
        offsets.append(EventLog(company.engine).readable_end())
    alert, upstream = company.ids["tables"], company.ids["loads"]
    waiting = [Waiting(one, company.ids["orders"], alert, (upstream,)) for one in offsets]
    holding = Holding(company.engine)
    with ThreadPoolExecutor(4) as pool:
        held_by_pairs = list(pool.map(lambda one: holding.find_held_back([one], may_claim=True), waiting))
    assert [len(one) for one in held_by_pairs] == [1] * 4
    assert sum(held.passes for one in held_by_pairs for held in one.values()) == 1
    assert holding.find_held_back(waiting, may_claim=False) == dict(ChainMap(*held_by_pairs))


def test_an_incident_of_what_an_editor_may_not_view_does_not_hold_the_alert_back(company: SmallCompany) -> None:
    deny = {"name": "No", "effect": "deny", "operations": ["ViewAll"], "resources": ["pipeline"]}
    restrict(company, "ana", deny)
    company.clock.advance(1_000)
    changed = {"op": "add", "path": "/description", "value": "Mine as well."}
    company.writes.patch("eventsubscription", company.key("tables"), [changed], actor=company.actor("ana"))
    company.run("load", "Failed")
    for text in ("one", "two"):
        company.describe("orders", text, by="cem")
    process(company)
    assert held_by_text(company) == [("one", False), ("two", False)], "silence would tell ana that the load failed"


def test_an_incident_is_named_to_those_who_may_view_its_asset(company: SmallCompany) -> None:
    company.run("load", "Failed")
    company.describe("orders", "one", by="cem")
    process(company)
    with company.engine.connect() as connection:
        texts = connection.scalars(select(notification.c.reasons)).all()
    reasons = [Reason.model_validate(reason) for text in texts for reason in json.loads(text)]
    reason = next(one for one in reasons if one.held_by)
    for hidden_type, name in (("eventsubscription", "INC-1"), ("pipeline", None)):
        restrict(
            company, "ana", {"name": "No", "effect": "deny", "operations": ["ViewAll"], "resources": [hidden_type]}
        )
        policies = PermissionCache(SqlSubjects(company.engine)).current_policies()
        states = SqlEntityStates(company.engine)
        sights = {who: Visibility(policies.of(company.ids[who]), states) for who in ("ana", "cem")}
        incidents_by_person = {who: sight.reasons([reason])[0].held_by for who, sight in sights.items()}
        assert incidents_by_person == {"ana": name, "cem": "INC-1"}, hidden_type
        assert sights["ana"].sees_incidents(["INC-1", "INC-99"]) == ({name} if name else set())
        assert ("INC-1" in sights["ana"].reasons([reason])[0].sentence()) is (name is not None)
