"""Tests of the inbox on both stores: people see all of their own notifications and no others."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from sqlalchemy import Engine, event, insert

from tocsin.catalogue.writes import Writes
from tocsin.clock import FixedClock
from tocsin.errors import NotFound
from tocsin.model.inbox import Tab
from tocsin.model.people import SYSTEM
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue
from tocsin.store.database.engine import writing
from tocsin.store.database.tables import notification
from tocsin.store.eventlog.log import EventLog
from tocsin.store.outbox.inbox import Arrival, Inbox, InboxCursor, PageOf

NOW_MS = 1_700_000_000_000
REASON = {
    "kind": "follower",
    "subscriptionId": "s",
    "subscriptionName": "ActivityFeedAlert",
    "destinationId": "d",
    "hops": 0,
}
Tell = Callable[..., int]


@pytest.fixture
def inbox(store_engine: Engine) -> Inbox:
    return Inbox(store_engine)


@pytest.fixture
def tell(store_engine: Engine) -> Tell:
    """Make an event and notify these people of it; returns its offset in the log."""
    writes = Writes(SqlCatalogue(store_engine), FixedClock(NOW_MS))
    log = EventLog(store_engine)

    def tell(*people: str, due_in_ms: int = 0, created_in_ms: int = 0, channel: str = "ActivityFeed") -> int:
        outcome = writes.create("team", {"name": f"team{log.readable_end()}"}, actor=SYSTEM)
        assert outcome.event is not None
        offset = log.readable_end()
        notification_rows = [
            {
                "id": f"{person}-{offset}-{channel}",
                "event_id": outcome.event.id,
                "log_offset": offset,
                "channel": channel,
                "recipient": person,
                "recipient_id": person,
                "reasons": json.dumps([REASON]),
                "due_at_ms": NOW_MS + due_in_ms,
                "created_at_ms": NOW_MS + created_in_ms,
            }
            for person in people
        ]
        with writing(store_engine) as connection:
            connection.execute(insert(notification), notification_rows)
        return offset

    return tell


def unread_and_all(inbox: Inbox, person: str) -> tuple[int, int]:
    counts = inbox.counts(person, NOW_MS)
    return counts.unread_count, counts.total_count


def offsets(inbox: Inbox, person: str, **options: object) -> list[int]:
    return [one.log_offset for one in inbox.page(person, NOW_MS, **{"limit": 100, **options})]  # type: ignore[arg-type]  # keywords by name


def test_a_page_holds_the_unread_first_then_the_newest(inbox: Inbox, tell: Tell) -> None:
    first, two, three = tell("ann"), tell("ann", "bob"), tell("ann")
    inbox.mark_read("ann", f"ann-{three}-ActivityFeed", NOW_MS)
    assert offsets(inbox, "ann") == [two, first, three]
    assert offsets(inbox, "ann", limit=2) == [two, first]
    assert offsets(inbox, "ann", after=InboxCursor(read=False, log_offset=two)) == [first, three]
    assert offsets(inbox, "ann", after=InboxCursor(read=True, log_offset=three)) == []
    assert offsets(inbox, "ann", kind=PageOf(Tab.UNREAD)) == [two, first]
    assert offsets(inbox, "bob") == [two]
    assert unread_and_all(inbox, "ann") == (2, 3)


def test_what_is_for_another_channel_or_another_time_is_not_shown(inbox: Inbox, tell: Tell) -> None:
    tell("ann", channel="Email")
    later = tell("ann", due_in_ms=1000)
    assert offsets(inbox, "ann") == []
    assert unread_and_all(inbox, "ann") == (0, 0)
    assert inbox.mark_all_read("ann", NOW_MS).entry_count == 0
    assert [one.log_offset for one in inbox.page("ann", NOW_MS + 1000, limit=9)] == [later]


def test_what_was_due_at_once_is_shown_however_far_ahead_the_pipelines_clock_was(inbox: Inbox, tell: Tell) -> None:
    day_ms = 86_400_000
    offset = tell("ann", due_in_ms=day_ms, created_in_ms=day_ms)
    assert offsets(inbox, "ann") == [offset]
    assert unread_and_all(inbox, "ann") == (1, 1)
    assert inbox.arrivals(0, limit=9) == [Arrival(offset, "ann", 0)]
    inbox.mark_read("ann", f"ann-{offset}-ActivityFeed", NOW_MS)
    assert unread_and_all(inbox, "ann") == (0, 1)


def test_notifications_of_others_cannot_be_marked_as_read(inbox: Inbox, tell: Tell) -> None:
    offset = tell("ann")
    with pytest.raises(NotFound):
        inbox.mark_read("bob", f"ann-{offset}-ActivityFeed", NOW_MS)
    assert unread_and_all(inbox, "ann") == (1, 1)


def test_marking_twice_keeps_the_first_time(inbox: Inbox, tell: Tell, store_engine: Engine) -> None:
    offset = tell("ann")
    inbox.mark_read("ann", f"ann-{offset}-ActivityFeed", NOW_MS + 1)
    inbox.mark_read("ann", f"ann-{offset}-ActivityFeed", NOW_MS + 2)
    assert inbox.mark_all_read("ann", NOW_MS + 3).entry_count == 0
    with store_engine.connect() as connection:
        assert connection.execute(notification.select()).one().read_at_ms == NOW_MS + 1


@pytest.mark.parametrize("read", ["page", "heads", "ids_of"])
def test_what_is_read_between_two_statements_of_a_page_comes_once(
    inbox: Inbox, tell: Tell, store_engine: Engine, read: str
) -> None:
    offset = tell("ann")
    entry_id = f"ann-{offset}-ActivityFeed"
    statements: list[str] = []

    def mark_meanwhile(_connection: object, _cursor: object, statement: str, *_rest: object) -> None:
        statements.append(statement)
        if len(statements) == 1:
            Inbox(store_engine).mark_read("ann", entry_id, NOW_MS)

    event.listen(store_engine, "after_cursor_execute", mark_meanwhile)
    answer = getattr(inbox, read)("ann", NOW_MS, limit=10, kind=PageOf(Tab.ALL))
    entries = answer.heads if read == "heads" else answer
    event.remove(store_engine, "after_cursor_execute", mark_meanwhile)
    assert [entry if isinstance(entry, str) else entry.id for entry in entries] == [entry_id]
    assert unread_and_all(inbox, "ann") == (0, 1)


def test_arrivals_come_in_order_and_never_cut_an_offset_in_two(inbox: Inbox, tell: Tell) -> None:
    first, two, three = tell("ann", "bob"), tell("ann", "bob", "cy"), tell("ann", due_in_ms=50)
    tell("ann", channel="Webhook")
    assert inbox.reach().newest.offset >= three
    page = inbox.arrivals(0, limit=3)
    assert sorted({row.log_offset for row in page}) == [first, two]
    assert len(page) == 5
    assert inbox.arrivals(two, limit=3) == [Arrival(three, "ann", NOW_MS + 50)]


def test_entries_are_read_back_by_place(inbox: Inbox, tell: Tell) -> None:
    first, two = tell("ann", "bob"), tell("ann", "bob")
    entries = inbox.entries_at([(first, "ann"), (two, "bob")])
    assert [(entry.log_offset, entry.recipient_id) for entry in entries] == [(first, "ann"), (two, "bob")]
    assert entries[0].reasons[0].sentence() == "you follow it (alert ActivityFeedAlert)"
    assert [entry.log_offset for entry in inbox.entries_after("ann", first, NOW_MS, limit=5)] == [two]


def test_a_page_ends_where_it_would_be_too_large_and_entries_of_one_event_share_it(
    store_engine: Engine, tell: Tell
) -> None:
    first, second = tell("ann", "ben"), tell("ann", "ben")
    inbox = Inbox(store_engine, page_bytes=1)
    inbox.mark_read("ann", f"ann-{first}-ActivityFeed", NOW_MS)
    page = inbox.page("ann", NOW_MS, limit=9)
    assert ([one.log_offset for one in page], page.is_cut) == (
        [second, first],
        False,
    )  # read ones are a part
    page = inbox.page("ben", NOW_MS, limit=9)
    assert ([one.log_offset for one in page], page.is_cut) == ([second], True)
    ann, ben = inbox.entries_at([(second, "ann"), (second, "ben")])
    assert ann.event is ben.event
    assert ann.naming is not None
    assert ann.naming is ben.naming, "thousands of listeners look up no names"
    of_all = inbox.named_events([ann.event], lambda references: {str(one["id"]) for one in references})
    assert ann.naming.event_of(ann.event) == of_all[0]
