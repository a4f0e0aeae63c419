"""Tests of failures that are gathered under their lineage root, on both stores."""

from __future__ import annotations

import json
from dataclasses import replace

import pyarrow as pa
import pytest
from sqlalchemy import Engine, event, select
from tests.company import SmallCompany
from tests.notifying import dependencies_of
from tests.store.test_resolving import NOW_MS, Here, match_rows, work_of

from tocsin.access.permission_cache import PermissionCache
from tocsin.access.person_visibility import Visibility
from tocsin.clock import FixedClock
from tocsin.delivery.wording.digest_headlines import digest_headline
from tocsin.flow.match.plan import recovery_plan
from tocsin.flow.once import notifications_for
from tocsin.flow.schedule.roots import GroupedMatch
from tocsin.jobs.resolving import Notify
from tocsin.model.change import EventType, LoggedEvent
from tocsin.model.people import SYSTEM
from tocsin.server.alerts.explanation_json import record_in_sight
from tocsin.store.catalogue.access.entity_states import SqlEntityStates
from tocsin.store.catalogue.access.subjects import SqlSubjects
from tocsin.store.catalogue.alerts.subscriptions import Subscriptions
from tocsin.store.database.alert_tables import alert_incident
from tocsin.store.database.tables import message, notification
from tocsin.store.eventlog.log import EventLog
from tocsin.store.outbox.messages import Messages
from tocsin.store.outbox.records import Records
from tocsin.store.outbox.sessions import Sessions
from tocsin.store.recipients.roots import Roots

MAIL = {"category": "External", "type": "Email", "config": {"receivers": ["ops@example.org"]}}
FAILED = "testStatus == 'Failed'"
NAME = "pg.store.public"


@pytest.fixture
def company(store_engine: Engine) -> SmallCompany:
    """``orders`` feeds ``revenue`` and that ``margin``, ``costs`` feeds ``margin`` too; all have a test."""
    small_company = SmallCompany(store_engine)
    for table in ("margin", "costs", "lonely"):
        small_company.table(table)
    for source, target in (("revenue", "margin"), ("costs", "margin")):
        feeds(small_company, source, target)
    for table in ("orders", "revenue", "margin", "costs", "lonely"):
        small_company.test_case(table)
    small_company.clock.advance(1_000)
    small_company.alert("failing", [MAIL], FAILED, resources=("testCase",), trigger=trigger_grouped_by("lineageRoot"))
    return small_company


def trigger_grouped_by(grouping: str) -> dict[str, str]:
    return {"triggerType": "RealTime", "groupBy": grouping}


def feeds(company: SmallCompany, source: str, target: str) -> None:
    ends = (("fromEntity", source), ("toEntity", target))
    edge = {side: {"type": "table", "id": company.ids[name]} for side, name in ends}
    company.writes.put_edge(edge, actor=SYSTEM)


def process(company: SmallCompany, *, at_once: bool = False, first: int = 0, now_ms: int = NOW_MS) -> None:
    """Let a task resolve the whole log once more: each event as a micro-batch, or all in one."""
    work: Notify = work_of(company.engine)
    shared = replace(work.alerts.value, opening=frozenset(one for one in work.alerts.value.rules))
    work = replace(work, alerts=Here(shared), now_ms=now_ms)
    all_matches = match_rows(company.engine, recovery_plan())[first:]
    for matches in [all_matches] if at_once else [[row] for row in all_matches]:
        list(work(iter([pa.RecordBatch.from_pylist(matches)])))


def roots_of_notifications(company: SmallCompany) -> list[tuple[str, str, str | None]]:
    """Return of each notification, in log order, its table, the root that groups it, and the one that it names."""
    names = {identity: name for name, identity in company.ids.items()}
    joined_tables = notification.join(message, message.c.id == notification.c.message_id)
    columns = (notification.c.event_id, notification.c.reasons, message.c.grouping_key)
    with company.engine.connect() as connection:
        query = select(*columns).select_from(joined_tables).order_by(notification.c.log_offset)
        notification_rows = connection.execute(query).all()
    log, roots = EventLog(company.engine), []
    for row in notification_rows:
        logged_event = log.find(row.event_id)
        assert logged_event is not None
        table = str(logged_event.event.entity_fully_qualified_name).split(".")[3]
        root = names[row.grouping_key.partition("|asset:")[2]]
        roots.append((table, root, json.loads(row.reasons)[0].get("downstreamOf")))
    return roots


def messages(company: SmallCompany) -> list[int]:
    """Return how many notifications each message carries, the earliest message first."""
    with company.engine.connect() as connection:
        due = select(message.c.id).order_by(message.c.due_at_ms, message.c.id)
        carried = list(connection.scalars(select(notification.c.message_id)))
        return [carried.count(one) for one in connection.scalars(due)]


