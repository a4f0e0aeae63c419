"""Tests of retention: what is removed from the log, what stays, and that nothing else changes."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from itertools import count
from threading import Event, Thread
from uuid import uuid4

import pytest
from sqlalchemy import Engine, event, func, select
from tests.company import SmallCompany
from tests.soak import SOAK
from tests.waiting import until

from tocsin.errors import NotFound
from tocsin.flow.eventlog.readers import MATCH_STREAM
from tocsin.flow.eventlog.retention import expiries, log_days_of
from tocsin.model.change import EventType
from tocsin.model.people import SYSTEM
from tocsin.model.retention import DAY_MS, LegalHold, RetentionRule
from tocsin.model.stored import Key
from tocsin.store.catalogue.access.entity_states import SqlEntityStates
from tocsin.store.catalogue.entities.history import History
from tocsin.store.database.engine import reading
from tocsin.store.database.retention_tables import removed_events
from tocsin.store.database.snapshots import VERSION_TEXT, Texts
from tocsin.store.database.tables import change_event, document_snapshot, entity_version
from tocsin.store.eventlog.log import EventLog
from tocsin.store.outbox.notifications import Notifications
from tocsin.store.upkeep.fsck.inspection import inspect
from tocsin.store.upkeep.retention.events import EventRemoval, LogPlan, RemovalCounts
from tocsin.store.upkeep.retention.policy import Holds
from tocsin.store.upkeep.retention.progress import RetentionProgress
from tocsin.store.upkeep.retention.protection import Protection
from tocsin.store.upkeep.retention.readers import readers_on, tell_late_readers

_BETWEEN_CRASHES = 1 if SOAK else 3
"""How many statements later each crash is than the one before it."""

ALL_TYPES = tuple(RetentionRule(event_type=one, log_days=7, audit_days=7) for one in EventType)


@pytest.fixture
def company(store_engine: Engine) -> SmallCompany:
    return SmallCompany(store_engine)


def read_all(company: SmallCompany, *, through: int | None = None) -> int:
    """Let the pipeline have read the log, or its part up to an offset."""
    end = EventLog(company.engine).readable_end() if through is None else through
    Notifications(company.engine).advance(MATCH_STREAM, end, now_ms=1)
    return end


def plan_at(company: SmallCompany, rules: tuple[RetentionRule, ...] = ALL_TYPES, days: int = 30) -> LogPlan:
    """Return the plan of a run so many days later."""
    now_ms = company.clock.now_ms() + days * DAY_MS
    with reading(company.engine) as connection:
        return LogPlan(expiries(rules, log_days_of, now_ms), tuple(readers_on(connection, needs_lake=False)))


def run(company: SmallCompany, plan: LogPlan, portion: int = 3) -> RemovalCounts:
    """Run a plan; return its counts."""
    run_id = str(uuid4())
    assert RetentionProgress(company.engine).claim(run_id, now_ms=1)
    portions = list(EventRemoval(company.engine, portion=portion).remove(plan, run_id, lambda: 1))
    RetentionProgress(company.engine).end(run_id, {}, trusted_ms=1)
    return portions[-1] if portions else RemovalCounts()


def offsets(company: SmallCompany) -> list[int]:
    with reading(company.engine) as connection:
        return list(connection.execute(select(change_event.c.log_offset).order_by(change_event.c.log_offset)).scalars())


def stored_versions(engine: Engine) -> list[tuple[str, int, str]]:
    """Return the entity, the number and the text of every version."""
    version = entity_version.c
    query = select(version.entity_id, version.version_tenths, *VERSION_TEXT)
    with reading(engine) as connection:
        texts = Texts(connection)
        stored = connection.execute(query.order_by(version.entity_id, version.version_tenths)).all()
        return [(row.entity_id, row.version_tenths, texts.of(row)) for row in stored]


def histories(company: SmallCompany) -> list[object]:
    """Return every version of every entity, and what was valid at each time of one."""
    history, versions = History(company.engine), stored_versions(company.engine)
    tables = [row for row in versions if row[0] in {company.ids["orders"], company.ids["revenue"]}]
    past = [history.as_of("table", Key.by_id(row[0]), json.loads(row[2])["updatedAt"]) for row in tables]
    return [versions, past]


def check_sound(engine: Engine) -> None:
    inspection = inspect(engine, lambda *_: None, deep=True)
    assert [(one.damage, one.where, one.problem) for one in inspection.findings] == []


def test_expired_events_go_and_the_versions_of_living_entities_stay(company: SmallCompany) -> None:
    for number in range(20):
        company.describe("orders", f"text {number} " * (1 if number % 2 else 2_000))
    end, before = read_all(company), histories(company)
    counts = run(company, plan_at(company))
    assert offsets(company) == [end], "the last event tells both stores where the log ends"
    assert sum(counts.removed.values()) == end - 1
    assert histories(company) == before
    assert EventLog(company.engine).readable_end() == end
    check_sound(company.engine)
    company.describe("orders", "afterwards")
    check_sound(company.engine)


def test_what_a_dry_run_counts_is_what_a_run_removes(company: SmallCompany) -> None:
    read_all(company)
    plan = plan_at(company)
    *_, preview = EventRemoval(company.engine, portion=4).preview(plan)
    counts = run(company, plan)
    assert (preview.removed, preview.protected) == (counts.removed, counts.protected)
    with reading(company.engine) as connection:
        counted = connection.execute(select(func.sum(removed_events.c.log_count))).scalar_one()
    assert counted == sum(counts.removed.values())


def test_a_rule_of_an_entity_type_goes_before_the_one_of_all(company: SmallCompany) -> None:
    read_all(company)
    created = EventType.ENTITY_CREATED
    rules = (
        RetentionRule(event_type=created, log_days=7, audit_days=7),
        RetentionRule(event_type=created, entity_type="user", log_days=100, audit_days=100),
        RetentionRule(event_type=created, entity_type="team"),
    )
    counts = run(company, plan_at(company, rules))
    assert {entity_type for _, _, entity_type in counts.removed}.isdisjoint({"user", "team"})
    assert ("entityCreated", "table") in {(event_type, of) for _, event_type, of in counts.removed}


def test_nothing_is_removed_that_a_reader_has_not_read(company: SmallCompany) -> None:
    end = read_all(company)
    Notifications(company.engine).advance("relay main", 5, now_ms=1)
    run(company, plan_at(company))
    assert offsets(company) == list(range(5, end + 1))


def test_without_a_pipeline_nothing_is_removed(company: SmallCompany) -> None:
    counts = run(company, plan_at(company))
    assert not counts.removed
    assert set(counts.protected) == {Protection.READER}


def test_a_reader_that_is_too_far_behind_is_told_and_then_passed_with_a_count(company: SmallCompany) -> None:
    """Fault scenario 60."""
    end = read_all(company)
    Notifications(company.engine).advance("relay main", 5, now_ms=1)
    late_ms = company.clock.now_ms() + 30 * DAY_MS
    outcomes = []
    for now_ms in (late_ms, late_ms + DAY_MS // 2, late_ms + 2 * DAY_MS):
        with company.engine.begin() as connection:
            readers = readers_on(connection, needs_lake=False)
            readers, news = tell_late_readers(connection, readers, wait_days=7, now_ms=now_ms)
        outcomes.append((news, [one.name for one in readers if one.is_passed]))
    assert outcomes == [(["relay main"], []), ([], []), ([], ["relay main"])]
    plan = LogPlan(expiries(ALL_TYPES, log_days_of, late_ms), tuple(readers))
    counts = run(company, plan)
    assert counts.passed == {"relay main": end - 1 - 5}
    assert offsets(company) == [5, end], "the event that its position names stays"


@pytest.mark.parametrize(
    "hold",
    [
        lambda company: {"entity_id": company.ids["orders"]},
        lambda company: {"user_name": "cem"},
        lambda company: {"since_ms": 0, "until_ms": company.clock.now_ms()},
    ],
)
def test_nothing_under_a_legal_hold_is_removed(
    company: SmallCompany, hold: Callable[[SmallCompany], dict[str, object]]
) -> None:
    read_all(company)
    selected_hold = LegalHold(id=str(uuid4()), reason="case 7", set_by="ana", set_at_ms=1, **hold(company))  # type: ignore[arg-type]
    Holds(company.engine).add(selected_hold)
    events = EventLog(company.engine).read(0, 1_000)
    covered_offsets = {
        logged_event.offset
        for logged_event in events
        if selected_hold.covers(
            logged_event.event.entity_id, logged_event.event.user_name, logged_event.event.timestamp
        )
    }
    run(company, plan_at(company))
    assert covered_offsets
    assert covered_offsets <= set(offsets(company))
    assert Holds(company.engine).lift(selected_hold.id, lifted_by="ben", now_ms=2) is not None
    run(company, plan_at(company))
    assert len(offsets(company)) == 1


def test_a_run_that_was_killed_goes_on_where_it_was(company: SmallCompany) -> None:
    end = read_all(company)
    plan, progress = plan_at(company), RetentionProgress(company.engine)
    assert progress.claim("killed", now_ms=1_000)
    portions = EventRemoval(company.engine, portion=4).remove(plan, "killed", lambda: 1_000)
    assert isinstance(portions, Generator)
    next(portions)
    portions.close()
    assert not progress.claim("next", now_ms=2_000), "one run works at a time"
    assert progress.claim("next", now_ms=1_000_000), "one without a sign of life is passed over"
    assert list(EventRemoval(company.engine).remove(plan, "killed", lambda: 1_000)) == [], (
        "it does not go on beside the next"
    )
    for _ in EventRemoval(company.engine, portion=4).remove(plan, "next", lambda: 1_000_000):
        pass
    assert offsets(company) == [end]
    assert progress.removed_counts() == (end - 1, 0)
    check_sound(company.engine)


def test_the_past_of_what_is_gone_is_as_visible_as_before(company: SmallCompany) -> None:
    deleted_id = company.ids["revenue"]
    company.clock.advance(1_000)
    company.writes.delete("table", company.key("revenue"), actor=SYSTEM, hard=True)
    company.describe("orders", "later")
    read_all(company)
    now_ms, key = company.clock.now_ms(), company.key("revenue")
    before = (History(company.engine).newest("table", key), SqlEntityStates(company.engine).of([deleted_id]))
    deletion = (RetentionRule(event_type=EventType.ENTITY_DELETED, log_days=7, audit_days=7),)
    assert run(company, plan_at(company, deletion)).by_type() == {"entityDeleted": 1}
    assert (History(company.engine).newest("table", key), SqlEntityStates(company.engine).of([deleted_id])) == before
    with pytest.raises(NotFound):
        History(company.engine).as_of("table", key, now_ms)
    check_sound(company.engine)
    run(company, plan_at(company))
    assert SqlEntityStates(company.engine).of([deleted_id]) == before[1], "rights on what mentions it depend on it"
    with reading(company.engine) as connection:
        snapshots = select(document_snapshot.c.id).where(document_snapshot.c.entity_id == deleted_id)
        assert connection.execute(snapshots).all() == []
    check_sound(company.engine)


def test_a_deletion_that_lasts_is_kept_and_one_that_was_taken_back_goes(company: SmallCompany) -> None:
    company.writes.delete("table", company.key("orders"), actor=SYSTEM)
    company.writes.restore("table", company.ids["orders"], actor=SYSTEM)
    company.writes.delete("table", company.key("revenue"), actor=SYSTEM)
    company.describe("orders", "later")
    end = read_all(company)
    counts = run(company, plan_at(company))
    assert counts.protected[Protection.PRESENT_STATE] == 1
    assert counts.by_type()["entitySoftDeleted"] == counts.by_type()["entityRestored"] == 1
    assert len(offsets(company)) == 2
    assert offsets(company)[-1] == end


def test_a_restoration_stays_with_the_deletion_that_it_ends(company: SmallCompany) -> None:
    company.writes.delete("table", company.key("orders"), actor=SYSTEM)
    until_ms = company.clock.now_ms()
    company.clock.advance(1_000)
    company.writes.restore("table", company.ids["orders"], actor=SYSTEM)
    company.describe("orders", "later")
    read_all(company)
    hold = LegalHold("hold", "case", "ana", 1, entity_id=company.ids["orders"], since_ms=until_ms, until_ms=until_ms)
    Holds(company.engine).add(hold)
    counts = run(company, plan_at(company), portion=100)
    assert "entityRestored" not in counts.by_type()
    assert counts.protected[Protection.PRESENT_STATE] == 1


def test_positions_of_readers_and_marks_hold_after_a_removal(company: SmallCompany) -> None:
    log, end = EventLog(company.engine), read_all(company)
    positions = [log.position_at(offset) for offset in range(1, end + 1)]
    run(company, plan_at(company))
    assert all(log.holds(position) for position in positions)
    assert [one.offset for one in log.read(3, 10)] == [end], "gaps are normal"


class Crash(Exception):
    """What stands for the end of the process."""


@contextmanager
def crashing_at(engine: Engine, number: int) -> Iterator[None]:
    """Let the process end before the statement of that number that writes."""
    numbers = count(1)

    def end(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        if statement.startswith(("DELETE", "UPDATE", "INSERT")) and next(numbers) == number:
            raise Crash

    event.listen(engine, "before_cursor_execute", end)
    try:
        yield
    finally:
        event.remove(engine, "before_cursor_execute", end)


def is_crashing(company: SmallCompany, plan: LogPlan, number: int) -> bool:
    """Run until the process ends at the statement of that number; return whether it did."""
    run_id, now_ms = f"run {number}", number * 1_000_000
    assert RetentionProgress(company.engine).claim(run_id, now_ms=now_ms)
    try:
        with crashing_at(company.engine, number):
            list(EventRemoval(company.engine, portion=15).remove(plan, run_id, lambda: now_ms))
    except Crash:
        return True
    return False


def test_a_reader_beside_a_run_gets_every_event_once(company: SmallCompany) -> None:
    """Fault scenario 59."""
    engine, log, read_ids, end = company.engine, EventLog(company.engine), list[str](), Event()
    read_all(company, through=0)
    rules = expiries(ALL_TYPES, log_days_of, company.clock.now_ms() + 100 * DAY_MS)

    def read() -> None:
        after = 0
        while page := log.read(after, 3) or not end.is_set():
            if page is True:
                continue
            read_ids.extend(one.event.id for one in page)
            after = page[-1].offset
            Notifications(engine).advance(MATCH_STREAM, after, now_ms=1)

    def remove() -> None:
        while not end.is_set():
            with reading(engine) as connection:
                plan = LogPlan(rules, tuple(readers_on(connection, needs_lake=False)))
            list(EventRemoval(engine, portion=2).remove(plan, "beside", lambda: 1))

    assert RetentionProgress(engine).claim("beside", now_ms=1)
    threads = [Thread(target=read), Thread(target=remove)]
    for thread in threads:
        thread.start()
    written_events = [company.describe("orders", f"text {number}") for number in range(60)]
    until_read = EventLog(engine).readable_end()
    until(lambda: log.progress(MATCH_STREAM) >= until_read and RetentionProgress(engine).removed_counts()[0] > 0)
    end.set()
    for thread in threads:
        thread.join(30)
    assert len(read_ids) == len(set(read_ids)) == until_read
    assert [one["id"] for one in written_events if one] == read_ids[-60:]
    check_sound(engine)


@pytest.mark.soak_on_postgresql
def test_a_run_that_ends_at_any_statement_leaves_a_whole_store(company: SmallCompany) -> None:
    """Fault scenario 58."""
    company.describe("orders", "long " * 3_000)
    company.writes.delete("table", company.key("revenue"), actor=SYSTEM, hard=True)
    company.describe("orders", "later")
    end = read_all(company)
    plan, crashes = plan_at(company), 0
    while is_crashing(company, plan, 1 + _BETWEEN_CRASHES * crashes):
        check_sound(company.engine)
        crashes += 1
    assert crashes > 10 // _BETWEEN_CRASHES
    assert offsets(company) == [end]
    assert RetentionProgress(company.engine).removed_counts() == (end - 1, 0)
    check_sound(company.engine)
