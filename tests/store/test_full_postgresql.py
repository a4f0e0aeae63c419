"""Tests of a PostgreSQL whose disk is full: what cannot be stored is refused with the way out, and nothing is lost."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError
from tests.company import SmallCompany
from tests.fulldisk import SmallDisk, postgres_disk
from tests.serving import running_server
from tests.store.catalogues import SCHEMA, company
from tests.store.test_ingest import change, send, states
from tests.store.test_retention import check_sound, offsets, plan_at, read_all

from tocsin.catalogue.ingest.writes import CHUNK, IngestWrites
from tocsin.errors import TocsinError
from tocsin.model.people import SYSTEM
from tocsin.model.retention import DAY_MS
from tocsin.store.database.engine import open_engine
from tocsin.store.database.faults import fault_of
from tocsin.store.database.schema import migrate
from tocsin.store.upkeep.retention.events import EventRemoval
from tocsin.store.upkeep.retention.progress import RetentionProgress

__all__ = ["postgres_disk"]

pytestmark = pytest.mark.postgres


@pytest.fixture
def engine(postgres_disk: SmallDisk) -> Iterator[Engine]:
    new_engine = open_engine(postgres_disk.url)
    migrate(new_engine)
    yield new_engine
    new_engine.dispose()


def test_a_request_that_a_full_disk_refuses_says_so_and_is_done_once_there_is_room(
    postgres_disk: SmallDisk, engine: Engine
) -> None:
    """Fault scenario 74."""
    postgres_disk.take(engine, "change_event", "entity", "entity_version")
    requests = [{"name": f"words-{number}", "description": "x" * 3_000} for number in range(40)]
    with running_server(engine) as server, server.administrator() as client:
        postgres_disk.fill()
        answers = [client.post("/glossaries", json=request) for request in requests]
        refused_answers = [answer for answer in answers if answer.status_code != 201]
        assert refused_answers
        for answer in refused_answers:
            message = "The disk is full. Free some space; nothing was stored."
            assert (answer.status_code, answer.json()) == (503, {"code": 503, "message": message})
            assert answer.headers["retry-after"] == "5"
        stored_count = client.get("/glossaries", params={"limit": 100}).json()["paging"]["total"]
        assert stored_count == len(requests) - len(refused_answers)
        postgres_disk.clear()
        for request, answer in zip(requests, answers, strict=True):
            assert (client.post("/glossaries", json=request).status_code == 201) is (answer in refused_answers)
        events = client.get("/events", params={"entityCreated": "glossary", "timestamp": 0, "limit": 100}).json()
        names = [event["entityFullyQualifiedName"] for event in events["data"]]
        assert sorted(names) == sorted(request["name"] for request in requests)


def test_events_of_others_that_a_full_disk_refuses_are_applied_once_later(
    postgres_disk: SmallDisk, engine: Engine
) -> None:
    """Fault scenario 74."""
    shop = company(engine)
    postgres_disk.take(engine, "change_event", "ingested_event")
    writes = IngestWrites(shop.catalogue, shop.clock)
    tables = [shop.table(f"f{number}") | {"description": "x" * 3_000} for number in range(2 * CHUNK)]
    events = [change("entityCreated", f"{SCHEMA}.{table['name']}", entity=table) for table in tables]
    postgres_disk.fill()
    with pytest.raises((TocsinError, SQLAlchemyError)) as refusal:
        send(writes, shop, *events)
    fault = fault_of(refusal.value)
    assert fault is not None
    assert fault.name == "disk_full"
    postgres_disk.clear()
    assert set(states(send(writes, shop, *events))) <= {"applied", "duplicate"}
    assert set(states(send(writes, shop, *events))) == {"duplicate"}
    names = [one.entity_fully_qualified_name for one in shop.events_after(0)]
    assert [names.count(f"{SCHEMA}.{table['name']}") for table in tables] == [1] * len(tables)


def test_retention_that_a_full_disk_ends_goes_on_with_the_next_run(postgres_disk: SmallDisk, engine: Engine) -> None:
    """Fault scenario 74."""
    small_company = SmallCompany(engine)
    small_company.writes.delete("table", small_company.key("revenue"), actor=SYSTEM, hard=True)
    small_company.describe("orders", "later")
    end = read_all(small_company)
    postgres_disk.take(engine, "removed_events", "deleted_entity")
    plan, removal, progress = plan_at(small_company), EventRemoval(engine), RetentionProgress(engine)
    before = offsets(small_company)
    assert progress.claim("first", now_ms=1)
    postgres_disk.fill()
    with pytest.raises(SQLAlchemyError) as refusal:
        list(removal.remove(plan, "first", lambda: 1))
    fault = fault_of(refusal.value)
    assert fault is not None
    assert fault.name == "disk_full"
    assert offsets(small_company) == before
    postgres_disk.clear()
    next_ms = DAY_MS
    assert progress.claim("next", now_ms=next_ms)
    list(removal.remove(plan, "next", lambda: next_ms))
    assert offsets(small_company) == [end]
    assert progress.removed_counts() == (end - 1, 0)
    check_sound(engine)
