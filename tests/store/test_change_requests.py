"""Tests of change requests on both stores: numbers, answers of two people at once, many consumers, deletions."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial

import pytest
from sqlalchemy import Engine, insert, select, update
from tests.store.catalogues import JANE, ORDERS, Company, company
from tests.store.test_subscriptions import counted_statements

from tocsin.catalogue.changes import MOST_ANNOUNCED, announce, answer_request, move_request, withdraw_request
from tocsin.conditions.announced import IS_ANNOUNCED, OPEN_ANSWERS
from tocsin.conditions.breaking import IS_BREAKING, reasons_of_event
from tocsin.conditions.fields import values_of
from tocsin.errors import Conflict, Forbidden, NotFound
from tocsin.flow.track.change_requests import status_at
from tocsin.jobs.change_requests import ChangeRequestsJob
from tocsin.model.announcement import ChangeOutcome
from tocsin.model.change import CHANGE_REQUEST, ChangeDescription, ChangeEvent, EventType
from tocsin.model.change_request import (
    AnnouncedChange,
    Basis,
    ChangeAnnouncement,
    ChangeAnswer,
    ChangeConsumer,
    ChangeKind,
    ConsumerVerdict,
    RequestStatus,
)
from tocsin.model.notification import ReasonKind
from tocsin.model.people import Actor
from tocsin.model.stored import Key
from tocsin.store.catalogue.changes.requests import MOST_LISTED, ChangeRequestLog, RequestFilter, erase
from tocsin.store.database.change_tables import change_request
from tocsin.store.database.engine import reading
from tocsin.store.recipients.directory import SqlDirectory
from tocsin.store.upkeep.fsck.dangling import follow_pointers

_DAY_MS = 86_400_000
_JOHN = Actor("00000000-0000-4000-8000-000000000002", "john")
_CONSUMERS = [
    ChangeConsumer(f"00000000-0000-4000-8000-0000000001{at:02}", "table", at, Basis.ASSET) for at in range(1, 4)
]


@pytest.fixture
def shop(store_engine: Engine) -> Company:
    return company(store_engine)


def add_columns(shop: Company, count: int) -> None:
    columns = [{"name": f"c{at}", "dataType": "INT"} for at in range(count)]
    shop.patch(("add", "/columns", columns))


def announcement(shop: Company, **fields: object) -> ChangeAnnouncement:
    values = {"entity": {}, "kind": "removal", "date": shop.clock.now_ms() + _DAY_MS, "why": "unused"}
    return ChangeAnnouncement.model_validate({**values, **fields})


def announce_as(
    shop: Company, actor: Actor = JANE, consumers: list[ChangeConsumer] | None = None, **fields: object
) -> AnnouncedChange:
    work = partial(
        announce,
        announcement=announcement(shop, **fields),
        asset_key=("table", shop.ids["orders"]),
        consumers=_CONSUMERS if consumers is None else consumers,
    )
    return shop.writes.within(work, actor=actor)


def answer_as(
    shop: Company, request: AnnouncedChange, verdict: str, *consumers: ChangeConsumer, actor: Actor = JANE
) -> None:
    answer = ChangeAnswer.model_validate({"answer": verdict, "comment": "because"})
    ids = [one.id for one in consumers]
    work = partial(answer_request, request_id=request.id, answer=answer, consumer_ids=ids)
    shop.writes.within(work, actor=actor)


def test_two_who_announce_at_once_get_numbers_without_gaps(shop: Company, store_engine: Engine) -> None:
    add_columns(shop, 6)
    with ThreadPoolExecutor(2) as pool:
        requests = list(pool.map(lambda at: announce_as(shop, column=f"c{at}"), range(6)))
    assert sorted(one.number for one in requests) == list(range(1, 7))
    log = ChangeRequestLog(store_engine)
    page = log.page(RequestFilter(shop.clock.now_ms()), limit=10)
    assert [one.number for one in page] == list(range(6, 0, -1))
    assert log.find("cr-3") == log.find(page[3].id) == page[3]


def test_two_who_answer_at_once_leave_one_answer_and_both_steps(shop: Company, store_engine: Engine) -> None:
    request, log = announce_as(shop), ChangeRequestLog(store_engine)
    with ThreadPoolExecutor(2) as pool:
        answers = ((JANE, "ready"), (_JOHN, "objects"))
        list(pool.map(lambda one: answer_as(shop, request, one[1], *_CONSUMERS[:2], actor=one[0]), answers))
    (entry, same, still_open) = log.consumers(request.id)
    assert entry.answer is not None
    assert same.answer is not None
    assert (same.answer.user_id, same.answer.verdict) == (entry.answer.user_id, entry.answer.verdict)
    assert still_open.answer is None
    assert log.verdicts([request.id]) == {request.id: {None: 1, entry.answer.verdict: 2}}
    assert len(log.steps(request.id, limit=10)) == 5


@pytest.mark.soak_on_postgresql
def test_five_thousand_consumers_are_asked_and_answer_in_pages(shop: Company, store_engine: Engine) -> None:
    many = [ChangeConsumer(f"00000000-0000-4000-8000-{at:012}", "table", at % 7, Basis.ASSET) for at in range(5_000)]
    request, log = announce_as(shop, consumers=many), ChangeRequestLog(store_engine)
    answer_as(shop, request, "ready", *many[:4_000])
    assert log.verdicts([request.id])[request.id] == {None: 1_000, ConsumerVerdict.READY: 4_000}
    ids: list[str] = []
    after = None
    while page := log.consumers(request.id, limit=2_000, after=after):
        ids += [one.consumer.id for one in page]
        after = (page[-1].consumer.level, page[-1].consumer.id)
    assert sorted(ids) == sorted(one.id for one in many)


def test_answers_end_at_the_date_and_go_on_when_it_moves(shop: Company, store_engine: Engine) -> None:
    request = announce_as(shop)
    answer_as(shop, request, "ready", _CONSUMERS[0])
    shop.clock.advance(_DAY_MS)
    with pytest.raises(Conflict, match="CR-1 is due: answers are final"):
        answer_as(shop, request, "objects", _CONSUMERS[0])
    new = ChangeConsumer("00000000-0000-4000-8000-000000000999", "table", 1, Basis.COLUMN)
    date = shop.clock.now_ms() + _DAY_MS
    work = partial(move_request, request_id=request.id, due_at_ms=date, comment=None, consumers=[*_CONSUMERS[:1], new])
    shop.writes.within(work, actor=JANE)
    log = ChangeRequestLog(store_engine)
    assert log.verdicts([request.id])[request.id] == {None: 3, ConsumerVerdict.READY: 1}
    answer_as(shop, request, "objects", _CONSUMERS[0], new)
    with pytest.raises(NotFound, match="CR-1 has no consumer"):
        answer_as(shop, request, "ready", ChangeConsumer("x", "table", 1, Basis.ASSET))
    names = [(event.event_type.value, event.user_name) for event in shop.events_after(0)]
    assert names.count(("changeRequestUpdated", "jane")) == 2


@pytest.mark.soak_on_postgresql
def test_a_person_announces_so_many_at_a_time_and_administrators_more(shop: Company) -> None:
    add_columns(shop, MOST_ANNOUNCED + 1)
    for at in range(MOST_ANNOUNCED):
        announce_as(shop, column=f"c{at}", consumers=[])
    with pytest.raises(Forbidden, match="the maximum"):
        announce_as(shop, column=f"c{MOST_ANNOUNCED}")
    announce_as(shop, Actor(JANE.id, "jane", is_admin=True), column=f"c{MOST_ANNOUNCED}")


def test_an_asset_shows_the_newest_of_its_requests(shop: Company, store_engine: Engine) -> None:
    add_columns(shop, MOST_LISTED + 3)
    administrator = Actor(JANE.id, "jane", is_admin=True)
    requests = [announce_as(shop, administrator, [], column=f"c{at}") for at in range(MOST_LISTED + 3)]
    shop.writes.within(partial(withdraw_request, request_id=requests[-1].id, comment=None), actor=JANE)
    other_ids = [f"00000000-0000-4000-8000-0000000002{at:02}" for at in range(30)]
    log, asset_id = ChangeRequestLog(store_engine), shop.ids["orders"]
    with store_engine.begin() as connection:
        of_other = select(change_request).where(change_request.c.number == 1)
        values = {**connection.execute(of_other).one()._mapping, "id": other_ids[0], "entity_id": other_ids[1]}
        connection.execute(insert(change_request).values({**values, "number": MOST_LISTED + 4}))
    assert [one.entity_id for one in log.list_standing(other_ids)[other_ids[1]]] == [other_ids[1]]
    for asset_ids in ([asset_id], [asset_id, *other_ids]):
        listed_requests = log.list_standing(asset_ids)[asset_id]
        assert [one.number for one in listed_requests] == list(range(MOST_LISTED + 2, 2, -1))
    assert log.list_standing([]) == {}


def test_a_withdrawn_request_leaves_room_for_another_and_keeps_what_it_said(
    shop: Company, store_engine: Engine
) -> None:
    request = announce_as(shop, column="email", kind=ChangeKind.RENAME, newValue="mail", replacement="x")
    with pytest.raises(Conflict, match="CR-1 already announces a change of it"):
        announce_as(shop, column="email")
    shop.writes.within(partial(withdraw_request, request_id=request.id, comment="kept"), actor=JANE)
    assert announce_as(shop, column="email").name == "CR-2"
    stored = ChangeRequestLog(store_engine).find("CR-1")
    assert stored is not None
    assert (stored.column_path, stored.new_value, stored.replacement) == ("email", "mail", "x")
    assert stored.withdrawn_at_ms == shop.clock.now_ms()


def test_consumers_are_read_by_the_statement_that_deletes_them(shop: Company, store_engine: Engine) -> None:
    announce_as(shop)
    ids = [one.id for one in _CONSUMERS[:2]]
    with counted_statements(store_engine) as statements, store_engine.begin() as connection:
        relations = erase(connection, ids)
    assert {relation["other_id"] for relation in relations} == set(ids)
    of_consumers = [one for one in statements if "change_request_consumer" in one]
    assert len(of_consumers) == 1, "who is added between two statements would go without a trace"


def test_a_consumer_that_is_deleted_for_good_is_asked_no_more_and_a_request_outlives_its_asset(
    shop: Company, store_engine: Engine
) -> None:
    board = ChangeConsumer(shop.ids["revenue"], "dashboard", 1, Basis.ASSET)
    request = announce_as(shop, column="email", consumers=[board], kind=ChangeKind.DEPRECATION)
    answer_as(shop, request, "ready", board)
    for entity_type, entity_id in (("dashboard", board.id), ("table", shop.ids["orders"])):
        shop.writes.delete(entity_type, Key.by_id(entity_id), actor=JANE, hard=True)
    log = ChangeRequestLog(store_engine)
    assert (log.consumers(request.id), len(log.steps(request.id, limit=10))) == ([], 2)
    assert log.find("CR-1") is not None
    with reading(store_engine) as connection:
        findings = list(follow_pointers(connection, lambda _count: None))
    assert [one for one in findings if "change_request" in one.where] == []
    withdraw = partial(withdraw_request, request_id=request.id, comment=None)
    with pytest.raises(Forbidden, match="only jane may change"):
        shop.writes.within(withdraw, actor=_JOHN)
    shop.writes.within(withdraw, actor=JANE)


def drop_column(shop: Company, name: str) -> ChangeEvent:
    columns = [one["name"] for one in shop.get("table", ORDERS)["columns"]]
    shop.patch(("remove", f"/columns/{columns.index(name)}", None))
    return shop.events_after(0)[-1]


def announcement_by(event: ChangeEvent) -> tuple[bool, list[str]]:
    """Return whether an event breaks readers, and how it was announced."""
    return bool(event.breaking_reasons), [one.in_words() for one in event.announcements or ()]


def test_a_column_removed_on_the_date_ends_its_request_and_what_follows_changes_nothing(
    shop: Company, store_engine: Engine
) -> None:
    request, log = announce_as(shop, column="email"), ChangeRequestLog(store_engine)
    shop.clock.advance(_DAY_MS)
    event = drop_column(shop, "email")
    assert announcement_by(event) == (False, ["as announced by CR-1"])
    assert (event.announcements or ())[0].open_answers == 3
    assert str(event.current_version) == "1.1"
    logged_event = shop.log.read(0, 10_000)[-1]
    assert [values_of(one, logged_event) for one in (IS_BREAKING, IS_ANNOUNCED, CHANGE_REQUEST, OPEN_ANSWERS)] == [
        *((False,), (True,), ("CR-1",), (3.0,)),
    ]
    assert list(shop.log.list_announced(shop.ids["orders"])) == [event]
    (request_done,) = log.list_carried_out(shop.ids["orders"])
    assert (request_done.name, request_done.done_at_ms, status_at(request_done, request_done.updated_at_ms)) == (
        "CR-1",
        shop.clock.now_ms(),
        "done",
    )
    assert [(one.kind, one.user_name) for one in log.steps(request.id, limit=10)] == [
        ("announced", "jane"),
        ("done", "jane"),
    ]
    assert [one.name for one in log.page(RequestFilter(0, RequestStatus.DONE), limit=10)] == ["CR-1"]
    assert list(log.page(RequestFilter(shop.clock.now_ms(), RequestStatus.DUE), limit=10)) == []
    for work in (
        partial(withdraw_request, request_id=request.id, comment=None),
        partial(move_request, request_id=request.id, due_at_ms=shop.clock.now_ms() + 1, comment=None, consumers=[]),
    ):
        with pytest.raises(Conflict, match="CR-1 is done"):
            shop.writes.within(work, actor=JANE)
    assert reasons_of_event(shop.log.read(0, 10_000)[-1].event) == ()


def test_a_column_removed_early_or_despite_an_objection_breaks_and_says_so(shop: Company) -> None:
    add_columns(shop, 4)
    announce_as(shop, column="c0")
    disputed_request = announce_as(shop, column="c1")
    withdrawn = announce_as(shop, column="c2")
    answer_as(shop, disputed_request, "objects", _CONSUMERS[1])
    shop.writes.within(partial(withdraw_request, request_id=withdrawn.id, comment=None), actor=JANE)
    assert announcement_by(drop_column(shop, "c0")) == (True, ["earlier than CR-1 announced"])
    shop.clock.advance(_DAY_MS)
    assert announcement_by(drop_column(shop, "c1")) == (True, ["despite an objection to CR-2"])
    event = drop_column(shop, "c2")
    assert (announcement_by(event), event.announcements) == ((True, []), ())
    again = announce_as(shop, column="c3")
    assert (announcement_by(shop.events_after(0)[-2]), again.name) == ((True, []), "CR-4")


def test_a_request_that_is_due_stands_until_it_is_done_and_a_deprecation_makes_room(shop: Company) -> None:
    announce_as(shop, column="id", kind=ChangeKind.DEPRECATION)
    announce_as(shop, column="email")
    shop.clock.advance(_DAY_MS)
    with pytest.raises(Conflict, match="CR-2 already announces a change of it"):
        announce_as(shop, column="email")
    assert announce_as(shop, column="id").name == "CR-3"
    shop.clock.advance(_DAY_MS)
    assert announcement_by(drop_column(shop, "id")) == (False, ["as announced by CR-3"])


def test_an_announced_removal_of_a_schema_is_that_of_its_tables(shop: Company, store_engine: Engine) -> None:
    work = partial(
        announce,
        announcement=announcement(shop),
        asset_key=("databaseSchema", shop.ids["public"]),
        consumers=[],
    )
    shop.writes.within(work, actor=JANE)
    shop.clock.advance(_DAY_MS)
    shop.writes.delete("databaseSchema", Key.by_id(shop.ids["public"]), actor=JANE, recursive=True)
    deletions = [one for one in shop.events_after(0) if one.event_type == "entitySoftDeleted"]
    assert [announcement_by(one) for one in deletions] == [(False, ["as announced by CR-1"])] * len(deletions)
    assert len(deletions) == 2
    log = ChangeRequestLog(store_engine)
    stored_request = log.find("CR-1")
    assert stored_request is not None
    assert stored_request.outcome is ChangeOutcome.AS_ANNOUNCED
    assert len(log.steps(stored_request.id, limit=10)) == 2
    shop.writes.restore("databaseSchema", shop.ids["public"], actor=JANE)
    assert announcement_by(shop.events_after(0)[-1]) == (False, [])


def test_a_request_follows_an_asset_that_is_renamed(shop: Company) -> None:
    key = ("domain", shop.ids["commerce"])
    rename = announcement(shop, kind="rename", newValue="trade")
    shop.writes.within(partial(announce, announcement=rename, asset_key=key, consumers=[]), actor=JANE)
    operations = [{"op": "replace", "path": "/name", "value": "odd"}]
    shop.writes.patch(key[0], Key.by_id(key[1]), operations, actor=JANE)
    assert announcement_by(shop.events_after(0)[-1]) == (True, ["otherwise than CR-1 announced"])
    removal = announcement(shop)
    shop.writes.within(partial(announce, announcement=removal, asset_key=key, consumers=[]), actor=JANE)
    shop.clock.advance(_DAY_MS)
    operations[0]["value"] = "commerce"
    shop.writes.patch(key[0], Key.by_id(key[1]), operations, actor=JANE)
    shop.writes.delete(key[0], Key.by_id(key[1]), actor=JANE, hard=True)
    assert announcement_by(shop.events_after(0)[-1]) == (False, ["as announced by CR-2"])


def test_who_moves_a_request_and_who_writes_its_asset_do_not_wait_for_each_other(shop: Company) -> None:
    add_columns(shop, 8)
    requests = [announce_as(shop, column=f"c{at}") for at in range(8)]

    def act(at: int) -> None:
        if at % 2:
            work = partial(withdraw_request, request_id=requests[at // 2].id, comment=None)
            with suppress(Conflict):
                shop.writes.within(work, actor=JANE)
        else:
            remaining = [one for one in shop.get("table", ORDERS)["columns"] if one["name"] != f"c{at // 2}"]
            key = Key.by_id(shop.ids["orders"])
            shop.writes.patch("table", key, [{"op": "replace", "path": "/columns", "value": remaining}], actor=JANE)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(act, range(16)))


def people_asked(shop: Company, engine: Engine) -> list[tuple[str, str]]:
    """Return who is asked by events about requests of orders: in the order of the log, with what the event says."""
    events = {one.offset: one.event for one in shop.log.read(0, 10_000)}
    principals = list(SqlDirectory(engine).stakeholders([shop.ids["orders"]], ReasonKind.ASKED))
    assert all(principal.since_offset == principal.until_offset for principal in principals)
    places = sorted((principal.since_offset, principal.principal_id) for principal in principals)
    return [(str(_status_in(events[offset].change_description)), user_id) for offset, user_id in places]


def _status_in(change: ChangeDescription | None) -> object:
    assert change is not None
    (field,) = (*change.fields_added, *change.fields_updated)
    return field.new_value["status"]


def give_owner(shop: Company, user_id: str) -> None:
    owners = [{"id": user_id, "type": "user"}]
    key = Key.by_id(shop.ids["revenue"])
    shop.writes.patch("dashboard", key, [{"op": "add", "path": "/owners", "value": owners}], actor=JANE)


def test_who_answered_for_a_consumer_when_the_event_was_written_is_asked_by_it(
    shop: Company, store_engine: Engine
) -> None:
    give_owner(shop, shop.ids["jane"])
    board = ChangeConsumer(shop.ids["revenue"], "dashboard", 1, Basis.ASSET)
    follower = ChangeConsumer(shop.ids["john.doe"], "user", 0, Basis.FOLLOW)
    request = announce_as(shop, consumers=[board])
    shop.clock.advance(1)
    give_owner(shop, shop.ids["john.doe"])
    date = shop.clock.now_ms() + 2 * _DAY_MS
    work = partial(move_request, request_id=request.id, due_at_ms=date, comment=None, consumers=[follower])
    shop.writes.within(work, actor=JANE)
    shop.writes.within(partial(withdraw_request, request_id=request.id, comment=None), actor=JANE)
    assert people_asked(shop, store_engine) == [
        ("announced", shop.ids["jane"]),
        ("announced", shop.ids["john.doe"]),
        ("withdrawn", shop.ids["john.doe"]),
    ]


def test_events_before_a_consumer_is_deleted_for_good_ask_its_owners_however_late_one_looks(
    shop: Company, store_engine: Engine
) -> None:
    give_owner(shop, shop.ids["jane"])
    request = announce_as(shop, consumers=[])
    shop.clock.advance(1)
    board = ChangeConsumer(shop.ids["revenue"], "dashboard", 1, Basis.ASSET)
    date = shop.clock.now_ms() + 2 * _DAY_MS
    work = partial(move_request, request_id=request.id, due_at_ms=date, comment=None, consumers=[board])
    shop.writes.within(work, actor=JANE)
    offset = max(one.offset for one in shop.log.read(0, 10_000))
    shop.writes.delete("dashboard", Key.by_id(board.id), actor=JANE, hard=True)
    shop.writes.within(partial(withdraw_request, request_id=request.id, comment=None), actor=JANE)
    (principal,) = SqlDirectory(store_engine).stakeholders([shop.ids["orders"]], ReasonKind.ASKED)
    assert (principal.principal_id, principal.since_offset) == (shop.ids["jane"], offset)


def test_on_the_date_the_author_is_asked_once_about_what_has_not_happened(shop: Company, store_engine: Engine) -> None:
    add_columns(shop, 3)
    request, _, _ = (announce_as(shop, column=f"c{at}", consumers=[]) for at in range(3))
    announce_as(shop, consumers=[], kind=ChangeKind.DEPRECATION)
    job = ChangeRequestsJob(store_engine, shop.clock)
    assert job.look() == 0
    shop.clock.advance(_DAY_MS)
    drop_column(shop, "c1")
    assert (job.look(), job.look()) == (3, 0), "two questions, and the deprecation is done"
    assert people_asked(shop, store_engine) == [("due", JANE.id)] * 2
    log = ChangeRequestLog(store_engine)
    assert [(one.kind, one.user_name) for one in log.steps(request.id, limit=9)][1:] == [("asked", "system")]
    date = shop.clock.now_ms() + _DAY_MS
    work = partial(move_request, request_id=request.id, due_at_ms=date, comment=None, consumers=[])
    shop.writes.within(work, actor=JANE)
    shop.clock.advance(_DAY_MS)
    assert (job.look(), job.look()) == (1, 0)
    shop.writes.delete("table", Key.by_id(shop.ids["orders"]), actor=JANE)
    shop.writes.within(
        partial(move_request, request_id=request.id, due_at_ms=date + 1, comment=None, consumers=[]), actor=JANE
    )
    shop.clock.advance(_DAY_MS)
    assert (job.look(), log.list_unasked(shop.clock.now_ms())) == (0, [])


def test_a_column_that_is_missing_on_the_date_is_looked_for_once(shop: Company, store_engine: Engine) -> None:
    """A column that a replayed history has removed: such a write is not compared with requests."""
    request = announce_as(shop, column="email", consumers=[])
    with store_engine.begin() as connection:
        connection.execute(update(change_request).values(column_path="gone"))
    shop.clock.advance(_DAY_MS)
    job, log = ChangeRequestsJob(store_engine, shop.clock), ChangeRequestLog(store_engine)
    assert (job.look(), log.list_unasked(shop.clock.now_ms())) == (0, [])
    assert people_asked(shop, store_engine) == []
    assert [one.kind for one in log.steps(request.id, limit=9)] == ["announced", "missing"]


def test_a_request_about_a_column_outlives_a_soft_deletion_and_ends_with_a_permanent_one(
    shop: Company, store_engine: Engine
) -> None:
    give_owner(shop, shop.ids["john.doe"])
    board = ChangeConsumer(shop.ids["revenue"], "dashboard", 1, Basis.ASSET)
    request, log = announce_as(shop, column="email", consumers=[board]), ChangeRequestLog(store_engine)

    def status() -> tuple[str, str | None]:
        stored_request = log.find(request.name)
        assert stored_request is not None
        return status_at(stored_request, shop.clock.now_ms()), stored_request.outcome

    shop.writes.delete("table", Key.by_id(shop.ids["orders"]), actor=JANE)
    assert status() == ("announced", None)
    shop.writes.restore("table", shop.ids["orders"], actor=JANE)
    assert status() == ("announced", None)
    schema = shop.get("table", ORDERS)["databaseSchema"]["id"]
    shop.writes.delete("databaseSchema", Key.by_id(schema), actor=JANE, hard=True, recursive=True)
    assert status() == ("done", "otherwise")
    assert [one.kind for one in log.steps(request.id, limit=9)] == ["announced", "done"]
    assert people_asked(shop, store_engine) == [("announced", shop.ids["john.doe"]), ("done", shop.ids["john.doe"])]
    *_, event = [one for one in shop.events_after(0) if one.event_type is EventType.CHANGE_REQUEST_UPDATED]
    assert (_status_in(event.change_description), event.part_of) == ("done", None)
