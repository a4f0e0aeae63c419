"""Tests of replaying a history line by line, in its original order."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import orjson
import pytest
from sqlalchemy import Engine

from tocsin.catalogue.replay import ReplayProgress, replay
from tocsin.catalogue.writes import Writes
from tocsin.clock import SystemClock
from tocsin.errors import InvalidInput
from tocsin.model.stored import Key
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue
from tocsin.store.catalogue.lineage.reach import Lineage
from tocsin.store.eventlog.log import EventLog

Line = dict[str, Any]  # Any: JSON


def _put(at: int, fqn: str, **entity: Any) -> Line:
    named_entity = {"name": fqn.rsplit(".", 1)[-1]} | entity
    state = {"op": "put", "entityType": "table", "fullyQualifiedName": fqn, "entity": named_entity}
    return {"seq": at, "timestamp": at, "commit": "c1", "user": "user_001"} | state


def _delete(at: int, fqn: str) -> Line:
    state = {"op": "delete", "entityType": "table", "fullyQualifiedName": fqn}
    return {"seq": at, "timestamp": at, "commit": "c1", "user": "bot_001"} | state


def _edge(at: int, op: str, from_: str, to: str) -> Line:
    ends = {
        side: {"type": "table", "fullyQualifiedName": fqn} for side, fqn in (("fromEntity", from_), ("toEntity", to))
    }
    return {"timestamp": at, "commit": "c1", "user": "user_001", "op": op} | ends


def _file(path: Path, *lines: Line) -> Path:
    text = b"".join(orjson.dumps(line) + b"\n" for line in lines)
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return path


def _replay(engine: Engine, *paths: Path) -> list[ReplayProgress]:
    return list(replay(Writes(SqlCatalogue(engine), SystemClock()), *paths))


@pytest.mark.parametrize("name", ["states.jsonl", "states.jsonl.gz"])
def test_every_line_is_written_at_its_moment_by_its_author(sqlite_engine: Engine, tmp_path: Path, name: str) -> None:
    path = _file(tmp_path / name, _put(1, "s.t"), _put(2, "s.t", description="x"), _delete(3, "s.t"))
    progress = _replay(sqlite_engine, path)
    events = [one.event for one in EventLog(sqlite_engine).read(0, 100) if one.event.entity_type == "table"]
    assert [(event.timestamp, event.user_name, event.event_type.value) for event in events] == [
        (1, "user_001", "entityCreated"),
        (2, "user_001", "entityUpdated"),
        (3, "bot_001", "entityDeleted"),
    ]
    assert [one.written.event for one in progress if one.written] == events
    assert progress[-1].read_bytes == progress[-1].total_bytes == path.stat().st_size


def test_people_teams_and_domains_are_made_when_first_named(sqlite_engine: Engine, tmp_path: Path) -> None:
    owners = [{"type": "user", "name": "user_002"}, {"type": "team", "name": "crew"}]
    line = _put(1, "s.t", owners=owners, domains=[{"type": "domain", "name": "shop"}])
    _replay(sqlite_engine, _file(tmp_path / "h.jsonl", line, line | {"timestamp": 2, "user": "bot_001"}))
    catalogue = SqlCatalogue(sqlite_engine)
    table = catalogue.get("table", Key.by_name("s.t"))
    assert [owner["id"] for owner in table["owners"]] == [
        catalogue.get("user", Key.by_name("user_002"))["id"],
        catalogue.get("team", Key.by_name("crew"))["id"],
    ]
    bot = catalogue.get("user", Key.by_name("bot_001"))
    assert (bot["isBot"], bot["email"]) == (True, "bot_001@history.example.org")
    events = [one.event for one in EventLog(sqlite_engine).read(0, 100)]
    assert [(event.entity_type, event.user_name) for event in events] == [
        ("user", "system"),
        ("user", "system"),
        ("team", "system"),
        ("domain", "system"),
        ("table", "user_001"),
        ("user", "system"),
    ]


def test_states_of_a_moment_come_before_its_edges(sqlite_engine: Engine, tmp_path: Path) -> None:
    edges = _file(tmp_path / "lineage.jsonl", _edge(1, "put", "s.a", "s.b"))
    states = _file(tmp_path / "states.jsonl", _put(1, "s.a"), _put(1, "s.b"), _put(2, "s.c"))
    progress = _replay(sqlite_engine, edges, states)
    assert [one.line.get("seq", "edge") for one in progress] == [1, 1, "edge", 2]
    assert all(one.written and one.written.event for one in progress)


def test_an_edge_waits_for_an_asset_that_comes_later_or_comes_back(sqlite_engine: Engine, tmp_path: Path) -> None:
    catalogue = SqlCatalogue(sqlite_engine)

    def upstream() -> list[str]:
        around = Lineage(sqlite_engine).around("table", Key.by_name("s.b"), upstream_depth=1, downstream_depth=0)
        return [node["fullyQualifiedName"] for node in around["nodes"]]

    lines = [_put(1, "s.b"), _edge(1, "put", "s.a", "s.b"), _put(2, "s.a"), _delete(3, "s.a"), _put(4, "s.a")]
    lines.append(_edge(5, "delete", "s.a", "s.b"))
    upstream_names = []
    for _ in replay(Writes(catalogue, SystemClock()), _file(tmp_path / "h.jsonl", *lines)):
        upstream_names.append(upstream())
    assert upstream_names == [[], [], ["s.a"], [], ["s.a"], []]


def test_a_chart_that_is_catalogued_after_its_dashboard_is_no_change_of_the_dashboard(
    sqlite_engine: Engine, tmp_path: Path
) -> None:
    charts = [{"fullyQualifiedName": "bi.total"}]
    dashboard = _put(1, "bi.revenue", charts=charts) | {"entityType": "dashboard"}
    chart = _put(2, "bi.total") | {"entityType": "chart"}
    progress = _replay(sqlite_engine, _file(tmp_path / "h.jsonl", dashboard, chart, dashboard | {"timestamp": 3}))
    assert [bool(one.written and one.written.event) for one in progress] == [True, True, False]


@pytest.mark.parametrize(
    "line",
    [
        b"not json\n",
        b"[]\n",
        b'{"timestamp": 1, "user": "u", "op": "put", "entityType": "table", "fullyQualifiedName": "s.t"}\n',
        b'{"timestamp": 1, "user": "u", "op": "put", "toEntity": {}}\n',
        b'{"user": "u", "op": "delete", "entityType": "table", "fullyQualifiedName": "s.t"}\n',
    ],
)
def test_a_line_that_is_none_of_a_history_is_named(sqlite_engine: Engine, tmp_path: Path, line: bytes) -> None:
    path = _file(tmp_path / "h.jsonl", _put(1, "s.t"))
    path.write_bytes(path.read_bytes() + line)
    with pytest.raises(InvalidInput, match=r"h\.jsonl, line 2"):
        _replay(sqlite_engine, path)
