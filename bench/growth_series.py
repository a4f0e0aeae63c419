"""Series of the growth benchmark: what work costs (milliseconds) while one thing in the store becomes more.

Each series takes the sizes in ascending order and yields, at each, the median cost of each work. SQLite in a temporary
folder, in this process unless over HTTP; alerts are matched by Spark. Next: ``bench/growth.py``.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from random import Random
from uuid import UUID

import httpx
from sqlalchemy import Engine, insert, select
from tests.store.catalogues import JANE, ORDERS, Company, company
from tests.store.large import change_word, create

from bench.backlog import size_at
from bench.estate import build_estate
from bench.filling import event_id, fill_log
from bench.matching import median_match_s
from bench.matching_alerts import plans
from bench.matching_events import write_events
from bench.measured import p50
from bench.running import open_store, serving, settings_in
from bench.sink import Task
from bench.waiting import claim_times_ms, fill_messages
from tocsin.flow.eventlog.selection import EventSelection
from tocsin.model.stored import Key
from tocsin.settings import Settings
from tocsin.spark.session import session_of
from tocsin.spark.sources import OffsetRange, read_range
from tocsin.store.catalogue.entities.history import History
from tocsin.store.catalogue.entities.listing import Listing
from tocsin.store.database.engine import open_engine, reading, writing
from tocsin.store.database.schema import migrate
from tocsin.store.database.tables import entity, follow
from tocsin.store.eventlog.log import EventLog

Costs = Mapping[str, float]
"""Milliseconds, by what was done."""

_MEASURED_COUNT, _WARM_UP_COUNT = 15, 3
_AT_ONCE = 5_000
_PAGE = 100
_COLUMN_BYTES = 400
_MATCHED_COUNT = 100
_NUMBERS = count()


@dataclass(frozen=True)
class Series:
    """One thing that becomes more.

    Attributes
    ----------
    name : what becomes more
    sizes : how many of it there are, in ascending order
    exponent : of the work itself: 0 if the work does not concern the others, 1 if it concerns each
    costs : measures at ascending sizes
    """

    name: str
    sizes: tuple[int, ...]
    exponent: float
    costs: Callable[[Sequence[int]], Iterator[Costs]]


def events_in_the_log(sizes: Sequence[int]) -> Iterator[Costs]:
    """Read, match, explain, search and write beside a log that becomes longer; over HTTP where a person waits."""
    with tempfile.TemporaryDirectory(prefix="tocsin-bench-") as name, ExitStack() as stack:
        settings = settings_in(Path(name))
        engine, password = stack.enter_context(open_store(settings))
        client = stack.enter_context(stack.enter_context(serving(settings, password)).client())
        shop, log, chance = company(engine), EventLog(engine), Random(1)
        for _ in range(_PAGE):
            _change_table(shop)
        selection = EventSelection(entity_id=str(shop.get("table", ORDERS)["id"]))
        for size in sizes:
            fill_log(engine, log.highest_offset(), size, lambda _done, _total: None)
            yield {
                "read the next 100 events": _median_ms(partial(_read_page, log, chance, size)),
                "read the newest 100 as the pipeline does": _median_ms(partial(_read_newest, settings, log)),
                "list 100 events of one asset": _median_ms(partial(log.list_events, selection, limit=_PAGE)),
                "explain one": _median_ms(partial(_get, client, f"/events/{event_id(size // 2)}/explain")),
                "search": _median_ms(partial(_get, client, "/search/query?q=orders")),
                "change a table": _median_ms(partial(_change_table, shop)),
            }


def alerts(sizes: Sequence[int]) -> Iterator[Costs]:
    """Match a micro-batch with ever more alerts."""
    with tempfile.TemporaryDirectory(prefix="tocsin-bench-") as name, ExitStack() as stack:
        settings = settings_in(Path(name))
        session = session_of(settings)
        stack.callback(session.stop)
        with open_store(settings) as (engine, _password):
            build_estate(engine, size_at(0.05), follows=10)
            events = session.read.parquet(write_events(session, engine, _MATCHED_COUNT, Path(name)))
        for size in sizes:
            yield {"match 100 events": median_match_s(events.toArrow(), session, plans(size)) * 1000}


def unrelated_follows(sizes: Sequence[int]) -> Iterator[Costs]:
    """Notify ten followers beside ever more follows of other assets."""
    with _new_store() as engine:
        task, chance, filled = Task(engine, str(engine.url), 10), Random(2), 0
        for size in sizes:
            for start in range(filled, size, _AT_ONCE):
                ids = [str(UUID(int=chance.getrandbits(128))) for _ in range(min(_AT_ONCE, size - start))]
                with writing(engine) as connection:
                    follows = [{"entity_id": one, "user_id": one, "entity_type": "table"} for one in ids]
                    connection.execute(insert(follow), follows)
            filled = size
            yield {"notify ten followers": _median_ms(task.run)}


def assets(sizes: Sequence[int]) -> Iterator[Costs]:
    """Read and write in a catalogue of ever more tables."""
    with _new_store() as engine:
        shop, table_count = company(engine), 0
        with reading(engine) as connection:
            pattern = dict(connection.execute(select(entity).where(entity.c.fqn == ORDERS)).mappings().one())
        for size in sizes:
            for start in range(table_count, size, _AT_ONCE):
                copies = [_copy_table(pattern, number) for number in range(start, min(start + _AT_ONCE, size))]
                with writing(engine) as connection:
                    connection.execute(insert(entity), copies)
            table_count = size
            yield {
                "read a table by its name": _median_ms(partial(shop.get, "table", ORDERS)),
                "list a page of 100": _median_ms(partial(_list_page, shop)),
                "change a table": _median_ms(partial(_change_table, shop)),
            }


def recipients_of_one_event(sizes: Sequence[int]) -> Iterator[Costs]:
    """Store the notifications of one event for ever more followers."""
    for size in sizes:
        with _new_store() as engine:
            task = Task(engine, str(engine.url), size)
            times_s = [task.run() for _ in range(3 if size < 100_000 else 1)]
            yield {"store their notifications": p50(times_s) * 1000}


def versions_of_one_asset(sizes: Sequence[int]) -> Iterator[Costs]:
    """Change a table that has ever more versions, and read the oldest."""
    with _new_store() as engine:
        shop, version_count = company(engine), 1
        table_id = str(create(shop, 20 * _COLUMN_BYTES).document["id"])
        history, key = History(engine), Key.by_id(table_id)
        oldest = str(shop.catalogue.get("table", key)["version"])
        for size in sizes:
            for _ in range(version_count, size):
                _change_column(shop, table_id)
            version_count = size + _MEASURED_COUNT + _WARM_UP_COUNT
            yield {
                "change it": _median_ms(partial(_change_column, shop, table_id)),
                "read its oldest version": _median_ms(partial(history.version, "table", key, oldest)),
            }


def columns_of_one_table(sizes: Sequence[int]) -> Iterator[Costs]:
    """Change a word of one column in tables of ever more columns."""
    with _new_store() as engine:
        shop = company(engine)
        for size in sizes:
            table_id = str(create(shop, size * _COLUMN_BYTES, name=f"wide{size}").document["id"])
            yield {"change a word of one": _median_ms(partial(_change_column, shop, table_id))}


def waiting_messages(sizes: Sequence[int]) -> Iterator[Costs]:
    """Claim messages while ever more wait."""
    with _new_store() as engine:
        filled = 0
        for size in sizes:
            fill_messages(engine, size - filled)
            filled = size
            yield {"claim 64 of them": p50(claim_times_ms(engine, _MEASURED_COUNT))}


def _decades(first: int, last: int) -> tuple[int, ...]:
    """Return 1 and 3 times each power of ten, from ``first`` to ``last``."""
    powers = (10**power * factor for power in range(8) for factor in (1, 3))
    return tuple(size for size in powers if first <= size <= last)


SERIES = (
    Series("events in the log", _decades(10_000, 10_000_000), 0, events_in_the_log),
    Series("alerts", _decades(10, 10_000), 1, alerts),
    Series("follows of other assets", _decades(1_000, 1_000_000), 0, unrelated_follows),
    Series("assets", _decades(1_000, 1_000_000), 0, assets),
    Series("recipients of one event", _decades(1, 1_000_000), 1, recipients_of_one_event),
    Series("versions of one asset", _decades(10, 10_000), 0, versions_of_one_asset),
    Series("columns of one table", _decades(10, 3_000), 1, columns_of_one_table),
    Series("waiting messages", _decades(1_000, 1_000_000), 0, waiting_messages),
)


@contextmanager
def _new_store() -> Iterator[Engine]:
    with tempfile.TemporaryDirectory(prefix="tocsin-bench-") as folder:
        engine = open_engine(f"sqlite:///{Path(folder) / 'tocsin.db'}", synchronous="NORMAL")
        migrate(engine)
        try:
            yield engine
        finally:
            engine.dispose()


def _median_ms(work: Callable[[], object]) -> float:
    """Return the median time of ``work``; its first runs do not count."""
    times_ms = []
    for _ in range(_WARM_UP_COUNT + _MEASURED_COUNT):
        started_s = time.perf_counter()
        work()
        times_ms.append((time.perf_counter() - started_s) * 1000)
    return p50(times_ms[_WARM_UP_COUNT:])


def _read_page(log: EventLog, chance: Random, size: int) -> None:
    """Read a page from any place."""
    if len(log.read(chance.randrange(size - _PAGE), _PAGE)) != _PAGE:
        raise AssertionError("the page is not full")


def _read_newest(settings: Settings, log: EventLog) -> None:
    """Read the newest events into the columns that are matched."""
    end = log.highest_offset()
    if sum(batch.num_rows for batch in read_range(settings.store_url(), OffsetRange(end - _PAGE, end))) != _PAGE:
        raise AssertionError("the range is not full")


def _get(client: httpx.Client, path: str) -> None:
    client.get(path).raise_for_status()


def _change_column(shop: Company, table_id: str) -> None:
    change_word(shop, table_id, 1, f"word{next(_NUMBERS)}")


def _change_table(shop: Company) -> None:
    operation = {"op": "add", "path": "/description", "value": f"text {next(_NUMBERS)}"}
    shop.writes.patch("table", Key.by_name(ORDERS), [operation], actor=JANE)


def _list_page(shop: Company) -> None:
    if len(shop.catalogue.list_entities("table", Listing(limit=_PAGE)).documents) != _PAGE:
        raise AssertionError("the page is not full")


def _copy_table(row: Mapping[str, object], number: int) -> dict[str, object]:
    table_id, name = str(UUID(int=number + 1)), f"t{number:07}"
    texts = {"id": table_id, "name": name, "fqn": f"pg.shop.public.{name}"}
    document = str(row["document"]).replace(str(row["id"]), table_id).replace("orders", name)
    return {**row, **texts, "document": document}
