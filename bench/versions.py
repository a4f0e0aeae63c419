"""Benchmark of large documents: growth of the store by a changed word, time to read any of 1,000 versions.

A table of 2.5 MB on SQLite, and on PostgreSQL if it is installed. Next: ``bench/consistency.py``.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial

import orjson
from sqlalchemy import Engine, func, select
from tests.store.catalogues import SCHEMA, Company, company
from tests.store.large import change_word, create, store_bytes

from bench.measured import Measurement, Report, p50, p95, scale_count
from bench.running import empty_stores
from tocsin.model.stored import Key
from tocsin.store.catalogue.entities.history import History
from tocsin.store.database.engine import open_engine
from tocsin.store.database.schema import migrate
from tocsin.store.database.tables import change_event, entity, entity_version

DOCUMENT_BYTES, VERSION_COUNT, SIZED_COUNT, READ_COUNT = 2_500_000, 1_000, 96, 100
_ROUND_COUNT = 10
_WARM_UP_COUNT = 3  # the pages that every later update of the entity frees and uses again


def measure(scale: float, report: Report) -> list[Measurement]:
    """Measure on each store that is there."""
    measurements: list[Measurement] = []
    with ExitStack() as stack:
        for name, url in empty_stores(stack):
            engine = open_engine(url)
            stack.callback(engine.dispose)
            migrate(engine)
            measurements += _Large(engine, name, scale, report).measurements()
    return measurements


class _Large:
    """A large table in one store, whose first words change."""

    def __init__(self, engine: Engine, store: str, scale: float, report: Report) -> None:
        self._engine, self._store, self._report = engine, store, report
        self._shop: Company = company(engine)
        self._versions, self._sized = (
            scale_count(VERSION_COUNT, scale, least=10),
            scale_count(SIZED_COUNT, scale, least=5),
        )
        self._id = str(create(self._shop, DOCUMENT_BYTES).document["id"])
        self._chance = random.Random(1)

    def measurements(self) -> Iterator[Measurement]:
        """Yield the rows of this store."""
        self._change(_WARM_UP_COUNT, sized=True)
        before = store_bytes(self._engine)
        took_s = self._change(self._sized, sized=True)  # and vacuumed, as autovacuum does when it comes
        grown = (store_bytes(self._engine) - before) / self._sized
        whole_bytes = self._whole_bytes() / self._sized
        title = f"a changed word of {DOCUMENT_BYTES / 1e6:.1f} MB, {self._store}"
        aim = f"{DOCUMENT_BYTES / 10_000:.0f}"
        yield Measurement("versions", f"{title}: grows by", grown / 1000, "kB", None, self._sized, aim)
        yield Measurement("versions", f"{title}: as whole documents", whole_bytes / 1000, "kB", None, self._sized)
        yield Measurement("versions", f"{title}: read and PATCH", took_s * 1000, "ms", self._bare_ms(), self._sized)
        self._change(self._versions - len(self._numbers()))
        yield from self._reads()

    def _change(self, count: int, *, sized: bool = False) -> float:
        """Change a word in so many versions, one after the other; return the median of their seconds."""
        times_s: list[float] = []
        for number in range(count):
            self._report(number, count)
            started_s = time.perf_counter()
            change_word(self._shop, self._id, self._chance.randrange(5_000), f"word{number}")
            times_s.append(time.perf_counter() - started_s)
            if sized:
                store_bytes(self._engine)
        return p50(times_s) if times_s else 0.0

    def _whole_bytes(self) -> int:
        """Return the bytes of the last versions and their events as texts."""
        byte_count = 0
        with self._engine.connect() as connection:
            for table, order in ((entity_version, "version_tenths"), (change_event, "log_offset")):
                last = (
                    select(table.c.document_bytes).where(table.c.entity_id == self._id).order_by(table.c[order].desc())
                )
                byte_count += connection.execute(select(func.sum(last.limit(self._sized).subquery().c[0]))).scalar_one()
        return int(byte_count)

    def _bare_ms(self) -> float:
        """Return how long the update of the entity alone takes, by bare SQL."""
        with self._engine.begin() as connection:
            text = connection.execute(select(entity.c.document).where(entity.c.id == self._id)).scalar_one()
        started_s = time.perf_counter()
        with self._engine.begin() as connection:
            connection.execute(entity.update().where(entity.c.id == self._id).values(document=text))
        return (time.perf_counter() - started_s) * 1000

    def _reads(self) -> Iterator[Measurement]:
        """Yield how long versions take to read: any of them, and the oldest; the present one is the floor."""
        reader, key = History(self._engine), Key.by_id(self._id)
        numbers = self._numbers()
        sample = self._chance.sample(numbers, min(READ_COUNT, len(numbers)))
        any_of_them = p95([_taken_ms(partial(reader.version, "table", key, one)) for one in sample])
        oldest = p50([_taken_ms(partial(reader.version, "table", key, numbers[0])) for _ in range(_ROUND_COUNT)])
        floor = p50([_taken_ms(self._read_present) for _ in range(_ROUND_COUNT)])
        title = f"read of {len(numbers):,} versions, {self._store}"
        yield Measurement("versions", f"{title}: any, p95", any_of_them, "ms", floor, len(sample), "50")
        yield Measurement("versions", f"{title}: the oldest, p50", oldest, "ms", floor, _ROUND_COUNT, "50")

    def _numbers(self) -> list[str]:
        """Return the versions there are, the oldest first."""
        tenths = entity_version.c.version_tenths
        query = select(tenths).where(entity_version.c.entity_id == self._id).order_by(tenths)
        with self._engine.connect() as connection:
            return [str(one / 10) for one in connection.execute(query).scalars()]

    def _read_present(self) -> None:
        query = select(entity.c.document).where(entity.c.fqn == f"{SCHEMA}.wide")
        with self._engine.connect() as connection:
            orjson.loads(connection.execute(query).scalar_one())


def _taken_ms(do: Callable[[], object]) -> float:
    started_s = time.perf_counter()
    do()
    return (time.perf_counter() - started_s) * 1000
