"""What a task writes of the log into the lake, without Spark: every event once, in the files of its day."""

from __future__ import annotations

import stat
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sqlalchemy import Engine, select, update
from tests.company import SmallCompany

from tocsin.errors import Unavailable
from tocsin.lake_files.folder import FolderFiles
from tocsin.lake_files.port import SegmentFile
from tocsin.spark import lake_writing
from tocsin.spark.lake import HistoryLocation
from tocsin.spark.lake_writing import LogWriting, files_in
from tocsin.spark.sources import ranges_of, read_range
from tocsin.store.database.tables import change_event
from tocsin.store.eventlog.log import EventLog

DAY_MS = 86_400_000


@pytest.fixture
def end(store_engine: Engine) -> int:
    """Return the end of a log whose events lie on three days that alternate, one of them before 1970."""
    company = SmallCompany(store_engine)
    for number in range(8):
        company.describe("orders", f"text {number} " + "long " * 200)
    columns = change_event.c
    with store_engine.begin() as connection:
        for offset, document in connection.execute(select(columns.log_offset, columns.document)).all():
            moved = f'"timestamp":{(offset // 3 % 3 - 1) * DAY_MS + 5}'
            before = document.partition('"timestamp":')[2].partition(",")[0]
            changed = update(change_event).where(columns.log_offset == offset)
            connection.execute(changed.values(document=document.replace(f'"timestamp":{before}', moved, 1)))
    return EventLog(store_engine).readable_end()


def place_in(folder: Path, engine: Engine) -> HistoryLocation:
    return HistoryLocation(str(folder / "lake"), engine.url.render_as_string(hide_password=False))


def write_parts(place: HistoryLocation, end: int, numbers: range, segment_id: str = "a") -> list[SegmentFile]:
    """Return the files that one task writes of some parts of the log, five offsets each."""
    writing = LogWriting(place, segment_id, tuple(ranges_of(0, end, 5)))
    return files_in(writing(iter([pa.RecordBatch.from_pydict({"id": list(numbers)})])))


def test_every_event_is_in_a_file_of_its_day_in_order(
    store_engine: Engine, end: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = place_in(tmp_path, store_engine)
    log_table = pa.Table.from_batches(read_range(place.url, ranges_of(0, end, end)[0]))
    for group_bytes in (1, 5_000, 2**25):  # an event, a few, all of them in a group
        monkeypatch.setattr(lake_writing, "GROUP_BYTES", group_bytes)
        segment = f"a{group_bytes}"
        part_count = len(ranges_of(0, end, 5))
        by_task = [write_parts(place, end, range(first, part_count, 2), segment) for first in (0, 1)]
        described_files = [file for files in by_task for file in files]
        place.files().list_files(segment, described_files)
        tables = {file.path: pq.read_table(Path(place.root) / file.path, partitioning=None) for file in described_files}
        assert pa.concat_tables(tables.values()).sort_by("log_offset").equals(log_table)
        for file in described_files:
            times, offsets = (tables[file.path][name].to_pylist() for name in ("timestamp_ms", "log_offset"))
            assert {f"{datetime.fromtimestamp(time / 1000, UTC):%Y-%m-%d}" for time in times} == {file.date}
            assert offsets == sorted(offsets)
            assert (file.row_count, file.first_offset, file.last_ms) == (len(offsets), offsets[0], max(times))
    for files in by_task:
        assert len(files) == len({file.date for file in files}), "a task has one file per day"


def test_what_attempts_left_is_no_part_of_the_segment_and_goes(store_engine: Engine, end: int, tmp_path: Path) -> None:
    place = place_in(tmp_path, store_engine)
    files = FolderFiles(Path(place.root))
    writing = LogWriting(place, "a", tuple(ranges_of(0, end, 5)))
    for _ in range(2):  # one attempt breaks off, one ends and is not listened to
        next(writing(iter([pa.RecordBatch.from_pydict({"id": [0]})])))
    assert (files.files_of("a"), files.is_complete("a")) == ([], False)
    assert [path for path in Path(place.root).rglob("*") if path.is_file() and path.parent.name != "_temporary"] == []
    described_files = write_parts(place, end, range(1))
    files.list_files("a", described_files)
    assert [file.path for file in files.files_of("a")] == sorted(file.path for file in described_files)
    assert {path.name for path in (Path(place.root) / "segment=a").iterdir()} == {
        "_SUCCESS",
        *(f"date={file.date}" for file in described_files),
    }
    modes = {stat.S_IMODE((Path(place.root) / file.path).stat().st_mode) for file in described_files}
    assert modes == {0o600}
    late = files.create("segment=a/date=2026-01-01/part-late.parquet")  # an attempt that did not know that it was late
    late.close()
    assert len(files.files_of("a")) == len(described_files)
    files.remove_strays("a")
    assert not (Path(place.root) / "segment=a" / "_temporary").exists()


def test_a_place_that_cannot_be_written_says_so(store_engine: Engine, end: int, tmp_path: Path) -> None:
    place = HistoryLocation("/dev/full", place_in(tmp_path, store_engine).url)
    with pytest.raises(Unavailable, match=r"The lake at /dev/full fails: File exists\."):
        write_parts(place, end, range(1))
