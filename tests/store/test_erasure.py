"""Tests of the erasure of a person from the store: no trace is left, and everything else stays as it was."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from unicodedata import normalize

import orjson
import pytest
from sqlalchemy import Engine, String, Text, delete, func, insert, select
from tests.company import SmallCompany
from tests.soak import SOAK
from tests.store.event_documents import assert_records_are_the_same

from tocsin.errors import Conflict
from tocsin.model.erasure import Erasure, PersonalIdentity
from tocsin.model.people import SYSTEM
from tocsin.model.requested_job import JobState
from tocsin.model.stored import Key
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue
from tocsin.store.database.documents import to_text
from tocsin.store.database.retention_tables import deleted_entity
from tocsin.store.database.schema import METADATA
from tocsin.store.database.tables import change_event, document_snapshot, entity_version
from tocsin.store.eventlog.log import EventLog
from tocsin.store.upkeep.erasure.columns import NAMING, REMOVED, UNTOUCHED
from tocsin.store.upkeep.erasure.requests import Erasures
from tocsin.store.upkeep.erasure.rewriting import Rewriting
from tocsin.store.upkeep.fsck.finding import Damage
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
    company.describe("revenue", f"{normalize('NFD', FULL_NAME)} wrote it", by=NAME)
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


def damage(engine: Engine) -> dict[Damage, int]:
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
    assert_records_are_the_same(company.engine)


def test_a_second_pass_finds_nothing(company: SmallCompany) -> None:
    identity = identity_of(company)
    dry = sum(Rewriting(company.engine, identity, is_dry=True).run(), Counter())
    assert list(traces(company.engine))
    erase(company)
    again = sum(Rewriting(company.engine, identity).run(), Counter())
    assert dry.total() > 10
    assert again.total() == 0


@pytest.mark.parametrize("is_dry", [True, False])
def test_the_counts_are_stored_as_the_result(company: SmallCompany, is_dry: bool) -> None:
    erasures = Erasures(company.engine)
    erasures.add(Erasure("e1", company.ids[NAME], company.ids["ana"], 1, is_dry=is_dry, identity=identity_of(company)))
    claimed = erasures.claim("runner", now_ms=2, lost_after_ms=60_000)
    assert claimed is not None and claimed.identity is not None
    counts = sum(Rewriting(company.engine, claimed.identity, is_dry=is_dry).run(), Counter())
    assert erasures.finish(claimed, "runner", {"rewritten": dict(counts)}, now_ms=3)
    ended = erasures.newest_of(company.ids[NAME])
    assert ended is not None and ended.result == {"rewritten": dict(counts)}


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


def test_who_has_the_same_full_name_in_another_spelling_keeps_it(company: SmallCompany) -> None:
    theirs = normalize("NFD", FULL_NAME.upper())
    company.put("user", {"name": "zq", "email": "zq@example.com", "displayName": theirs})
    assert identity_of(company).shared == {FULL_NAME}
    erase(company)
    zq = SqlCatalogue(company.engine).get("user", Key.by_name("zq"))
    assert zq["displayName"] == theirs


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
        for _ in range(5 if SOAK else 2):
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


def test_what_is_called_like_them_stays(company: SmallCompany) -> None:
    """A service, a type and a word of the catalogue have the name of a user."""
    for name in ("pg", "table", "pg.store"):
        company.put("user", {"name": name, "email": f"{name}@example.com", "displayName": name})
    company.test_case("orders")
    company.describe("orders", "see <#E::database::pg.store>", by="pg")
    query = select(change_event).where(change_event.c.entity_type.in_(("databaseService", "database", "table")))

    def texts() -> list[str]:
        with company.engine.connect() as connection:
            events = connection.execute(query.order_by(change_event.c.log_offset)).mappings()
            return [str({**event, "user_name": None}).replace('"userName":"pg"', "") for event in events]

    identities = {name: identity_of_id(company, name) for name in ("table", "pg.store", "pg")}
    for name in identities:
        company.writes.delete("user", company.key(name), actor=SYSTEM, hard=True)
    before = texts()
    for name in ("table", "pg.store"):
        sum(Rewriting(company.engine, identities[name]).run(), Counter())
    assert texts() == before
    sum(Rewriting(company.engine, identities["pg"]).run(), Counter())
    with company.engine.connect() as connection:
        of_service = select(change_event.c.entity_fqn).where(change_event.c.entity_type == "databaseService")
        assert set(connection.scalars(of_service)) == {"pg"}
        services = {
            derived_fields["service"]
            for derived_fields in map(orjson.loads, connection.scalars(select(change_event.c.derived)))
        }
        assert services == {"pg", None}
    assert damage(company.engine) == {}


def test_whoever_has_their_name_now_keeps_it(company: SmallCompany) -> None:
    erased_id = company.ids[NAME]
    company.writes.delete("user", company.key(NAME), actor=SYSTEM, hard=True)
    user = {"name": NAME, "email": ADDRESS, "displayName": FULL_NAME}
    assert company.put("user", user)["id"] != erased_id
    newcomer = {"id": company.ids[NAME], "type": "user"}
    company.table("hers", owners=[newcomer], description=f"Ask {FULL_NAME}, {ADDRESS}")
    company.describe("hers", "by the newcomer", by=NAME)
    company.alert("of_hers", [{"category": "External", "type": "Email", "config": {"receivers": [ADDRESS]}}])
    ids = [company.ids[name] for name in ("hers", "of_hers", NAME)]

    def documents() -> list[Any]:
        with company.engine.connect() as connection:
            versions = select(entity_version.c.document).where(entity_version.c.entity_id.in_(ids))
            events = select(change_event.c.document, change_event.c.derived).where(change_event.c.entity_id.in_(ids))
            return [tuple(row) for row in (*connection.execute(versions), *connection.execute(events))]

    before = documents()
    identity = Erasures(company.engine).identity_of(erased_id)
    sum(Rewriting(company.engine, identity).run(), Counter())
    assert documents() == before
    assert not Erasures(company.engine).identity_of(erased_id).names, "by the id, nothing names the old one any more"
    assert damage(company.engine) == {}


def test_a_namesake_keeps_her_name(company: SmallCompany) -> None:
    namesake = {"name": "zq", "email": "zq@example.com", "displayName": FULL_NAME}
    before = company.put("user", namesake)
    erase_all = identity_of(company)
    company.writes.delete("user", company.key(NAME), actor=SYSTEM, hard=True)
    sum(Rewriting(company.engine, erase_all).run(), Counter())
    assert company.put("user", namesake)["displayName"] == before["displayName"] == FULL_NAME


def test_what_is_no_user_has_no_identity(company: SmallCompany) -> None:
    for name in ("orders", "shop"):
        assert identity_of_id(company, name).names == frozenset()


def test_who_was_deleted_so_long_ago_that_retention_removed_the_events_is_found(company: SmallCompany) -> None:
    identity = identity_of(company)
    company.writes.delete("user", company.key(NAME), actor=SYSTEM, hard=True)
    with company.engine.begin() as connection:
        state = {"name": NAME, "email": ADDRESS, "displayName": FULL_NAME}
        connection.execute(
            insert(deleted_entity),
            {
                "entity_id": company.ids[NAME],
                "entity_type": "user",
                "deleted_at_ms": 1,
                "document": to_text({"id": company.ids[NAME], **state}),
            },
        )
        for column in (change_event.c.entity_id, entity_version.c.entity_id):
            connection.execute(delete(column.table).where(column == company.ids[NAME]))
    assert identity_of(company) == identity


def identity_of_id(company: SmallCompany, name: str) -> PersonalIdentity:
    return Erasures(company.engine).identity_of(company.ids[name])


def test_one_erasure_of_a_user_at_a_time_and_its_identity_is_sealed_until_the_end(company: SmallCompany) -> None:
    erasures = Erasures(company.engine)
    request = Erasure("e1", company.ids[NAME], company.ids["ana"], 1, is_dry=False, identity=identity_of(company))
    erasures.add(request)
    with pytest.raises(Conflict, match="under way"):
        erasures.add(Erasure("e2", company.ids[NAME], company.ids["ana"], 2, is_dry=True, identity=None))
    with company.engine.connect() as connection:
        assert NAME not in str(connection.execute(select(METADATA.tables["erasure"])).all())
    erase(company)
    claimed_erasure = erasures.claim("runner", now_ms=3, lost_after_ms=60_000)
    assert claimed_erasure is not None and claimed_erasure.identity == request.identity
    assert erasures.fail(claimed_erasure, "killed", now_ms=4)
    assert erasures.identity_of(company.ids[NAME]) == request.identity, "a failed one is taken up where it was"
    erasures.forget_identity(company.ids[NAME])
    assert not erasures.identity_of(company.ids[NAME]).names
    newest = erasures.newest_of(company.ids[NAME])
    assert newest is not None and newest.state is JobState.FAILED and newest.identity is None


def test_the_reasons_of_changes_are_rewritten(company: SmallCompany) -> None:
    dia = replace(company.actor("dia"), reason=f"{FULL_NAME} asked ({ADDRESS})")
    company.writes.patch(
        "table", company.key("wide"), [{"op": "add", "path": "/displayName", "value": "Wide"}], actor=dia
    )
    erase(company)
    assert list(traces(company.engine)) == []
    (reason,) = SqlCatalogue(company.engine).reasons(company.ids["wide"]).values()
    events = [logged.event for logged in EventLog(company.engine).read(0, 10_000)]
    assert reason in {event.reason for event in events}
    assert reason.endswith(f" asked ({PersonalIdentity(company.ids[NAME], frozenset(), frozenset()).pseudonym_email})")
