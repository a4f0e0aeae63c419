"""Tests of backups made during writes: a complete prefix of the history, and a sound store after restore."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from pydantic import SecretStr
from sqlalchemy import Engine, delete, insert, select, text, update
from tests.company import SmallCompany
from tests.conftest import KEY
from tests.drafts import draft, notification_due_at_once
from tests.store.large import words

from tocsin.clock import FixedClock
from tocsin.errors import Conflict, InvalidInput, NotFound, StoreDamaged
from tocsin.flow.eventlog.lake import Segment
from tocsin.model.notification_draft import head_of
from tocsin.settings import Settings
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue
from tocsin.store.database.engine import open_engine
from tocsin.store.database.people_tables import issued_token, push_browser
from tocsin.store.database.tables import message
from tocsin.store.eventlog.lake import Lake
from tocsin.store.eventlog.log import EventLog
from tocsin.store.outbox.notifications import Notifications
from tocsin.store.outbox.sessions import Sessions
from tocsin.store.upkeep.backup.making import BackupContents, back_up
from tocsin.store.upkeep.backup.manifest import KeyKept, Manifest, read_manifest
from tocsin.store.upkeep.backup.restoring import Restored, restore
from tocsin.store.upkeep.fsck.inspection import inspect
from tocsin.store.upkeep.high_water_marks import mark, traces

WHOLE = BackupContents()
CLOCK = FixedClock(1_700_000_000_000)


@pytest.fixture
def settings(store_url: str, tmp_path: Path) -> Settings:
    return Settings(data_dir=tmp_path / "data", database_url=store_url)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "backups" / "monday"


def make_backup(engine: Engine, settings: Settings, folder: Path, contents: BackupContents = WHOLE) -> Manifest:
    return back_up(engine, settings, folder, contents=contents, clock=CLOCK, report=lambda _done, _total: None)


def put_back(engine: Engine, settings: Settings, folder: Path, *, force: bool = True) -> Restored:
    """Restore, as if every process had ended before."""
    engine.dispose()
    CLOCK.advance(1)
    return restore(folder, settings, force=force, clock=CLOCK, report=lambda _done, _total: None)


def events(engine: Engine) -> list[tuple[int, str]]:
    return [(one.offset, one.event.id) for one in EventLog(engine).read(0, 100_000)]


@contextmanager
def writers(company: SmallCompany, count: int) -> Iterator[Callable[[], int]]:
    """Let threads write until the block ends; gives how many writes there were."""
    stopping, write_counts = threading.Event(), [0] * count

    def write(number: int) -> None:
        while not stopping.is_set():
            company.describe("orders" if number % 2 else "revenue", f"text {number} {write_counts[number]}")
            write_counts[number] += 1

    threads = [threading.Thread(target=write, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    try:
        yield lambda: sum(write_counts)
    finally:
        stopping.set()
        for thread in threads:
            thread.join()


def test_documents_that_are_stored_as_differences_are_restored(
    store_engine: Engine, settings: Settings, folder: Path
) -> None:
    company = SmallCompany(store_engine)
    for number in range(3):
        company.describe("orders", words(Random(1), 5_000) + str(number))
    log, key = EventLog(store_engine), company.key("orders")
    before = [one.event.to_json() for one in log.read(0, 1_000)]
    versions = SqlCatalogue(store_engine).versions(key.id or "")
    make_backup(store_engine, settings, folder)
    company.describe("orders", "after the backup")
    put_back(store_engine, settings, folder)
    assert [one.event.to_json() for one in log.read(0, 1_000)] == before
    assert SqlCatalogue(store_engine).versions(key.id or "") == versions
    company.describe("orders", words(Random(2), 5_000))
    assert inspect(store_engine, deep=True).counts == {}


def test_a_backup_under_load_is_a_prefix_and_a_sound_store(
    store_engine: Engine, settings: Settings, folder: Path
) -> None:
    company, ends = SmallCompany(store_engine), list[int]()
    with writers(company, 3) as count_writes:
        for number in range(3):
            before = EventLog(store_engine).readable_end()
            ends.append(before)
            manifest, write_count = make_backup(store_engine, settings, folder / str(number)), count_writes()
            while count_writes() < write_count + 5:
                threading.Event().wait(0.01)
            assert before <= manifest.log.offset < EventLog(store_engine).readable_end()
    all_events = events(store_engine)
    put_back(store_engine, settings, folder / "1")
    manifest = read_manifest(folder / "1")
    restored_events = events(store_engine)
    assert set(restored_events) <= set(all_events)
    missing = [event for event in all_events if event < restored_events[-1] and event not in restored_events]
    assert all(offset > ends[1] for offset, _ in missing), "on PostgreSQL, a lower offset may be committed later"
    assert restored_events[-1] == (manifest.log.offset, manifest.log.event_id)
    inspection = inspect(store_engine, deep=True, traces=traces(settings))
    assert [vars(one) for one in inspection.findings] == []


def test_who_writes_after_a_restore_takes_no_offset_twice(
    store_engine: Engine, settings: Settings, folder: Path
) -> None:
    company = SmallCompany(store_engine)
    end = EventLog(store_engine).readable_end()
    Notifications(store_engine).advance("q", end, now_ms=1)
    make_backup(store_engine, settings, folder)
    company.describe("orders", "after the backup")
    put_back(store_engine, settings, folder)
    assert (EventLog(store_engine).readable_end(), EventLog(store_engine).progress("q")) == (end, end)
    company.describe("orders", "after the restore")
    assert EventLog(store_engine).readable_end() > end
    assert inspect(store_engine, deep=True, traces=traces(settings)).findings == []


def test_what_had_gone_on_after_the_backup_leaves_no_trace(
    store_engine: Engine, settings: Settings, folder: Path
) -> None:
    company = SmallCompany(store_engine)
    make_backup(store_engine, settings, folder)
    company.describe("orders", "after the backup")
    mark(store_engine, settings)
    offsets = settings.checkpoint_dir() / "match_stream" / "offsets"
    offsets.mkdir(parents=True)
    (offsets / "0").write_text("v1\n{}\n" + json.dumps(EventLog(store_engine).end().to_json()))
    assert len(traces(settings)) == 2
    put_back(store_engine, settings, folder)
    assert [one.position for one in traces(settings)] == [EventLog(store_engine).end()]
    assert not offsets.exists()


def test_messages_that_were_claimed_are_free_again(store_engine: Engine, settings: Settings, folder: Path) -> None:
    SmallCompany(store_engine)
    (logged,) = EventLog(store_engine).read(0, 1)
    Notifications(store_engine).add([notification_due_at_once(draft("Email", "s", event=head_of(logged)))])
    with store_engine.begin() as connection:
        connection.execute(update(message).values(lease_owner="a worker"))
    Sessions(store_engine).begin("a worker", lease_ms=1, now_ms=1)
    make_backup(store_engine, settings, folder)
    put_back(store_engine, settings, folder)
    with store_engine.connect() as connection:
        claimed = connection.execute(select(message.c.status, message.c.lease_owner)).all()
    assert [tuple(one) for one in claimed] == [("pending", None)]
    assert Sessions(store_engine).all() == []


def test_no_session_and_no_browser_comes_back_and_tokens_of_programs_stay(
    store_engine: Engine, settings: Settings, folder: Path
) -> None:
    kinds = ["session", "browser", "embed", "logIn", "personal", "bot", "feed"]
    tokens = [
        {"id": f"00000000-0000-0000-0000-00000000000{index}", "user_id": "u", "kind": kind, "issued_at_ms": 1}
        for index, kind in enumerate(kinds)
    ]
    browser = {"session_id": tokens[1]["id"], "user_id": "u", "sealed": "{}", "since_ms": 1}
    with store_engine.begin() as connection:
        connection.execute(insert(issued_token), tokens)
        connection.execute(insert(push_browser), browser)
    make_backup(store_engine, settings, folder)
    with store_engine.begin() as connection:  # logged out, and off, after the backup
        connection.execute(delete(issued_token))
        connection.execute(delete(push_browser))
    put_back(store_engine, settings, folder)
    with store_engine.connect() as connection:
        assert set(connection.execute(select(issued_token.c.kind)).scalars()) == {"personal", "bot", "feed"}
        assert connection.execute(select(push_browser.c.session_id)).all() == []


@pytest.mark.soak_on_postgresql
def test_the_lake_comes_with_it_and_is_cut_where_a_segment_is_missing(
    store_engine: Engine, settings: Settings, folder: Path
) -> None:
    SmallCompany(store_engine)
    lake, ids = Lake(store_engine), []
    for after in (0, 2, 4):
        ids.append(lake.stage(after, after + 2, now_ms=1))
        place = Path(settings.lake_root()) / f"segment={ids[-1]}" / "date=2026-01-01"
        place.mkdir(parents=True)
        (place / "part-0.parquet").write_bytes(f"events after {after}".encode())
        (place.parent / "_SUCCESS").touch()
        assert lake.keep(Segment(ids[-1], after, after + 2, 2, 1, 1), now_ms=1)
    lake.stage(6, 8, now_ms=1)
    manifest = make_backup(store_engine, settings, folder)
    assert manifest.segments == tuple(ids)
    for segment in ids[1:]:
        place = Path(settings.lake_root()) / f"segment={segment}"
        for file in sorted(place.rglob("*"), reverse=True):
            file.unlink() if file.is_file() else file.rmdir()
        place.rmdir()
    put_back(store_engine, settings, folder)
    assert [one.id for one in lake.segments()] == ids
    read = Path(settings.lake_root()) / f"segment={ids[2]}" / "date=2026-01-01" / "part-0.parquet"
    assert read.read_bytes() == b"events after 4"
    without = folder.with_name("without")
    make_backup(store_engine, settings, without, BackupContents(with_lake=False))
    (Path(settings.lake_root()) / f"segment={ids[1]}" / "_SUCCESS").unlink()
    put_back(store_engine, settings, without)
    assert [one.id for one in lake.segments()] == ids[:1], "the rest is brought into it again from the log"
    assert lake.leftovers(before_ms=CLOCK.now_ms()) == []


@pytest.mark.soak_on_postgresql
def test_the_key_is_where_the_manifest_says(store_engine: Engine, settings: Settings, folder: Path) -> None:
    SmallCompany(store_engine)
    assert make_backup(store_engine, settings, folder / "none").key == KeyKept.NONE
    settings.data_dir.mkdir(exist_ok=True)
    key = settings.data_dir / "secrets.key"
    key.write_text(KEY)
    assert make_backup(store_engine, settings, folder / "with").key == KeyKept.INCLUDED
    assert (
        make_backup(store_engine, settings, folder / "without", BackupContents(with_key=False)).key == KeyKept.LEFT_OUT
    )
    of_setting = Settings(**{**dict(settings), "secrets_key": SecretStr(KEY)})
    assert make_backup(store_engine, of_setting, folder / "setting").key == KeyKept.SETTING
    assert [one.name for one in sorted(folder.rglob("secrets.key")) if one.parent.name == "with"] == ["secrets.key"]
    assert len(list(folder.rglob("secrets.key"))) == 1
    key.write_text("another")
    restoration = put_back(store_engine, settings, folder / "with")
    assert (key.read_text(), key.stat().st_mode & 0o777) == (KEY, 0o600)
    assert [one.read_text() for one in restoration.previous if one.name.startswith("secrets.key")] == ["another"]


def test_only_its_owner_can_read_a_backup(store_engine: Engine, settings: Settings, folder: Path) -> None:
    SmallCompany(store_engine)
    make_backup(store_engine, settings, folder)
    modes = {(one.is_dir(), one.stat().st_mode & 0o777) for one in (folder, *folder.rglob("*"))}
    assert modes == {(True, 0o700), (False, 0o600)}


@pytest.mark.soak_on_postgresql
def test_a_damaged_backup_changes_nothing(store_engine: Engine, settings: Settings, folder: Path) -> None:
    company = SmallCompany(store_engine)
    manifest = make_backup(store_engine, settings, folder)
    company.describe("orders", "after the backup")
    events_before = events(store_engine)
    for number, path in enumerate(manifest.files):
        if number % 9 == 0:
            file = folder / path
            content = file.read_bytes()
            for broken_content in (content[: len(content) // 2] + b"!", content[:-1] + b"\x01\x02", b"another"):
                file.write_bytes(broken_content)
                with pytest.raises(StoreDamaged, match=file.name):
                    put_back(store_engine, settings, folder)
            file.write_bytes(content)
    (folder / "manifest.json").unlink()
    with pytest.raises(NotFound, match="no complete backup"):
        put_back(store_engine, settings, folder)
    assert events(store_engine) == events_before


def test_nothing_is_written_over_unless_that_is_asked_for(
    store_engine: Engine, settings: Settings, folder: Path
) -> None:
    SmallCompany(store_engine)
    make_backup(store_engine, settings, folder)
    with pytest.raises(Conflict, match="--force"):
        put_back(store_engine, settings, folder, force=False)
    with pytest.raises(Conflict, match="its own folder"):
        make_backup(store_engine, settings, folder)


def test_a_store_that_somebody_works_with_is_not_replaced(
    store_engine: Engine, settings: Settings, folder: Path
) -> None:
    SmallCompany(store_engine)
    make_backup(store_engine, settings, folder)
    store_engine.dispose()
    server = open_engine(settings.store_url())
    try:
        EventLog(server).readable_end()  # an idle connection stays in its pool
        with pytest.raises(Conflict, match="Stop server"):
            restore(folder, settings, force=True, clock=CLOCK, report=lambda _done, _total: None)
    finally:
        server.dispose()


def test_what_this_tocsin_cannot_restore_is_refused(store_engine: Engine, settings: Settings, folder: Path) -> None:
    SmallCompany(store_engine)
    manifest = make_backup(store_engine, settings, folder)
    for refused_manifest in (
        replace(manifest, format=99),
        replace(manifest, revision="v9999"),
        replace(manifest, dialect="oracle"),
    ):
        refused_manifest.write(folder)
        with pytest.raises(InvalidInput):
            put_back(store_engine, settings, folder)
    (folder / "manifest.json").write_text("{")
    with pytest.raises(InvalidInput, match="is invalid"):
        put_back(store_engine, settings, folder)


def test_a_damaged_store_is_not_backed_up(sqlite_engine: Engine, tmp_path: Path) -> None:
    SmallCompany(sqlite_engine)
    store = Path(str(sqlite_engine.url.database))
    settings, folder = Settings(data_dir=tmp_path / "data", database_url=f"sqlite:///{store}"), tmp_path / "backup"
    with sqlite_engine.connect() as connection:
        connection.execute(text("PRAGMA wal_checkpoint(TRUNCATE)"))
        (page,) = connection.execute(
            text("SELECT rootpage FROM sqlite_master WHERE name = 'ix_change_event_entity_id_log_offset'")
        ).one()
    sqlite_engine.dispose()
    content = bytearray(store.read_bytes())
    content[(page - 1) * 4096 : (page - 1) * 4096 + 64] = b"\xff" * 64
    store.write_bytes(content)
    with pytest.raises(StoreDamaged, match="fsck"):
        make_backup(sqlite_engine, settings, folder)
    assert not folder.exists()
