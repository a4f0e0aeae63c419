"""Tests that a real history makes the same events by every write path, with the rate of each.

Single writes or group commits, directly into the catalogue or over HTTP. The histories are not part
of the product; where they are absent these tests skip and say so.
"""

from __future__ import annotations

import gzip
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import orjson
import pytest
from pydantic import SecretStr
from sqlalchemy import Engine
from tests.history.requests import Deletion, Puts, custom_properties, first_requests, requests
from tests.history.test_histories import _FOLDER
from tests.serving import KEY, running_server

from tocsin.catalogue.writes import BulkWrites, Writes
from tocsin.clock import SystemClock
from tocsin.flow.eventlog.selection import EventSelection
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.people import SYSTEM
from tocsin.model.stored import Key, Written
from tocsin.settings import Settings
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue
from tocsin.store.database.engine import open_engine
from tocsin.store.database.vault import use_vault
from tocsin.store.eventlog.log import EventLog
from tocsin.store.upkeep.fsck.inspection import inspect

pytestmark = pytest.mark.skipif(not _FOLDER.is_dir(), reason="no histories: set TOCSIN_TEST_HISTORIES to their folder")

Json = Any  # Any: JSON
Door = Callable[[Puts | Deletion], None]


@contextmanager
def _writes(engine: Engine, _lines: list[Json]) -> Iterator[Door]:
    writes = Writes(SqlCatalogue(engine), SystemClock())

    def send(writes_or_deletion: Puts | Deletion) -> None:
        if isinstance(writes_or_deletion, Deletion):
            _delete(writes, writes_or_deletion)
        else:
            for request in writes_or_deletion.requests:
                writes.upsert(writes_or_deletion.entity_type, request, actor=SYSTEM)

    yield send


@contextmanager
def _bulk(engine: Engine, _lines: list[Json]) -> Iterator[Door]:
    writes = Writes(SqlCatalogue(engine), SystemClock())
    bulk = BulkWrites(SqlCatalogue(engine), SystemClock())

    def send(writes_or_deletion: Puts | Deletion) -> None:
        if isinstance(writes_or_deletion, Deletion):
            _delete(writes, writes_or_deletion)
        else:
            outcomes = bulk.put(writes_or_deletion.entity_type, writes_or_deletion.requests, actor=SYSTEM)
            assert all(isinstance(outcome, Written) for outcome in outcomes), outcomes

    yield send


@contextmanager
def _http(engine: Engine, lines: list[Json]) -> Iterator[Door]:
    with _client(engine, lines) as client:

        def send(writes_or_deletion: Puts | Deletion) -> None:
            if isinstance(writes_or_deletion, Deletion):
                _delete_over_http(client, writes_or_deletion)
                return
            for request in writes_or_deletion.requests:
                answer = client.put(
                    f"/{ENTITY_TYPES[writes_or_deletion.entity_type].collection}", content=orjson.dumps(request)
                )
                assert answer.status_code in (200, 201), answer.text

        yield send


@contextmanager
def _bulk_http(engine: Engine, lines: list[Json]) -> Iterator[Door]:
    with _client(engine, lines) as client:

        def send(writes_or_deletion: Puts | Deletion) -> None:
            if isinstance(writes_or_deletion, Deletion):
                _delete_over_http(client, writes_or_deletion)
                return
            path = f"/{ENTITY_TYPES[writes_or_deletion.entity_type].collection}/bulk"
            answer = client.put(path, content=orjson.dumps(writes_or_deletion.requests))
            assert answer.status_code == 200, answer.text
            assert answer.json()["numberOfRowsFailed"] == 0, answer.text

        yield send


@contextmanager
def _client(engine: Engine, lines: list[Json]) -> Iterator[httpx.Client]:
    with running_server(engine) as served, served.administrator() as client:
        _define(client, lines)
        yield client


def _define(client: httpx.Client, lines: list[Json]) -> None:
    """Give the types the custom properties that a history speaks of."""
    text = client.get("/metadata/types/name/string?category=field").json()["id"]
    for entity_type, name in sorted(custom_properties(lines)):
        type_id = client.get(f"/metadata/types/name/{entity_type}").json()["id"]
        request = {"name": name, "description": "x", "propertyType": {"id": text, "type": "type"}}
        answer = client.put(f"/metadata/types/{type_id}", json=request)
        assert answer.status_code == 200, answer.text


def _delete(writes: Writes, deletion: Deletion) -> None:
    writes.delete(deletion.entity_type, Key.by_name(deletion.fqn), actor=SYSTEM, hard=True, recursive=True)


