"""Tests of checkpoint damage: found file by file, set aside, and sound checkpoints left alone."""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest

from tocsin.clock import FixedClock
from tocsin.flow.eventlog.position import LogPosition
from tocsin.jobs.checkpoint import PlannedRanges, damage, read_committed_position, set_aside_if_damaged
from tocsin.spark.sources import OffsetRange

HEAD = '{"batchWatermarkMs":0,"conf":{}}'


def put(file: Path, text: str) -> None:
    """Write a file and its checksums as Hadoop does."""
    file.parent.mkdir(parents=True, exist_ok=True)
    content = text.encode()
    file.write_bytes(content)
    sums = [zlib.crc32(content[at : at + 512]).to_bytes(4, "big") for at in range(0, len(content), 512)]
    file.with_name(f".{file.name}.crc").write_bytes(b"crc\0" + (512).to_bytes(4, "big") + b"".join(sums))


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """A checkpoint with two committed micro-batches and one under way."""
    folder = tmp_path / "match_stream"
    put(folder / "metadata", '{"id":"one"}')
    for number in range(3):
        offset = f'{{"offset": {10 * (number + 1)}}}'
        put(folder / "offsets" / str(number), f"v1\n{HEAD}\n{offset}")
    for number in range(2):
        put(folder / "commits" / str(number), 'v1\n{"nextBatchWatermarkMs":0}')
    put(folder / "state/0/1/2.changelog", "x" * 1_300)
    return folder


def test_a_sound_checkpoint_stays_and_says_how_far_it_is(checkpoint: Path) -> None:
    set_aside_if_damaged(checkpoint, FixedClock(0))
    assert (damage(checkpoint), read_committed_position(checkpoint)) == (None, LogPosition(20))
    assert [one.name for one in checkpoint.parent.iterdir()] == ["match_stream"]


def test_one_that_is_not_there_is_no_damage(tmp_path: Path) -> None:
    set_aside_if_damaged(tmp_path / "none", FixedClock(0))
    assert (damage(tmp_path / "none"), read_committed_position(tmp_path / "none")) == (None, None)


@pytest.mark.parametrize("name", ["metadata", "offsets/2", "offsets/1", "commits/1", "state/0/1/2.changelog"])
@pytest.mark.parametrize("keeps_checksum", [True, False])
@pytest.mark.parametrize("length", [0, 5])
def test_a_cut_file_is_named(checkpoint: Path, name: str, *, keeps_checksum: bool, length: int) -> None:
    file = checkpoint / name
    file.write_bytes(file.read_bytes()[:length])
    if not keeps_checksum:
        file.with_name(f".{file.name}.crc").unlink()
        if name.startswith("state"):
            return  # nothing says what it held: Spark finds out when it reads it
    assert str(file) in str(damage(checkpoint))


@pytest.mark.parametrize("at", [0, 511, 512, 1_299])
def test_one_changed_byte_is_seen(checkpoint: Path, at: int) -> None:
    file = checkpoint / "state/0/1/2.changelog"
    content = bytearray(file.read_bytes())
    content[at] ^= 1
    file.write_bytes(content)
    assert str(file) in str(damage(checkpoint))


@pytest.mark.parametrize("name", ["metadata", "offsets/2"])
def test_what_is_missing_is_named(checkpoint: Path, name: str) -> None:
    (checkpoint / name).unlink()
    put(checkpoint / "commits/2", 'v1\n{"nextBatchWatermarkMs":0}')
    assert str(checkpoint / name) in str(damage(checkpoint))


def test_a_damaged_one_is_set_aside_and_only_the_last_of_them_is_kept(checkpoint: Path) -> None:
    clock = FixedClock(1_000)
    for content in ("first", "second"):
        (checkpoint / "offsets").mkdir(parents=True, exist_ok=True)
        (checkpoint / "offsets/2").write_text(content)
        set_aside_if_damaged(checkpoint, clock)
        clock.advance(1)
    (set_aside,) = checkpoint.parent.iterdir()
    assert set_aside.name.startswith("match_stream.damaged-19700101T000001")
    assert (set_aside / "offsets/2").read_text() == "second"


def note_end(checkpoint: Path, batch_id: int, offset: int) -> None:
    put(checkpoint / "offsets" / str(batch_id), f'v1\n{HEAD}\n{{"offset":{offset},"event":"e{offset}"}}')


def test_a_micro_batch_reads_from_the_end_of_the_one_before_it(tmp_path: Path) -> None:
    for batch_id, offset in enumerate((10, 14, 20)):
        note_end(tmp_path, batch_id, offset)
    assert PlannedRanges(tmp_path).range_of(2) == OffsetRange(14, 20)
    assert PlannedRanges(tmp_path).range_of(0) is None  # nothing says where a query began
    assert PlannedRanges(tmp_path).range_of(3) is None


@pytest.mark.parametrize("text", ["", "v1\n{}", "v1\n{}\n{", 'v1\n{}\n{"offset":19}'])
def test_a_file_that_changes_after_its_micro_batch_changes_no_later_one(tmp_path: Path, text: str) -> None:
    note_end(tmp_path, 0, 10)
    note_end(tmp_path, 1, 14)
    ranges = PlannedRanges(tmp_path)
    assert ranges.range_of(1) == OffsetRange(10, 14)
    (tmp_path / "offsets" / "1").write_text(text)
    note_end(tmp_path, 2, 20)
    assert ranges.range_of(2) == OffsetRange(14, 20)
