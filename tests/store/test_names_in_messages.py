"""Tests of the names of people and teams in messages, on both stores: their display names of now, and "you"."""

from __future__ import annotations

import pytest
from sqlalchemy import Engine
from tests.company import SmallCompany
from tests.notifying import notify_all
from tests.store.test_failure_context import counting
from tests.unit.delivery.events import change_event

from tocsin.delivery.dispatch import Dispatch
from tocsin.delivery.wording.changes import event_text
from tocsin.delivery.wording.content import message_content
from tocsin.model.change import EventType
from tocsin.model.people import SYSTEM
from tocsin.model.thread import THREAD
from tocsin.store.outbox.display_names import read_naming
from tocsin.store.outbox.messages import Messages
from tocsin.store.outbox.sessions import Sessions

OWNERS = {"category": "Owners", "type": "Email"}
HOOK = {"category": "External", "type": "Webhook", "config": {"endpoint": "https://hooks.example/x"}}

_ASKED = {"dia": "user", "shop": "team"}


@pytest.fixture
def company(store_engine: Engine) -> SmallCompany:
    """A company in which dia and her team have display names, and an alert that mails owners and calls a webhook."""
    small_company = SmallCompany(store_engine)
    rename(small_company, "user", "dia", "Dia Okafor")
    rename(small_company, "team", "shop", "Shop & Tills")
    small_company.table("revenue", owners=[{"type": "user", "name": "dia"}, {"type": "team", "name": "shop"}])
    small_company.alert("changes", [OWNERS, HOOK], resources=("table",))
    notify_all(store_engine)
    return small_company


def rename(company: SmallCompany, entity_type: str, name: str, display_name: str) -> None:
    company.clock.advance(1_000)
    patch = [{"op": "add", "path": "/displayName", "value": display_name}]
    company.writes.patch(entity_type, company.key(name), patch, actor=SYSTEM)


def claim(company: SmallCompany) -> dict[str, Dispatch]:
    """Return what is due, by its target."""
    notify_all(company.engine)
    Sessions(company.engine).begin("worker", lease_ms=90_000, now_ms=1)
    messages = Messages(company.engine)
    dispatches = messages.dispatches(messages.claim("worker", 64, now_ms=10**15))
    return {one.message.target: one for one in dispatches}


def owners_text(dispatch: Dispatch) -> str:
    *_, section = message_content(dispatch, dispatch.entries, base_url="https://t.example", lines_each=20).sections
    return section.owned_by


def headline(dispatch: Dispatch) -> str:
    return message_content(dispatch, dispatch.entries, base_url="https://t.example", lines_each=20).headline


def test_owners_are_called_by_their_display_names_and_the_reader_you(company: SmallCompany) -> None:
    company.describe("revenue", "what the shop earns", by="ben")
    dispatches = claim(company)
    assert owners_text(dispatches["dia@example.com"]) == "; owned by you, Shop & Tills"
    assert owners_text(dispatches["ana@example.com"]) == "; owned by @Dia Okafor, Shop & Tills"


def test_a_display_name_is_that_of_the_time_of_sending(company: SmallCompany) -> None:
    company.describe("revenue", "what the shop earns", by="ben")
    notify_all(company.engine)
    rename(company, "user", "dia", "Dia Mensah")
    assert owners_text(claim(company)["ana@example.com"]) == "; owned by @Dia Mensah, Shop & Tills"


def test_an_owner_without_a_display_name_is_called_by_the_name(company: SmallCompany) -> None:
    company.table("revenue", owners=[{"type": "user", "name": "ben"}, {"type": "user", "name": "ana"}])
    company.describe("revenue", "what the shop earns", by="dia")
    assert owners_text(claim(company)["ana@example.com"]) == "; owned by @ben, you"


def test_a_change_of_owners_calls_them_by_their_display_names(company: SmallCompany) -> None:
    patch = [{"op": "add", "path": "/owners", "value": [{"id": company.ids["dia"], "type": "user"}]}]
    notify_all(company.engine)
    company.clock.advance(1_000)
    company.table("people")
    company.clock.advance(1_000)
    claim(company)
    company.writes.patch("table", company.key("people"), patch, actor=SYSTEM)
    (dispatch,) = (one for target, one in claim(company).items() if "@" in target)
    assert headline(dispatch) == "people: owner Dia Okafor (you) added"


def test_a_run_of_a_suite_is_called_as_its_table_and_its_tests_by_their_display_names(company: SmallCompany) -> None:
    company.test_case("revenue", "has_rows", displayName="Has rows")
    company.alert("runs", [OWNERS], "eventType == 'testSuiteRunCompleted'", resources=("testSuite",))
    claim(company)
    company.result("revenue", "Failed")
    dispatches = [one for one in claim(company).values() if one.event.entity_type == "testSuite"]
    dispatch = next(one for one in dispatches if one.message.target == "dia@example.com")
    assert headline(dispatch) == "revenue: test run failed: 1 failed (1 new failure)"
    lines = event_text(dispatch.event).lines
    assert [line.labelled_text for line in lines if line.label == "new failures"] == [
        "new failures: Has rows of revenue"
    ]


def test_whom_a_task_asks_is_called_by_the_display_name(company: SmallCompany) -> None:
    assignees = [{"id": company.ids[name], "type": kind, "name": name} for name, kind in _ASKED.items()]
    task = {"id": 1, "type": "RequestDescription", "assignees": assignees}
    thread = {"type": "Task", "task": task}
    event = change_event(None, event_type=EventType.THREAD_CREATED, entity_type=THREAD, entity=thread, user_name="ben")
    with company.engine.connect() as connection:
        told_event = read_naming(connection, [event]).event_of(event)
    assert event_text(told_event).headline == "ben asks Dia Okafor and Shop & Tills to describe acme.shop.public.orders"


def test_who_made_a_change_is_called_by_the_display_name(company: SmallCompany) -> None:
    rename(company, "user", "ben", "Ben Ito")
    claim(company)
    company.describe("revenue", "what the shop earns", by="ben")
    dispatches = claim(company)
    mail = dispatches["ana@example.com"]
    *_, section = message_content(mail, mail.entries, base_url="https://t.example", lines_each=20).sections
    assert section.did == "changed by Ben Ito,"
    assert [one.event.user_name for target, one in dispatches.items() if "://" in target] == ["ben"]


def test_a_webhook_gets_the_event_as_it_was_recorded(company: SmallCompany) -> None:
    company.describe("revenue", "what the shop earns", by="ben")
    (dispatch,) = (one for target, one in claim(company).items() if "://" in target)
    owners = (dispatch.event.entity or {})["owners"]
    assert [owner.get("displayName") for owner in owners] == [None, None]


def test_names_of_all_messages_of_a_claim_are_read_together_and_their_event_is_one(company: SmallCompany) -> None:
    company.describe("revenue", "what the shop earns", by="ben")
    notify_all(company.engine)
    Sessions(company.engine).begin("worker", lease_ms=90_000, now_ms=1)
    messages = Messages(company.engine)
    due = messages.claim("worker", 64, now_ms=10**15)
    with counting(company.engine) as statements:
        dispatches = [one for one in messages.dispatches(due) if one.message.channel == "Email"]
    assert sum("FROM entity" in one for one in statements) == 1
    assert len(dispatches) == 2
    assert len({id(one.first.carried) for one in dispatches}) == 1, "what is worded once serves all of them"
