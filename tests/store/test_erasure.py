"""Tests of the erasure of a person from the store: no trace is left, and everything else stays as it was."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import Engine, String, Text, func, select
from tests.company import SmallCompany

from tocsin.errors import Conflict
from tocsin.model.erasure import Erasure, PersonalIdentity
from tocsin.model.people import SYSTEM
from tocsin.model.requested_job import JobState
from tocsin.store.database.schema import METADATA
from tocsin.store.database.tables import change_event, document_snapshot, entity_version
from tocsin.store.eventlog.log import EventLog
from tocsin.store.upkeep.erasure.columns import NAMING, REMOVED, UNTOUCHED
from tocsin.store.upkeep.erasure.requests import Erasures
from tocsin.store.upkeep.erasure.rewriting import Rewriting
from tocsin.store.upkeep.fsck.inspection import inspect

NAME, ADDRESS, FULL_NAME = "zoe.quist", "zoe.quist@example.com", "Zoë Quist"
LONGEST_KEY = 80


@pytest.fixture
def company(store_engine: Engine) -> SmallCompany:
    """A company in which Zoë has owned, changed, discussed and been named."""
    company = SmallCompany(store_engine)
    company.put("user", {"name": NAME, "email": ADDRESS, "displayName": FULL_NAME, "description": "of Malmö"})
    zoe = {"id": company.ids[NAME], "type": "user"}
    company.table("sales", owners=[zoe], description=f"Ask <#E::user::{NAME}> or {ADDRESS}.")
    company.describe("orders", f"{FULL_NAME.upper()} wrote it", by=NAME)
    company.alert("hers", [{"category": "External", "type": "Email", "config": {"receivers": [ADDRESS, "ana"]}}])
    wide = [{"name": f"column_{number}", "dataType": "INT", "description": "x" * 40} for number in range(200)]
    company.put("table", {"name": "wide", "databaseSchema": "pg.store.public", "columns": wide, "owners": [zoe]})
    for number in range(4):
        company.describe("wide", f"text {number} by {NAME}", by=NAME)
    company.writes.follow("table", company.ids["orders"], company.ids[NAME], actor=company.actor(NAME))
    return company


def identity_of(company: SmallCompany) -> PersonalIdentity:
    return Erasures(company.engine).identity_of(company.ids[NAME])


def erase(company: SmallCompany) -> Counter[str]:
    identity = identity_of(company)
    company.writes.delete("user", company.key(NAME), actor=SYSTEM, hard=True)
    return sum(Rewriting(company.engine, identity).run(), Counter())


def traces(engine: Engine) -> Iterator[str]:
    """Yield the columns of texts that still contain something of hers; large documents are read as they are."""
    with engine.connect() as connection:
        for table in METADATA.sorted_tables:
            for column in table.columns:
                if not isinstance(column.type, String | Text) or table.name == "erasure":
                    continue
                for needle in (NAME, "Quist"):
                    if connection.scalar(select(func.count()).where(column.ilike(f"%{needle}%"))):
                        yield f"{table.name}.{column.name}: {needle}"
    for logged in EventLog(engine).read(0, 10_000):
        document = logged.event.to_json().lower()
        yield from (f"event {logged.offset}: {needle}" for needle in (NAME, "quist") if needle in document)


def damage(engine: Engine) -> dict[str, int]:
    return dict(inspect(engine, lambda _done, _total: None, deep=True).counts)


def test_every_column_of_texts_is_rewritten_removed_or_left_with_a_reason() -> None:
    columns = {
        f"{table.name}.{column.name}"
        for table in METADATA.sorted_tables
        for column in table.columns
        if isinstance(column.type, Text)
        or (isinstance(column.type, String) and (column.type.length or 0) > LONGEST_KEY)
    }
    listed = [f"{naming.table.name}.{name}" for naming in (*NAMING, *REMOVED) for name in naming.all]
    listed += [column for untouched in UNTOUCHED.values() for column in untouched]
    assert sorted(listed) == sorted(set(listed))
    assert columns - {"erasure.identity", "erasure.result", "erasure.reason"} == set(listed)


def test_no_trace_is_left_and_the_store_is_sound(company: SmallCompany) -> None:
    assert list(traces(company.engine))
    before = damage(company.engine)
    counts = erase(company)
    assert counts["large documents"] >= 5
    assert counts["change_event"] > 5
    assert list(traces(company.engine)) == []
    assert damage(company.engine) == before == {}


def test_a_second_pass_finds_nothing(company: SmallCompany) -> None:
    identity = identity_of(company)
    dry = sum(Rewriting(company.engine, identity, is_dry=True).run(), Counter())
    assert list(traces(company.engine))
    erase(company)
    again = sum(Rewriting(company.engine, identity).run(), Counter())
    assert dry.total() > 10
    assert again.total() == 0


def test_everything_else_stays_as_it_was(company: SmallCompany) -> None:
    company.table("untouched", owners=[{"id": company.ids["ana"], "type": "user"}])

    def rows_of_others() -> list[Any]:
        with company.engine.connect() as connection:
            query = select(entity_version).where(entity_version.c.entity_id == company.ids["untouched"])
            events = select(change_event).where(change_event.c.entity_id == company.ids["untouched"])
            return [tuple(row) for row in (*connection.execute(query), *connection.execute(events))]

    before, ids = rows_of_others(), [logged.event.id for logged in EventLog(company.engine).read(0, 10_000)]
    erase(company)
    assert rows_of_others() == before
    assert [logged.event.id for logged in EventLog(company.engine).read(0, 10_000)][: len(ids)] == ids


def test_a_writer_at_the_same_time_loses_nothing(company: SmallCompany) -> None:
    """Fault scenario 63."""
    identity = identity_of(company)
    company.writes.delete("user", company.key(NAME), actor=SYSTEM, hard=True)
    stop, numbers = threading.Event(), list[int]()

    def write() -> None:
        while not stop.is_set():
            numbers.append(len(numbers))
            company.describe("wide", f"number {len(numbers)}")

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(5):
            sum(Rewriting(company.engine, identity).run(), Counter())
    finally:
        stop.set()
        writer.join(60)
    assert list(traces(company.engine)) == []
    assert damage(company.engine) == {}
    with company.engine.connect() as connection:
        dangling = select(func.count()).where(
            change_event.c.snapshot_id.is_not(None), change_event.c.snapshot_id.not_in(select(document_snapshot.c.id))
        )
        assert connection.scalar(dangling) == 0


def test_one_erasure_of_a_user_at_a_time_and_its_identity_is_sealed_until_the_end(company: SmallCompany) -> None:
    erasures = Erasures(company.engine)
    request = Erasure("e1", company.ids[NAME], company.ids["ana"], 1, is_dry=False, identity=identity_of(company))
    erasures.add(request)
    with pytest.raises(Conflict, match="under way"):
        erasures.add(Erasure("e2", company.ids[NAME], company.ids["ana"], 2, is_dry=True, identity=None))
    with company.engine.connect() as connection:
        assert NAME not in str(connection.execute(select(METADATA.tables["erasure"])).all())
    erase(company)
    claimed = erasures.claim("runner", now_ms=3, lost_after_ms=60_000)
    assert claimed is not None and claimed.identity == request.identity
    assert erasures.fail(claimed, "killed", now_ms=4)
    assert erasures.identity_of(company.ids[NAME]) == request.identity, "a failed one is taken up where it was"
    erasures.forget_identity(company.ids[NAME])
    assert not erasures.identity_of(company.ids[NAME]).names
    newest = erasures.newest_of(company.ids[NAME])
    assert newest is not None and newest.state is JobState.FAILED and newest.identity is None
