"""Tests of the pipeline's waits in the health check, while store and disk accept no writes."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, event
from sqlalchemy.exc import OperationalError

from tocsin.store.database.engine import open_engine
from tocsin.store.eventlog.outages import NOTES_FILE, QueryHealth, Wait, WaitNotes, Waits
from tocsin.store.outbox.notifications import Notifications

MATCH, SEARCH = "match_stream", "search_stream"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(folder)]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("only root may mount a small disk")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_store_that_takes_no_writes_is_named(sqlite_url: str, tmp_path: Path) -> None:
    engine, pragmas = open_engine(sqlite_url, synchronous="NORMAL"), list[str]()

    @event.listens_for(engine, "connect")
    def _bind(raw: Any, _record: object) -> None:
        for pragma in pragmas:
            raw.execute(f"PRAGMA {pragma}")

    Notifications(engine).advance(MATCH, 4, now_ms=5)
    notes = WaitNotes(tmp_path)
    notes.make_room()
    pipeline, server = Waits(engine, notes), Waits(engine, WaitNotes(tmp_path))
    engine.dispose()
    pragmas.append("query_only = ON")
    with pytest.raises(OperationalError):
        pipeline.begin(MATCH, "read_only", since_ms=7)
    assert server.health() == [QueryHealth(MATCH, 4, 5, "read_only", 7)]
    pragmas.clear()
    engine.dispose()
    pipeline.end(MATCH)
    assert server.health() == [QueryHealth(MATCH, 4, 5, None, None)]
    engine.dispose()


def test_a_full_disk_takes_notes(small_disk: Path) -> None:
    """Fault scenario 4."""
    notes = WaitNotes(small_disk)
    notes.make_room()
    with pytest.raises(OSError, match="No space left"), (small_disk / "ballast").open("wb", buffering=0) as file:
        while True:
            file.write(b"\1" * 512)
    notes.begin(MATCH, Wait("disk_full", 7))
    notes.begin(SEARCH, Wait("disk_full", 8))
    notes.end(SEARCH)
    assert WaitNotes(small_disk).all() == {MATCH: Wait("disk_full", 7)}
    notes.make_room()
    assert notes.all() == {MATCH: Wait("disk_full", 7)}, "what is noted stays"


def test_notes_that_cannot_be_made_or_read_are_none(store_engine: Engine, tmp_path: Path) -> None:
    waits = Waits(store_engine, WaitNotes(tmp_path / "missing"))
    waits.begin(MATCH, "store_away", since_ms=1)
    waits.end(MATCH)
    assert waits.health() == []
    (tmp_path / NOTES_FILE).write_bytes(b"{cut")
    assert WaitNotes(tmp_path).all() == {}
