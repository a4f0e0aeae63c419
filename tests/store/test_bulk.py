"""Tests of bulk writes: the result equals that of single writes."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import count
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, func, select
from tests.soak import SOAK
from tests.store.catalogues import JANE, Company, company

from tocsin.catalogue.replay import GroupCommits
from tocsin.catalogue.writes import BulkWrites, Writes
from tocsin.errors import Conflict, InvalidInput, NotFound, TocsinError
from tocsin.flow.capture.bounds import BOUNDS
from tocsin.flow.capture.bulk import Outcome
from tocsin.flow.capture.operations import new_entity_id
from tocsin.model import fqn
from tocsin.model.change import EventType
from tocsin.model.entity import Document
from tocsin.model.people import SYSTEM
from tocsin.model.stored import Key, Written
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue
from tocsin.store.database.engine import open_engine, reading
from tocsin.store.database.group_commit import WriterLimits
from tocsin.store.database.tables import change_event, entity, entity_version

_HARD_TO_COPY = 'tab\t, \\N, line\n, \\., "quoted", ≥'


@pytest.fixture
def shop(store_engine: Engine) -> Company:
    return company(store_engine)


@pytest.fixture
def many(shop: Company) -> BulkWrites:
    return BulkWrites(shop.catalogue, shop.clock)


@pytest.mark.parametrize("count", [3, 120])
def test_every_row_is_an_entity_a_version_and_an_event(
    shop: Company, many: BulkWrites, store_engine: Engine, count: int
) -> None:
    """Few rows are inserted, many are copied on PostgreSQL; what texts hold makes no difference."""
    end = shop.log.readable_end()
    requests = [shop.table(f"t{number}", description=_HARD_TO_COPY) for number in range(count)]
    outcomes = many.put("table", requests, actor=JANE)
    assert all(isinstance(outcome, Written) and outcome.created for outcome in outcomes)
    events = shop.events_after(end)
    events = [event for event in events if not event.is_import]
    assert [event.entity_fully_qualified_name for event in events] == [f"pg.shop.public.t{at}" for at in range(count)]
    assert {(event.entity or {})["description"] for event in events} == {_HARD_TO_COPY}
    assert shop.get("table", "pg.shop.public.t1")["description"] == _HARD_TO_COPY
    with reading(store_engine) as connection:
        ids = [event.entity_id for event in events]
        for table, key in ((entity, "id"), (entity_version, "entity_id"), (change_event, "entity_id")):
            query = select(func.count()).select_from(table).where(table.c[key].in_(ids))
            assert connection.execute(query).scalar_one() == count


def test_the_same_rows_again_change_nothing(shop: Company, many: BulkWrites) -> None:
    requests = [shop.table(f"t{number}") for number in range(20)]
    many.put("table", requests, actor=JANE)
    end = shop.log.readable_end()
    again = many.put("table", requests, actor=JANE)
    assert all(isinstance(outcome, Written) and outcome.event is None for outcome in again)
    assert shop.log.readable_end() == end


def test_a_bad_row_fails_alone(shop: Company, many: BulkWrites) -> None:
    requests = [
        shop.table("good"),
        shop.table("bad", owners=[{"type": "user", "name": "nobody"}]),
        shop.table("worse", colour="red"),
        shop.table("lost", databaseSchema="pg.shop.nowhere"),
        shop.table("fine"),
    ]
    outcomes = many.put("table", requests, actor=JANE)
    assert [type(outcome) for outcome in outcomes] == [Written, NotFound, InvalidInput, NotFound, Written]
    assert shop.get("table", "pg.shop.public.fine")["version"] == 0.1
    with pytest.raises(NotFound):
        shop.get("table", "pg.shop.public.bad")


def test_one_name_twice_is_two_writes(shop: Company, many: BulkWrites) -> None:
    end = shop.log.readable_end()
    requests = [shop.table("twice"), shop.table("twice", description="more"), shop.table("twice", description="most")]
    many.put("table", requests, actor=JANE)
    assert [str(event.current_version) for event in shop.events_after(end)] == ["0.1", "0.2", "0.3"]
    table = shop.get("table", "pg.shop.public.twice")
    assert (table["version"], table["description"]) == (0.3, "most")
    assert [one["version"] for one in shop.catalogue.versions(table["id"])] == [0.3, 0.2, 0.1]


def test_create_refuses_a_name_that_is_taken(shop: Company, many: BulkWrites) -> None:
    outcomes = many.create("table", [shop.table("new"), shop.table("new"), shop.table("orders")], actor=JANE)
    assert [type(outcome) for outcome in outcomes] == [Written, Conflict, Conflict]


def test_a_parent_may_come_earlier_in_the_same_request(shop: Company, many: BulkWrites) -> None:
    outcomes = many.put(
        "team",
        [
            {"name": "sea", "teamType": "Department"},
            {"name": "ship", "teamType": "Group", "parents": [{"type": "team", "name": "sea"}]},
        ],
        actor=SYSTEM,
    )
    assert all(isinstance(outcome, Written) for outcome in outcomes), outcomes
    assert [one["name"] for one in shop.get("team", "ship")["parents"]] == ["sea"]


def test_a_dry_run_keeps_nobody_from_writing(shop: Company, store_url: str) -> None:
    engine = open_engine(store_url, synchronous="NORMAL", writers=WriterLimits(patience_s=0.2))
    numbers = count()

    def new_id() -> str:
        """Return an id, while somebody else writes."""
        written = Writes(SqlCatalogue(engine), shop.clock).create(
            "table", shop.table(f"other{next(numbers)}"), actor=SYSTEM
        )
        assert written.created
        return new_entity_id()

    requests = [shop.table(f"t{number}") for number in range(3)]
    try:
        outcomes = BulkWrites(shop.catalogue, shop.clock, new_id).put("table", requests, actor=JANE, dry_run=True)
    finally:
        engine.dispose()
    assert [isinstance(one, Written) for one in outcomes] == [True] * 3, outcomes
    assert next(numbers) == 3


def test_a_dry_run_says_what_would_be_and_leaves_nothing(shop: Company, many: BulkWrites) -> None:
    end = shop.log.readable_end()
    requests = [shop.table("new"), shop.table(colour="red"), shop.table("orders", description="x")]
    outcomes = many.put("table", requests, actor=JANE, dry_run=True)
    assert [type(outcome) for outcome in outcomes] == [Written, InvalidInput, Written]
    assert shop.log.readable_end() == end
    with pytest.raises(NotFound):
        shop.get("table", "pg.shop.public.new")


def test_rows_beyond_a_chunk_are_written_too(shop: Company) -> None:
    in_chunks = BulkWrites(shop.catalogue, shop.clock, bounds=replace(BOUNDS, chunk_rows=7))
    outcomes = in_chunks.put("table", [shop.table(f"t{number}") for number in range(30)], actor=JANE)
    assert [one.document["name"] for one in outcomes if isinstance(one, Written)] == [f"t{at}" for at in range(30)]


def test_chunks_that_meet_all_land(shop: Company, many: BulkWrites) -> None:
    def put(client: int) -> list[Outcome]:
        requests = [shop.table(f"t{number}", description=f"by {client}") for number in range(40)]
        return many.put("table", requests if client % 2 else requests[::-1], actor=JANE)

    end = shop.log.readable_end()
    with ThreadPoolExecutor(4) as pool:
        outcomes = [outcome for some in pool.map(put, range(4)) for outcome in some]
    assert all(isinstance(outcome, Written) for outcome in outcomes)
    event_outcomes = [outcome for outcome in outcomes if isinstance(outcome, Written) and outcome.event]
    assert len([event for event in shop.events_after(end) if not event.is_import]) == len(event_outcomes)
    for number in range(40):
        table = shop.get("table", f"pg.shop.public.t{number}")
        assert len(shop.catalogue.versions(table["id"])) == round(table["version"] * 10)


_TEXTS = st.sampled_from(["", "a", "b", None])
_OWNERS = st.lists(st.sampled_from(["jane", "john.doe", "nobody"]), max_size=2, unique=True)
_TABLES = st.fixed_dictionaries(
    {"name": st.sampled_from(["one", "two", "three.and", 'f"our', ""])},
    optional={
        "description": _TEXTS,
        "displayName": _TEXTS,
        "owners": _OWNERS.map(lambda names: [{"type": "user", "name": name} for name in names]),
        "tags": st.lists(st.sampled_from(["PII.Sensitive", "Tier.Tier1"]).map(lambda tag: {"tagFQN": tag}), max_size=2),
        "columns": st.lists(
            st.fixed_dictionaries(
                {"name": st.sampled_from("abc"), "dataType": st.sampled_from(["INT", "STRING"])},
                optional={"description": _TEXTS},
            ),
            max_size=3,
        ),
        "colour": st.just("red"),
    },
)
_USERS = st.fixed_dictionaries(
    {"name": st.sampled_from(["ann", "bob"]), "email": st.sampled_from(["a@example.org", "b@example.org", "none"])},
    optional={"teams": st.lists(st.just({"type": "team", "name": "sales"}), max_size=1), "displayName": _TEXTS},
)
_NUMBERS = count()
_HABITS = settings(
    max_examples=25 if SOAK else 10,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@_HABITS
@given(requests=st.lists(st.lists(_TABLES, max_size=6), min_size=1, max_size=3))
def test_tables_at_once_leave_the_same_events_as_one_by_one(shop: Company, requests: list[list[Document]]) -> None:
    once, one_by_one_name = _two_names(shop)
    at_once: list[Outcome] = []
    one_by_one: list[Any] = []
    end = shop.log.readable_end()
    for request_rows in requests:
        at_once += BulkWrites(shop.catalogue, shop.clock).put(
            "table", [_row_in(once, row) for row in request_rows], actor=JANE
        )
    middle = shop.log.readable_end()
    for request_rows in requests:
        one_by_one += [_alone(shop, "table", _row_in(one_by_one_name, row)) for row in request_rows]
    assert [_facts(one) for one in at_once] == [_facts(one) for one in one_by_one]
    plain_events = [
        _plain(logged_event.event.to_wire() | {"derived": logged_event.derived})
        for logged_event in shop.log.read(end, 10_000)
    ]
    assert plain_events[: middle - end] == plain_events[middle - end :]
    names = {row["name"] for rows in requests for row in rows if row["name"]}
    for name in names:
        assert _standing(shop, once, name) == _standing(shop, one_by_one_name, name)


@_HABITS
@given(people=st.lists(_USERS, min_size=1, max_size=5))
def test_people_at_once_leave_the_same_events_as_one_by_one(shop: Company, people: list[Document]) -> None:
    once, one_by_one_name = _two_names(shop)
    end = shop.log.readable_end()
    renamed = [[_person(row, which) for row in people] for which in (once, one_by_one_name)]
    at_once = BulkWrites(shop.catalogue, shop.clock).put("user", renamed[0], actor=JANE)
    middle = shop.log.readable_end()
    one_by_one = [_alone(shop, "user", row) for row in renamed[1]]
    assert [_facts(one) for one in at_once] == [_facts(one) for one in one_by_one]
    notified = [_plain(logged.event.to_wire()) for logged in shop.log.read(end, 10_000)]
    assert notified[: middle - end] == notified[middle - end :]


def _two_names(shop: Company) -> tuple[str, str]:
    """Return the names of two new schemas: one is written at once, the other one by one."""
    number = next(_NUMBERS)
    names = f"once{number}", f"each{number}"
    for name in names:
        shop.writes.create("databaseSchema", {"name": name, "database": "pg.shop"}, actor=SYSTEM)
    return names


def _person(row: Document, which: str) -> Document:
    email = row["email"]
    return row | {"name": f"{row['name']}-{which}", "email": f"{which}.{email}" if "@" in email else email}


def _row_in(schema: str, row: Document) -> Document:
    return {"databaseSchema": f"pg.shop.{schema}", "columns": [], **row}


def _alone(shop: Company, entity_type: str, row: Document) -> Written | TocsinError:
    try:
        return shop.writes.upsert(entity_type, row, actor=JANE)
    except TocsinError as refused:
        return refused


def _facts(outcome: Outcome) -> object:
    if isinstance(outcome, Written):
        return outcome.created, outcome.event is not None, _plain(outcome.document)
    return type(outcome), _plain({"message": outcome.message})


def _standing(shop: Company, schema: str, name: str) -> object:
    try:
        document = shop.catalogue.get("table", Key.by_name(fqn.child(f"pg.shop.{schema}", name)), "all")
    except NotFound:
        return None
    return [_plain(version) for version in shop.catalogue.versions(document["id"])]


def _plain(document: Document) -> Document:
    """Return a document without what differs from store to store: ids, and which of the two schemas it is."""
    text = re.sub(r"\b(once|each)\d+", "schema", orjson.dumps(document).decode())
    return dict(orjson.loads(re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "id", text)))


def test_writes_together_see_each_other_and_fail_alone(shop: Company) -> None:
    end = shop.log.readable_end()
    with GroupCommits(shop.catalogue, batch_size=3) as catalogue:
        writes = Writes(catalogue, shop.clock)
        for _ in range(3):
            passing = writes.create("table", shop.table("passing"), actor=JANE)
            with pytest.raises(Conflict):
                writes.create("table", shop.table("passing"), actor=JANE)
            writes.delete("table", Key.by_id(passing.document["id"]), actor=JANE, hard=True)
            with pytest.raises(NotFound):
                writes.delete("table", Key.by_id(passing.document["id"]), actor=JANE, hard=True)
    notified = [event.event_type for event in shop.events_after(end)]
    assert notified == [EventType.ENTITY_CREATED, EventType.ENTITY_DELETED] * 3
