"""Tests of what continues a cause, on both stores: what the same alert told the same recipient of it before."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sqlalchemy import Engine, event, select, update
from tests.company import SmallCompany, destination_id
from tests.notifying import notify_all
from tests.store.rows import finish_of

from tocsin.delivery.dispatch import CauseThread, Dispatch
from tocsin.model.causes import SESSION_GAP_MS
from tocsin.model.message import Delivered, DroppedReason, OutcomeReason
from tocsin.model.notification import Reason
from tocsin.model.people import Actor
from tocsin.store.database.tables import message
from tocsin.store.outbox import cause_threads
from tocsin.store.outbox.cause_threads import CauseThreads
from tocsin.store.outbox.messages import Messages
from tocsin.store.outbox.sessions import Sessions

_MAIL = {"category": "External", "type": "Email", "config": {"receivers": ["ops@example.org"]}}


class EditedTables:
    """A company whose changes of tables are told ops, each message of one alert a minute after the last."""

    def __init__(self, engine: Engine, *destinations: dict[str, object]) -> None:
        self.engine, self.company, self.messages = engine, SmallCompany(engine), Messages(engine)
        self.company.alert("edits", list(destinations or (_MAIL,)), resources=("table",))
        Sessions(engine).begin("worker", lease_ms=10**12, now_ms=1)
        self.tell()

    def change(self, table: str, text: str, *, by: str = "dia", why: str | None = None, after_s: int = 1) -> None:
        """Describe a table."""
        self.change_as(replace(self.company.actor(by), reason=why), table, text, after_s=after_s)

    def change_as(self, actor: Actor, table: str, text: str, *, after_s: int = 1) -> None:
        self.company.clock.advance(after_s * 1_000)
        patch = [{"op": "add", "path": "/description", "value": text}]
        self.company.writes.patch("table", self.company.key(table), patch, actor=actor)

    def claim(self) -> list[Dispatch]:
        """Claim what the pipeline makes of all that happened, a minute later."""
        notify_all(self.engine, now_ms=self.company.clock.now_ms())
        self.company.clock.advance(61_000)
        return self.messages.dispatches(self.messages.claim("worker", 64, now_ms=self.company.clock.now_ms()))

    def deliver(self, dispatches: list[Dispatch], remote_id: str | None = None) -> None:
        now_ms = self.company.clock.now_ms()
        ended = [finish_of(one.message, Delivered(remote_id=remote_id), at_ms=now_ms) for one in dispatches]
        self.messages.record("worker", ended, now_ms=now_ms)

    def tell(self, remote_id: str | None = None) -> list[Dispatch]:
        dispatches = self.claim()
        self.deliver(dispatches, remote_id)
        return dispatches


def thread_of(dispatches: list[Dispatch]) -> str | None:
    (dispatch,) = dispatches
    return dispatch.cause_thread.message_id if dispatch.cause_thread else None


def test_a_later_part_of_one_persons_edits_continues_the_first_message(store_engine: Engine) -> None:
    tables = EditedTables(store_engine)
    tables.change("orders", "one")
    (first,) = tables.tell()
    assert first.cause_thread is None
    tables.change("revenue", "two")
    assert thread_of(tables.tell()) == first.message.id
    tables.change("orders", "three")
    assert thread_of(tables.tell()) == first.message.id, "the first, not the last"


def test_after_a_pause_it_is_another_cause(store_engine: Engine) -> None:
    tables = EditedTables(store_engine)
    tables.change("orders", "one")
    tables.tell()
    tables.change("orders", "two", after_s=SESSION_GAP_MS // 1_000 + 1)
    assert thread_of(tables.tell()) is None


def test_a_run_id_that_another_actor_claims_continues_nothing(store_engine: Engine) -> None:
    tables = EditedTables(store_engine)
    tables.change("orders", "one", why="dbt run 7")
    (first,) = tables.tell()
    tables.change("orders", "two", by="ben", why="dbt run 7")
    assert thread_of(tables.tell()) is None
    tables.change("revenue", "three", why="dbt run 7")
    assert thread_of(tables.tell()) == first.message.id


def test_what_tells_of_several_causes_or_reports_continues_none(store_engine: Engine) -> None:
    tables = EditedTables(store_engine)
    tables.company.test_case("orders")
    tables.change("orders", "one")
    tables.tell()
    tables.change("orders", "two")
    tables.change("orders", "three", by="ben")
    assert thread_of(tables.tell()) is None
    tables.company.result("orders", "Failed")
    assert all(one.cause_thread is None for one in tables.tell())


def test_alerts_and_destinations_do_not_continue_each_others_messages(store_engine: Engine) -> None:
    tables = EditedTables(store_engine)
    tables.change("orders", "one")
    tables.tell()
    with store_engine.begin() as connection:
        connection.execute(update(message).values(destination_id=destination_id("edits", 7)))
    tables.change("orders", "two")
    assert thread_of(tables.tell()) is None


def test_what_was_never_delivered_is_continued_by_nothing(store_engine: Engine) -> None:
    tables = EditedTables(store_engine)
    tables.change("orders", "one")
    tables.claim()
    tables.change("orders", "two")
    assert thread_of(tables.claim()) is None


def test_one_statement_serves_a_claim_however_many_messages_there_are(store_engine: Engine) -> None:
    tables = EditedTables(store_engine)
    statements: list[str] = []

    def note(*call: object) -> None:
        statements.append(str(call[2]))

    for number in range(3):
        for by in ("dia", "ben"):
            tables.change("orders", f"{by} {number}", by=by)
        event.listen(store_engine, "before_cursor_execute", note)
        tables.tell()
        event.remove(store_engine, "before_cursor_execute", note)
    assert sum("message AS earlier" in one for one in statements) <= 3


def offsets_to_repeat(tables: EditedTables, dispatch: Dispatch) -> list[int] | None:
    entries = CauseThreads(tables.engine, tables.messages.dispatches).entries_to_repeat(dispatch)
    return None if entries is None else [entry.log_offset for entry in entries]


def test_what_is_changed_in_place_shows_all_that_was_told_there(store_engine: Engine) -> None:
    tables = EditedTables(store_engine)
    tables.change("orders", "one")
    (first,) = tables.tell("C1/1.0")
    tables.change("revenue", "two")
    (second,) = tables.tell("C1/1.0")
    tables.change("orders", "three")
    (third,) = tables.claim()
    assert third.cause_thread == CauseThread(first.message.id, "C1/1.0")
    assert offsets_to_repeat(tables, third) == [first.first.log_offset, second.first.log_offset]


def test_while_another_message_is_sent_nothing_is_changed_in_place(store_engine: Engine) -> None:
    """Fault scenario 84: the later of two changes at a time would take away what the other shows."""
    tables = EditedTables(store_engine)
    tables.change("orders", "one")
    tables.tell("C1/1.0")
    tables.change("orders", "two")
    (second,) = tables.claim()
    tables.change("orders", "three")
    (third,) = tables.claim()
    assert (offsets_to_repeat(tables, second), offsets_to_repeat(tables, third)) == (None, None)
    tables.deliver([second], "C1/1.0")
    assert len(offsets_to_repeat(tables, third) or ()) == 2


def test_a_message_that_is_tried_again_is_not_shown_twice(store_engine: Engine) -> None:
    """Fault scenario 84: it was changed in place, and the worker died before it had recorded that."""
    tables = EditedTables(store_engine)
    tables.change("orders", "one")
    (first,) = tables.tell("C1/1.0")
    tables.change("orders", "two")
    (second,) = tables.claim()
    assert offsets_to_repeat(tables, second) == [first.first.log_offset]
    tables.messages.release("worker", [second.message.id])
    (again,) = tables.claim()
    assert (again.message.id, offsets_to_repeat(tables, again)) == (second.message.id, [first.first.log_offset])


def due_after_ms(tables: EditedTables, *, is_bot: bool, why: str | None) -> list[int]:
    """Return how long after an event of now each message about a new description is due."""
    company = tables.company
    actor = replace(company.actor("dia"), reason=why, is_bot=is_bot)
    for table in ("orders", "revenue"):
        patch = [{"op": "add", "path": "/description", "value": f"{why} of {is_bot}"}]
        company.writes.patch("table", company.key(table), patch, actor=actor)
        notify_all(tables.engine, now_ms=company.clock.now_ms())
    with tables.engine.connect() as connection:
        due = connection.execute(select(message.c.due_at_ms).where(message.c.status == "pending")).scalars()
        return sorted(one - company.clock.now_ms() for one in due)


def test_what_a_bot_says_to_be_one_run_is_one_message(store_engine: Engine) -> None:
    tables = EditedTables(store_engine)
    assert due_after_ms(tables, is_bot=True, why="dbt run 7") == [5_000]
    (first,) = tables.tell()
    assert len(first.entries) == 2


@pytest.mark.parametrize(("is_bot", "why"), [(False, "a clean-up"), (True, None)])
def test_what_is_of_no_bots_run_is_told_at_once(store_engine: Engine, is_bot: bool, why: str | None) -> None:
    assert due_after_ms(EditedTables(store_engine), is_bot=is_bot, why=why) == [0]


def test_failures_that_a_run_reports_wait_for_nothing(store_engine: Engine) -> None:
    tables = EditedTables(store_engine)
    tables.company.test_case("orders")
    tables.company.alert("failed", [_MAIL], "testStatus == 'Failed'", resources=("testCase",))
    tables.tell()
    report = {"timestamp": tables.company.clock.now_ms(), "testCaseStatus": "Failed"}
    bot = Actor(id="b", name="dbt-bot", is_admin=True, is_bot=True, reason="dbt run 7")
    tables.company.writes.add_test_result("pg.store.public.orders.has_rows", report, actor=bot)
    notify_all(store_engine, now_ms=tables.company.clock.now_ms())
    assert len(tables.messages.claim("worker", 64, now_ms=tables.company.clock.now_ms())) == 1


def drop_of(notification_id: str, reason: Reason) -> DroppedReason:
    return DroppedReason(notification_id=notification_id, reason=reason, because=OutcomeReason.MUTED, says="muted")


def test_what_the_earlier_message_left_out_is_not_told_by_the_next_change(store_engine: Engine) -> None:
    """Fault scenario 84: a mute kept it out of the message that is changed."""
    tables = EditedTables(store_engine)
    tables.change("orders", "one")
    tables.change("revenue", "muted")
    (first,) = tables.claim()
    told_entry, muted_entry = first.entries
    drops = tuple(drop_of(muted_entry.notification_id, one) for one in muted_entry.reasons)
    now_ms = tables.company.clock.now_ms()
    ending = finish_of(first.message, Delivered(remote_id="C1/1.0"), at_ms=now_ms)
    ending = replace(ending, attempt=replace(ending.attempt, dropped=drops))
    tables.messages.record("worker", [ending], now_ms=now_ms)
    tables.change("orders", "two")
    (second,) = tables.claim()
    assert offsets_to_repeat(tables, second) == [told_entry.log_offset]


def test_what_is_replayed_is_a_message_again_and_changes_nothing_in_place(sqlite_engine: Engine) -> None:
    tables = EditedTables(sqlite_engine)
    tables.change("orders", "one")
    tables.tell("C1/1.0")
    tables.change("orders", "two")
    (second,) = tables.claim()
    assert len(offsets_to_repeat(tables, second) or ()) == 1
    replayed = replace(second, message=replace(second.message, replay_id="r"))
    assert offsets_to_repeat(tables, replayed) is None


def test_a_message_that_tells_of_too_much_is_changed_no_more_rather_than_shortened(
    sqlite_engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cause_threads, "MOST_REPEATED", 2)
    tables = EditedTables(sqlite_engine)
    for text in ("one", "two"):
        tables.change("orders", text)
        tables.tell("C1/1.0")
    tables.change("orders", "three")
    (third,) = tables.claim()
    assert len(offsets_to_repeat(tables, third) or ()) == 2
    tables.deliver([third], "C1/1.0")
    tables.change("orders", "four")
    (fourth,) = tables.claim()
    assert offsets_to_repeat(tables, fourth) is None


def test_the_first_message_of_a_long_run_is_still_shown_when_it_is_older_than_a_pause(store_engine: Engine) -> None:
    tables = EditedTables(store_engine)
    bot = replace(tables.company.actor("dia"), reason="dbt run 7", is_bot=True)
    told_offsets: list[int] = []
    for number in range(4):
        tables.change_as(bot, "orders", f"text {number}", after_s=5 * 3_600)
        (dispatch,) = tables.claim()
        assert (offsets_to_repeat(tables, dispatch) or []) == told_offsets
        tables.deliver([dispatch], "C1/1.0")
        told_offsets.append(dispatch.first.log_offset)
