"""Tests of what a task does with its matches, on both stores, without Spark: rows, results and firings, once."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pytest
from sqlalchemy import Engine, event, func, insert, select
from tests.company import SmallCompany, destination_id

from tocsin.errors import LogDiverged
from tocsin.flow.match.cascade import Links, cascades_of, links_of
from tocsin.flow.match.local import matches
from tocsin.flow.match.plan import Plan, plan_of, recovery_plan
from tocsin.flow.pipeline import AlertFacts, Context, alert_facts_of
from tocsin.flow.resolve.recipient_rules import recipient_rules
from tocsin.flow.schedule.messages import timings_of
from tocsin.jobs.resolving import Notify, Resolving, StoreAddress, matched_events
from tocsin.model.change import LoggedEvent
from tocsin.model.entity import Document
from tocsin.model.people import SYSTEM
from tocsin.store.catalogue.alerts.subscriptions import Subscriptions
from tocsin.store.database.alert_tables import alert_incident, firing, match_result
from tocsin.store.database.engine import open_engine
from tocsin.store.database.tables import follow, message, notification, person
from tocsin.store.eventlog.log import EventLog

MAIL_AND_BELL = [{"category": "Followers", "type": "ActivityFeed"}, {"category": "Followers", "type": "Email"}]
NOW_MS = 1_760_000_000_000


@dataclass(frozen=True)
class Here:
    value: AlertFacts


class NotifyAlone(Notify):
    """Opens the store for itself, as in a process of its own."""

    def open_resolving(self) -> Resolving:
        return Resolving(open_engine(self.store.url))


class NotifyInSmallPortions(NotifyAlone):
    """Resolves ten people at a time."""

    def context(self, resolving: Resolving) -> Context:
        return replace(super().context(resolving), people_at_once=10, drafts_at_once=7)


def work_of(engine: Engine, kind: type[Notify] = NotifyAlone) -> Notify:
    alerts = Subscriptions(engine).list_enabled()
    rules = {one.id: recipient_rules(one, plan_of(one).questions) for one in alerts}
    return kind(
        StoreAddress(engine.url.render_as_string(hide_password=False)),
        Here(AlertFacts(rules, timings_of(alerts))),
        NOW_MS,
    )


def match_batches(engine: Engine) -> Iterator[pa.RecordBatch]:
    """Yield what Spark would give a task: the matches of all events of the log, a few rows at a time."""
    plans = [plan_of(one) for one in Subscriptions(engine).list_enabled()]
    logged = EventLog(engine).read(0, 1_000)
    matching = [_match(one, plan.subscription_id) for one in logged for plan in plans if matches(plan, one)]
    for start in range(0, len(matching), 3):
        yield pa.RecordBatch.from_pylist(matching[start : start + 3])


def _match(logged: LoggedEvent, alert: str) -> dict[str, object]:
    event = logged.event
    return {
        **{"log_offset": logged.offset, "event_id": event.id, "entity_id": event.entity_id, "user_id": event.user_id},
        **{"timestamp_ms": event.timestamp, "part_of": event.part_of, "subscription_id": alert, "asked": 1},
    }


def match_rows(engine: Engine, *additional_plans: Plan) -> list[dict[str, object]]:
    """Return the matches of all events of the log, with those of further plans."""
    plans = [*(plan_of(one) for one in Subscriptions(engine).list_enabled()), *additional_plans]
    logged = EventLog(engine).read(0, 1_000)
    return [_match(one, plan.subscription_id) for one in logged for plan in plans if matches(plan, one)]


def notified_count(engine: Engine, work: Notify) -> int:
    (counts,) = work(match_batches(engine))
    return int(counts.to_pylist()[0]["notified"])


def followed_by_many(engine: Engine, count: int) -> SmallCompany:
    company = SmallCompany(engine)
    ids = [f"00000000-0000-4000-9000-{number:012}" for number in range(count)]
    people = [{"user_id": one, "name": one, "email": f"{one[-3:]}@example.com"} for one in ids]
    people[-1]["email"] = people[0]["email"]  # two people at the ends of the range share an address
    follows = [{"entity_id": company.ids["orders"], "user_id": one, "entity_type": "table"} for one in ids]
    with engine.begin() as connection:
        connection.execute(insert(person), people)
        connection.execute(insert(follow), follows)
    company.alert("first", MAIL_AND_BELL, resources=("table",))
    company.alert("second", MAIL_AND_BELL[1:], resources=("table",))
    company.describe("orders", "All orders.")
    return company


def stored_results(engine: Engine) -> list[list[tuple[object, ...]]]:
    with engine.connect() as connection:
        return [sorted(map(tuple, connection.execute(select(table)))) for table in (match_result, firing)] + [
            sorted(connection.execute(select(notification.c.id, notification.c.reasons)).all()),
            sorted(connection.execute(select(message.c.id, message.c.target)).all()),
        ]


def test_a_large_fan_out_is_stored_in_parts_and_everybody_is_notified_once(store_engine: Engine) -> None:
    company = followed_by_many(store_engine, 45)
    work = work_of(store_engine, NotifyInSmallPortions)
    assert notified_count(store_engine, work) == 46 + 45, "46 people follow, two of whom share an address"
    with store_engine.connect() as connection:
        by_bell, by_mail = (
            connection.scalar(select(func.count()).where(notification.c.channel == channel))
            for channel in ("ActivityFeed", "Email")
        )
        results = connection.execute(select(match_result)).all()
    assert (by_bell, by_mail) == (46, 45)
    assert sorted(row.notified_count for row in results if row.notified_count) == [45, 46 + 45]
    assert company.ids["cem"]


def test_a_task_that_runs_again_or_twice_at_once_changes_nothing(store_engine: Engine) -> None:
    followed_by_many(store_engine, 30)
    work = work_of(store_engine, NotifyInSmallPortions)
    with ThreadPoolExecutor(2) as both:
        assert len(set(both.map(lambda _: notified_count(store_engine, work), range(2)))) == 1
    first = stored_results(store_engine)
    notified_count(store_engine, replace(work, now_ms=NOW_MS + 5))
    assert stored_results(store_engine) == first
    counts = {(row[0], row[1]): row[2] for row in first[0]}
    assert {(row[0], row[1]): row[2] for row in first[1]} == counts, "firings count what the results count"


def test_on_sqlite_nobody_waits_while_recipients_are_looked_up(sqlite_engine: Engine) -> None:
    followed_by_many(sqlite_engine, 45)
    statements: list[str] = []

    def note(*call: Any) -> None:  # Any: what SQLAlchemy passes
        statements.append(call[2])

    event.listen(Engine, "before_cursor_execute", note)
    try:
        notified_count(sqlite_engine, work_of(sqlite_engine, NotifyInSmallPortions))
    finally:
        event.remove(Engine, "before_cursor_execute", note)
    begin = statements.index("BEGIN IMMEDIATE")
    assert any("FROM follow" in one for one in statements[:begin])
    assert not any("FROM follow" in one or "FROM person" in one for one in statements[begin:])


def test_nothing_is_stored_of_another_log(store_engine: Engine) -> None:
    followed_by_many(store_engine, 3)
    foreign = [batch.to_pylist() for batch in match_batches(store_engine)]
    foreign_matches = [row | {"event_id": "another"} for some in foreign for row in some]
    with pytest.raises(LogDiverged):
        list(work_of(store_engine)(iter([pa.RecordBatch.from_pylist(foreign_matches)])))
    assert stored_results(store_engine) == [[], [], [], []]


def test_what_is_too_old_notifies_nobody_and_has_a_result(store_engine: Engine) -> None:
    followed_by_many(store_engine, 3)
    work = replace(work_of(store_engine), oldest_ms=2**62)
    assert notified_count(store_engine, work) == 0
    results, _firings, stored, _messages = stored_results(store_engine)
    assert results
    assert not stored


def test_the_cases_of_one_alert_are_one_match() -> None:
    cases = (("a", 1), ("b", 0b10), ("c", 0b100), ("b", 0b1000))
    of_event = {"log_offset": 1, "event_id": "e", "entity_id": "t", "user_id": "u", "timestamp_ms": 5, "part_of": None}
    matching = [{**of_event, "subscription_id": alert, "asked": asked} for alert, asked in cases]
    (event_match,) = matched_events(
        [pa.RecordBatch.from_pylist(matching[:2]), pa.RecordBatch.from_pylist(matching[2:])]
    )
    assert event_match.answers_by_alert == {"a": 1, "b": 0b1010, "c": 0b100}


def test_tasks_open_and_resolve_incidents_and_a_success_alone_notifies_nobody(store_engine: Engine) -> None:
    company = SmallCompany(store_engine)
    company.pipeline("etl")
    company.clock.advance(1_000)
    company.alert("failed", MAIL_AND_BELL, "pipelineStatus == 'Failed'", resources=("pipeline",))
    for status in ("Failed", "Failed", "Successful"):
        company.run("etl", status)
    work = work_of(store_engine)
    opening = frozenset({company.ids["failed"]})
    work = replace(work, alerts=Here(replace(work.alerts.value, opening=opening)))
    matching = match_rows(store_engine, recovery_plan())

    def states() -> list[tuple[str, int]]:
        with store_engine.connect() as connection:
            columns = (alert_incident.c.status, alert_incident.c.opened_offset)
            return [tuple(row) for row in connection.execute(select(*columns))]

    (counts,) = work(iter([pa.RecordBatch.from_pylist(matching[:2])]))
    assert counts.to_pylist() == [{"matched": 2, "notified": 0}]
    assert states() == [("resolved", matching[0]["log_offset"])], "the success is in the log already"
    (counts,) = work(iter([pa.RecordBatch.from_pylist(matching[2:])]))
    assert (counts.to_pylist(), len(states())) == ([{"matched": 0, "notified": 0}], 1)
    with store_engine.connect() as connection:
        assert connection.scalar(select(func.count()).select_from(match_result)) == 2
    old = replace(work, oldest_ms=company.clock.now_ms() + 1)
    with store_engine.begin() as connection:
        connection.execute(alert_incident.delete())
    list(old(iter([pa.RecordBatch.from_pylist(matching)])))
    assert states() == [], "events that are too old open none"


def test_a_triggered_alert_notifies_of_what_the_other_matched_and_its_result_says_so(store_engine: Engine) -> None:
    company = SmallCompany(store_engine)
    company.alert("first", [], "fieldChanged == 'description'", resources=("table",))
    company.clock.advance(1_000)
    company.describe("orders", "before it was enabled")
    second = company.alert("second", MAIL_AND_BELL, "eventType == 'entityDeleted'")
    company.clock.advance(1_000)
    link = [{"op": "add", "path": "/triggers", "value": [{"id": second, "type": "eventsubscription"}]}]
    company.writes.patch("eventsubscription", company.key("first"), link, actor=company.actor("ana"))
    company.describe("orders", "after it")
    work = work_of(store_engine)
    links = {one.id: links_of(one) for one in Subscriptions(store_engine).list_enabled()}
    work = replace(work, alerts=Here(replace(work.alerts.value, cascades=cascades_of(links))))
    assert notified_count(store_engine, work) == 2, "cem follows orders: by mail and in the app"
    before = stored_results(store_engine)
    assert notified_count(store_engine, work) == 2
    assert stored_results(store_engine) == before
    with store_engine.connect() as connection:
        result = match_result.c
        columns = (result.subscription_id, result.notified_count, result.triggered_by)
        results = [tuple(row) for row in connection.execute(select(*columns).order_by(result.log_offset))]
    first = company.ids["first"]
    assert sorted(results, key=str) == sorted([(first, 0, None), (first, 0, None), (second, 2, first)], key=str)


def restrict(company: SmallCompany, name: str, rule: Document) -> None:
    """Let everybody view everything, and deny one person something."""
    everything = {"name": "View", "effect": "allow", "operations": ["ViewAll"], "resources": ["all"]}
    company.put("policy", {"name": "Everybody", "rules": [everything]})
    company.put("team", {"name": "Organization", "teamType": "Organization", "policies": ["Everybody"]})
    company.put("policy", {"name": "Denied", "rules": [rule]})
    company.put("role", {"name": "Restricted", "policies": ["Denied"]})
    role = [{"op": "add", "path": "/roles", "value": [{"id": company.ids["Restricted"], "type": "role"}]}]
    company.writes.patch("user", company.key(name), role, actor=SYSTEM)


def test_what_an_editor_may_not_view_is_withheld_until_they_may(store_engine: Engine) -> None:
    company = SmallCompany(store_engine)
    restrict(company, "ana", {"name": "No", "effect": "deny", "operations": ["ViewAll"], "resources": ["table"]})
    destinations = [{"id": destination_id("ours", at), **one} for at, one in enumerate(MAIL_AND_BELL)]
    ours = {"name": "ours", "alertType": "Notification", "destinations": destinations}
    rules = {"resources": ["table", "pipeline"], "rules": []}
    company.clock.advance(1_000)
    alert_creation = company.writes.create(
        "eventsubscription", {**ours, "filteringRules": rules}, actor=company.actor("ana")
    )
    alert = str(alert_creation.document["id"])
    company.describe("orders", "All orders.")
    work = work_of(store_engine)
    assert notified_count(store_engine, work) == 0, "cem follows orders, but whoever made the alert may not view it"
    with store_engine.connect() as connection:
        (row,) = connection.execute(select(match_result).where(match_result.c.subscription_id == alert)).all()
        assert connection.execute(select(firing)).all() == []
    assert (row.notified_count, row.withheld_for) == (0, company.ids["ana"])
    before = stored_results(store_engine)
    company.writes.delete("policy", company.key("Denied"), actor=SYSTEM)
    notified_count(store_engine, work)
    assert stored_results(store_engine) == before, "repeated: what was decided stays decided"
    company.describe("orders", "All orders of all time.")
    notified_count(store_engine, work)
    assert len(stored_results(store_engine)[2]) == 2, "rights are those of the moment when the pipeline looks"


def test_an_alert_that_is_withheld_triggers_nothing_and_a_triggered_one_is_withheld_for_its_own_editors(
    store_engine: Engine,
) -> None:
    company = SmallCompany(store_engine)
    restrict(company, "ana", {"name": "No", "effect": "deny", "operations": ["ViewAll"], "resources": ["table"]})
    destinations = [{"id": destination_id("any", at), **one} for at, one in enumerate(MAIL_AND_BELL)]
    request = {"alertType": "Notification", "destinations": destinations}
    never = {"resources": ["table"], "rules": [{"effect": "include", "condition": "eventType == 'entityDeleted'"}]}
    always = {"resources": ["table"], "rules": []}
    ids = {}
    for name, who, rules in (
        ("hers", "ana", always),
        ("on", "ben", never),
        ("ours", "ben", always),
        ("off", "ana", never),
        ("beyond", "ben", never),
    ):
        body = {**request, "name": name, "filteringRules": rules}
        ids[name] = str(company.writes.create("eventsubscription", body, actor=company.actor(who)).document["id"])
    company.clock.advance(1_000)
    company.describe("orders", "All orders.")
    work = work_of(store_engine)
    links = {one: Links(0, ()) for one in ids.values()}
    links |= {ids["hers"]: Links(0, (ids["on"],)), ids["ours"]: Links(0, (ids["off"],))}
    links[ids["off"]] = Links(0, (ids["beyond"],))
    work = replace(work, alerts=Here(replace(work.alerts.value, cascades=cascades_of(links))))
    assert notified_count(store_engine, work) == 2
    with store_engine.connect() as connection:
        result_rows = connection.execute(select(match_result)).all()
    last = max(row.log_offset for row in result_rows)
    names = {one: name for name, one in ids.items()}
    withheld_by_alert = {
        names[row.subscription_id]: (row.withheld_for, row.notified_count)
        for row in result_rows
        if row.log_offset == last
    }
    ana = company.ids["ana"]
    assert withheld_by_alert == {"hers": (ana, 0), "ours": (None, 2), "off": (ana, 0)}


def test_an_alert_whose_own_condition_is_withheld_is_triggered_by_one_that_reads_nothing_hidden(
    store_engine: Engine,
) -> None:
    company = SmallCompany(store_engine)
    company.put("domain", {"name": "Sales", "domainType": "Aggregate", "description": "Hidden from ana."})
    company.table("orders", domains=["Sales"])
    restrict(company, "ana", {"name": "No", "effect": "deny", "operations": ["ViewAll"], "resources": ["domain"]})
    destinations = [{"id": destination_id("any", at), **one} for at, one in enumerate(MAIL_AND_BELL)]
    request = {"alertType": "Notification", "destinations": destinations}
    ids = {}
    for name, condition in (("reading", "matchAnyDomain({'Sales'})"), ("plain", "fieldChanged == 'description'")):
        rules = {"resources": ["table"], "rules": [{"effect": "include", "condition": condition}]}
        body = {**request, "name": name, "filteringRules": rules}
        ids[name] = str(company.writes.create("eventsubscription", body, actor=company.actor("ana")).document["id"])
    company.clock.advance(1_000)
    company.describe("orders", "All orders.")
    alerts = Subscriptions(store_engine).list_enabled()
    links = {ids["plain"]: Links(0, (ids["reading"],)), ids["reading"]: Links(0, ())}
    facts = replace(alert_facts_of(alerts), cascades=cascades_of(links))
    work = replace(work_of(store_engine), alerts=Here(facts))
    assert notified_count(store_engine, work) == 2
    with store_engine.connect() as connection:
        results = connection.execute(select(match_result).order_by(match_result.c.log_offset)).all()
    last = max(row.log_offset for row in results)
    outcomes = {
        row.subscription_id: (row.triggered_by, row.withheld_for, row.notified_count)
        for row in results
        if row.log_offset == last
    }
    assert outcomes == {ids["plain"]: (None, None, 2), ids["reading"]: (ids["plain"], None, 2)}
