"""Tests of mutes of kinds, actors and everything on both stores: stored with their reason; what must pass passes."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import Engine, select
from tests.company import SmallCompany
from tests.notifying import notify_all
from tests.store.test_preferences import NIGHT_MS, company_of, in_app

from tocsin.clock import SystemClock
from tocsin.flow.schedule.preferences import NEVER_MS
from tocsin.model.message import DroppedReason
from tocsin.model.mute import EVERYTHING_ID, FOR_GOOD_MS, Mute, MuteKind, actor_key, kind_key
from tocsin.model.people import SYSTEM, Actor
from tocsin.model.preferences import DefaultPreferences
from tocsin.store.database.alert_tables import mute
from tocsin.store.outbox.messages import Messages
from tocsin.store.outbox.preferences import SqlPreferences
from tocsin.store.outbox.quiet_times import SqlQuietTimes
from tocsin.store.outbox.send_permission import Permitted
from tocsin.store.outbox.sessions import Sessions
from tocsin.store.recipients.mutes import Mutes


def put_mute(company: SmallCompany, kind: MuteKind, about_id: str, **options: Any) -> Mute:
    new_mute = Mute(company.ids["ana"], kind, about_id, since_ms=company.clock.now_ms(), **options)
    Mutes(company.engine).put(new_mute)
    return new_mute


def mute_everything(company: SmallCompany, **options: Any) -> Mute:
    return put_mute(company, MuteKind.EVERYTHING, EVERYTHING_ID, **options)


def dropped_mails(engine: Engine, now_ms: int) -> list[tuple[bool, list[str]]]:
    """Return of each waiting mail to Ana whether it may be sent, and why not."""
    Sessions(engine).begin("worker", lease_ms=90_000, now_ms=1)
    messages, permitted = Messages(engine), Permitted(engine)
    dispatches = messages.dispatches(messages.claim("worker", 100, now_ms=now_ms))
    answers = list[tuple[bool, list[str]]]()
    for dispatch in dispatches:
        if dispatch.message.target == "ana@example.com":
            permitted.look_ahead([dispatch], SqlQuietTimes(engine).look_ahead([dispatch]))
            part, drops = permitted.permitted_part(dispatch, now_ms=now_ms)
            answers.append((part is not None, [_says(one) for one in drops]))
    messages.release("worker", [one.message.id for one in dispatches])
    return answers


def _says(drop: DroppedReason) -> str:
    return f"{drop.because}: {drop.says}"


def test_what_is_muted_is_stored_with_its_reason_and_not_sent(store_engine: Engine) -> None:
    company, ana = company_of(store_engine), "ana"
    mute_everything(company)
    company.describe("orders", "text")
    notify_all(store_engine, now_ms=NIGHT_MS)
    choice = f"mute never everything|everything|{FOR_GOOD_MS}"
    assert in_app(store_engine, company.ids[ana]) == [(NEVER_MS, choice)]
    says = "muted: the recipient muted everything permanently"
    assert dropped_mails(store_engine, NIGHT_MS) == [(False, [says])]
    assert [one for one, _ in in_app(store_engine, company.ids["ben"])] == [NIGHT_MS]


def test_a_mute_holds_by_the_place_and_time_of_the_event_and_for_what_waits_while_it_holds(
    store_engine: Engine,
) -> None:
    company = company_of(store_engine)
    company.describe("orders", "before")
    notify_all(store_engine, now_ms=company.clock.now_ms())
    mute_everything(company, until_ms=company.clock.now_ms() + 60_000)
    company.describe("orders", "while")
    notify_all(store_engine, now_ms=company.clock.now_ms())
    company.clock.advance(120_000)
    company.describe("orders", "after")
    notify_all(store_engine, now_ms=company.clock.now_ms())
    assert sorted(due_ms != NEVER_MS for due_ms, _ in in_app(store_engine, company.ids["ana"])) == [False, True, True]
    assert sorted(may for may, _ in dropped_mails(store_engine, company.clock.now_ms())) == [False, True, True]
    mute_everything(company, until_ms=company.clock.now_ms() + 60_000)
    assert [may for may, _ in dropped_mails(store_engine, company.clock.now_ms())] == [False] * 3
    Mutes(store_engine).remove(company.ids["ana"], EVERYTHING_ID)
    assert [may for may, _ in dropped_mails(store_engine, company.clock.now_ms())] == [True] * 3, "nothing is lost"


def test_a_muted_bot_stays_muted_when_it_is_renamed_and_others_are_heard(store_engine: Engine) -> None:
    company = company_of(store_engine)
    bot = company.put("user", {"name": "ingestion-bot", "email": "ingestion@example.com", "isBot": True})
    put_mute(company, MuteKind.ACTOR, actor_key(bot["id"]))
    for number, name in enumerate(("ingestion-bot", "renamed-bot")):
        actor = Actor(id=bot["id"], name=name, is_bot=True)
        text = [{"op": "add", "path": "/description", "value": f"by bot {number}"}]
        company.writes.patch("table", company.key("orders"), text, actor=actor)
    company.describe("orders", "by a person")
    notify_all(store_engine, now_ms=NIGHT_MS)
    assert sorted(due_ms == NEVER_MS for due_ms, _ in in_app(store_engine, company.ids["ana"])) == [False, True, True]


def test_what_tocsin_itself_changes_is_judged_by_mutes_of_others_and_of_everything(store_engine: Engine) -> None:
    """Its id is no UUID; one person's mute must not stop the notifications of all."""
    company = company_of(store_engine)
    put_mute(company, MuteKind.ACTOR, actor_key(company.ids["dia"]))
    for number in range(2):
        text = [{"op": "add", "path": "/description", "value": f"by Tocsin {number}"}]
        company.writes.patch("table", company.key("orders"), text, actor=SYSTEM)
        notify_all(store_engine, now_ms=NIGHT_MS)
        mute_everything(company)
    assert sorted(due_ms for due_ms, _ in in_app(store_engine, company.ids["ana"])) == [NIGHT_MS, NEVER_MS]
    assert [one for one, _ in in_app(store_engine, company.ids["ben"])] == [NIGHT_MS, NIGHT_MS]
    assert [may for may, _ in dropped_mails(store_engine, NIGHT_MS)] == [False, False]