@pytest.mark.parametrize("at_once", [False, True])
def test_downstream_of_a_failure_all_are_grouped_under_it(company: SmallCompany, at_once: bool) -> None:
    for table in ("orders", "margin", "lonely", "revenue"):
        company.result(table, "Failed")
    process(company, at_once=at_once)
    expected_roots = [
        ("orders", "orders", None),
        ("margin", "orders", f"{NAME}.orders"),
        ("lonely", "lonely", None),
        ("revenue", "orders", f"{NAME}.orders"),
    ]
    assert roots_of_notifications(company) == expected_roots
    assert sorted(messages(company)) == [1, 3]
    process(company, now_ms=NOW_MS + 10**9)
    assert roots_of_notifications(company) == expected_roots, "repeating everything changes nothing"


def test_the_root_goes_out_at_once_and_what_follows_together_with_the_root_in_its_headline(
    company: SmallCompany,
) -> None:
    store = Messages(company.engine)
    Sessions(company.engine).begin("worker", lease_ms=90_000, now_ms=1)
    company.result("orders", "Failed")
    process(company)
    (first,) = store.dispatches(store.claim("worker", 9, now_ms=NOW_MS))
    assert len(first.entries) == 1
    for table in ("revenue", "margin", "margin"):
        company.result(table, "Failed")
    process(company, now_ms=NOW_MS + 1_000)
    assert store.claim("worker", 9, now_ms=NOW_MS + 59_000) == []
    (digest,) = store.dispatches(store.claim("worker", 9, now_ms=NOW_MS + 60_000))
    assert digest_headline(digest.entries) == "3 failures downstream of orders"
    assert digest_headline((*first.entries, *digest.entries)) == "3 failures downstream of orders; 1 failure: orders"
    assert (
        digest.first.reasons[0].sentence()
        == f"the alert names this address (alert failing; {NAME}.orders failed first)"
    )


def test_without_a_failure_upstream_or_after_its_recovery_each_asset_is_a_group(company: SmallCompany) -> None:
    for table, status in (("revenue", "Failed"), ("orders", "Failed"), ("orders", "Success"), ("margin", "Failed")):
        company.result(table, status)
    company.result("costs", "Failed")
    process(company)
    assert roots_of_notifications(company) == [
        ("revenue", "revenue", None),
        ("orders", "orders", None),
        ("margin", "revenue", f"{NAME}.revenue"),
        ("costs", "costs", None),
    ]


@pytest.mark.soak_on_postgresql
def test_of_several_roots_the_most_upstream_counts_and_then_the_oldest(company: SmallCompany) -> None:
    for table in ("revenue", "costs", "margin", "orders", "margin"):
        company.result(table, "Failed")
    process(company)
    assert [root for table, root, _ in roots_of_notifications(company) if table == "margin"] == ["revenue", "costs"]
    feeds(company, "orders", "costs")
    company.result("margin", "Failed")
    process(company)
    assert roots_of_notifications(company)[-1][1] == "orders"
    feeds(company, "margin", "orders")  # a circle
    company.result("margin", "Failed")
    process(company)
    assert roots_of_notifications(company)[-1][1] == "revenue", "of a circle the oldest incident"


def test_incidents_of_other_alerts_are_no_roots(company: SmallCompany) -> None:
    company.pipeline("load")
    ends = {"fromEntity": ("pipeline", "load"), "toEntity": ("table", "orders")}
    edge = {side: {"type": kind, "id": company.ids[name]} for side, (kind, name) in ends.items()}
    company.writes.put_edge(edge, actor=SYSTEM)
    company.clock.advance(1_000)
    company.alert(
        "loads", [], "pipelineStatus == 'Failed'", resources=("pipeline",), trigger=trigger_grouped_by("lineageRoot")
    )
    company.run("load", "Failed")
    company.result("orders", "Failed")
    process(company)
    with company.engine.connect() as connection:
        assert len(connection.execute(select(alert_incident)).all()) == 2
    assert roots_of_notifications(company) == [("orders", "orders", None)]


def test_who_may_not_see_the_root_does_not_read_its_name(company: SmallCompany) -> None:
    eve = eve_of(company)
    for table in ("orders", "revenue", "margin"):
        company.result(table, "Failed")
    process(company, at_once=True)
    with company.engine.begin() as connection:
        connection.execute(message.update().values(due_at_ms=1))
    store = Messages(company.engine)
    Sessions(company.engine).begin("worker", lease_ms=90_000, now_ms=1)
    (dispatch,) = store.dispatches(store.claim("worker", 9, now_ms=NOW_MS))
    hidden = [replace(one, reasons=eve.reasons(one.reasons)) for one in dispatch.entries]
    assert digest_headline(hidden[1:]) == "2 failures downstream of another asset"
    assert "orders" not in hidden[1].reasons[0].sentence()


