"""Tests of proposed changes on both stores: what is rehearsed is what the change then does; nothing is kept."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
from sqlalchemy import Engine, func, select
from tests.company import SmallCompany
from tests.store.test_wholes import FOLLOWERS, HOOK, OWNERS, last_events, new_notifications

from tocsin.catalogue.proposals import RehearsedProposal, rehearse
from tocsin.model.entity import Document
from tocsin.model.proposed_change import ProposedChange
from tocsin.rehearsal import RehearsalAudience
from tocsin.store.database.schema import METADATA

ORDERS = "pg.store.public.orders"
DROP = {"removedColumns": ["EMAIL"]}
RETYPE = {"columns": [{"name": "email", "dataType": "VARCHAR", "dataLength": 20}]}
ADD = {"columns": [{"name": "note", "dataType": "STRING"}]}
DELETE = {"deleted": True}


@pytest.fixture
def company(store_engine: Engine) -> SmallCompany:
    company = SmallCompany(store_engine)
    company.alert("owners", OWNERS)
    company.alert("followers", FOLLOWERS)
    company.alert("breaks", HOOK, "breaking()")
    company.test_case("orders")
    new_notifications(company)
    return company


def rehearse_change(company: SmallCompany, change: Document, who: str = "dia") -> RehearsedProposal:
    proposal = ProposedChange.model_validate({"entityType": "table", "fullyQualifiedName": ORDERS, **change})
    work = partial(rehearse, proposal=proposal)
    rehearsed_change = company.writes.rehearsal().within(work, actor=company.actor(who))
    assert rehearsed_change is not None
    return rehearsed_change


def row_counts(engine: Engine) -> dict[str, int]:
    with engine.connect() as connection:
        return {
            table.name: connection.scalar(select(func.count()).select_from(table)) or 0
            for table in METADATA.sorted_tables
        }


def drop_email(company: SmallCompany) -> None:
    operations = [{"op": "remove", "path": "/columns/1"}]
    company.writes.patch("table", company.key("orders"), operations, actor=company.actor("dia"))


def shorten_email(company: SmallCompany) -> None:
    operations = [{"op": "replace", "path": "/columns/1/dataLength", "value": 20}]
    company.writes.patch("table", company.key("orders"), operations, actor=company.actor("dia"))


def add_note(company: SmallCompany) -> None:
    operations = [{"op": "add", "path": "/columns/-", "value": {"name": "note", "dataType": "STRING"}}]
    company.writes.patch("table", company.key("orders"), operations, actor=company.actor("dia"))


def delete_orders(company: SmallCompany) -> None:
    company.writes.delete("table", company.key("orders"), actor=company.actor("dia"), recursive=True)


@pytest.mark.parametrize(
    ("change", "make"),
    [(DROP, drop_email), (RETYPE, shorten_email), (ADD, add_note), (DELETE, delete_orders)],
    ids=["drop", "retype", "add", "delete"],
)
def test_what_is_rehearsed_is_what_happens(
    company: SmallCompany, change: Document, make: Callable[[SmallCompany], None]
) -> None:
    before = row_counts(company.engine)
    rehearsed_change = rehearse_change(company, change)
    audience = RehearsalAudience(company.engine, company.clock)
    audience.add(rehearsed_change.events)
    people, addresses = audience.people(), audience.addresses()
    assert row_counts(company.engine) == before

    make(company)
    own_events = [logged.event for logged in last_events(company, len(rehearsed_change.events))]
    real_event = next(event for event in own_events if event.entity_id == company.ids["orders"])
    rehearsed_event = rehearsed_change.events[0].event
    assert (rehearsed_event.event_type, rehearsed_event.breaking_reasons) == (
        real_event.event_type,
        real_event.breaking_reasons,
    )
    assert rehearsed_event.change_description == real_event.change_description
    notification_counts = new_notifications(company)
    names = {identity: name for name, identity in company.ids.items()}
    people_told = {who.removesuffix("@example.com") for channel, who, _ in notification_counts if channel != "Webhook"}
    assert {names[user_id] for user_id in people} == people_told
    assert sum(addresses.values()) == sum(
        count for (channel, *_), count in notification_counts.items() if channel == "Webhook"
    )


def test_what_is_touched_and_missing_is_named(company: SmallCompany) -> None:
    change = rehearse_change(
        company, {"removedColumns": ["email", "fax"], "columns": [{"name": "id", "dataType": "INT"}]}
    )
    assert (set(change.columns), change.missing) == ({f"{ORDERS}.email"}, ("fax",)), "id is as it was"
    assert rehearse_change(company, {"removedColumns": ["fax"]}).events == ()
    assert [test["id"] for test in rehearse_change(company, DELETE).tests] == [company.ids["has_rows"]]
    assert rehearse_change(company, DROP).tests == (), "the test is of the table"


def test_what_is_not_there_or_deleted_is_none(company: SmallCompany) -> None:
    delete_orders(company)
    proposal = ProposedChange.model_validate({"entityType": "table", "fullyQualifiedName": ORDERS, **DELETE})
    work = partial(rehearse, proposal=proposal)
    assert company.writes.rehearsal().within(work, actor=company.actor("dia")) is None
