"""Tests of the detection of lost data and exchanged stores, on both stores."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from sqlalchemy import Engine, delete
from tests.company import SmallCompany

from tocsin.errors import StoreDamaged
from tocsin.settings import Settings
from tocsin.store.database.engine import open_engine
from tocsin.store.database.tables import METADATA, change_event, entity
from tocsin.store.eventlog.log import EventLog
from tocsin.store.upkeep.fsck.finding import Damage
from tocsin.store.upkeep.fsck.inspection import inspect
from tocsin.store.upkeep.high_water_marks import accept_loss, check_store, mark, marking, planned_position, traces


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data_dir=tmp_path / "data")


def lose(engine: Engine, after: int) -> None:
    with engine.begin() as connection:
        connection.execute(delete(change_event).where(change_event.c.log_offset > after))


def lost_event_count(engine: Engine, settings: Settings) -> int:
    return inspect(engine, traces=traces(settings)).counts[Damage.LOST_EVENTS]


def test_a_store_that_nobody_used_is_as_good_as_new(store_engine: Engine, settings: Settings) -> None:
    mark(store_engine, settings)
    assert (traces(settings), check_store(store_engine, settings)) == ([], [])


def test_a_log_that_goes_on_is_borne_out(store_engine: Engine, settings: Settings) -> None:
    company = SmallCompany(store_engine)
    for number in range(3):
        mark(store_engine, settings)
        company.describe("orders", f"text {number}")
        assert (check_store(store_engine, settings), lost_event_count(store_engine, settings)) == ([], 0)


def test_what_is_lost_after_a_mark_is_found_however_the_log_goes_on(store_engine: Engine, settings: Settings) -> None:
    company = SmallCompany(store_engine)
    mark(store_engine, settings)
    (trace,) = traces(settings)
    lose(store_engine, EventLog(store_engine).readable_end() - 1)
    for number in range(3):
        assert lost_event_count(store_engine, settings) == 1
        (finding,) = check_store(store_engine, settings)
        assert str(trace.position) in finding
        company.describe("orders", f"text {number}")
        mark(store_engine, settings)
        assert traces(settings) == [trace], "the mark is kept until the loss is accepted"
    accept_loss(store_engine, settings)
    assert (lost_event_count(store_engine, settings), check_store(store_engine, settings)) == (0, [])


def test_an_empty_store_is_not_taken_for_the_one_that_was_used(store_engine: Engine, settings: Settings) -> None:
    SmallCompany(store_engine)
    mark(store_engine, settings)
    with store_engine.begin() as connection:
        for table in (change_event, entity):
            connection.execute(delete(table))
    with pytest.raises(StoreDamaged, match="is empty, but was used up to offset"):
        check_store(store_engine, settings)
    with store_engine.begin() as connection:
        METADATA.drop_all(connection)
    with pytest.raises(StoreDamaged, match="tocsin restore"):
        check_store(store_engine, settings)


def test_the_log_is_marked_when_a_process_ends(store_engine: Engine, settings: Settings) -> None:
    with marking(store_engine, settings, every_s=3_600):
        SmallCompany(store_engine)
    assert [one.position for one in traces(settings)] == [EventLog(store_engine).end()]
    assert (settings.data_dir / "log.mark").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("cut", ["", "{", '{"offset": "x"}', "[]", "\x00\x00"])
def test_a_mark_that_cannot_be_read_says_only_that_there_was_a_store(
    store_engine: Engine, settings: Settings, cut: str
) -> None:
    SmallCompany(store_engine)
    mark(store_engine, settings)
    (settings.data_dir / "log.mark").write_text(cut)
    assert [one.position for one in traces(settings)] == [None]
    assert check_store(store_engine, settings) == []
    mark(store_engine, settings)
    assert [one.position for one in traces(settings)] == [EventLog(store_engine).end()]


def test_a_flipped_byte_in_the_write_ahead_log_is_seen(
    sqlite_engine: Engine, settings: Settings, tmp_path: Path
) -> None:
    """SQLite takes the log up to the first frame whose checksum is wrong for the whole of it, and says nothing."""
    company = SmallCompany(sqlite_engine)
    for number in range(40):
        company.describe("orders", f"text {number}")
    mark(sqlite_engine, settings)
    store, crashed_store = Path(str(sqlite_engine.url.database)), tmp_path / "crashed.db"
    shutil.copy(store, crashed_store)
    frames = bytearray(store.with_name(f"{store.name}-wal").read_bytes())
    frames[len(frames) // 2] ^= 0x10
    crashed_store.with_name("crashed.db-wal").write_bytes(frames)
    again = open_engine(f"sqlite:///{crashed_store}")
    try:
        assert 0 < EventLog(again).readable_end() < EventLog(sqlite_engine).readable_end()
        inspection = inspect(again, deep=True, traces=traces(settings))
        assert set(inspection.counts) == {Damage.LOST_EVENTS}, "within itself, what is left is sound"
    finally:
        again.dispose()


def test_how_far_a_query_planned_to_read_is_the_newest_that_can_be_read(tmp_path: Path) -> None:
    offsets = tmp_path / "offsets"
    assert planned_position(tmp_path) is None
    offsets.mkdir()
    for name, last in (("9", '{"offset":9,"event":"e"}'), ("10", '{"offset":10,"event":"f"}'), ("11", '{"off')):
        (offsets / name).write_text(f"v1\n{{}}\n{last}")
    (offsets / ".11.crc").write_bytes(b"crc")
    (offsets / "12").write_text("")
    position = planned_position(tmp_path)
    assert position is not None
    assert (position.offset, position.event_id) == (10, "f")
