"""Tests of follows of tags and glossary terms as labels: what carries one is followed with it."""

from __future__ import annotations

import pytest
from sqlalchemy import Engine, insert
from tests.company import SmallCompany
from tests.store.test_container_follows import (
    BELL,
    follow,
    follower_count,
    last_event,
    reasons_by_person,
    reasons_for_change,
    unfollow,
)
from tests.store.test_resolving import restrict

from tocsin.model.change import LoggedEvent
from tocsin.model.mute import Mute, MuteKind
from tocsin.model.notification import ReasonKind
from tocsin.model.people import SYSTEM
from tocsin.store.database.engine import writing
from tocsin.store.database.tables import past_relation
from tocsin.store.eventlog.log import EventLog
from tocsin.store.recipients.directory import SqlDirectory
from tocsin.store.recipients.mutes import Mutes

TAG, TERM = ("tag", "Secret"), ("glossaryTerm", "order")
NAMES = {TAG: "Privacy.Secret", TERM: "words.order"}
SOURCES = {TAG: "Classification", TERM: "Glossary"}


@pytest.fixture
def company(store_engine: Engine) -> SmallCompany:
    company = SmallCompany(store_engine)
    company.put("classification", {"name": "Privacy", "description": "x"})
    company.put("tag", {"name": "Secret", "classification": "Privacy", "description": "x"})
    company.put("glossary", {"name": "words", "description": "x"})
    company.put("glossaryTerm", {"name": "order", "glossary": "words", "description": "x"})
    company.table("profit")
    return company


def label_of(label: tuple[str, str]) -> dict[str, str]:
    return {"tagFQN": NAMES[label], "source": SOURCES[label], "labelType": "Manual", "state": "Confirmed"}


def put_on(company: SmallCompany, table: str, *labels: tuple[str, str], column: bool = False) -> LoggedEvent:
    """Give a table, or its first column, these labels and no others; return the event."""
    path = "/columns/0/tags" if column else "/tags"
    patch = [{"op": "add", "path": path, "value": [label_of(label) for label in labels]}]
    company.writes.patch("table", company.key(table), patch, actor=SYSTEM)
    return last_event(company)


def label_follow(label: tuple[str, str], asset: str = "it", name: str = "") -> list[str]:
    kind = "tag" if label[0] == "tag" else "glossary term"
    return [f"you follow the {kind} {name or NAMES[label]}, which {asset} carries"]


@pytest.mark.parametrize("column", [False, True])
@pytest.mark.parametrize("label", [TAG, TERM])
def test_who_follows_a_label_hears_of_what_comes_until_it_leaves(
    company: SmallCompany, label: tuple[str, str], *, column: bool
) -> None:
    company.alert("bell", BELL, resources=("table",))
    follow(company, "cem", label)
    assert reasons_for_change(company, "profit") == {}
    outside = last_event(company)
    arriving = put_on(company, "profit", label, column=column)
    company.describe("profit", "inside")
    inside = last_event(company)
    leaving = put_on(company, "profit", column=column)
    company.describe("profit", "outside")
    reasons, events = {"cem": label_follow(label)}, (outside, arriving, inside, leaving, last_event(company))
    assert [reasons_by_person(company, one) for one in events] == [{}, reasons, reasons, reasons, {}]
    put_on(company, "profit", label, column=column)
    unfollow(company, "cem", label)
    assert [reasons_by_person(company, one) for one in events] == [{}, reasons, reasons, reasons, {}], "as it was then"
    assert reasons_for_change(company, "profit") == {}


def test_what_is_created_with_a_label_is_told_from_the_first_and_goes_with_it(company: SmallCompany) -> None:
    company.alert("bell", BELL, resources=("table",))
    follow(company, "cem", TAG)
    company.table("loss", tags=[label_of(TAG)])
    created = last_event(company)
    company.writes.delete("table", company.key("loss"), actor=SYSTEM, hard=True)
    deleted = last_event(company)
    assert [reasons_by_person(company, one) for one in (created, deleted)] == [{"cem": label_follow(TAG)}] * 2