def test_a_muted_actor_is_no_muted_asset(store_engine: Engine) -> None:
    company = SmallCompany(store_engine)
    company.alert("people", [{"category": "Users", "type": "ActivityFeed", "config": {"receivers": ["ana"]}}])
    notify_all(store_engine, now_ms=NIGHT_MS)
    put_mute(company, MuteKind.ACTOR, actor_key(company.ids["cem"]))
    name = [{"op": "add", "path": "/displayName", "value": "Cem"}]
    company.writes.patch("user", company.key("cem"), name, actor=company.actor("dia"))
    notify_all(store_engine, now_ms=NIGHT_MS)
    assert [one for one, _ in in_app(store_engine, company.ids["ana"])] == [NIGHT_MS]
    company.writes.delete("user", company.key("cem"), hard=True, actor=company.actor("dia"))
    with store_engine.connect() as connection:
        assert connection.scalars(select(mute.c.about_id)).all() == []


def test_a_muted_kind_hides_what_is_of_that_kind_alone(store_engine: Engine) -> None:
    company = company_of(store_engine)
    put_mute(company, MuteKind.KIND, kind_key("description"))
    company.describe("orders", "text")
    both = [
        {"op": "replace", "path": "/description", "value": "more"},
        {"op": "add", "path": "/displayName", "value": "Orders"},
    ]
    company.writes.patch("table", company.key("orders"), both, actor=company.actor("dia"))
    notify_all(store_engine, now_ms=NIGHT_MS)
    assert sorted(due_ms == NEVER_MS for due_ms, _ in in_app(store_engine, company.ids["ana"])) == [False, True]


@pytest.mark.parametrize("kind", [MuteKind.EVERYTHING, MuteKind.KIND])
def test_mandatory_kinds_and_critical_alerts_pass(store_engine: Engine, kind: MuteKind) -> None:
    company = company_of(store_engine)
    put_mute(company, kind, EVERYTHING_ID if kind is MuteKind.EVERYTHING else kind_key("description"))
    mandatory = DefaultPreferences.model_validate({"mandatory": ["description"]})
    SqlPreferences(store_engine).put_defaults(mandatory, now_ms=1)
    company.describe("orders", "text")
    notify_all(store_engine, now_ms=NIGHT_MS)
    assert [one for one, _ in in_app(store_engine, company.ids["ana"])] == [NIGHT_MS]
    assert dropped_mails(store_engine, NIGHT_MS) == [(True, [])]
    SqlPreferences(store_engine).put_defaults(DefaultPreferences(), now_ms=2)
    assert [may for may, _ in dropped_mails(store_engine, SystemClock().now_ms())] == [False]


def test_what_a_critical_alert_sends_passes_a_mute_of_everything(store_engine: Engine) -> None:
    company = company_of(store_engine, tags=[{"tagFQN": "Priority.Critical"}])
    mute_everything(company)
    company.describe("orders", "text")
    notify_all(store_engine, now_ms=NIGHT_MS)
    assert [one for one, _ in in_app(store_engine, company.ids["ana"])] == [NIGHT_MS]
    assert dropped_mails(store_engine, NIGHT_MS) == [(True, [])]
