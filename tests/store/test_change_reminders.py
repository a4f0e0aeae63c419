"""Tests of reminders of change requests, and of telling authors of answers, on both stores."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from sqlalchemy import Engine, update
from structlog.testing import capture_logs
from tests.store.catalogues import JANE, Company, company
from tests.store.test_change_requests import announce_as, answer_as, give_owner
from tests.store.test_subscriptions import counted_statements

from tocsin.catalogue.changes import move_request, remind_consumer, withdraw_request
from tocsin.conditions.breaking import reasons_of_event
from tocsin.delivery.wording.changes import event_text
from tocsin.errors import Conflict
from tocsin.jobs.change_requests import ChangeRequestsJob
from tocsin.model.change import CHANGE_REQUEST
from tocsin.model.change_request import AnnouncedChange, Basis, ChangeConsumer, ConsumerVerdict, RequestStepKind
from tocsin.model.notification import ReasonKind
from tocsin.model.people import Actor
from tocsin.model.stored import Key
from tocsin.store.catalogue.changes.requests import ChangeRequestLog
from tocsin.store.database.change_tables import change_request
from tocsin.store.database.engine import reading
from tocsin.store.recipients.asked import AskedConsumers, people_who_answered
from tocsin.store.recipients.directory import SqlDirectory

_DAY_MS = 86_400_000


@pytest.fixture
def shop(store_engine: Engine) -> Company:
    return company(store_engine)


def follower(shop: Company) -> ChangeConsumer:
    return ChangeConsumer(shop.ids["john.doe"], "user", 0, Basis.FOLLOW)


def board(shop: Company) -> ChangeConsumer:
    return ChangeConsumer(shop.ids["revenue"], "dashboard", 1, Basis.ASSET)


def announce_for(shop: Company, *consumers: ChangeConsumer, **fields: object) -> AnnouncedChange:
    """Announce a removal in 30 days, with a reminder every 7 days."""
    date = shop.clock.now_ms() + 30 * _DAY_MS
    return announce_as(shop, JANE, list(consumers), **({"column": "email", "date": date} | fields))


def people_reached(shop: Company, engine: Engine, event_type: str) -> list[set[str]]:
    """Return whom the events of a type reach as those that are asked, in the order of the log."""
    events = {one.offset: one.event for one in shop.log.read(0, 10_000) if one.event.event_type == event_type}
    principals = list(SqlDirectory(engine).stakeholders([shop.ids["orders"]], ReasonKind.ASKED))
    return [
        {one.principal_id for one in principals if one.since_offset <= offset <= one.until_offset}
        for offset in sorted(events)
    ]


def test_those_that_are_open_are_reminded_at_the_interval_once_until_the_date(
    shop: Company, store_engine: Engine
) -> None:
    give_owner(shop, shop.ids["jane"])
    request = announce_for(shop, follower(shop), board(shop))
    job, log = ChangeRequestsJob(store_engine, shop.clock), ChangeRequestLog(store_engine)
    assert job.look() == 0
    shop.clock.advance(7 * _DAY_MS)
    assert [job.look() for _ in range(3)] == [1, 0, 0]
    shop.clock.advance(1)
    answer_as(shop, request, "ready", board(shop))
    shop.clock.advance(15 * _DAY_MS)
    assert [job.look() for _ in range(2)] == [1, 0], "those missed are one"
    shop.clock.advance(1)
    answer_as(shop, request, "ready", follower(shop), actor=Actor(shop.ids["john.doe"], "john.doe"))
    shop.clock.advance(7 * _DAY_MS)
    assert job.look() == 0, "nobody is open"
    assert people_reached(shop, store_engine, "changeRequestReminder") == [
        {shop.ids["jane"], shop.ids["john.doe"]},
        {shop.ids["john.doe"]},
    ]
    assert Counter(one.kind for one in log.steps(request.id, limit=99))[RequestStepKind.REMINDED] == 2


def test_a_reminder_of_one_consumer_reaches_its_owners_alone(shop: Company, store_engine: Engine) -> None:
    give_owner(shop, shop.ids["jane"])
    request = announce_for(shop, follower(shop), board(shop))
    work = partial(remind_consumer, request_id=request.id, consumer_id=board(shop).id)
    shop.clock.advance(1)
    shop.writes.within(work, actor=JANE)
    with pytest.raises(Conflict, match="within a day"):
        shop.writes.within(work, actor=JANE)
    shop.clock.advance(-_DAY_MS // 2)
    with pytest.raises(Conflict, match="within a day"):
        shop.writes.within(work, actor=JANE)
    assert people_reached(shop, store_engine, "changeRequestReminder") == [{shop.ids["jane"]}]
    consumers = ChangeRequestLog(store_engine).consumers(request.id)
    assert [one.answer for one in consumers] == [None, None], "a reminder is no answer"
    reminder, announcement = AskedConsumers(store_engine).newest_of_request(request.id, limit=9)
    assert dict(reminder.people) == {board(shop).id: {shop.ids["jane"]}}
    assert set(announcement.people) == {board(shop).id, follower(shop).id}


def test_two_jobs_that_look_at_once_remind_once(shop: Company, store_engine: Engine) -> None:
    announce_for(shop, follower(shop))
    shop.clock.advance(7 * _DAY_MS)
    jobs = [ChangeRequestsJob(store_engine, shop.clock) for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(lambda job: job.look(), jobs)) == 1


def test_a_clock_that_was_set_back_delays_no_reminder_by_more_than_an_interval(
    shop: Company, store_engine: Engine
) -> None:
    announce_for(shop, follower(shop), date=shop.clock.now_ms() + 400 * _DAY_MS)
    job = ChangeRequestsJob(store_engine, shop.clock)
    shop.clock.advance(300 * _DAY_MS)
    assert job.look() == 1, "of a clock that is ahead"
    shop.clock.advance(-290 * _DAY_MS)
    assert [job.look() for _ in range(2)] == [1, 0]
    shop.clock.advance(7 * _DAY_MS)
    assert job.look() == 1
    shop.clock.advance(-3 * _DAY_MS)
    assert job.look() == 0
    shop.clock.advance(10 * _DAY_MS)
    assert job.look() == 1


@pytest.mark.parametrize("end", ["withdrawn", "due", "deleted", "never"])
def test_nobody_is_reminded_of_what_no_longer_asks(shop: Company, store_engine: Engine, end: str) -> None:
    fields = {"remindEveryDays": 0} if end == "never" else {}
    request = announce_for(shop, follower(shop), **fields)
    job = ChangeRequestsJob(store_engine, shop.clock)
    if end == "withdrawn":
        shop.writes.within(partial(withdraw_request, request_id=request.id, comment=None), actor=JANE)
    if end == "deleted":
        shop.writes.delete("table", Key.by_id(shop.ids["orders"]), actor=JANE)
    shop.clock.advance((30 if end == "due" else 8) * _DAY_MS)
    job.look()
    assert people_reached(shop, store_engine, "changeRequestReminder") == []
    if end == "deleted":
        shop.writes.restore("table", shop.ids["orders"], actor=JANE)
        assert job.look() == 1


@pytest.mark.parametrize("is_answered", [True, False])
def test_a_reminder_that_waits_does_not_wait_for_consumers_that_are_deleted_for_good(
    shop: Company, store_engine: Engine, *, is_answered: bool
) -> None:
    give_owner(shop, shop.ids["john.doe"])
    request = announce_for(shop, board(shop), *(() if is_answered else (follower(shop),)))
    shop.clock.advance(7 * _DAY_MS)
    assert ChangeRequestsJob(store_engine, shop.clock).look() == 1
    shop.clock.advance(1)
    answer_as(shop, request, "ready", board(shop) if is_answered else follower(shop))
    shop.writes.delete("dashboard", Key.by_id(shop.ids["revenue"]), actor=JANE, hard=True)
    with reading(store_engine) as connection:
        (people,) = people_who_answered(connection, [request.id]).values()
    assert people == {shop.ids["john.doe"]}
    assert people_reached(shop, store_engine, "changeRequestReminder") == [{shop.ids["john.doe"]}]


def test_a_moved_request_reminds_an_interval_after_that(shop: Company, store_engine: Engine) -> None:
    request = announce_for(shop, follower(shop))
    job = ChangeRequestsJob(store_engine, shop.clock)
    shop.clock.advance(5 * _DAY_MS)
    date = shop.clock.now_ms() + 60 * _DAY_MS
    work = partial(move_request, request_id=request.id, due_at_ms=date, comment=None, consumers=[])
    shop.writes.within(work, actor=JANE)
    shop.clock.advance(3 * _DAY_MS)
    assert job.look() == 0
    shop.clock.advance(4 * _DAY_MS)
    assert job.look() == 1


def test_a_request_that_cannot_be_read_keeps_no_other_waiting(shop: Company, store_engine: Engine) -> None:
    first, second = (announce_for(shop, follower(shop), column=column) for column in ("email", "id"))
    with store_engine.begin() as connection:
        connection.execute(update(change_request).where(change_request.c.id == first.id).values(kind="unknown"))
    job = ChangeRequestsJob(store_engine, shop.clock)
    shop.clock.advance(8 * _DAY_MS)
    with capture_logs() as logs:
        assert job.look() == 1
        assert job.look() == 0
    assert [(line["event"], line["subject"]) for line in logs] == [("reminder_failed", first.id)]
    steps = ChangeRequestLog(store_engine).steps(second.id, limit=10)
    assert RequestStepKind.REMINDED in [step.kind for step in steps]


def test_the_author_hears_of_each_answer_once_and_not_of_their_own(shop: Company, store_engine: Engine) -> None:
    request = announce_for(shop, follower(shop), board(shop))
    john = Actor(shop.ids["john.doe"], "john.doe")
    for verdict in ("ready", "ready", "objects"):
        answer_as(shop, request, verdict, follower(shop), board(shop), actor=john)
    answer_as(shop, request, "ready", board(shop), actor=JANE)
    assert people_reached(shop, store_engine, "changeRequestAnswered") == [{JANE.id}, {JANE.id}]
    events = [one.event for one in shop.log.read(0, 10_000) if one.event.event_type == "changeRequestAnswered"]
    for event, verdict in zip(events, ("ready", "objects"), strict=True):
        assert event.change_description is not None
        (change,) = event.change_description.fields_added
        assert (change.name, event.user_name) == (CHANGE_REQUEST, "system")
        assert change.new_value["answered"] == {"answer": verdict, "consumers": 2}
        assert (change.new_value["openAnswers"], change.new_value["consumers"]) == (0, 2)
        event_text = event.to_json()
        assert not any(text in event_text for text in ("john", board(shop).id, "because"))


@pytest.mark.soak_on_postgresql
def test_answers_of_five_thousand_are_one_event_and_few_statements(shop: Company, store_engine: Engine) -> None:
    many = [ChangeConsumer(f"00000000-0000-4000-8000-{at:012}", "table", 1, Basis.ASSET) for at in range(5_000)]
    request = announce_for(shop, *many)
    with counted_statements(store_engine) as statements:
        answer_as(shop, request, "ready", *many, actor=Actor(shop.ids["john.doe"], "john.doe"))
    assert len(statements) < 60, "by portions, not by consumers"
    assert ChangeRequestLog(store_engine).verdicts([request.id]) == {request.id: {ConsumerVerdict.READY: 5_000}}
    assert len(people_reached(shop, store_engine, "changeRequestAnswered")) == 1


@pytest.mark.parametrize("is_deleted", [False, True])
def test_a_deprecation_is_done_by_itself_on_its_date_and_nobody_is_asked(
    shop: Company, store_engine: Engine, is_deleted: bool
) -> None:
    request, log = announce_for(shop, board(shop), column=None, kind="deprecation"), ChangeRequestLog(store_engine)
    jobs = [ChangeRequestsJob(store_engine, shop.clock) for _ in range(2)]
    shop.clock.advance(30 * _DAY_MS - 1)
    jobs[0].look()
    stored_request = log.find(request.id)
    assert stored_request is not None
    assert stored_request.done_at_ms is None
    event_count = len(shop.events_after(0))
    shop.clock.advance(1)
    if is_deleted:
        shop.writes.delete("table", Key.by_id(shop.ids["orders"]), actor=JANE)
        event_count = len(shop.events_after(0))
    with ThreadPoolExecutor(2) as pool:
        assert sum(pool.map(lambda job: job.look(), jobs)) == 1
    stored_request = log.find(request.id)
    assert stored_request is not None
    assert (stored_request.done_at_ms, stored_request.outcome) == (shop.clock.now_ms(), "asAnnounced")
    kinds = [one.kind for one in log.steps(request.id, limit=99)]
    assert [kinds.count(one) for one in (RequestStepKind.DONE, RequestStepKind.ASKED)] == [1, 0]
    assert len(shop.events_after(0)) == event_count
    shop.clock.advance(_DAY_MS)
    assert jobs[0].look() == 0


@pytest.mark.parametrize(
    ("days", "looks", "expected"), [(29, True, None), (30, False, ["asAnnounced"]), (31, True, ["asAnnounced"])]
)
def test_a_status_that_says_deprecated_from_the_date_on_is_as_announced(
    shop: Company, store_engine: Engine, days: int, looks: bool, expected: list[str] | None
) -> None:
    announce_for(shop, board(shop), column=None, kind="deprecation")
    shop.clock.advance(days * _DAY_MS)
    if looks:
        ChangeRequestsJob(store_engine, shop.clock).look()
    shop.patch(("add", "/entityStatus", "Deprecated"))
    event = shop.events_after(0)[-1]
    assert reasons_of_event(event) == ()
    outcomes = None if event.announcements is None else [one.outcome.value for one in event.announcements]
    assert outcomes == expected
    says_so = event_text(event).lines[0].sentence
    assert says_so == ("as announced by CR-1: deprecated" if expected else "deprecated")
