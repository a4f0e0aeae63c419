"""Tests of change requests through backups, retention, erasure and a renamed column, on both stores."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from sqlalchemy import Engine
from tests.company import SmallCompany
from tests.store.catalogues import JANE, ORDERS, Company, company
from tests.store.test_backup import folder, make_backup, put_back, settings
from tests.store.test_change_requests import announce_as, announcement_by, answer_as
from tests.store.test_erasure import ADDRESS, FULL_NAME, NAME, damage, erase, traces
from tests.store.test_erasure import company as company_of_zoe
from tests.store.test_retention import check_sound, plan_at, read_all, run

from tocsin.catalogue.changes import announce, answer_request, withdraw_request
from tocsin.jobs.change_requests import ChangeRequestsJob
from tocsin.model.change_request import (
    AnnouncedChange,
    Basis,
    ChangeAnnouncement,
    ChangeAnswer,
    ChangeConsumer,
    ConsumerAnswer,
    RequestStep,
)
from tocsin.model.notification import ReasonKind
from tocsin.settings import Settings
from tocsin.store.catalogue.changes.requests import ChangeRequestLog
from tocsin.store.recipients.directory import SqlDirectory
from tocsin.store.upkeep.fsck.inspection import inspect

__all__ = ["company_of_zoe", "folder", "settings"]  # fixtures

_DAY_MS = 86_400_000
_State = tuple[AnnouncedChange | None, list[ConsumerAnswer], list[RequestStep]]


def state_of(engine: Engine, name: str = "CR-1") -> _State:
    """Return all that is stored of a request."""
    log = ChangeRequestLog(engine)
    request = log.find(name)
    request_id = request.id if request else ""
    return request, list(log.consumers(request_id)), log.steps(request_id, limit=99)


def board(shop: Company) -> ChangeConsumer:
    return ChangeConsumer(shop.ids["revenue"], "dashboard", 1, Basis.ASSET)


def test_a_restored_request_is_as_it_was_and_numbers_go_on(
    store_engine: Engine, settings: Settings, folder: Path
) -> None:
    shop = company(store_engine)
    request = announce_as(shop, column="email", consumers=[board(shop)])
    answer_as(shop, request, "objects", board(shop))
    before = state_of(store_engine)
    make_backup(store_engine, settings, folder)
    answer_as(shop, request, "ready", board(shop))
    shop.writes.within(partial(withdraw_request, request_id=request.id, comment=None), actor=JANE)
    announce_as(shop, column="id", consumers=[])
    put_back(store_engine, settings, folder)
    assert state_of(store_engine) == before
    assert state_of(store_engine, "CR-2")[0] is None
    assert announce_as(shop, column="id", consumers=[board(shop)]).name == "CR-2"
    assert inspect(store_engine, deep=True).counts == {}


def test_reminders_that_were_missed_until_a_backup_was_restored_are_one_and_none_after_the_date(
    store_engine: Engine, settings: Settings, folder: Path
) -> None:
    shop = company(store_engine)
    due_at_ms = shop.clock.now_ms() + 9 * _DAY_MS
    announce_as(shop, column="email", consumers=[board(shop)], remindEveryDays=1, date=due_at_ms)
    job = ChangeRequestsJob(store_engine, shop.clock)
    shop.clock.advance(_DAY_MS)
    assert job.look() == 1
    make_backup(store_engine, settings, folder)
    shop.clock.advance(_DAY_MS)
    assert job.look() == 1
    shop.clock.advance(3 * _DAY_MS)
    put_back(store_engine, settings, folder)
    assert [job.look() for _ in range(3)] == [1, 0, 0], "of four that were due since the backup"
    shop.clock.advance(9 * _DAY_MS)
    assert [job.look() for _ in range(3)] == [1, 0, 0], "its author is asked, nobody is reminded"
    kinds = [step.kind.value for step in state_of(store_engine)[2]]
    assert kinds == ["announced", "reminded", "reminded", "asked"]
    assert inspect(store_engine, deep=True).counts == {}


def test_a_request_outlives_the_events_that_told_of_it(store_engine: Engine) -> None:
    shop = SmallCompany(store_engine)
    ask_for_answer(shop, "dia", why="unused", comment="soon")
    directory = SqlDirectory(store_engine)
    assert len(list(directory.stakeholders([shop.ids["orders"]], ReasonKind.ASKED))) > 0
    before = state_of(store_engine)
    for number in range(2):  # the last event of the log is kept
        shop.describe("revenue", f"text {number}")
    read_all(shop)
    assert sum(run(shop, plan_at(shop)).removed.values()) > 0
    assert state_of(store_engine) == before
    assert list(directory.stakeholders([shop.ids["orders"]], ReasonKind.ASKED)) == []
    check_sound(store_engine)


def ask_for_answer(shop: SmallCompany, who: str, *, why: str, comment: str) -> None:
    """Let a person announce a change of orders, and answer for revenue and for themselves."""
    consumers = [
        ChangeConsumer(shop.ids["revenue"], "table", 1, Basis.ASSET),
        ChangeConsumer(shop.ids["cem"], "user", 0, Basis.FOLLOW),
        ChangeConsumer(shop.ids[who], "user", 0, Basis.FOLLOW),
    ]
    removal = {"entity": {}, "kind": "removal", "date": shop.clock.now_ms() + _DAY_MS, "why": why}
    key = ("table", shop.ids["orders"])
    work = partial(
        announce,
        announcement=ChangeAnnouncement.model_validate(removal | {"replacement": why}),
        asset_key=key,
        consumers=consumers,
    )
    request = shop.writes.within(work, actor=shop.actor(who))
    shop.clock.advance(1_000)
    answer = ChangeAnswer.model_validate({"answer": "objects", "comment": comment})
    ids = [one.id for one in consumers if one.id != shop.ids["cem"]]
    work_of_answer = partial(answer_request, request_id=request.id, answer=answer, consumer_ids=ids)
    shop.writes.within(work_of_answer, actor=shop.actor(who))


def test_nothing_of_a_person_who_asked_and_answered_is_left_and_what_they_did_is(company_of_zoe: SmallCompany) -> None:
    engine = company_of_zoe.engine
    ask_for_answer(company_of_zoe, NAME, why=f"{FULL_NAME} says so", comment=f"write to {ADDRESS}")
    _, consumers, steps = state_of(engine)
    assert list(traces(engine))
    erase(company_of_zoe)
    assert list(traces(engine)) == []
    assert damage(engine) == {}
    request_after, consumers_after, steps_after = state_of(engine)
    assert request_after is not None
    zoe = company_of_zoe.ids[NAME]
    assert [one.consumer for one in consumers_after] == [one.consumer for one in consumers if one.consumer.id != zoe]
    assert [(one.kind, one.verdict) for one in steps_after] == [(one.kind, one.verdict) for one in steps]


def test_a_request_about_a_column_that_is_renamed_in_between_is_done_early_and_asks_nobody(
    store_engine: Engine,
) -> None:
    shop = company(store_engine)
    announce_as(
        shop, column="email", consumers=[board(shop)], remindEveryDays=1, date=shop.clock.now_ms() + 9 * _DAY_MS
    )
    names = [one["name"] for one in shop.get("table", ORDERS)["columns"]]
    shop.patch(("replace", f"/columns/{names.index('email')}/name", "mail"))
    assert announcement_by(shop.events_after(0)[-1]) == (True, ["earlier than CR-1 announced"])
    shop.clock.advance(2 * _DAY_MS)
    assert ChangeRequestsJob(store_engine, shop.clock).look() == 0, "no reminder"
    shop.clock.advance(9 * _DAY_MS)
    assert ChangeRequestsJob(store_engine, shop.clock).look() == 0, "its author is not asked"
    assert announce_as(shop, column="mail", consumers=[]).name == "CR-2"