@pytest.mark.parametrize("label", [TAG, TERM])
def test_a_renamed_label_is_carried_for_as_long_as_before(company: SmallCompany, label: tuple[str, str]) -> None:
    company.alert("bell", BELL, resources=("table",))
    company.describe("profit", "outside")
    outside = last_event(company)
    put_on(company, "profit", label)
    follow(company, "cem", label)
    company.describe("profit", "inside")
    inside = last_event(company)
    rename = [{"op": "replace", "path": "/name", "value": "renamed"}]
    company.writes.patch(label[0], company.key(label[1]), rename, actor=SYSTEM)
    company.describe("profit", "renamed")
    name = NAMES[label].replace(label[1], "renamed")
    reasons = {"cem": label_follow(label, name=name)}
    events = (outside, inside, last_event(company))
    assert [reasons_by_person(company, one) for one in events] == [{}, reasons, reasons]
    put_on(company, "profit")
    assert [reasons_by_person(company, one) for one in (*events, last_event(company))] == [
        {},
        reasons,
        reasons,
        reasons,
    ]


def test_a_label_that_goes_for_good_is_told_of_by_what_has_lost_it(company: SmallCompany) -> None:
    company.alert("bell", BELL, resources=("table",))
    put_on(company, "profit", TAG)
    follow(company, "cem", TAG)
    company.describe("profit", "inside")
    inside = last_event(company)
    company.writes.delete("tag", company.key("Secret"), actor=SYSTEM, hard=True)
    events = [one for one in EventLog(company.engine).read(0, 10_000) if one.event.entity_id == company.ids["profit"]]
    assert [list(reasons_by_person(company, one)) for one in (inside, events[-1])] == [["cem"], ["cem"]]
    assert reasons_for_change(company, "profit") == {}


def test_a_tag_and_a_term_of_one_name_are_two(company: SmallCompany) -> None:
    """A label says which of them it is: now, when it leaves, and when what carries it goes for good."""
    company.alert("bell", BELL, resources=("table",))
    company.put("glossary", {"name": "Privacy", "description": "x"})
    term = company.writes.upsert(
        "glossaryTerm", {"name": "Secret", "glossary": "Privacy", "description": "x"}, actor=SYSTEM
    ).document
    company.writes.follow("glossaryTerm", term["id"], company.ids["ben"], actor=company.actor("ben"))
    follow(company, "cem", TAG)
    label_of_term = label_of(TAG) | {"source": "Glossary"}
    of_tag, of_term = {"cem": label_follow(TAG)}, {"ben": label_follow(TERM, name=NAMES[TAG])}
    events = []
    on_column = {"op": "add", "path": "/columns/0/tags", "value": [label_of_term]}
    for label, patches in ((label_of(TAG), []), (label_of_term, []), (label_of(TAG), [on_column])):
        company.table("loss", tags=[label])
        company.writes.patch("table", company.key("loss"), patches, actor=SYSTEM)
        company.describe("loss", "inside")
        events.append(last_event(company))
        company.writes.delete("table", company.key("loss"), actor=SYSTEM, hard=True)
        events.append(last_event(company))
    reasons = [of_tag] * 2 + [of_term] * 2 + [of_tag | of_term] * 2
    assert [reasons_by_person(company, one) for one in events] == reasons
    put_on(company, "profit", TAG)
    leaving = put_on(company, "profit")
    assert reasons_by_person(company, leaving) == of_tag
    assert reasons_for_change(company, "profit") == {}


