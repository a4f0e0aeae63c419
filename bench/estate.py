"""Synthetic catalogue of a large company: few assets made by real writes, each copied many times.

A few hundred entities and some 2,000 changes of them go through capture. The rest are copies of those rows under
other ids and names, distinguished by a name's last two digits. Next: ``bench/traffic.py``.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random
from typing import Any

from sqlalchemy import Connection, Engine, insert, select

from bench.alerts import TAGS, TIERS, requests
from tocsin.catalogue.writes import Writes
from tocsin.clock import SystemClock
from tocsin.flow.capture.ports import Transaction
from tocsin.model.entity import Document
from tocsin.model.people import SYSTEM, Actor
from tocsin.model.stored import Key
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue
from tocsin.store.database.engine import reading, writing
from tocsin.store.database.tables import entity, follow, ownership

PERSON_COUNT, TEAM_COUNT, SCHEMA_COUNT = 300, 20, 10
COPY_COUNT = 25
COPIED_TYPES = ("table", "pipeline", "testCase")
_TEAM_SIZE = 5
_COPY_OF = uuid.UUID("0d9a86b2-5f3e-5f67-8a38-5b1c62a4c7d0")
_ROWS_PER_STATEMENT = 10_000


@dataclass(frozen=True)
class Size:
    """How many assets are made by real writes; each of them has ``COPY_COUNT`` copies, itself included."""

    tables: int = 200
    tested: int = 60
    pipelines: int = 40


class _OneTransaction:
    """A catalogue all of whose writes share one transaction: making an estate is not what is measured."""

    def __init__(self, shared: Transaction) -> None:
        self._shared = shared

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        yield self._shared


def build_estate(engine: Engine, size: Size, *, follows: int, seed: int = 7) -> None:
    """Fill a migrated store: people, teams, assets and their changes, copies, followers; alerts last of all."""
    with SqlCatalogue(engine).transaction() as transaction:
        _EstateBuilder(Writes(_OneTransaction(transaction), SystemClock()), Random(seed)).build(size)
    with writing(engine) as connection:
        _copy_assets(connection)
    add_follows(engine, follows, seed=seed)
    with SqlCatalogue(engine).transaction() as transaction:
        writes = Writes(_OneTransaction(transaction), SystemClock())
        for request in requests():
            writes.create("eventsubscription", request, actor=SYSTEM)


def copy_id(entity_id: str, number: int) -> str:
    """Return the id of an asset's copy; number 0 is the asset itself."""
    return entity_id if number == 0 else str(uuid.uuid5(_COPY_OF, f"{entity_id} {number}"))


def copy_text(text: str, entity_id: str, stem: str, number: int) -> str:
    """Return what a copy has instead of ``text``: its own id, and its own name in every FQN."""
    return text.replace(f"{stem}_00", f"{stem}_{number:02}").replace(entity_id, copy_id(entity_id, number))


def stem_of(fqn: str) -> str:
    """Return what the names of an asset's copies begin with: ``t042`` of ``lake.shop.s02.t042_00``."""
    return next(part.removesuffix("_00") for part in fqn.split(".") if part.endswith("_00"))


def add_follows(engine: Engine, count: int, *, seed: int, strangers: int = 0) -> None:
    """Add follow rows: people and assets at random, or, if there are ``strangers``, so many assets unheard of."""
    rng = Random(seed)
    with reading(engine) as connection:
        people = [str(one) for one in connection.scalars(select(entity.c.id).where(entity.c.entity_type == "user"))]
        followed = entity.c.entity_type.in_(("table", "pipeline"))
        assets = [str(one) for one in connection.scalars(select(entity.c.id).where(followed))]
    if strangers:
        assets = [str(uuid.UUID(int=rng.getrandbits(128), version=4)) for _ in range(strangers)]
    pairs: set[tuple[str, str]] = set()
    while len(pairs) < count:
        pairs.add((rng.choice(assets), rng.choice(people)))
    columns = {"entity_type": "table"}
    _insert(engine, [{"entity_id": asset, "user_id": user, **columns} for asset, user in sorted(pairs)])


def _insert(engine: Engine, follows: list[dict[str, Any]]) -> None:  # Any: column values
    with writing(engine) as connection:
        for start in range(0, len(follows), _ROWS_PER_STATEMENT):
            connection.execute(insert(follow), follows[start : start + _ROWS_PER_STATEMENT])


def _copy_assets(connection: Connection) -> None:
    """Add the copies of every asset: their rows in the catalogue, and who owns them."""
    owners = connection.execute(select(ownership)).mappings().all()
    for row in connection.execute(select(entity).where(entity.c.entity_type.in_(COPIED_TYPES))).mappings().all():
        stem, owners_of_row = stem_of(row["fqn"]), [owner for owner in owners if owner["entity_id"] == row["id"]]
        numbers = range(1, COPY_COUNT)
        connection.execute(insert(entity), [_copy_row(dict(row), stem, number) for number in numbers])
        copies = [
            dict(owner) | {"entity_id": copy_id(row["id"], number)} for number in numbers for owner in owners_of_row
        ]
        if copies:
            connection.execute(insert(ownership), copies)


def _copy_row(row: dict[str, Any], stem: str, number: int) -> dict[str, Any]:  # Any: column values
    texts = {key: copy_text(row[key], row["id"], stem, number) for key in ("id", "fqn", "name", "document")}
    return row | texts


