"""Tests of consumers over real HTTP: order, commits, retries, positions, and what ends them."""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.unit.small_server import SmallServer

from tocsin.client import ApiSource, AsyncClient, Client, EventBatch, QueueSource
from tocsin.client.consume import loop
from tocsin.client.consume.positions import PositionFile, position_path
from tocsin.errors import Conflict, InvalidInput, MissingExtra, Unavailable

EVENTS = "/api/v1/events"
QUEUE = "/api/v1/events/subscriptions/a/queue"


def event(number: int, entity_type: str = "table") -> dict[str, Any]:
    return {"id": f"e{number}", "idempotencyKey": f"e{number}", "entityType": entity_type, "timestamp": number}


def page(end: int, *events: dict[str, Any]) -> dict[str, Any]:
    return {"data": list(events), "paging": {"offset": end}}


@pytest.fixture
def client(small_server: SmallServer) -> Iterator[Client]:
    with Client(small_server.url, "secret-token") as client:
        yield client


@pytest.fixture(autouse=True)
def no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "LONGEST_WAIT_S", 0.0)


def keys(batches: list[EventBatch]) -> list[list[str]]:
    return [[change.idempotency_key for change in batch.changes] for batch in batches]


def offset_in(path: Path) -> int:
    return int(json.loads(path.read_text())["offset"])


def test_the_position_is_stored_after_each_portion_and_survives(
    client: Client, small_server: SmallServer, tmp_path: Path
) -> None:
    path, batches, positions = tmp_path / "p.json", list[EventBatch](), list[int]()
    small_server.answer("GET", EVENTS, page(3, event(1), event(2)), page(5, event(5)), page(5))

    def handle(batch: EventBatch) -> None:
        batches.append(batch)
        positions.append(offset_in(path))

    client.consume(handle, ApiSource(path, start="start", stop_at_end=True), batch_size=2)
    assert (keys(batches), positions, offset_in(path)) == ([["e1", "e2"], ["e5"]], [0, 3], 5)
    assert [one.end for one in batches] == [3, 5]
    assert [one.query["offset"] for one in small_server.requests] == ["0", "3", "5"]
    small_server.answer("GET", EVENTS, page(5))
    client.consume(handle, ApiSource(path, start="start", stop_at_end=True))
    assert small_server.requests[-1].query["offset"] == "5"


def test_filters_go_to_the_server(client: Client, small_server: SmallServer) -> None:
    small_server.answer("GET", EVENTS, page(7), page(7))
    source = ApiSource(
        event_types=["entityUpdated", "entityDeleted"],
        entity_types=["table", "dashboard"],
        include_fields="tags,owner",
        stop_at_end=True,
    )
    client.consume(lambda _: None, source)
    latest, read = small_server.requests
    assert latest.query["offset"] == "latest"
    assert read.query == {
        "offset": "7",
        "limit": "100",
        "format": "tocsin",
        "eventTypes": "entityUpdated,entityDeleted",
        "entityTypes": "table,dashboard",
        "includeFields": "tags,owner",
    }


def test_batches_by_entity_type_are_committed_together(
    client: Client, small_server: SmallServer, tmp_path: Path
) -> None:
    path, batches = tmp_path / "p.json", list[tuple[str | None, int | None, int]]()
    small_server.answer("GET", EVENTS, page(3, event(1), event(2, "topic"), event(3)), page(3))
    client.consume(
        lambda batch: batches.append((batch.entity_type, batch.end, offset_in(path))),
        ApiSource(path, start="start", stop_at_end=True),
        group_by="entityType",
    )
    assert batches == [("table", None, 0), ("topic", 3, 0)]
    assert offset_in(path) == 3