def last_failure(company: SmallCompany) -> LoggedEvent:
    """Return the last event of a test that failed; the run of its suite follows it."""
    events = EventLog(company.engine).read(0, 1_000)
    return [one for one in events if one.event.event_type is EventType.TEST_CASE_FAILURE][-1]


def eve_of(company: SmallCompany) -> Visibility:
    """Return what a person sees who may not see tables."""
    hide = {"name": "Hide", "effect": "deny", "operations": ["All"], "resources": ["table"]}
    see = {"name": "See", "effect": "allow", "operations": ["ViewAll"], "resources": ["testCase"]}
    company.put("policy", {"name": "Tests", "rules": [hide, see]})
    company.put("role", {"name": "Tester", "policies": [{"type": "policy", "id": company.ids["Tests"]}]})
    company.put("user", {"name": "eve", "email": "eve@example.com", "roles": [role(company)]})
    permissions = PermissionCache(SqlSubjects(company.engine)).current_policies().of(company.ids["eve"])
    return Visibility(permissions, SqlEntityStates(company.engine))


def test_explanations_do_not_say_which_hidden_asset_a_message_is_grouped_under(company: SmallCompany) -> None:
    eve = eve_of(company)
    for table in ("orders", "revenue"):
        company.result(table, "Failed")
    process(company)
    offset = last_failure(company).offset
    (record,) = Records(company.engine).of_event(offset, limit=9).values()
    alert, orders = company.ids["failing"], company.ids["orders"]
    assert record.message is not None
    assert record.message.grouping_key == f"alert:{alert}|asset:{orders}"
    visible_record = record_in_sight(record, eve)
    assert visible_record.message is not None
    assert visible_record.message.grouping_key == f"alert:{alert}"


def test_a_root_that_becomes_known_later_is_no_second_reason(company: SmallCompany) -> None:
    for table in ("orders", "revenue"):
        company.result(table, "Failed")
    process(company, first=1)
    assert roots_of_notifications(company) == [("revenue", "revenue", None)]
    process(company)
    assert roots_of_notifications(company) == [("orders", "orders", None), ("revenue", "revenue", None)]
    with company.engine.connect() as connection:
        reasons = connection.scalars(select(notification.c.reasons)).all()
    assert [len(json.loads(one)) for one in reasons] == [1, 1]


def role(company: SmallCompany) -> dict[str, str]:
    return {"type": "role", "id": company.ids["Tester"]}


def test_one_event_at_a_time_says_the_same(company: SmallCompany) -> None:
    for table in ("orders", "revenue"):
        company.result(table, "Failed")
    process(company)
    engine = company.engine
    alerts = Subscriptions(engine).list_enabled()
    dependencies = dependencies_of(engine, alerts, FixedClock(NOW_MS))
    logged = last_failure(company)
    (scheduled,) = notifications_for(logged, alerts, dependencies)
    assert scheduled.draft.reasons.in_order[0].downstream_of == f"{NAME}.orders"
    with engine.connect() as connection:
        same = select(notification.c.reasons).where(notification.c.id == scheduled.id)
        assert json.loads(connection.scalar(same) or "")[0]["downstreamOf"] == f"{NAME}.orders"


def test_alerts_without_it_cost_no_query_more(company: SmallCompany) -> None:
    company.writes.patch(
        "eventsubscription",
        company.key("failing"),
        [{"op": "add", "path": "/trigger", "value": trigger_grouped_by("asset")}],
        actor=SYSTEM,
    )
    company.result("orders", "Failed")
    statements: list[object] = []
    roots = Roots(company.engine)
    event.listen(company.engine, "before_cursor_execute", lambda *given: statements.append(given[2]))
    assert roots.of([]) == {}
    assert statements == []
    process(company)
    with company.engine.connect() as connection:
        reasons = connection.scalar(select(notification.c.reasons))
    assert "downstreamOf" not in str(reasons)


def test_what_an_editor_may_not_view_is_no_root(company: SmallCompany) -> None:
    for table in ("orders", "revenue"):
        company.result(table, "Failed")
    process(company)
    last = last_failure(company)
    matched, alert = [GroupedMatch(last.offset, last.event.entity_id, company.ids["failing"])], company.ids["failing"]
    roots, asset = Roots(company.engine), company.ids["revenue"]
    assert roots.of(matched)[last.offset][alert].name == f"{NAME}.orders"
    (root,) = roots.of(matched, lambda assets: assets)[last.offset].values()
    assert (root.asset_id, root.name) == (asset, None)
