"""Tests of messages that several alerts share and that wait at a destination which sends nothing, on both stores."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from sqlalchemy import Engine, event, insert, select
from tests.company import SmallCompany, destination_id
from tests.notifying import notify_all

from tocsin.model.entity import Document
from tocsin.model.message import Message
from tocsin.model.people import SYSTEM
from tocsin.model.stored import Key
from tocsin.store.database.engine import writing
from tocsin.store.database.tables import destination_status, entity, message, notification
from tocsin.store.outbox.addresses import Routes
from tocsin.store.outbox.handovers import LATE_AFTER_MS, Handovers
from tocsin.store.outbox.messages import Messages
from tocsin.store.outbox.sessions import Sessions

_LEADER, _OTHER = "leader", "other"
_HOUR_MS = 3_600_000


@pytest.fixture
def company(store_engine: Engine) -> SmallCompany:
    small_company = SmallCompany(store_engine)
    notify_all(store_engine)
    small_company.clock.advance(1_000)
    Sessions(store_engine).begin("worker", lease_ms=10**12, now_ms=0)
    return small_company


def _alert(company: SmallCompany, name: str, who: str, tables: Sequence[str], **fields: object) -> None:
    names = ",".join(f"'pg.store.public.{table}'" for table in tables)
    rule = {"effect": "include", "condition": f"matchAnyEntityFqn({{{names}}})"}
    mail = {"id": destination_id(name), "category": "Users", "type": "Email", "config": {"receivers": ["ben"]}}
    request: Document = {
        "name": name,
        "alertType": "Notification",
        "filteringRules": {"resources": ["table"], "rules": [rule]},
        "destinations": [mail],
        **fields,
    }
    outcome = company.writes.create("eventsubscription", request, actor=company.actor(who))
    company.ids[name] = str(outcome.document["id"])
    company.clock.advance(1_000)


def _change_tables(company: SmallCompany, *tables: str) -> int:
    """Let tables change, and return a time at which every message is due."""
    for table in tables:
        company.describe(table, f"at {company.clock.now_ms()}")
    notify_all(company.engine, now_ms=company.clock.now_ms())
    return company.clock.now_ms() + _HOUR_MS


def _stop(company: SmallCompany, name: str) -> None:
    row: dict[str, object] = {
        "subscription_id": company.ids[name],
        "destination_id": destination_id(name),
        "status": "failed",
        "timestamp_ms": 1,
        "opened_at_ms": 1,
        "stopped_at_ms": 1,
    }
    with writing(company.engine) as connection:
        row["configured_at_ms"] = connection.execute(
            select(entity.c.updated_at_ms).where(entity.c.id == company.ids[name])
        ).scalar_one()
        connection.execute(insert(destination_status).values(row))


def _claims(company: SmallCompany, now_ms: int) -> list[tuple[str, int]]:
    """Return the destinations of what a worker claims, and how many changes each message carries."""
    messages = Messages(company.engine)
    pauses = messages.pauses(now_ms)
    shares = {one: pauses.room(one, 64) for one in messages.due_destinations(now_ms)}
    claimed: list[Message] = messages.claim("worker", 64, now_ms=now_ms, shares=shares, pauses=pauses)
    names = {destination_id(name): name for name in (_LEADER, _OTHER, "third")}
    return sorted((names[one.message.destination_id], len(one.entries)) for one in messages.dispatches(claimed))


def _handovers(company: SmallCompany) -> Handovers:
    return Handovers(company.engine, Routes(company.engine).is_open)


def test_what_a_stopped_destination_shares_goes_out_by_the_other_alert(company: SmallCompany) -> None:
    _alert(company, _LEADER, "ana", ["orders", "revenue"], pollInterval=0)
    _alert(company, _OTHER, "dia", ["orders"], pollInterval=0)
    now_ms = _change_tables(company, "orders", "revenue", "orders")
    _stop(company, _LEADER)
    assert _claims(company, now_ms - _HOUR_MS + 1_000) == [], "it waits at the leading alert's destination"
    assert _handovers(company).advance(now_ms - _HOUR_MS + 1_000) == 2
    assert _handovers(company).advance(now_ms - _HOUR_MS + 1_000) == 0
    assert _claims(company, now_ms) == [(_OTHER, 1), (_OTHER, 1)], "what only the leading alert sends waits"


def test_of_a_message_that_gathers_changes_only_those_leave_that_the_other_alert_sends(company: SmallCompany) -> None:
    scheduled = {"trigger": {"triggerType": "Scheduled", "scheduleInfo": "Custom", "cronExpression": "0 0 * * * ?"}}
    _alert(company, _LEADER, "ana", ["orders", "revenue"], **scheduled)
    _alert(company, _OTHER, "dia", ["orders"], **scheduled)
    now_ms = _change_tables(company, "orders", "orders", "revenue")
    _stop(company, _LEADER)
    assert _handovers(company).advance(now_ms) == 1
    with company.engine.connect() as connection:
        assert len(connection.execute(select(message)).all()) == 2
        carrying = set(connection.execute(select(notification.c.message_id)).scalars())
        assert carrying == set(connection.execute(select(message.c.id)).scalars())
    assert _claims(company, now_ms) == [(_OTHER, 2)]


def test_nothing_is_left_of_a_message_that_two_others_take(company: SmallCompany) -> None:
    scheduled = {"trigger": {"triggerType": "Scheduled", "scheduleInfo": "Custom", "cronExpression": "0 0 * * * ?"}}
    _alert(company, _LEADER, "ana", ["orders", "revenue"], **scheduled)
    _alert(company, _OTHER, "dia", ["orders"], **scheduled)
    _alert(company, "third", "dia", ["revenue"], **scheduled)
    now_ms = _change_tables(company, "orders", "revenue", "revenue")
    _stop(company, _LEADER)
    assert _handovers(company).advance(now_ms) == 2
    assert _claims(company, now_ms) == [(_OTHER, 1), ("third", 2)]
    with company.engine.connect() as connection:
        assert len(connection.execute(select(message)).all()) == 2


def test_what_waits_behind_others_goes_out_by_the_other_alert(company: SmallCompany) -> None:
    _alert(company, _LEADER, "ana", ["orders"], pollInterval=0)
    _alert(company, _OTHER, "dia", ["orders"], pollInterval=0)
    now_ms = _change_tables(company, "orders") - _HOUR_MS
    handovers = _handovers(company)
    assert handovers.advance(now_ms) == 0
    assert handovers.advance(now_ms + LATE_AFTER_MS) == 1
    assert handovers.advance(now_ms + LATE_AFTER_MS) == 0, "both are behind: it stays"
    assert _claims(company, now_ms + LATE_AFTER_MS) == [(_OTHER, 1)]


@pytest.mark.parametrize("fate", ["disabled", "stopped", "claimed"])
def test_nothing_is_handed_to_whoever_does_not_send_or_taken_from_a_worker(company: SmallCompany, fate: str) -> None:
    _alert(company, _LEADER, "ana", ["orders"], pollInterval=0)
    _alert(company, _OTHER, "dia", ["orders"], pollInterval=0)
    now_ms = _change_tables(company, "orders")
    if fate == "disabled":
        off = [{"op": "add", "path": "/enabled", "value": False}]
        company.writes.patch("eventsubscription", Key.by_id(company.ids[_OTHER]), off, actor=SYSTEM)
    if fate == "stopped":
        _stop(company, _OTHER)
    if fate == "claimed":
        assert _claims(company, now_ms) == [(_LEADER, 1)]
    _stop(company, _LEADER)
    assert _handovers(company).advance(now_ms) == 0


def test_many_queues_are_looked_at_together_and_what_is_shared_in_one_of_them_goes_out(company: SmallCompany) -> None:
    _alert(company, _LEADER, "ana", ["orders"], pollInterval=0)
    _alert(company, _OTHER, "dia", ["orders"], pollInterval=0)
    now_ms = _change_tables(company, "orders")
    with writing(company.engine) as connection:
        row = connection.execute(select(message)).mappings().one()
        copies = [{**row, "id": f"0-{number}", "destination_id": f"0-{number}"} for number in range(200)]
        connection.execute(insert(message), copies)
    statements: list[str] = []
    event.listen(company.engine, "before_cursor_execute", lambda *call: statements.append(call[2]))
    assert _handovers(company).advance(now_ms) == 1
    assert len(statements) <= 20, "of 200 queues"
