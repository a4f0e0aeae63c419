"""Tests of causes of an inbox on both stores: roots of failures that are found later, merges by hand, and marks."""

from __future__ import annotations

import pytest
from sqlalchemy import Engine, event
from tests.company import SmallCompany
from tests.notifying import notify_all
from tests.store.test_incident_merging import merge_incident

from tocsin.model.causes import CauseKind, gather_causes
from tocsin.model.inbox import Mark
from tocsin.model.people import SYSTEM
from tocsin.store.outbox.inbox import Inbox, PageOf
from tocsin.store.outbox.inbox_heads import InboxHead

_BELL = {"category": "Followers", "type": "ActivityFeed"}


@pytest.fixture
def company(store_engine: Engine) -> SmallCompany:
    """``orders`` feeds ``revenue``, which nothing connects with ``raw`` yet; cem follows them, each has a test."""
    small_company = SmallCompany(store_engine)
    small_company.table("raw")
    for name in ("raw", "revenue"):
        small_company.writes.follow("table", small_company.ids[name], small_company.ids["cem"], actor=SYSTEM)
    for name in ("raw", "orders", "revenue"):
        small_company.test_case(name, f"{name}_test")
    small_company.clock.advance(1_000)
    small_company.alert("failed", [_BELL], "testStatus == 'Failed'", resources=("testCase",))
    small_company.alert("edits", [_BELL], resources=("table",))
    notify_all(store_engine)
    return small_company


def report(company: SmallCompany, table: str, status: str) -> None:
    company.result(table, status, f"{table}_test")
    notify_all(company.engine)


def feed(company: SmallCompany, source: str, target: str) -> None:
    ends = {
        side: {"type": "table", "id": company.ids[name]}
        for side, name in (("fromEntity", source), ("toEntity", target))
    }
    company.writes.put_edge(ends, actor=SYSTEM)


def heads(company: SmallCompany, *hidden: str) -> list[InboxHead]:
    """Return the heads of cem's inbox to a reader who may not see these tests."""
    inbox, now_ms = Inbox(company.engine), company.clock.now_ms() + 10**12
    hidden_ids = {company.ids[name] for name in hidden}
    entries = inbox.heads(company.ids["cem"], now_ms, limit=100, kind=PageOf()).heads
    visible_ids = {root.entity_id for head in entries for root in head.roots} - hidden_ids
    return [one.with_root(visible_ids) for one in entries if one.facts.entity_id not in hidden_ids]


def failures(company: SmallCompany, *hidden: str) -> list[list[str]]:
    """Return the tests of each failure."""
    names = {identity: name for name, identity in company.ids.items()}
    causes = gather_causes(head.facts for head in heads(company, *hidden))
    return [[names[facts.entity_id] for facts in cause.events] for cause in causes if cause.kind is CauseKind.FAILURE]


def test_a_failure_and_what_fails_below_it_are_one_cause_until_it_is_well_again(company: SmallCompany) -> None:
    for table in ("revenue", "orders", "raw"):
        report(company, table, "Failed")
    assert failures(company) == [["revenue_test", "orders_test"], ["raw_test"]]
    report(company, "orders", "Success")
    report(company, "orders", "Failed")  # a new incident
    assert failures(company)[0][:2] == ["revenue_test", "orders_test"]


def test_a_root_found_later_merges_causes_and_read_marks_stay(company: SmallCompany) -> None:
    """Fault scenario 80."""
    for table in ("orders", "raw"):
        report(company, table, "Failed")
    first = heads(company)[-1]
    Inbox(company.engine).mark(company.ids["cem"], [first.id], Mark.READ, company.clock.now_ms())
    assert failures(company) == [["orders_test"], ["raw_test"]]
    feed(company, "raw", "orders")
    assert failures(company) == [["orders_test", "raw_test"]]
    assert {head.id: head.is_read for head in heads(company)}[first.id]
    assert sum(head.is_read for head in heads(company)) == 1


def test_a_hidden_root_joins_nothing(company: SmallCompany) -> None:
    feed(company, "raw", "orders")
    company.table("other")
    feed(company, "raw", "other")
    company.writes.follow("table", company.ids["other"], company.ids["cem"], actor=SYSTEM)
    company.test_case("other", "other_test")
    for table in ("raw", "orders", "other"):
        report(company, table, "Failed")
    assert failures(company) == [["raw_test", "orders_test", "other_test"]]
    assert failures(company, "raw_test") == [["orders_test"], ["other_test"]]


def test_incidents_that_people_merge_are_one_cause(company: SmallCompany) -> None:
    for table in ("raw", "revenue"):
        report(company, table, "Failed")
    assert failures(company) == [["raw_test"], ["revenue_test"]]
    merge_incident(company, "INC-2", "INC-1")
    assert failures(company) == [["raw_test", "revenue_test"]]


def test_a_hidden_incident_with_which_others_are_merged_joins_nothing(company: SmallCompany) -> None:
    for name in ("side", "below_side", "below_orders"):
        company.table(name)
        company.writes.follow("table", company.ids[name], company.ids["cem"], actor=SYSTEM)
        company.test_case(name, f"{name}_test")
    for name in ("side", "orders"):
        feed(company, name, f"below_{name}")
    for name in ("raw", "orders", "side", "below_orders", "below_side"):
        report(company, name, "Failed")
    for part in ("INC-2", "INC-3"):
        merge_incident(company, part, "INC-1")
    assert len(failures(company)) == 1
    assert failures(company, "raw_test") == [["orders_test", "below_orders_test"], ["side_test", "below_side_test"]]


def test_an_edit_of_what_fails_is_no_part_of_the_failure(company: SmallCompany) -> None:
    report(company, "orders", "Failed")
    company.table("orders", description="edited meanwhile")
    notify_all(company.engine)
    kinds = [cause.kind for cause in gather_causes(head.facts for head in heads(company))]
    assert kinds == [CauseKind.FAILURE, CauseKind.SINGLE]


def test_what_is_read_between_two_statements_comes_twice_and_ends_no_window(company: SmallCompany) -> None:
    """PostgreSQL shows each statement what is committed by then; SQLite shows both one state."""
    report(company, "orders", "Failed")
    inbox, now_ms, cem = Inbox(company.engine), company.clock.now_ms() + 10**12, company.ids["cem"]
    heads_before = inbox.heads(cem, now_ms, limit=100, kind=PageOf()).heads
    marks = iter([heads_before[0].id])

    def mark_one(*_: object) -> None:
        for notification_id in marks:
            inbox.mark_read(cem, notification_id, now_ms)

    event.listen(company.engine, "after_cursor_execute", mark_one)
    first = inbox.heads(cem, now_ms, limit=len(heads_before) + 1, kind=PageOf())
    assert [head.id for head in first.heads] == [head.id for head in heads_before]
    assert first.is_full is (company.engine.dialect.name == "postgresql")