def test_a_label_and_another_way_make_one_row_and_what_the_label_contains_is_no_label(company: SmallCompany) -> None:
    company.alert("bell", BELL, resources=("table", "glossaryTerm"))
    company.put("glossaryTerm", {"name": "paid", "glossary": "words", "parent": "words.order", "description": "x"})
    NAMES["glossaryTerm", "paid"], SOURCES["glossaryTerm", "paid"] = "words.order.paid", "Glossary"
    for target in (TERM, ("table", "profit")):
        follow(company, "cem", target)
    put_on(company, "profit", ("glossaryTerm", "paid"))
    assert reasons_by_person(company, last_event(company)) == {"cem": ["you follow it"]}
    put_on(company, "profit", ("glossaryTerm", "paid"), TERM)
    assert reasons_by_person(company, last_event(company)) == {"cem": ["you follow it", *label_follow(TERM)]}
    patch = [{"op": "add", "path": "/description", "value": "y"}]
    company.writes.patch("glossaryTerm", company.key("paid"), patch, actor=SYSTEM)
    assert reasons_by_person(company, last_event(company)) == {
        "cem": ["you follow the glossary term words.order, which contains it"]
    }


def test_user_follows_downstream_tests_mutes_and_rights_hold_of_labels_too(company: SmallCompany) -> None:
    by_name = {"category": "Users", "type": "Email", "config": {"receivers": ["ben"]}}
    company.alert("named", [by_name], "user.follows(entity)", resources=("table", "testCase"))
    company.alert("far", [{**BELL[0], "notifyDownstream": True}], resources=("table",))
    put_on(company, "revenue", TAG)
    follow(company, "ben", TAG)
    assert reasons_for_change(company, "revenue") == {"ben": label_follow(TAG), "ben@example.com": label_follow(TAG)}
    company.describe("orders", "upstream")
    assert reasons_by_person(company, last_event(company))["ben"] == [
        f"{label_follow(TAG, 'pg.store.public.revenue')[0]}, 1 step below"
    ]
    company.test_case("revenue")
    failure = company.result("revenue", "Failed")
    failure_event = EventLog(company.engine).find(failure["id"]) if failure else None
    assert failure_event is not None
    assert set(reasons_by_person(company, failure_event)) == {"ben@example.com"}
    restrict(company, "ben", {"name": "No", "effect": "deny", "operations": ["ViewAll"], "resources": ["tag"]})
    assert reasons_for_change(company, "revenue") == {}


def test_a_muted_label_is_quiet(company: SmallCompany) -> None:
    company.alert("bell", BELL, resources=("table",))
    put_on(company, "profit", TAG)
    follow(company, "cem", TAG)
    mute = Mute(company.ids["cem"], MuteKind.ASSET, company.ids["Secret"], since_ms=company.clock.now_ms())
    Mutes(company.engine).put(mute)
    assert reasons_for_change(company, "profit") == {}


def test_the_cost_depends_neither_on_what_else_carries_a_label_nor_on_labels_that_nobody_follows(
    company: SmallCompany,
) -> None:
    without, without_follow, among_one, among_many = list[str](), list[str](), list[str](), list[str]()
    assert follower_count(company, without) == 0
    put_on(company, "revenue", TAG, TERM)
    assert follower_count(company, without_follow) == 0
    assert len(without_follow) == len(without)
    assert not [statement for statement in without_follow if "entity_tag" in statement or "ownership" in statement]
    follow(company, "cem", TAG)
    assert follower_count(company, among_one) == 1
    for number in range(30):
        company.table(f"more{number}", tags=[label_of(TAG)])
    assert follower_count(company, among_many) == 1
    assert len(among_many) == len(among_one) <= 12


def test_a_label_that_was_followed_counts_however_much_else_has_ended(company: SmallCompany) -> None:
    put_on(company, "revenue", TAG)
    follow(company, "cem", TAG)
    unfollow(company, "cem", TAG)
    ended = {"until_offset": 0, "relation": "owner", "entity_id": "gone", "other_type": "user"}
    with writing(company.engine) as connection:
        connection.execute(insert(past_relation), [{**ended, "other_id": f"owner {at}"} for at in range(2_000)])
    (principal,) = SqlDirectory(company.engine).stakeholders([company.ids["revenue"]], ReasonKind.FOLLOWER)
    assert principal.principal_id == company.ids["cem"]