def _delete_over_http(client: httpx.Client, deletion: Deletion) -> None:
    collection = ENTITY_TYPES[deletion.entity_type].collection
    path = f"/{collection}/name/{quote(deletion.fqn, safe='')}?hardDelete=true&recursive=true"
    answer = client.delete(path)
    assert answer.status_code == 200, answer.text


_DOORS = {"one by one": _writes, "in bulk": _bulk, "one by one over HTTP": _http, "in bulk over HTTP": _bulk_http}


Through = tuple[list[Json], dict[str, list[Json]], float]
"""A history, its events by entity when sent one by one, and the duration: the reference for other paths."""


@pytest.fixture(scope="module")
def sample(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Through:
    return _one_by_one("bqetl_sample/states.jsonl", sqlite_template, tmp_path_factory)


@pytest.mark.xdist_group("sample history")
@pytest.mark.few_on_postgresql("in bulk over HTTP")  # one by one: test_the_sample_history_equals_the_oracle
@pytest.mark.parametrize("name", list(_DOORS)[1:])
def test_the_sample_history_leaves_the_same_events_through_every_door(
    sample: Through, store_engine: Engine, name: str
) -> None:
    lines, reference, _ = sample
    assert sum(len(events) for events in reference.values()) > 200
    assert _send_through(_DOORS[name], store_engine, lines)[0] == reference


@pytest.fixture(scope="module")
def one_by_one(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Through:
    """A long history."""
    return _one_by_one("bqetl_main/states.jsonl.gz", sqlite_template, tmp_path_factory)


def _one_by_one(path: str, template: Path, folders: pytest.TempPathFactory) -> Through:
    lines = _lines(path)
    return lines, *_send_through(_writes, _copy_of(template, folders.mktemp("doors") / "reference.db"), lines)


@pytest.mark.soak
@pytest.mark.timeout(900)
@pytest.mark.xdist_group("long history")
@pytest.mark.parametrize("name", list(_DOORS)[1:])
def test_a_long_history_leaves_the_same_events_through_every_door(
    one_by_one: Through, sqlite_template: Path, tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    lines, reference, alone_s = one_by_one
    notified, took_s = _send_through(_DOORS[name], _copy_of(sqlite_template, tmp_path / "other.db"), lines)
    events = sum(len(events) for events in reference.values())
    with capsys.disabled():
        rates = f"one by one {events / alone_s:.0f} events/s, {name} {events / took_s:.0f} events/s"
        print(f"\n  {len(lines)} lines, {events} events: {rates}")  # noqa: T201
    assert notified == reference


def _copy_of(template: Path, path: Path) -> Engine:
    path.write_bytes(template.read_bytes())
    engine = open_engine(f"sqlite:///{path}", synchronous="NORMAL")
    use_vault(engine, Settings(secrets_key=SecretStr(KEY)))
    return engine


def _lines(path: str) -> list[Json]:
    source = _FOLDER / path
    with gzip.open(source) if source.suffix == ".gz" else source.open("rb") as lines:
        return [orjson.loads(line) for line in lines]


def _send_through(
    door: Callable[[Engine, list[Json]], AbstractContextManager[Door]], engine: Engine, lines: list[Json]
) -> tuple[dict[str, list[Json]], float]:
    """Send a history by one write path; return its events by entity, and the duration."""
    with _writes(engine, lines) as send_first:
        for first_batch in first_requests(lines):
            send_first(first_batch)
    with door(engine, lines) as send:
        end, started = EventLog(engine).readable_end(), time.monotonic()
        for batch in requests(lines):
            send(batch)
        took_s = time.monotonic() - started
    assert inspect(engine).counts == Counter()
    return _events_by_fqn(engine, end), took_s


def _events_by_fqn(engine: Engine, after: int) -> dict[str, list[Json]]:
    log, events_by_fqn = EventLog(engine), defaultdict(list)
    while lot := log.list_events(EventSelection(), after=after, limit=2_000):
        after = lot[-1].offset
        for logged in lot:
            wire = logged.event.to_wire()
            stamps = {key: wire.get(key) for key in ("eventType", "previousVersion", "currentVersion")}
            events_by_fqn[wire["entityFullyQualifiedName"]].append(
                stamps | {"change": _plain(wire["changeDescription"]), "entity": _plain(wire["entity"])}
            )
    return dict(events_by_fqn)


def _plain(value: Json) -> Json:
    """Return a value without what differs from store to store: ids, who and when."""
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {key: _plain(one) for key, one in value.items() if key not in ("id", "updatedAt", "updatedBy")}