def test_a_batch_whose_handling_fails_is_offered_again_and_then_its_error_is_raised(
    client: Client, small_server: SmallServer, tmp_path: Path
) -> None:
    path, tries = tmp_path / "p.json", list[str]()
    small_server.answer("GET", EVENTS, page(1, event(1), event(2, "topic")), page(1))
    reports: list[str] = []

    def handle(batch: EventBatch) -> None:
        tries.append(str(batch.entity_type))
        if batch.entity_type == "topic":
            raise ValueError("away")

    with pytest.raises(ValueError, match="away"):
        client.consume(
            handle,
            ApiSource(path, start="start", stop_at_end=True),
            group_by="entityType",
            retries=2,
            on_retry=lambda error, wait_s: reports.append(f"{error} {wait_s}"),
        )
    assert (tries, offset_in(path)) == (["table", "topic", "topic", "topic"], 0)
    assert reports == ["away 0.0"] * 2
    position = PositionFile(path, small_server.url)
    position.open()  # the lock is free
    position.close()


def test_retries_are_logged_and_what_works_at_last_is_committed(
    client: Client,
    small_server: SmallServer,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(logging.getLogger("tocsin.client"), "disabled", False)  # tests of imports disable all loggers
    path, errors = tmp_path / "p.json", [ValueError("away"), None]
    small_server.answer("GET", EVENTS, page(1, event(1)), page(1))

    def handle(_: EventBatch) -> None:
        if error := errors.pop(0):
            raise error

    with caplog.at_level(logging.WARNING, "tocsin.client"):
        client.consume(handle, ApiSource(path, start="start", stop_at_end=True))
    assert (offset_in(path), "ValueError: away; again in" in caplog.text) == (1, True)


def test_a_server_that_goes_away_is_waited_for_but_not_at_the_beginning(
    client: Client, small_server: SmallServer
) -> None:
    small_server.answer("GET", EVENTS, {"message": "down"}, status=503)
    with pytest.raises(Unavailable, match="down"):
        client.consume(lambda _: None, ApiSource(start="start", stop_at_end=True))


def test_ctrl_c_leaves_the_position_and_frees_it(client: Client, small_server: SmallServer, tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    small_server.answer("GET", EVENTS, page(1, event(1)))

    def handle(_: EventBatch) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        client.consume(handle, ApiSource(path, start="start"))
    position = PositionFile(path, small_server.url)
    assert position.open() == 0
    position.close()


def test_a_position_belongs_to_one_consumer_at_a_time(
    client: Client, small_server: SmallServer, tmp_path: Path
) -> None:
    path = tmp_path / "p.json"
    position = PositionFile(path, small_server.url)
    position.open()
    with pytest.raises(Conflict, match="in use by process"):
        client.consume(lambda _: None, ApiSource(path))
    position.close()
    assert small_server.requests == []


def test_a_position_of_a_killed_process_is_free(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    program = (
        "import sys, pathlib; from tocsin.client.consume.positions import PositionFile\n"
        "p = PositionFile(pathlib.Path(sys.argv[1]), 's'); p.open(); p.write(7); print('open', flush=True); input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        with pytest.raises(Conflict, match=f"process {process.pid}"):
            PositionFile(path, "s").open()
        process.kill()
    position = PositionFile(path, "s")
    assert position.open() == 7
    position.close()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"server": "s"}', '{"server": "s", "offset": "x"}'])
def test_a_damaged_position_says_what_to_do(tmp_path: Path, text: str) -> None:
    path = tmp_path / "p.json"
    path.write_text(text)
    with pytest.raises(InvalidInput, match="delete it"):
        PositionFile(path, "s").open()


def test_a_position_belongs_to_one_server(tmp_path: Path) -> None:
    position = PositionFile(tmp_path / "p.json", "http://first")
    position.open()
    position.write(3)
    position.close()
    with pytest.raises(InvalidInput, match="http://first"):
        PositionFile(tmp_path / "p.json", "http://second").open()


def test_a_position_that_cannot_be_stored_is_tried_again(
    client: Client, small_server: SmallServer, tmp_path: Path
) -> None:
    path, reports = tmp_path / "p.json", list[str]()
    small_server.answer("GET", EVENTS, page(1, event(1)), page(1))
    in_the_way = tmp_path / "p.json.new"

    def report(error: Exception, _wait_s: float) -> None:
        reports.append(str(error))
        in_the_way.rmdir()

    source = ApiSource(path, start="start", stop_at_end=True)
    client.consume(lambda _: in_the_way.mkdir(), source, on_retry=report)
    assert (offset_in(path), ["cannot be stored" in one for one in reports]) == (1, [True])


def test_a_position_in_no_folder_is_refused(client: Client, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InvalidInput, match="cannot be used"):
        client.consume(lambda _: None, ApiSource(tmp_path / "file" / "p.json"))


def test_a_queue_whose_server_is_away_for_a_while_is_acknowledged_later(
    client: Client, small_server: SmallServer
) -> None:
    small_server.answer("POST", f"{QUEUE}/claim", claim_of(event(1)), claim_of())
    small_server.answer("POST", f"{QUEUE}/extend", {"message": "down"}, status=503)
    small_server.answer("POST", f"{QUEUE}/acknowledge", outcomes("acknowledged"))
    errors = [ValueError("away"), None]

    def handle(_: EventBatch) -> None:
        if error := errors.pop(0):
            raise error

    client.consume(handle, QueueSource("a", stop_at_end=True))
    assert [one.path.rpartition("/")[2] for one in small_server.requests] == [
        "claim",
        "extend",
        "acknowledge",
        "claim",
    ]


def test_a_name_is_a_file_of_the_person(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert position_path("warehouse") == tmp_path / "tocsin" / "positions" / "warehouse.json"
    for name in ("", "../x", "a/b", ".x", "x" * 101):
        with pytest.raises(InvalidInput):
            position_path(name)


def test_wrong_options_are_refused_before_anything_is_read(client: Client, small_server: SmallServer) -> None:
    for options in ({"batch_size": 0}, {"batch_size": 10_001}, {"group_by": "day"}):
        with pytest.raises(InvalidInput):
            client.consume(lambda _: None, **options)
    for start in (-1, "later"):
        with pytest.raises(InvalidInput):
            client.consume(lambda _: None, ApiSource(start=start))  # type: ignore[arg-type]  # that is the point
    with pytest.raises(InvalidInput):
        client.consume(lambda _: None, QueueSource("a"), batch_size=101)
    assert small_server.requests == []


def claim_of(*events: dict[str, Any], has_more: bool = False) -> dict[str, Any]:
    entries = [{"id": f"m{one['id']}", "lease": "l", "idempotencyKey": one["id"], "event": one} for one in events]
    return {"data": entries, "hasMore": has_more}


def outcomes(*states: str) -> dict[str, Any]:
    return {"data": [{"id": "m", "state": state} for state in states]}


def test_a_queue_is_claimed_and_acknowledged(client: Client, small_server: SmallServer) -> None:
    cloud_event = {"specversion": "1.0", "id": "e2", "data": {"entityType": "topic", "timestamp": 2}}
    small_server.answer(
        "POST", f"{QUEUE}/claim", claim_of(event(1), has_more=True), claim_of(cloud_event, has_more=False), claim_of()
    )
    small_server.answer("POST", f"{QUEUE}/acknowledge", outcomes("acknowledged"), outcomes("leaseLost"))
    batches: list[EventBatch] = []
    client.consume(batches.append, QueueSource("a", stop_at_end=True), batch_size=9, group_by="entityType")
    assert (keys(batches), [one.entity_type for one in batches]) == ([["e1"], ["e2"]], ["table", "topic"])
    assert small_server.requests[0].body == {"limit": 9, "leaseSeconds": 300, "groupBy": "entityType"}
    assert [one.path.rpartition("/")[2] for one in small_server.requests] == [
        "claim",
        "acknowledge",
        "claim",
        "acknowledge",
        "claim",
    ]


def test_what_was_not_handled_goes_back_into_the_queue(client: Client, small_server: SmallServer) -> None:
    small_server.answer("POST", f"{QUEUE}/claim", claim_of(event(1)))
    small_server.answer("POST", f"{QUEUE}/extend", outcomes("extended"))
    small_server.answer("POST", f"{QUEUE}/release", outcomes("released"))

    def handle(_: EventBatch) -> None:
        raise ValueError("away")

    with pytest.raises(ValueError, match="away"):
        client.consume(handle, QueueSource("a"), retries=1)
    assert [one.path.rpartition("/")[2] for one in small_server.requests] == ["claim", "extend", "release"]


def test_a_lost_lease_is_not_offered_again(client: Client, small_server: SmallServer) -> None:
    small_server.answer("POST", f"{QUEUE}/claim", claim_of(event(1)), claim_of())
    small_server.answer("POST", f"{QUEUE}/extend", outcomes("leaseLost"))
    small_server.answer("POST", f"{QUEUE}/release", outcomes("leaseLost"))
    tries: list[EventBatch] = []

    def handle(batch: EventBatch) -> None:
        tries.append(batch)
        raise ValueError("away")

    client.consume(handle, QueueSource("a", stop_at_end=True))
    assert len(tries) == 1


async def test_the_asynchronous_client_awaits_what_handles_a_batch(small_server: SmallServer, tmp_path: Path) -> None:
    small_server.answer("GET", EVENTS, page(2, event(1), event(2)), page(2))
    batches: list[EventBatch] = []

    async def handle(batch: EventBatch) -> None:
        await asyncio.sleep(0)
        batches.append(batch)

    path = tmp_path / "p.json"
    async with AsyncClient(small_server.url, "t") as client:
        await client.consume(handle, ApiSource(path, start="start", stop_at_end=True))
    assert (keys(batches), offset_in(path)) == ([["e1", "e2"]], 2)


async def test_a_cancelled_consumer_gives_back_what_it_holds(small_server: SmallServer) -> None:
    small_server.answer("POST", f"{QUEUE}/claim", claim_of(event(1)))
    small_server.answer("POST", f"{QUEUE}/release", outcomes("released"))
    began = asyncio.Event()

    async def handle(_: EventBatch) -> None:
        began.set()
        await asyncio.sleep(60)

    async with AsyncClient(small_server.url, "t") as client:
        task = asyncio.create_task(client.consume(handle, QueueSource("a")))
        await began.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert small_server.requests[-1].path == f"{QUEUE}/release"


def test_without_its_library_the_source_says_what_to_install(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    from tocsin.client import KafkaSource

    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    with pytest.raises(MissingExtra, match=r"pip install 'tocsin\[kafka\]'"):
        client.consume(lambda _: None, KafkaSource("127.0.0.1:1", "g"))


def test_a_registered_consumer_commits_in_the_server(client: Client, small_server: SmallServer) -> None:
    consumer = "/api/v1/events/consumers/warehouse"
    small_server.answer("GET", consumer, {"name": "warehouse", "offset": 2})
    small_server.answer("GET", EVENTS, page(5, event(4)), page(5))
    small_server.answer("PUT", f"{consumer}/position", {"name": "warehouse", "offset": 5})
    client.consume(lambda _: None, ApiSource(consumer="warehouse", stop_at_end=True))
    assert [one.query["offset"] for one in small_server.requests if one.path == EVENTS] == ["2", "5"]
    (committed,) = [one for one in small_server.requests if one.method == "PUT"]
    assert committed.body == {"offset": 5, "previousOffset": 2}


def test_a_consumer_has_no_position_of_its_own(client: Client) -> None:
    with pytest.raises(InvalidInput, match="server keeps"):
        client.consume(lambda _: None, ApiSource("p", consumer="warehouse"))
