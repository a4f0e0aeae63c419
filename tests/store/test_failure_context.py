"""Tests of what messages about failures refer to: since when the asset fails, and what lies downstream of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Engine, event
from tests.company import SmallCompany
from tests.notifying import notify_all

from tocsin.alerts.incident_merging import dismiss_cause, merge, restore_cause
from tocsin.alerts.incidents import Handling, handle
from tocsin.delivery.dispatch import (
    DefinitionRunbook,
    Dispatch,
    FailureContext,
    FailureIncident,
    ProbableCause,
    ToldPeople,
)
from tocsin.delivery.wording.changes import event_text
from tocsin.delivery.wording.reports import reported_at_ms
from tocsin.delivery.wording.surroundings import is_deletion
from tocsin.model.alert_incident import StepKind
from tocsin.model.people import SYSTEM
from tocsin.store.catalogue.alerts.incidents import AlertIncidentLog
from tocsin.store.database.engine import reading
from tocsin.store.outbox.failure_messages import FailureMessages, place_of
from tocsin.store.outbox.failure_roots import roots_at
from tocsin.store.outbox.messages import Messages
from tocsin.store.outbox.send_permission import Permitted
from tocsin.store.outbox.sessions import Sessions

REVENUE = "pg.store.public.revenue"


@contextmanager
def counting(engine: Engine) -> Iterator[list[str]]:
    """Collect the statements of a block."""
    statements: list[str] = []

    def note(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        statements.append(statement)

    event.listen(engine, "before_cursor_execute", note)
    try:
        yield statements
    finally:
        event.remove(engine, "before_cursor_execute", note)


def dispatches_of(company: SmallCompany) -> list[Dispatch]:
    """Return the messages to ana about failures of the test of ``orders``, which feeds ``revenue``, in their order."""
    engine = company.engine
    notify_all(engine)
    Sessions(engine).begin("worker", lease_ms=90_000, now_ms=1)
    messages = Messages(engine)
    dispatches = messages.dispatches(messages.claim("worker", 64, now_ms=10**15))
    dispatches_to_ana = [one for one in dispatches if one.message.target == "ana@example.com"]
    return sorted(dispatches_to_ana, key=lambda one: one.first.log_offset)


def failing(engine: Engine, *statuses: str) -> SmallCompany:
    """Return a company whose ``orders`` has a test with these results, and an alert on failures for its owners."""
    company = SmallCompany(engine)
    company.test_case("orders")
    company.clock.advance(1_000)
    company.alert("failed", [{"category": "Owners", "type": "Email"}], "testStatus == 'Failed'", poll_interval_s=0)
    notify_all(engine)
    for status in statuses:
        company.clock.advance(60_000)
        company.result("orders", status)
    return company


def test_a_failure_counts_those_since_the_last_success(store_engine: Engine) -> None:
    company = failing(store_engine, "Failed", "Success", "Failed", "Aborted", "Failed")
    first, second, third = dispatches_of(company)
    messages = FailureMessages(store_engine)
    assert [messages.context_of(one).count for one in (first, second, third)] == [1, 1, 2 + 1]
    first_incident = FailureIncident("INC-1", is_over=True)
    assert messages.context_of(first) == FailureContext(
        None, 1, (REVENUE,), incident=first_incident, is_lineage_read=True
    )
    assert messages.context_of(second).since_ms is None
    assert messages.context_of(third).since_ms == reported_at_ms(second.event)
    assert messages.context_of(third).last_success_ms == reported_at_ms(second.event) - 61_000


def test_a_failure_names_no_deleted_asset_downstream(store_engine: Engine) -> None:
    company = failing(store_engine, "Failed")
    company.writes.delete("table", company.key("revenue"), actor=SYSTEM)
    (to_ana,) = dispatches_of(company)
    assert FailureMessages(store_engine).context_of(to_ana).downstream == ()


def put_edge(company: SmallCompany, above: str, below: str) -> None:
    """Put an edge from one table to another."""
    ends = {"fromEntity": above, "toEntity": below}
    edge = {side: {"type": "table", "id": company.ids[name]} for side, name in ends.items()}
    company.writes.put_edge(edge, actor=SYSTEM)


def test_a_failure_names_nothing_behind_an_asset_that_was_deleted_then(store_engine: Engine) -> None:
    company = failing(store_engine)
    company.table("totals")
    put_edge(company, "revenue", "totals")
    company.result("orders", "Failed")
    company.writes.delete("table", company.key("revenue"), actor=SYSTEM)
    company.result("orders", "Failed")
    company.writes.restore("table", company.ids["revenue"], actor=SYSTEM)
    company.result("orders", "Failed")
    messages = FailureMessages(store_engine)
    names = [messages.context_of(one).downstream for one in dispatches_of(company)]
    assert names == [(REVENUE, "pg.store.public.totals"), (), (REVENUE, "pg.store.public.totals")]


def test_what_only_a_deleted_asset_led_to_is_named_where_another_way_leads_to_it(store_engine: Engine) -> None:
    company = failing(store_engine)
    for name in ("totals", "copies"):
        company.table(name)
    put_edge(company, "revenue", "totals")
    put_edge(company, "orders", "copies")
    put_edge(company, "copies", "totals")
    company.writes.delete("table", company.key("revenue"), actor=SYSTEM)
    company.result("orders", "Failed")
    (to_ana,) = dispatches_of(company)
    names = FailureMessages(store_engine).context_of(to_ana).downstream
    assert names == ("pg.store.public.copies", "pg.store.public.totals")


def test_nothing_upstream_of_an_asset_that_was_deleted_then_caused_a_failure(store_engine: Engine) -> None:
    company = failing(store_engine, "Failed")
    company.table("totals", owners=[{"type": "user", "name": "ana"}])
    put_edge(company, "revenue", "totals")
    company.test_case("totals", "late")
    company.writes.delete("table", company.key("revenue"), actor=SYSTEM)
    company.result("totals", "Failed", "late")
    company.writes.restore("table", company.ids["revenue"], actor=SYSTEM)
    company.result("totals", "Failed", "late")
    _, while_deleted, after = dispatches_of(company)
    messages = FailureMessages(store_engine)
    cause = ProbableCause("INC-1", "pg.store.public.orders.has_rows", "pg.store.public.orders")
    assert (messages.context_of(while_deleted).causes, messages.context_of(after).causes) == ((), (cause,))


def test_a_failure_names_its_incident_as_it_is_now(store_engine: Engine) -> None:
    company = failing(store_engine, "Failed", "Success", "Failed")
    first, second = dispatches_of(company)
    log = AlertIncidentLog(store_engine)
    incident = log.find("INC-2")
    assert incident is not None
    acknowledge = Handling(StepKind.ACKNOWLEDGED)
    company.writes.within(lambda record: handle(record, incident.id, acknowledge), actor=company.actor("ben"))
    rename = [{"op": "add", "path": "/displayName", "value": "Ben Ito"}]
    company.writes.patch("user", company.key("ben"), rename, actor=SYSTEM)
    messages = FailureMessages(store_engine)
    assert messages.context_of(first).incident == FailureIncident("INC-1", is_over=True)
    assert messages.context_of(second).incident == FailureIncident(
        "INC-2", acknowledged_by="ben", acknowledger="Ben Ito", acknowledger_id=company.ids["ben"]
    )


def test_a_failure_names_the_incident_upstream_that_probably_caused_it(store_engine: Engine) -> None:
    company = failing(store_engine, "Failed")
    company.table("totals", owners=[{"type": "user", "name": "ana"}])
    ends = {"fromEntity": {"type": "table", "id": company.ids["orders"]}}
    ends["toEntity"] = {"type": "table", "id": company.ids["totals"]}
    company.writes.put_edge(ends, actor=company.actor("ana"))
    company.test_case("totals", "late")
    company.result("totals", "Failed", "late")
    first, second = dispatches_of(company)
    messages = FailureMessages(store_engine)
    cause = ProbableCause("INC-1", "pg.store.public.orders.has_rows", "pg.store.public.orders")
    assert (messages.context_of(first).causes, messages.context_of(second).causes) == ((), (cause,))
    seen_names = Permitted(store_engine).names_seen(second, [cause.failing, cause.asset])
    assert seen_names == (cause.failing, cause.asset)


def test_a_failure_names_no_cause_that_people_have_dismissed_for_its_incident(store_engine: Engine) -> None:
    company = failing(store_engine, "Failed")
    company.table("totals", owners=[{"type": "user", "name": "ana"}])
    ends = {
        side: {"type": "table", "id": company.ids[name]}
        for side, name in (("fromEntity", "orders"), ("toEntity", "totals"))
    }
    company.writes.put_edge(ends, actor=company.actor("ana"))
    company.test_case("totals", "late")
    company.result("totals", "Failed", "late")
    notify_all(store_engine)
    effect, cause = (AlertIncidentLog(store_engine).find(name) for name in ("INC-2", "INC-1"))
    assert effect is not None and cause is not None

    def causes_of(dispatch: Dispatch) -> list[str]:
        place = place_of(dispatch)
        with reading(store_engine) as connection:
            roots = roots_at(connection, [place])[place]
        names = [cause.incident for cause in FailureMessages(store_engine).context_of(dispatch).causes]
        assert len(roots) == 1 + len(names), "the inbox groups alike"
        return names

    *_, first = dispatches_of(company)
    assert causes_of(first) == ["INC-1"]
    company.writes.within(lambda record: dismiss_cause(record, effect.id, cause.id), actor=company.actor("ben"))
    assert causes_of(first) == []
    company.result("totals", "Failed", "late")
    (later,) = dispatches_of(company)
    assert causes_of(later) == [], "a later failure of the same incident"
    company.result("totals", "Success", "late")
    company.result("totals", "Failed", "late")
    (next_failure,) = dispatches_of(company)
    assert causes_of(next_failure) == ["INC-1"], "the next incident has its own causes"


def test_a_dismissed_cause_is_no_root_by_way_of_its_parts_and_is_one_again_once_restored(store_engine: Engine) -> None:
    company = failing(store_engine, "Failed")
    company.table("totals", owners=[{"type": "user", "name": "ana"}])
    company.table("sums", owners=[{"type": "user", "name": "ana"}])
    for source, target in (("orders", "totals"), ("totals", "sums")):
        ends = {
            side: {"type": "table", "id": company.ids[name]}
            for side, name in (("fromEntity", source), ("toEntity", target))
        }
        company.writes.put_edge(ends, actor=company.actor("ana"))
    for name in ("totals", "sums"):
        company.test_case(name, f"late {name}")
        company.result(name, "Failed", f"late {name}")
        notify_all(store_engine)
    log, actor = AlertIncidentLog(store_engine), company.actor("ben")
    cause, part, effect = (one.id for name in ("INC-1", "INC-2", "INC-3") if (one := log.find(name)) is not None)
    *_, dispatch = dispatches_of(company)
    place = place_of(dispatch)

    def root_ids() -> list[str]:
        with reading(store_engine) as connection:
            return [root.incident_id for root in roots_at(connection, [place])[place]]

    company.writes.within(lambda record: merge(record, part, cause), actor=actor)
    assert root_ids() == [cause, cause, part, effect]
    company.writes.within(lambda record: dismiss_cause(record, effect, cause), actor=actor)
    assert root_ids() == [part, effect]
    company.writes.within(lambda record: restore_cause(record, effect, cause), actor=actor)
    assert root_ids() == [cause, cause, part, effect]


def test_a_failure_says_who_else_was_told_to_administrators_and_editors_of_the_alert(store_engine: Engine) -> None:
    company = failing(store_engine, "Failed")
    (to_ana,) = dispatches_of(company)
    messages = FailureMessages(store_engine)
    assert messages.context_of(to_ana).audience is None
    rename = [{"op": "add", "path": "/displayName", "value": "Failures"}]
    company.writes.patch("eventsubscription", company.key("failed"), rename, actor=company.actor("ana"))
    assert messages.context_of(to_ana).audience == ToldPeople(("ben",), 1, (company.ids["ben"],))
    (looked_ahead,) = messages.with_contexts([to_ana], [to_ana])
    assert looked_ahead.failure == messages.context_of(to_ana)
    company.alert("other", [{"category": "Followers", "type": "Email"}], "testStatus == 'Failed'", poll_interval_s=0)
    company.clock.advance(60_000)
    company.result("orders", "Failed")
    company.writes.patch("user", company.key("ana"), [{"op": "add", "path": "/isAdmin", "value": True}], actor=SYSTEM)
    (again,) = dispatches_of(company)
    assert messages.context_of(again).audience == ToldPeople(
        ("ben", "cem"), 2, (company.ids["ben"], company.ids["cem"])
    )
    for name, display_name in (("ben", "Xaver Ito"), ("cem", "")):
        rename = [{"op": "add", "path": "/displayName", "value": display_name}]
        company.writes.patch("user", company.key(name), rename, actor=SYSTEM)
    assert messages.context_of(again).audience == ToldPeople(
        ("Xaver Ito", "cem"), 2, (company.ids["ben"], company.ids["cem"])
    )


def test_a_failure_of_a_test_without_a_runbook_has_that_of_its_definition(store_engine: Engine) -> None:
    company = failing(store_engine, "Failed", "Success")
    (failure,) = dispatches_of(company)
    messages = FailureMessages(store_engine)
    assert messages.context_of(failure).runbook is None
    definition = {"name": "hasRows", "entityType": "TABLE", "testPlatforms": ["OpenMetadata"], "runbook": "call ben"}
    company.writes.upsert("testDefinition", definition, actor=SYSTEM)
    assert messages.context_of(failure).runbook == DefinitionRunbook("hasRows", "call ben")
    (looked_ahead,) = messages.with_contexts([failure], [failure])
    assert looked_ahead.failure == messages.context_of(failure)
    addition = [{"op": "add", "path": "/runbook", "value": "call cem"}]
    company.writes.patch("testCase", company.key("has_rows"), addition, actor=SYSTEM)
    company.clock.advance(60_000)
    company.result("orders", "Failed")
    (again,) = dispatches_of(company)
    assert (again.first.carried.own_runbook, messages.context_of(again).runbook) == ("call cem", None)


def test_what_surrounds_the_failures_of_a_claim_is_read_together(store_engine: Engine) -> None:
    company = failing(store_engine, "Failed", "Success", "Failed", "Aborted", "Failed")
    company.writes.patch("user", company.key("ana"), [{"op": "add", "path": "/isAdmin", "value": True}], actor=SYSTEM)
    dispatches = dispatches_of(company)
    messages = FailureMessages(store_engine)
    with counting(store_engine) as one_by_one:
        contexts = [messages.context_of(one) for one in dispatches]
    with counting(store_engine) as together:
        sent = messages.with_contexts(dispatches, dispatches)
    assert [one.failure for one in sent] == contexts
    assert len(together) * 3 == len(one_by_one)
    assert messages.with_contexts(dispatches, ()) is dispatches


def test_a_failed_run_says_how_long_it_usually_takes(store_engine: Engine) -> None:
    company = SmallCompany(store_engine)
    company.pipeline("etl", owners=[{"id": company.ids["ana"], "type": "user"}])
    company.alert("failed", [{"category": "Owners", "type": "Email"}], "pipelineStatus == 'Failed'", poll_interval_s=0)
    for minutes, status in ((9, "Failed"), (10, "Successful"), (60, "Failed"), (11, "Successful"), (30, "Successful")):
        run_for(company, minutes, status)
    run_for(company, 90, "Failed")
    *_, second, third = dispatches_of(company)
    messages = FailureMessages(store_engine)
    assert (messages.context_of(second).usual_ms, messages.context_of(third).usual_ms) == (None, 11 * 60_000)
    lines = event_text(third.event, (), messages.context_of(third)).lines
    assert [one.text for one in lines if one.label in ("took", "usually takes")] == ["1 h 30 min", "11 min"]
    in_inbox = messages.streaks({place_of(one): one.event for one in (second, third)})
    assert [in_inbox[place_of(one)].usual_ms for one in (second, third)] == [None, 11 * 60_000], "as an inbox says it"


def run_for(company: SmallCompany, minutes: int, status: str) -> None:
    """Report a run that took so long."""
    company.clock.advance(86_400_000)
    start_ms = company.clock.now_ms()
    run = {"timestamp": start_ms, "endTime": start_ms + minutes * 60_000, "executionStatus": status}
    company.writes.add_pipeline_status("airflow.etl", run, actor=SYSTEM)


def test_a_success_says_how_long_something_has_failed(store_engine: Engine) -> None:
    company = failing(store_engine, "Success", "Failed", "Failed", "Success")
    company.alert("well", [{"category": "Owners", "type": "Email"}], "testStatus == 'Success'", poll_interval_s=0)
    company.clock.advance(60_000)
    company.result("orders", "Failed")
    company.clock.advance(120_000)
    company.result("orders", "Success")
    *_, recovery = dispatches_of(company)
    context = FailureMessages(store_engine).context_of(recovery)
    change_description = recovery.event.change_description
    assert change_description is not None
    (since_ms,) = [
        update.old_value["timestamp"] for update in change_description.fields_updated if update.name == "testCaseResult"
    ]
    ended_ms = reported_at_ms(recovery.event)
    incident = FailureIncident("INC-2", is_resolved=True)
    assert context == FailureContext(since_ms, 1, (), context.last_success_ms, ended_ms, incident)
    assert "INC-2, resolved" in [line.text for line in event_text(recovery.event, failure=context).lines]


def test_what_lies_downstream_is_named_to_those_who_may_see_it(store_engine: Engine) -> None:
    company = failing(store_engine, "Failed")
    company.put("classification", {"name": "PII", "description": ""})
    company.put("tag", {"name": "Sensitive", "classification": "PII", "description": ""})
    (dispatch,) = dispatches_of(company)
    permissions = Permitted(store_engine)
    assert permissions.names_seen(dispatch, (REVENUE,)) == (REVENUE,)
    hide = {
        "name": "Hide",
        "effect": "deny",
        "operations": ["All"],
        "resources": ["table"],
        "condition": "matchAnyTag('PII.Sensitive')",
    }
    see = {"name": "See", "effect": "allow", "operations": ["ViewAll"], "resources": ["all"]}
    company.put("policy", {"name": "Own", "rules": [hide, see]})
    company.put("role", {"name": "Owner", "policies": [{"type": "policy", "id": company.ids["Own"]}]})
    company.table("revenue", tags=[{"tagFQN": "PII.Sensitive"}])
    roles = [{"type": "role", "id": company.ids["Owner"]}]
    company.put("user", {"name": "ana", "email": "ana@example.com", "roles": roles})
    assert permissions.names_seen(dispatch, ("pg.store.public.orders", REVENUE)) == ("pg.store.public.orders",)


def test_a_deletion_says_what_lay_downstream_until_then(store_engine: Engine) -> None:
    company = SmallCompany(store_engine)
    company.alert("gone", [{"category": "Owners", "type": "Email"}], poll_interval_s=0)
    company.clock.advance(1_000)
    company.writes.delete("table", company.key("orders"), actor=company.actor("ben"))
    company.clock.advance(1_000)
    company.writes.delete("table", company.key("orders"), hard=True, actor=company.actor("ben"))
    deletions = [one for one in dispatches_of(company) if is_deletion(one.event)]
    messages = FailureMessages(store_engine)
    assert [one.event.event_type.value for one in deletions] == ["entitySoftDeleted", "entityDeleted"]
    assert [messages.context_of(one).downstream for one in deletions] == [(REVENUE,), (REVENUE,)]
