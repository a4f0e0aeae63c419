"""Tests of entries of the inbox that stand for a whole and its parts, on both stores."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random

import pytest
from sqlalchemy import Engine, event, insert, select
from tests.company import SmallCompany
from tests.notifying import notify_all
from tests.soak import SOAK
from tests.store.test_inbox import NOW_MS, REASON, unread_and_all

from tocsin.catalogue.writes import Writes
from tocsin.clock import FixedClock
from tocsin.errors import NotFound
from tocsin.model.inbox import Tab
from tocsin.model.people import SYSTEM
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue
from tocsin.store.database.engine import writing
from tocsin.store.database.tables import notification
from tocsin.store.eventlog.log import EventLog
from tocsin.store.outbox.inbox import Inbox, InboxCursor, PageOf

Tell = Callable[..., str]


@pytest.fixture
def inbox(store_engine: Engine) -> Inbox:
    return Inbox(store_engine)


@pytest.fixture
def tell(store_engine: Engine) -> Tell:
    """Make an event and notify ann of it, perhaps as of a part of that of a group; returns the id of the event."""
    writes, numbers = Writes(SqlCatalogue(store_engine), FixedClock(NOW_MS)), iter(range(10_000))

    def tell(
        name: str, *, part_of: str | None = None, to: str = "ann", read: bool = False, is_told: bool = True
    ) -> str:
        outcome = writes.create("team", {"name": f"team{next(numbers)}{name}"}, actor=SYSTEM)
        assert outcome.event is not None
        row = {
            "id": name,
            "event_id": outcome.event.id,
            "log_offset": EventLog(store_engine).readable_end(),
            "channel": "ActivityFeed",
            "recipient": to,
            "recipient_id": to,
            "reasons": json.dumps([REASON]),
            "due_at_ms": NOW_MS,
            "created_at_ms": NOW_MS,
            "read_at_ms": NOW_MS if read else None,
            "whole_id": part_of,
        }
        if is_told:
            with writing(store_engine) as connection:
                connection.execute(insert(notification), row)
        return outcome.event.id

    return tell


def entries(inbox: Inbox, kind: PageOf | None = None) -> list[tuple[str, int]]:
    page = inbox.page("ann", NOW_MS, limit=100, kind=kind or PageOf())
    return [(entry.id, entry.notification_count) for entry in page]


def all_pages(inbox: Inbox, limit: int) -> list[str]:
    ids: list[str] = []
    place: InboxCursor | None = None
    while page := inbox.page("ann", NOW_MS, limit=limit, after=place):
        ids += [entry.id for entry in page]
        place = InboxCursor(read=page[-1].read, log_offset=page[-1].log_offset)
    return ids


def test_parts_of_one_whole_are_one_entry_that_the_newest_leads(inbox: Inbox, tell: Tell) -> None:
    whole_id = tell("schema", is_told=False)
    tell("a", part_of=whole_id)
    tell("other")
    tell("b", part_of=whole_id)
    tell("c", part_of=whole_id, to="ben")
    assert entries(inbox) == [("b", 2), ("other", 1)]
    assert unread_and_all(inbox, "ann") == (2, 2)
    assert entries(inbox, PageOf(group=inbox.group_of("ann", "a", NOW_MS))) == [("b", 1), ("a", 1)]


def test_the_whole_leads_whether_it_comes_first_or_last(inbox: Inbox, tell: Tell) -> None:
    renamed = tell("whole")
    tell("a", part_of=renamed)
    tell("b", part_of=renamed)
    assert entries(inbox) == [("whole", 3)]
    assert unread_and_all(inbox, "ann") == (1, 1)


def test_what_comes_after_it_was_read_makes_an_entry_unread_once(inbox: Inbox, tell: Tell) -> None:
    whole_id = tell("whole")
    tell("a", part_of=whole_id)
    inbox.mark_read("ann", "a", NOW_MS)
    assert unread_and_all(inbox, "ann") == (0, 1)
    tell("b", part_of=whole_id)
    tell("c", part_of=whole_id)
    assert (entries(inbox), unread_and_all(inbox, "ann")) == ([("c", 4)], (1, 1))
    inbox.mark_read("ann", "whole", NOW_MS)
    assert (entries(inbox), unread_and_all(inbox, "ann")) == ([("whole", 4)], (0, 1))


def test_marking_an_entry_marks_its_parts_and_nothing_else(inbox: Inbox, tell: Tell, store_engine: Engine) -> None:
    whole_id, other_whole_id = tell("schema", is_told=False), tell("other")
    tell("a", part_of=whole_id)
    tell("b", part_of=whole_id)
    tell("c", part_of=other_whole_id)
    tell("d", part_of=whole_id, to="ben")
    inbox.mark_read("ann", "b", NOW_MS)
    unread = select(notification.c.id).where(notification.c.read_at_ms.is_(None)).order_by(notification.c.id)
    with store_engine.connect() as connection:
        assert list(connection.execute(unread).scalars()) == ["c", "d", "other"]
    with pytest.raises(NotFound):
        inbox.mark_read("ann", "d", NOW_MS)
    with pytest.raises(NotFound):
        inbox.group_of("ann", "d", NOW_MS)
    assert inbox.mark_all_read("ann", NOW_MS).entry_count == 1  # an entry of two notifications


def test_a_page_takes_as_many_statements_for_many_groups_as_for_one(
    inbox: Inbox, tell: Tell, store_engine: Engine
) -> None:
    statements: list[object] = []
    tell("b", part_of=tell("a"))
    event.listen(store_engine, "before_cursor_execute", lambda *call: statements.append(call[2]))
    entries(inbox)
    few = len(statements)
    for number in range(5):
        tell(f"part{number}", part_of=tell(f"whole{number}"))
    statements.clear()
    assert len(entries(inbox)) == 6
    assert len(statements) == few


@pytest.mark.parametrize("seed", range(12 if SOAK else 1))
def test_pages_hold_each_entry_once_as_counts_and_one_long_page_do(inbox: Inbox, tell: Tell, seed: int) -> None:
    chance = Random(seed)
    wholes = [tell(f"whole{number}", is_told=number > 0, read=chance.random() < 0.5) for number in range(3)]
    groups, unread_groups = set(wholes[1:]), set[str]()
    for number in range(14):
        group = chance.choice([*wholes, None])
        is_read = chance.random() < 0.6
        event_id = tell(f"n{number}", part_of=group, read=is_read)
        groups.add(group or event_id)
        unread_groups |= set() if is_read else {group or event_id}
    in_one_page = [entry_id for entry_id, _ in entries(inbox)]
    assert len(in_one_page) == len(set(in_one_page)) == len(groups)
    assert sum(count for _, count in entries(inbox)) == 16  # two wholes and 14 others
    assert {inbox.group_of("ann", entry_id, NOW_MS) for entry_id in in_one_page} == groups
    for limit in (1, 2, 5):
        assert all_pages(inbox, limit) == in_one_page
    unread_count, total = unread_and_all(inbox, "ann")
    assert total == len(groups)
    assert unread_count == len(entries(inbox, PageOf(Tab.UNREAD))) >= len(unread_groups)


def test_who_follows_several_tables_of_a_deleted_schema_has_one_entry(store_engine: Engine, inbox: Inbox) -> None:
    company = SmallCompany(store_engine)
    company.writes.follow("table", company.ids["revenue"], company.ids["cem"], actor=company.actor("cem"))
    company.alert("followers", [{"category": "Followers", "type": "ActivityFeed"}])
    notify_all(store_engine)
    cem, now_ms = company.ids["cem"], 2 * NOW_MS
    inbox.mark_all_read(cem, now_ms)
    company.writes.delete("databaseSchema", company.key("public"), actor=company.actor("dia"), recursive=True)
    notify_all(store_engine)
    (entry,) = inbox.page(cem, now_ms, limit=9, kind=PageOf(Tab.UNREAD))
    (whole_id,) = {entry.event.part_of}
    assert (entry.notification_count, entry.group, inbox.counts(cem, now_ms).unread_count) == (2, whole_id, 1)
