"""Tests of the states of notifications on both stores: tabs, counts, marks and what brings earlier states back."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest
from sqlalchemy import Connection, Engine, event, insert, select, update
from structlog.testing import capture_logs
from tests.company import SmallCompany
from tests.notifying import notify_all
from tests.soak import SOAK
from tests.store.test_inbox import NOW_MS, inbox  # noqa: F401  fixtures
from tests.store.test_inbox_groups import Tell, tell  # noqa: F401  fixtures

from tocsin.errors import InvalidInput, NotFound
from tocsin.model.alert_incident import IncidentStatus
from tocsin.model.inbox import (
    MOST_COUNTED,
    MOST_MARKED,
    EarlierState,
    EntryState,
    Mark,
    Marked,
    Snooze,
    SnoozeEnd,
    Tab,
    TabCounts,
)
from tocsin.store.database.alert_tables import alert_incident
from tocsin.store.database.engine import writing
from tocsin.store.database.tables import change_event, notification
from tocsin.store.outbox import inbox_counts, inbox_marks
from tocsin.store.outbox.firings import Firings
from tocsin.store.outbox.inbox import Inbox, InboxCursor, PageOf
from tocsin.store.outbox.inbox_counts import MOST_UNSEEN

LATER_MS = NOW_MS + 60_000
TABS = tuple(Tab)


def ids_of(inbox: Inbox, tab: Tab, *, now_ms: int = NOW_MS) -> list[str]:  # noqa: F811  the inbox of a test
    return [entry.id for entry in inbox.page("ann", now_ms, limit=100, kind=PageOf(tab))]


def all_tabs(inbox: Inbox, *, now_ms: int = NOW_MS) -> dict[str, list[str]]:  # noqa: F811  as above
    return {tab.value: ids_of(inbox, tab, now_ms=now_ms) for tab in TABS}


def earlier(result: Marked) -> Sequence[EarlierState]:
    assert result.earlier is not None
    return result.earlier


def test_each_mark_moves_an_entry_to_its_tab_and_its_answer_brings_it_back(inbox: Inbox, tell: Tell) -> None:  # noqa: F811
    for name in ("a", "b", "c"):
        tell(name)
    before = all_tabs(inbox)
    assert before == {"unread": ["c", "b", "a"], "all": ["c", "b", "a"], "saved": [], "snoozed": [], "done": []}
    moved_tabs = {
        Mark.READ: {"unread": ["c", "a"], "all": ["c", "a", "b"]},
        Mark.DONE: {"unread": ["c", "a"], "all": ["c", "a"], "done": ["b"]},
        Mark.SAVED: {"saved": ["b"]},
        Mark.SNOOZED: {"unread": ["c", "a"], "all": ["c", "a"], "snoozed": ["b"]},
    }
    for mark, tabs in moved_tabs.items():
        result = inbox.mark("ann", ["b"], mark, NOW_MS, snooze=Snooze(LATER_MS))
        assert (all_tabs(inbox), result.entry_count) == (before | tabs, 1), mark
        undone = inbox.restore("ann", earlier(result), NOW_MS)
        assert (all_tabs(inbox), undone.entry_count) == (before, 1), mark
        redone = inbox.restore("ann", earlier(undone), NOW_MS)
        assert (all_tabs(inbox), redone.entry_count) == (before | tabs, 1), mark
        inbox.restore("ann", earlier(redone), NOW_MS)


def test_opposite_marks_bring_an_entry_back_and_marking_twice_changes_nothing(inbox: Inbox, tell: Tell) -> None:  # noqa: F811
    tell("a")
    pairs = (
        (Mark.READ, Mark.UNREAD, "unread"),
        (Mark.DONE, Mark.UNDONE, "all"),
        (Mark.SAVED, Mark.UNSAVED, "all"),
        (Mark.SNOOZED, Mark.UNSNOOZED, "unread"),
    )
    for mark, opposite, tab in pairs:
        inbox.mark("ann", ["a"], mark, NOW_MS, snooze=Snooze(LATER_MS))
        if mark is not Mark.SNOOZED:
            assert inbox.mark("ann", ["a"], mark, NOW_MS).entry_count == 0
        assert inbox.mark("ann", ["a"], opposite, NOW_MS).entry_count == 1
        again = inbox.mark("ann", ["a"], opposite, NOW_MS)
        assert (again.entry_count, again.earlier, ids_of(inbox, Tab(tab))) == (0, (), ["a"])


def test_what_is_seen_is_still_unread_and_what_comes_later_is_not_seen(inbox: Inbox, tell: Tell) -> None:  # noqa: F811
    tell("a")
    tell("b")
    assert inbox.counts("ann", NOW_MS) == TabCounts(unread_count=2, unseen_count=2, total_count=2)
    assert (inbox.mark_seen("ann", NOW_MS), inbox.mark_seen("ann", NOW_MS)) == (2, 0)
    tell("c")
    assert inbox.counts("ann", NOW_MS) == TabCounts(unread_count=3, unseen_count=1, total_count=3)
    assert [entry.state.is_seen for entry in inbox.page("ann", NOW_MS, limit=3)] == [False, True, True]


def test_a_snoozed_one_comes_back_unread_at_its_time_and_stays_when_the_clock_is_set_back(
    inbox: Inbox,  # noqa: F811
    tell: Tell,  # noqa: F811
    store_engine: Engine,
) -> None:
    tell("a")
    tell("b")
    inbox.mark_read("ann", "a", NOW_MS)
    inbox.mark("ann", ["a", "b"], Mark.SNOOZED, NOW_MS, snooze=Snooze(LATER_MS))
    assert inbox.wake(LATER_MS - 1) == set()
    assert [one.read for one in inbox.page("ann", NOW_MS, limit=9, kind=PageOf(Tab.SNOOZED))] == [False, True]
    restarted = Inbox(store_engine)
    assert (restarted.wake(LATER_MS), restarted.wake(LATER_MS)) == ({"ann"}, set())
    assert ids_of(inbox, Tab.UNREAD, now_ms=NOW_MS - 9) == ["b", "a"]
    assert inbox.counts("ann", NOW_MS) == TabCounts(unread_count=2, unseen_count=2, total_count=2)


def test_what_comes_back_is_in_the_tab_of_the_unread_alone_even_if_it_was_done(inbox: Inbox, tell: Tell) -> None:  # noqa: F811
    tell("a")
    state = EntryState(is_read=True, is_seen=True, is_done=True, snooze=Snooze(LATER_MS))
    inbox.restore("ann", [EarlierState(state, ("a",))], NOW_MS)
    assert inbox.wake(LATER_MS) == {"ann"}
    assert all_tabs(inbox) == {"unread": ["a"], "all": ["a"], "saved": [], "snoozed": [], "done": []}


def test_only_the_person_is_woken_who_is_named(inbox: Inbox, tell: Tell) -> None:  # noqa: F811
    tell("a")
    tell("b", to="ben")
    inbox.mark("ann", ["a"], Mark.SNOOZED, NOW_MS, snooze=Snooze(LATER_MS))
    inbox.mark("ben", ["b"], Mark.SNOOZED, NOW_MS, snooze=Snooze(LATER_MS))
    assert inbox.wake(LATER_MS, ["ben"]) == {"ben"}
    assert ids_of(inbox, Tab.SNOOZED) == ["a"]


def test_a_snooze_that_is_moved_while_it_ends_does_not_end(
    inbox: Inbox,  # noqa: F811
    tell: Tell,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tell("a")
    inbox.mark("ann", ["a"], Mark.SNOOZED, NOW_MS, snooze=Snooze(LATER_MS))
    lock = inbox_marks.note_change

    def lock_late(connection: Connection, user_id: str) -> None:
        connection.execute(update(notification).values(snoozed_until_ms=2 * LATER_MS))
        lock(connection, user_id)

    monkeypatch.setattr(inbox_marks, "note_change", lock_late)
    assert (inbox.wake(LATER_MS, ["ann"]), ids_of(inbox, Tab.SNOOZED)) == (set(), ["a"])


def test_an_inbox_whose_store_cannot_be_written_is_read_all_the_same(
    inbox: Inbox,  # noqa: F811
    tell: Tell,  # noqa: F811
    store_engine: Engine,
) -> None:
    tell("a")
    inbox.mark("ann", ["a"], Mark.SNOOZED, NOW_MS, snooze=Snooze(LATER_MS))
    read_only = "PRAGMA query_only = ON" if store_engine.name == "sqlite" else "SET default_transaction_read_only = on"
    store_engine.dispose()
    event.listen(store_engine, "connect", lambda connection, _: connection.execute(read_only).connection.commit())
    with capture_logs() as lines:
        assert (inbox.wake(LATER_MS), inbox.wake(LATER_MS, ["ann"])) == (set(), set())
    assert [(line["event"], line["fault"]) for line in lines] == [("snoozed_not_woken", "read_only")]
    assert (ids_of(inbox, Tab.SNOOZED), inbox.counts("ann", LATER_MS).snoozed_count) == (["a"], 1)


def test_a_snooze_until_a_change_ends_with_the_next_notification_of_the_asset(store_engine: Engine) -> None:
    company = SmallCompany(store_engine)
    company.alert("bell", [{"category": "Owners", "type": "ActivityFeed"}], "fieldChanged == 'description'")
    company.describe("orders", "first", by="ben")
    notify_all(store_engine)
    inbox, ana, now_ms = Inbox(store_engine), company.ids["ana"], company.clock.now_ms() + LATER_MS  # noqa: F811
    (entry,) = inbox.page(ana, now_ms, limit=9)
    inbox.mark(ana, [entry.id], Mark.SNOOZED, now_ms, snooze=Snooze(end=SnoozeEnd.CHANGED))
    company.describe("revenue", "of another asset", by="ben")
    notify_all(store_engine)
    assert (inbox.wake(now_ms, [ana]), inbox.counts(ana, now_ms).snoozed_count) == (set(), 1)
    company.describe("orders", "second", by="ben")
    notify_all(store_engine)
    assert (inbox.wake(now_ms, [ana]), inbox.counts(ana, now_ms).snoozed_count) == ({ana}, 0)
    assert entry.id in {one.id for one in inbox.page(ana, now_ms, limit=9, kind=PageOf(Tab.UNREAD))}


def test_a_snooze_until_a_change_ends_with_what_was_logged_before_it_and_is_notified_after_it(
    store_engine: Engine,
) -> None:
    company = SmallCompany(store_engine)
    company.alert("bell", [{"category": "Owners", "type": "ActivityFeed"}], "fieldChanged == 'description'")
    company.describe("orders", "first", by="ben")
    notify_all(store_engine)
    inbox, ana, now_ms = Inbox(store_engine), company.ids["ana"], company.clock.now_ms() + LATER_MS  # noqa: F811
    (entry,) = inbox.page(ana, now_ms, limit=9)
    company.describe("orders", "second", by="ben")
    inbox.mark(ana, [entry.id], Mark.SNOOZED, now_ms, snooze=Snooze(end=SnoozeEnd.CHANGED))
    assert inbox.wake(now_ms, [ana]) == set()
    notify_all(store_engine)
    assert inbox.wake(now_ms, [ana]) == {ana}


def test_a_whole_is_marked_with_its_parts_and_a_new_part_brings_it_back(inbox: Inbox, tell: Tell) -> None:  # noqa: F811
    whole_id = tell("whole")
    tell("a", part_of=whole_id)
    result = inbox.mark("ann", ["a"], Mark.DONE, NOW_MS)
    assert (result.entry_count, result.notification_count) == (1, 2)
    assert (ids_of(inbox, Tab.DONE), inbox.counts("ann", NOW_MS)) == (["whole"], TabCounts(done_count=1))
    tell("b", part_of=whole_id)
    assert (ids_of(inbox, Tab.DONE), ids_of(inbox, Tab.ALL)) == ([], ["b"])
    assert inbox.counts("ann", NOW_MS) == TabCounts(unread_count=1, unseen_count=1, total_count=1)
    undo = inbox.mark("ann", ["b"], Mark.SAVED, NOW_MS)
    assert (ids_of(inbox, Tab.SAVED), inbox.counts("ann", NOW_MS).saved_count) == (["whole"], 1)
    inbox.restore("ann", earlier(undo), NOW_MS)
    assert (ids_of(inbox, Tab.ALL), ids_of(inbox, Tab.SAVED)) == (["b"], [])
    inbox.mark("ann", ["b"], Mark.DONE, NOW_MS)
    assert ids_of(inbox, Tab.DONE) == ["whole"]


def test_what_has_come_since_a_mark_stays_unread_when_the_mark_is_undone(inbox: Inbox, tell: Tell) -> None:  # noqa: F811
    whole_id = tell("whole")
    tell("a", part_of=whole_id)
    inbox.mark("ann", ["a"], Mark.READ, NOW_MS)
    result = inbox.mark("ann", ["a"], Mark.DONE, NOW_MS)
    tell("b", part_of=whole_id)
    undone = inbox.restore("ann", earlier(result), NOW_MS)
    assert (undone.notification_count, ids_of(inbox, Tab.UNREAD), ids_of(inbox, Tab.DONE)) == (2, ["b"], [])


def test_notifications_of_others_are_not_there(inbox: Inbox, tell: Tell) -> None:  # noqa: F811
    tell("a")
    result = inbox.mark("ben", ["a", "nothing"], Mark.DONE, NOW_MS)
    assert (result.entry_count, set(result.missing)) == (0, {"a", "nothing"})
    restored = inbox.restore("ben", [EarlierState(EntryState(is_read=True, is_seen=True), ("a",))], NOW_MS)
    assert (restored.entry_count, set(restored.missing)) == (0, {"a"})
    with pytest.raises(NotFound):
        inbox.mark_read("ben", "a", NOW_MS)
    assert ids_of(inbox, Tab.UNREAD) == ["a"]


def test_reading_what_was_unread_again_counts_as_opened_once(store_engine: Engine) -> None:
    company = SmallCompany(store_engine)
    company.alert("bell", [{"category": "Owners", "type": "ActivityFeed"}], "fieldChanged == 'description'")
    company.describe("orders", "first", by="ben")
    notify_all(store_engine)
    inbox, ana, now_ms = Inbox(store_engine), company.ids["ana"], company.clock.now_ms() + LATER_MS  # noqa: F811
    (entry,) = inbox.page(ana, now_ms, limit=9)
    counts: list[int] = []
    for mark in (Mark.SNOOZED, Mark.UNSNOOZED, Mark.READ, Mark.UNREAD, Mark.DONE, Mark.SNOOZED, Mark.READ):
        inbox.mark(ana, [entry.id], mark, now_ms, snooze=Snooze(2 * now_ms))
        counts.append(Firings(store_engine).tallies(0)[company.ids["bell"]].opened_count)
    assert counts == [0, 0, 1, 1, 1, 1, 1]
    with store_engine.connect() as connection:
        opened_at_ms = select(notification.c.opened_at_ms).where(notification.c.id == entry.id)
        assert connection.execute(opened_at_ms).scalar() == now_ms


def copy_notification(engine: Engine, count: int) -> None:
    """Notify of so many later events as well, as of the one that there is."""
    with writing(engine) as connection:
        row = dict(connection.execute(select(notification)).mappings().one())
        copies = [row | {"id": f"n{at}", "event_id": f"e{at}", "log_offset": at} for at in range(100, 100 + count)]
        connection.execute(notification.insert(), copies)


def test_more_than_one_transaction_marks_is_marked_all_the_same_and_brought_back(
    inbox: Inbox,  # noqa: F811
    tell: Tell,  # noqa: F811
    store_engine: Engine,
) -> None:
    tell("a")
    copy_notification(store_engine, MOST_MARKED)
    result = inbox.mark_all_read("ann", NOW_MS)
    assert (result.entry_count, inbox.counts("ann", NOW_MS)) == (MOST_MARKED + 1, TabCounts(total_count=MOST_COUNTED))
    assert inbox.restore("ann", earlier(result), NOW_MS).entry_count == MOST_MARKED + 1
    assert inbox.counts("ann", NOW_MS).unread_count == MOST_COUNTED


def test_of_what_is_unread_the_newest_are_seen_and_seeing_nothing_new_tells_no_stream(
    inbox: Inbox,  # noqa: F811
    tell: Tell,  # noqa: F811
    store_engine: Engine,
) -> None:
    tell("a")
    copy_notification(store_engine, MOST_UNSEEN)
    assert (inbox.mark_seen("ann", NOW_MS), inbox.counts("ann", NOW_MS).unseen_count) == (MOST_UNSEEN, 0)
    changes = inbox.changes(limit=9)
    assert (inbox.mark_seen("ann", NOW_MS), inbox.changes(limit=9)) == (0, changes)


def test_marking_many_takes_as_many_statements_as_marking_one(
    inbox: Inbox,  # noqa: F811
    tell: Tell,  # noqa: F811
    store_engine: Engine,
) -> None:
    for number in range(30):
        tell(f"n{number}")
    statements: list[object] = []
    event.listen(store_engine, "before_cursor_execute", lambda *call: statements.append(call[2]))
    inbox.mark("ann", ["n0"], Mark.SAVED, NOW_MS)
    few = len(statements)
    statements.clear()
    inbox.mark("ann", [f"n{number}" for number in range(1, 30)], Mark.SAVED, NOW_MS)
    assert len(statements) == few


def test_bringing_back_many_states_takes_as_many_statements_as_bringing_back_few(
    inbox: Inbox,  # noqa: F811
    tell: Tell,  # noqa: F811
    store_engine: Engine,
) -> None:
    names = [f"n{number}" for number in range(60)]
    for at, name in enumerate(names):
        tell(name)
        inbox.mark("ann", [name], Mark.SNOOZED, NOW_MS, snooze=Snooze(LATER_MS + at))
    result = inbox.mark("ann", names, Mark.DONE, NOW_MS)
    statements: list[object] = []
    event.listen(store_engine, "before_cursor_execute", lambda *call: statements.append(call[2]))
    inbox.restore("ann", earlier(result)[:2], NOW_MS)
    few = len(statements)
    statements.clear()
    undone = inbox.restore("ann", earlier(result)[2:], NOW_MS)
    assert (undone.entry_count, len(statements)) == (58, few)
    assert inbox.wake(LATER_MS + 10) == {"ann"}
    assert ids_of(inbox, Tab.UNREAD) == names[10::-1]


@pytest.mark.parametrize("seed", range(12 if SOAK else 1))
def test_after_any_marks_each_entry_is_in_one_tab_and_counts_and_pages_agree(
    inbox: Inbox,  # noqa: F811
    tell: Tell,  # noqa: F811
    seed: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chance = Random(seed)
    wholes = [tell(f"whole{number}", is_told=number > 0) for number in range(3)]
    names, groups = ["whole1", "whole2"], set(wholes[1:])
    for number in range(30):
        if number < 14:
            group = chance.choice([*wholes, None])
            event_id = tell(f"n{number}", part_of=group)
            groups.add(group or event_id)
            names.append(f"n{number}")
        names_to_mark = chance.sample(names, min(len(names), chance.randrange(1, 4)))
        before = all_tabs(inbox)
        result = inbox.mark("ann", names_to_mark, chance.choice(list(Mark)), NOW_MS, snooze=Snooze(LATER_MS))
        if chance.random() < 0.3:
            inbox.restore("ann", earlier(result), NOW_MS)
            assert all_tabs(inbox) == before
        tabs = all_tabs(inbox)
        counts = inbox.counts("ann", NOW_MS)
        assert {tab: counts.of(Tab(tab)) for tab in tabs} == {tab: len(tabs[tab]) for tab in tabs}
        with monkeypatch.context() as patch:
            patch.setattr(inbox_counts, "MOST_COUNTED", 2)
            counts = inbox.counts("ann", NOW_MS)
        assert {tab: counts.of(Tab(tab)) for tab in tabs} == {tab: min(len(tabs[tab]), 2) for tab in tabs}
        assert tabs["all"][: len(tabs["unread"])] == tabs["unread"]
        placed_groups = [inbox.group_of("ann", one, NOW_MS) for tab in ("all", "snoozed", "done") for one in tabs[tab]]
        assert (len(placed_groups), set(placed_groups)) == (len(groups), groups)
    for tab in TABS:
        for limit in (1, 2, 5):
            assert paged_ids(inbox, tab, limit) == ids_of(inbox, tab)


def paged_ids(inbox: Inbox, tab: Tab, limit: int) -> list[str]:  # noqa: F811  the inbox of a test
    ids: list[str] = []
    place: InboxCursor | None = None
    kind = PageOf(tab)
    while page := inbox.page("ann", NOW_MS, limit=limit, after=place, kind=kind):
        ids += [entry.id for entry in page]
        place = kind.place_of(page[-1])
    return ids


def open_incident(engine: Engine, about: str, *, number: int, merged_into: str | None = None) -> str:
    """Let the asset that a notification is about have an incident; return its id."""
    incident_id, moments = f"incident {number}", {"opened_at_ms": NOW_MS, "updated_at_ms": NOW_MS}
    asset = select(change_event.c.entity_id, change_event.c.entity_type, change_event.c.id, change_event.c.log_offset)
    asset = asset.join(notification, notification.c.log_offset == change_event.c.log_offset)
    with writing(engine) as connection:
        entity_id, kind, event_id, offset = connection.execute(asset.where(notification.c.id == about)).one()
        opening = {"entity_id": entity_id, "entity_type": kind, "opened_event_id": event_id, "opened_offset": offset}
        row = {"id": incident_id, "number": number, "status": "new", "merged_into": merged_into, **opening, **moments}
        connection.execute(insert(alert_incident), [row])
    return incident_id


def resolve_incident(engine: Engine, incident_id: str) -> None:
    with writing(engine) as connection:
        is_it = alert_incident.c.id == incident_id
        connection.execute(update(alert_incident).where(is_it).values(status=IncidentStatus.RESOLVED.value))


def test_what_is_snoozed_until_its_incident_is_resolved_comes_back_then(
    inbox: Inbox,  # noqa: F811
    tell: Tell,  # noqa: F811
    store_engine: Engine,
) -> None:
    for name in ("a", "b"):
        tell(name)
    own_id, lead_id = (open_incident(store_engine, name, number=at) for at, name in enumerate(("a", "b"), 1))
    tell("c")
    open_incident(store_engine, "c", number=3, merged_into=lead_id)
    until_resolved = Snooze(end=SnoozeEnd.RESOLVED)
    inbox.mark("ann", ["a", "c"], Mark.SNOOZED, NOW_MS, snooze=until_resolved)
    assert inbox.wake(LATER_MS) == set()
    assert ids_of(inbox, Tab.SNOOZED) == ["c", "a"]
    resolve_incident(store_engine, lead_id)
    assert (inbox.wake(LATER_MS), ids_of(inbox, Tab.SNOOZED)) == ({"ann"}, ["a"])
    resolve_incident(store_engine, own_id)
    assert (inbox.wake(LATER_MS), ids_of(inbox, Tab.SNOOZED)) == ({"ann"}, [])


def test_what_has_no_open_incident_cannot_wait_for_its_end(inbox: Inbox, tell: Tell, store_engine: Engine) -> None:  # noqa: F811
    for name in ("a", "b"):
        tell(name)
    resolve_incident(store_engine, open_incident(store_engine, "a", number=1))
    open_incident(store_engine, "b", number=2)
    with pytest.raises(InvalidInput, match="1 of these has no open incident"):
        inbox.mark("ann", ["a", "b"], Mark.SNOOZED, NOW_MS, snooze=Snooze(end=SnoozeEnd.RESOLVED))
    assert ids_of(inbox, Tab.UNREAD) == ["b", "a"]


def states_of(inbox: Inbox, names: Sequence[str]) -> dict[str, EntryState]:  # noqa: F811  the inbox of a test
    return {one: entry.state for one, entry in inbox.entries_of("ann", NOW_MS, names).items()}


@pytest.mark.parametrize("seed", range(8 if SOAK else 2))
def test_any_marks_are_brought_back_one_by_one_exactly(inbox: Inbox, tell: Tell, seed: int) -> None:  # noqa: F811
    chance, names = Random(seed), ["whole", "a", "b", "c"]
    whole_id = tell("whole")
    for name in names[1:]:
        tell(name, part_of=whole_id if name == "a" else None)
    snoozes = (Snooze(LATER_MS), Snooze(2 * LATER_MS), Snooze(end=SnoozeEnd.CHANGED))
    history: list[tuple[dict[str, EntryState], Marked]] = []
    for step in range(40):
        before = states_of(inbox, names)
        marked_names = chance.sample(names, chance.randrange(1, 3))
        among = None if chance.random() < 0.5 else marked_names
        mark, snooze = chance.choice(list(Mark)), chance.choice(snoozes)
        result = inbox.mark("ann", marked_names, mark, NOW_MS + step, snooze=snooze, among=among)
        history.append((before, result))
        if chance.random() < 0.2:
            inbox.restore("ann", earlier(result), NOW_MS + step)
            assert states_of(inbox, names) == history.pop()[0]
    for before, result in reversed(history):
        inbox.restore("ann", earlier(result), NOW_MS + 99)
        assert states_of(inbox, names) == before


def test_what_was_unread_when_it_was_snoozed_is_unread_again_when_its_reading_is_brought_back(
    inbox: Inbox,  # noqa: F811
    tell: Tell,  # noqa: F811
) -> None:
    tell("a")
    for mark in (Mark.READ, Mark.UNREAD, Mark.SNOOZED):
        inbox.mark("ann", ["a"], mark, NOW_MS, snooze=Snooze(LATER_MS))
    assert states_of(inbox, ["a"])["a"] == EntryState(snooze=Snooze(LATER_MS))
    result = inbox.mark("ann", ["a"], Mark.READ, NOW_MS)
    assert states_of(inbox, ["a"])["a"].is_read
    inbox.restore("ann", earlier(result), NOW_MS)
    assert not states_of(inbox, ["a"])["a"].is_read
