"""Tests of inboxes that people keep for some days, on both stores: what leaves, what stays, and what is still told."""

from __future__ import annotations

import pytest
from sqlalchemy import Engine, event, select, update
from tests.store.test_inbox import NOW_MS, inbox  # noqa: F401  fixtures
from tests.store.test_inbox_groups import Tell, tell  # noqa: F401  fixtures
from tests.store.test_inbox_marks import all_tabs

from tocsin.model.inbox import Mark, Snooze, TabCounts
from tocsin.model.needs import Need
from tocsin.model.preferences import Preferences
from tocsin.model.retention import DAY_MS
from tocsin.store.database.engine import writing
from tocsin.store.database.tables import notification
from tocsin.store.outbox.inbox import Inbox
from tocsin.store.outbox.preferences import SqlPreferences
from tocsin.store.outbox.told_counts import ToldCounts
from tocsin.store.upkeep.retention.inboxes import InboxRetention
from tocsin.store.upkeep.retention.progress import RetentionProgress

LATER_MS = NOW_MS + 30 * DAY_MS
EMPTY: dict[str, list[str]] = {"unread": [], "all": [], "saved": [], "snoozed": [], "done": []}


def choose_days(engine: Engine, days: int | None, user_id: str = "ann") -> None:
    """Let a person keep their inbox for so many days."""
    SqlPreferences(engine).put(user_id, Preferences(inbox_days=days), now_ms=NOW_MS)


def leave(engine: Engine, at_ms: int = LATER_MS, *, portion: int = 2) -> int:
    """Let leave what people have kept long enough by then; return how many notifications that are."""
    run_id = f"run at {at_ms}"
    assert RetentionProgress(engine).claim(run_id, now_ms=at_ms)
    count = sum(InboxRetention(engine, portion=portion).leave(at_ms, run_id, lambda: at_ms))
    RetentionProgress(engine).end(run_id, {}, trusted_ms=at_ms)
    return count


def test_what_was_read_or_done_leaves_after_the_days_and_all_else_stays(
    store_engine: Engine,
    inbox: Inbox,  # noqa: F811
    tell: Tell,  # noqa: F811
) -> None:
    for name in ("unread", "read", "done", "saved", "snoozed", "fresh"):
        tell(name)
    tell("of ben", to="ben", read=True)
    for name, mark in (("read", Mark.READ), ("done", Mark.DONE), ("saved", Mark.READ), ("snoozed", Mark.READ)):
        inbox.mark("ann", [name], mark, NOW_MS)
    inbox.mark("ann", ["saved"], Mark.SAVED, NOW_MS)
    inbox.mark("ann", ["snoozed"], Mark.SNOOZED, NOW_MS, snooze=Snooze(LATER_MS * 2))
    inbox.mark("ann", ["fresh"], Mark.READ, LATER_MS - DAY_MS)
    assert not InboxRetention(store_engine).is_chosen()
    assert leave(store_engine) == 0, "nobody has chosen"
    choose_days(store_engine, 30)
    choose_days(store_engine, None, "ben")
    assert leave(store_engine) == 0, "thirty days are not over yet"
    changes = inbox.changes(limit=9)
    choose_days(store_engine, 29)
    assert (leave(store_engine), leave(store_engine)) == (2, 0)
    tabs = all_tabs(inbox)
    assert tabs == {
        **EMPTY,
        "unread": ["unread"],
        "all": ["unread", "fresh", "saved"],
        "saved": ["saved"],
        "snoozed": ["snoozed"],
    }
    assert inbox.counts("ann", NOW_MS) == TabCounts(
        unread_count=1, unseen_count=1, total_count=3, saved_count=1, snoozed_count=1
    )
    assert inbox.changes(limit=9) != changes, "live streams tell of it"
    assert inbox.counts("ben", NOW_MS).total_count == 1


