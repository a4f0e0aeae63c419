"""Tests of the change events of real histories against the reference, event by event and field by field.

The histories are not part of the product; where they are absent these tests skip and say so.
"""

from __future__ import annotations

import gzip
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest
from sqlalchemy import Engine, select
from tests.history.oracle import Atom, expectation_of, statement_of
from tests.soak import SOAK

from tocsin.catalogue.replay import GroupCommits, ReplayProgress, replay
from tocsin.catalogue.writes import Writes
from tocsin.clock import SystemClock
from tocsin.flow.capture.diff import diff
from tocsin.flow.capture.rebuild import versions
from tocsin.model.change import LoggedEvent
from tocsin.model.people import SYSTEM
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue
from tocsin.store.database import tables
from tocsin.store.database.engine import open_engine
from tocsin.store.eventlog.log import EventLog

_FOLDER = Path(os.environ.get("TOCSIN_TEST_HISTORIES", Path(__file__).resolve().parents[3] / "shared" / "data"))
_SAMPLE = (_FOLDER / "bqetl_sample" / "states.jsonl", _FOLDER / "bqetl_sample" / "lineage.jsonl")
"""States and lineage of a short history."""
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_PEOPLE = {"user", "team", "domain"}
_STAMPS = ("id", "fullyQualifiedName", "version", "updatedAt", "updatedBy", "changeDescription", "deleted")

pytestmark = pytest.mark.skipif(not _FOLDER.is_dir(), reason="no histories: set TOCSIN_TEST_HISTORIES to their folder")


def test_the_sample_history_equals_the_oracle(store_engine: Engine) -> None:
    folder = _FOLDER / "bqetl_sample"
    written = _replay(store_engine, folder / "states.jsonl", folder / "lineage.jsonl")
    expected = {line["seq"]: line for line in _lines(folder / "changes.jsonl")}
    assert _differences(expected, written) == []
    _check_the_log_is_complete(store_engine, written)
    assert _edges(store_engine) == _edges_at_the_end(store_engine, folder / "lineage.jsonl") != set()
    assert _not_rebuilt(store_engine) == []


@pytest.fixture(scope="module")
def events_one_by_one(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Atom]:
    """The events of the sample history, written line by line."""
    path = tmp_path_factory.mktemp("histories") / "one-by-one.db"
    path.write_bytes(sqlite_template.read_bytes())
    engine = open_engine(f"sqlite:///{path}", synchronous="OFF")
    _replay(engine, *_SAMPLE)
    events = _comparable_events(engine)
    engine.dispose()
    return events


@pytest.mark.xdist_group("sample history")
def test_the_sample_history_written_together_leaves_the_same_events(
    store_engine: Engine, events_one_by_one: list[Atom]
) -> None:
    with GroupCommits(SqlCatalogue(store_engine), batch_size=100) as catalogue:
        written = list(replay(Writes(catalogue, SystemClock()), *_SAMPLE))
    _check_the_log_is_complete(store_engine, written)
    assert _comparable_events(store_engine) == events_one_by_one
    assert _edges(store_engine) == _edges_at_the_end(store_engine, _SAMPLE[1])
    assert _not_rebuilt(store_engine) == []


def test_replaying_a_history_again_changes_nothing_that_still_stands(sqlite_engine: Engine) -> None:
    states = _FOLDER / "bqetl_sample" / "states.jsonl"
    last = {(line["entityType"], line["fullyQualifiedName"]): line for line in _lines(states)}
    _replay(sqlite_engine, states)
    end = EventLog(sqlite_engine).readable_end()
    writes = _writes(sqlite_engine)
    for (entity_type, fqn), line in last.items():
        if line["op"] == "put":
            written = writes.replace(entity_type, fqn, line["entity"], line["timestamp"], actor=SYSTEM)
            assert written.event is None
    assert EventLog(sqlite_engine).readable_end() == end


