"""Benchmark of a followed domain: a micro-batch of 100 events with 100,000 and with 100 other assets in the domain.

All assets that change belong to it as well, and ten people follow it. Two stores that differ only in the assets that
did not change, and the same events on both, in alternation. The floor is the small store. Next: ``bench/follows.py``.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from uuid import UUID

from sqlalchemy import Engine, insert, select

from bench.backlog import FOLLOW_COUNT, size_at
from bench.estate import COPIED_TYPES, build_estate
from bench.follows import EVENT_COUNT, ROUND_COUNT, costs, notify_in_turns
from bench.measured import Measurement, Report, scale_count
from bench.running import open_store, settings_in
from tocsin.catalogue.writes import Writes
from tocsin.clock import SystemClock
from tocsin.model.people import SYSTEM
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue
from tocsin.store.database.engine import open_engine, reading, writing
from tocsin.store.database.entity_tables import entity_reference
from tocsin.store.database.tables import entity

MANY_ASSETS, FEW_ASSETS, FOLLOWER_COUNT = 100_000, 100, 10
_ROWS_PER_STATEMENT = 10_000


def measure(scale: float, report: Report) -> list[Measurement]:
    """Measure micro-batches with few and with many other assets in the domain."""
    rounds = scale_count(ROUND_COUNT, scale, least=3)
    many_count = scale_count(MANY_ASSETS, scale, least=1_000)
    with tempfile.TemporaryDirectory(prefix="tocsin-bench-") as name:
        folder = Path(name)
        few, many = notify_in_turns(folder, _build_stores(folder, scale, many_count), rounds, report)
        work = f"micro-batch of {EVENT_COUNT} events in a domain with {many_count:,} other assets"
        return costs("domains", work, (few, many), rounds=rounds)


def _build_stores(folder: Path, scale: float, many_count: int) -> tuple[Path, Path]:
    """Make two stores that differ only in the assets of a domain; return their files."""
    few, many = folder / "tocsin.db", folder / "many.db"
    with open_store(settings_in(folder)) as (engine, _password):
        build_estate(engine, size_at(scale), follows=scale_count(FOLLOW_COUNT, scale, least=200))
        domain_id = _follow_domain(engine)
        _add_assets(engine, domain_id, range(FEW_ASSETS))
    shutil.copyfile(few, many)  # the last connection took the write-ahead log with it
    engine = open_engine(f"sqlite:///{many}", synchronous="NORMAL")
    _add_assets(engine, domain_id, range(FEW_ASSETS, many_count))
    engine.dispose()
    return few, many


def _follow_domain(engine: Engine) -> str:
    """Make a domain with all assets that change in it, and let people follow it; return its id."""
    writes = Writes(SqlCatalogue(engine), SystemClock())
    domain = {"name": "sales", "domainType": "Aggregate", "description": "What is sold."}
    domain_id = str(writes.create("domain", domain, actor=SYSTEM).document["id"])
    with reading(engine) as connection:
        asset_ids = list(connection.scalars(select(entity.c.id).where(entity.c.entity_type.in_(COPIED_TYPES))))
        people = select(entity.c.id).where(entity.c.entity_type == "user").order_by(entity.c.fqn).limit(FOLLOWER_COUNT)
        people_ids = list(connection.scalars(people))
    for user_id in people_ids:
        writes.follow("domain", domain_id, user_id, actor=SYSTEM)
    _refer(engine, domain_id, asset_ids)
    return domain_id


def _add_assets(engine: Engine, domain_id: str, numbers: range) -> None:
    ids = {str(UUID(int=number, version=4)): f"lake.shop.s00.other{number:06}" for number in numbers}
    columns = {"entity_type": "table", "version_tenths": 1, "updated_at_ms": 1, "updated_by": "ana", "document": "{}"}
    assets = [{"id": one, "fqn": fqn, "name": fqn.rpartition(".")[2], **columns} for one, fqn in ids.items()]
    with writing(engine) as connection:
        for start in range(0, len(assets), _ROWS_PER_STATEMENT):
            connection.execute(insert(entity), assets[start : start + _ROWS_PER_STATEMENT])
    _refer(engine, domain_id, list(ids))


def _refer(engine: Engine, domain_id: str, asset_ids: list[str]) -> None:
    references = [{"entity_id": one, "field": "domains", "target_id": domain_id} for one in asset_ids]
    with writing(engine) as connection:
        for start in range(0, len(references), _ROWS_PER_STATEMENT):
            connection.execute(insert(entity_reference), references[start : start + _ROWS_PER_STATEMENT])