def test_what_has_left_is_still_told_and_counts_as_told(
    store_engine: Engine,
    inbox: Inbox,  # noqa: F811
    tell: Tell,  # noqa: F811
) -> None:
    tell("a", read=True)
    choose_days(store_engine, 1)
    with store_engine.connect() as connection:
        entry = inbox.entries_of("ann", NOW_MS, ["a"])["a"]
    asset = {entry.event.entity_id: str(entry.event.entity_fully_qualified_name)}
    before = ToldCounts(store_engine).of("ann", NOW_MS, asset)
    assert leave(store_engine) == 1
    assert ToldCounts(store_engine).of("ann", NOW_MS, asset) == before
    with store_engine.connect() as connection:
        assert connection.scalars(select(notification.c.id)).all() == ["a"], "explanations still have it"


def test_what_still_needs_its_person_stays_until_it_no_longer_does(
    store_engine: Engine,
    inbox: Inbox,  # noqa: F811
    tell: Tell,  # noqa: F811
) -> None:
    for name, need in (("breaking", Need.BREAKING), ("closed", Need.TASK)):
        tell(name, read=True)
        with writing(store_engine) as connection:
            connection.execute(update(notification).where(notification.c.id == name).values(need=need.value))
    choose_days(store_engine, 1)
    assert leave(store_engine, portion=1) == 1, "there is no open task any more"
    assert all_tabs(inbox)["all"] == ["breaking"]


def test_a_mark_of_the_same_moment_wins(store_engine: Engine, inbox: Inbox, tell: Tell) -> None:  # noqa: F811
    tell("a", read=True)
    choose_days(store_engine, 1)

    def save_it(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        if statement.startswith("UPDATE notification SET left_at_ms"):
            connection = _connection
            connection.exec_driver_sql("UPDATE notification SET saved_at_ms = 1")  # type: ignore[attr-defined]  # a connection

    event.listen(store_engine, "before_cursor_execute", save_it)
    try:
        assert leave(store_engine) == 0
    finally:
        event.remove(store_engine, "before_cursor_execute", save_it)
    assert all_tabs(inbox)["saved"] == ["a"]


def test_a_group_goes_on_with_what_is_left_of_it(store_engine: Engine, inbox: Inbox, tell: Tell) -> None:  # noqa: F811
    whole_id = tell("whole", read=True)
    tell("part", part_of=whole_id)
    choose_days(store_engine, 1)
    assert leave(store_engine) == 1
    assert all_tabs(inbox) == {**EMPTY, "unread": ["part"], "all": ["part"]}
    assert inbox.counts("ann", NOW_MS) == TabCounts(unread_count=1, unseen_count=1, total_count=1)
    assert inbox.led_entries_of("ann", NOW_MS, ["part"])["part"].notification_count == 1
    assert inbox.mark("ann", ["whole"], Mark.SAVED, NOW_MS).missing == ("whole",)


def test_a_clock_set_back_and_a_run_that_another_has_taken_over_let_nothing_leave(
    store_engine: Engine,
    inbox: Inbox,  # noqa: F811
    tell: Tell,  # noqa: F811
) -> None:
    tell("a", read=True)
    choose_days(store_engine, 1)
    assert leave(store_engine, NOW_MS - 400 * DAY_MS) == 0
    assert list(InboxRetention(store_engine).leave(LATER_MS, "another run", lambda: LATER_MS)) == []
    assert all_tabs(inbox)["all"] == ["a"]


@pytest.mark.parametrize("people_count", [1, 60])
def test_statements_are_of_portions_not_of_people(store_engine: Engine, tell: Tell, people_count: int) -> None:  # noqa: F811
    for number in range(people_count):
        tell(f"n{number}", to=f"p{number:02}", read=True)
        choose_days(store_engine, 7, f"p{number:02}")
    statements: list[str] = []

    def note(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        statements.append(statement)

    event.listen(store_engine, "before_cursor_execute", note)
    try:
        assert leave(store_engine, portion=1_000) == people_count
    finally:
        event.remove(store_engine, "before_cursor_execute", note)
    reads = [one for one in statements if one.startswith("SELECT")]
    assert len(reads) <= 12