@pytest.fixture
def years(tmp_path: Path) -> Path:
    """A folder with the first part of a history of seven years; with all of it where tests run whole."""
    folder = _FOLDER / "bqetl_main"
    states = list(_lines(folder / "states.jsonl.gz"))
    through_ms = states[-1 if SOAK else len(states) // 16]["timestamp"]
    for name in ("states", "lineage", "changes"):
        lines_until = [line for line in _lines(folder / f"{name}.jsonl.gz") if line["timestamp"] <= through_ms]
        (tmp_path / f"{name}.jsonl").write_bytes(b"".join(orjson.dumps(line) + b"\n" for line in lines_until))
    return tmp_path


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_years_of_history_equal_the_oracle(years: Path, sqlite_url: str, capsys: pytest.CaptureFixture[str]) -> None:
    expected = {line["seq"]: line for line in _lines(years / "changes.jsonl")}
    engine = open_engine(sqlite_url, synchronous="NORMAL")
    started = time.monotonic()
    written = _replay(engine, years / "states.jsonl", years / "lineage.jsonl")
    took_s = time.monotonic() - started
    with capsys.disabled():
        print(f"\n  {len(written)} lines in {took_s:.1f} s: {len(written) / took_s:.0f} writes/s")  # noqa: T201
    assert _differences(expected, written) == []
    _check_the_log_is_complete(engine, written)
    assert _edges(engine) == _edges_at_the_end(engine, years / "lineage.jsonl")
    assert _not_rebuilt(engine) == []
    engine.dispose()


def _replay(engine: Engine, *paths: Path) -> list[ReplayProgress]:
    progress = list(replay(_writes(engine), *paths))
    assert progress[-1].read_bytes == progress[-1].total_bytes
    return progress


def _comparable_events(engine: Engine) -> list[Atom]:
    """Return every event and its derived fields, with what no two stores have in common left out: ids."""
    texts = (orjson.dumps([one.event.to_wire(), one.derived]).decode() for one in _all_logged(engine))
    return [orjson.loads(_UUID.sub("id", text)) for text in texts]


def _writes(engine: Engine) -> Writes:
    return Writes(SqlCatalogue(engine), SystemClock())


def _lines(path: Path) -> Iterator[Atom]:
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as lines:
        yield from map(orjson.loads, lines)


def _differences(expected: dict[int, Atom], written: list[ReplayProgress]) -> list[tuple[int, Atom, Atom]]:
    differences = []
    states = [one for one in written if "seq" in one.line]
    assert [one.line["seq"] for one in states] == list(expected)
    for replayed_line in states:
        assert replayed_line.written is not None
        expected_change, statement = (
            expectation_of(expected[replayed_line.line["seq"]]),
            statement_of(replayed_line.written.event),
        )
        if expected_change != statement:
            differences.append((replayed_line.line["seq"], expected_change, statement))
    return differences


def _check_the_log_is_complete(engine: Engine, written: list[ReplayProgress]) -> None:
    """Check that every event of a line is in the log, in the lines' order; besides only people and late edges."""
    notified = [one.written.event.id for one in written if one.written and one.written.event]
    logged = [(one.event.id, one.event.change_description, one.event.entity_type) for one in _all_logged(engine)]
    by_lines = set(notified)
    assert [event_id for event_id, _, _ in logged if event_id in by_lines] == notified
    other_changes = [(kind, change) for event_id, change, kind in logged if event_id not in by_lines]
    assert all(kind in _PEOPLE or (change and change.paths() == ("lineage",)) for kind, change in other_changes)


def _not_rebuilt(engine: Engine) -> list[tuple[str, float]]:
    """Return every version that is not what its entity's events alone make of it."""
    events: dict[tuple[str, str], list[LoggedEvent]] = {}
    for logged in _all_logged(engine):
        events.setdefault((logged.event.entity_type, logged.event.entity_id), []).append(logged)
    wrong, catalogue = [], SqlCatalogue(engine)
    for (entity_type, entity_id), notified in events.items():
        stored = reversed(catalogue.versions(entity_id))
        for stored_version, rebuilt in zip(stored, versions(notified), strict=True):
            stamps_agree = all(stored_version.get(key) == rebuilt.get(key) for key in _STAMPS)
            if not stamps_agree or not diff(entity_type, rebuilt, stored_version).is_empty():
                wrong.append((entity_id, stored_version["version"]))
    return wrong


def _all_logged(engine: Engine) -> list[LoggedEvent]:
    log, all_logged, after = EventLog(engine), [], 0
    while lot := log.read(after, 1000):
        after = lot[-1].offset
        all_logged += lot
    return all_logged


def _edges(engine: Engine) -> set[tuple[str, str]]:
    from_, to = tables.entity.alias(), tables.entity.alias()
    edge = tables.lineage_edge
    query = select(from_.c.fqn, to.c.fqn).select_from(
        edge.join(from_, from_.c.id == edge.c.from_id).join(to, to.c.id == edge.c.to_id)
    )
    with engine.connect() as connection:
        return {(row[0], row[1]) for row in connection.execute(query)}


def _edges_at_the_end(engine: Engine, path: Path) -> set[tuple[str, str]]:
    """Return the edges the file leaves between assets that are in the catalogue at the end."""
    with engine.connect() as connection:
        present = set(connection.execute(select(tables.entity.c.fqn)).scalars())
    edges: set[tuple[str, str]] = set()
    for line in _lines(path):
        edge = line["fromEntity"]["fullyQualifiedName"], line["toEntity"]["fullyQualifiedName"]
        (edges.add if line["op"] == "put" else edges.discard)(edge)
    return {edge for edge in edges if present.issuperset(edge)}