class _EstateBuilder:
    """Makes the estate's few hundred entities and changes them."""

    def __init__(self, writes: Writes, rng: Random) -> None:
        self._writes = writes
        self._rng = rng
        self._people: list[Actor] = []

    def build(self, size: Size) -> None:
        self._create_people()
        self._create_tags()
        self._put("databaseService", {"name": "lake", "serviceType": "Snowflake"})
        self._put("database", {"name": "shop", "service": "lake"})
        for number in range(SCHEMA_COUNT):
            self._put("databaseSchema", {"name": f"s{number:02}", "database": "lake.shop"})
        self._put("pipelineService", {"name": "airflow", "serviceType": "Airflow"})
        for number in range(size.tables):
            fqn = self._create_table(number)
            if number < size.tested:
                self._create_test(fqn, number)
            self._edit_table(fqn, number)
        for number in range(size.pipelines):
            self._create_pipeline(number)

    def _create_people(self) -> None:
        for number in range(PERSON_COUNT):
            name = f"person{number:03}"
            user = self._put("user", {"name": name, "email": f"{name}@example.com"})
            self._people.append(Actor(id=user["id"], name=name))
        for number in range(TEAM_COUNT):
            members = self._rng.sample(self._people, _TEAM_SIZE)
            self._put("team", {"name": f"team{number:02}", "users": [{"id": m.id, "type": "user"} for m in members]})

    def _create_tags(self) -> None:
        for tag in TAGS:
            classification, name = tag.split(".")
            about = {"description": "Of the benchmarks."}
            self._writes.ensure("classification", {"name": classification, **about}, actor=SYSTEM)
            self._writes.ensure("tag", {"name": name, "classification": classification, **about}, actor=SYSTEM)

    def _create_table(self, number: int) -> str:
        columns = [
            {"name": f"c{at}", "dataType": "VARCHAR", "dataLength": 80, "description": f"What c{at} of it says."}
            for at in range(12)
        ]
        schema, tier = f"lake.shop.s{number % SCHEMA_COUNT:02}", TIERS[number % len(TIERS)]
        self._put(
            "table",
            {
                "name": f"t{number:03}_00",
                "description": "One row per order line, as the shop wrote it, cleaned and without what is private.",
                "databaseSchema": schema,
                "columns": columns,
                "owners": [self._owner(number)],
                "tags": [_label(tier)],
            },
        )
        return f"{schema}.t{number:03}_00"

    def _edit_table(self, fqn: str, number: int) -> None:
        tag, person = TAGS[number % len(TAGS)], self._rng.choice(self._people)
        for operation in (
            {"op": "add", "path": "/description", "value": f"One row per order line; see chapter {number}."},
            {"op": "add", "path": "/columns/3/description", "value": f"The currency, in the words of page {number}."},
            {"op": "add", "path": "/columns/-", "value": {"name": "gift_note", "dataType": "TEXT"}},
            {"op": "add", "path": "/columns/1/tags", "value": [_label(tag)]},
            {"op": "add", "path": "/tags/-", "value": _label(tag)},
            {"op": "add", "path": "/owners", "value": [{"id": person.id, "type": "user"}]},
            {"op": "add", "path": "/columns/2/dataLength", "value": 200},
            {"op": "remove", "path": "/columns/5"},
        ):
            self._writes.patch("table", Key.by_name(fqn), [operation], actor=self._rng.choice(self._people))
        if number % 20 == 0:
            deletion = self._writes.delete("table", Key.by_name(fqn), actor=person, recursive=True)
            self._writes.restore("table", deletion.document["id"], actor=person)

    def _create_test(self, table: str, number: int) -> None:
        request = {
            "name": "rows_present",
            "entityLink": f"<#E::table::{table}>",
            "testDefinition": "tableRowCountToBeBetween",
            "owners": [self._owner(number)],
        }
        self._put("testCase", request)
        for at, status in enumerate(("Success", "Failed")):
            result = {"timestamp": SystemClock().now_ms() + at, "testCaseStatus": status, "result": "412 rows"}
            self._writes.add_test_result(f"{table}.rows_present", result, actor=SYSTEM)

    def _create_pipeline(self, number: int) -> None:
        name = f"p{number:03}_00"
        tasks = [{"name": f"step{at}"} for at in range(4)]
        self._put("pipeline", {"name": name, "service": "airflow", "tasks": tasks, "owners": [self._owner(number)]})
        for at, state in enumerate(("Successful", "Failed", "Successful")):
            run = {"timestamp": SystemClock().now_ms() + at, "executionStatus": state, "taskStatus": []}
            self._writes.add_pipeline_status(f"airflow.{name}", run, actor=SYSTEM)

    def _owner(self, number: int) -> Document:
        """Return who owns asset ``number``: a team in two cases of five, else a person."""
        if number % 5 < 2:
            return {"type": "team", "name": f"team{number % TEAM_COUNT:02}"}
        return {"type": "user", "name": self._rng.choice(self._people).name}

    def _put(self, entity_type: str, request: Document) -> Document:
        return self._writes.create(entity_type, request, actor=SYSTEM).document


def _label(tag: str) -> Document:
    return {"tagFQN": tag, "source": "Classification", "labelType": "Manual", "state": "Confirmed"}
