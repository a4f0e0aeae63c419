"""Small catalogue for write tests: one entity of each type, created by the product's own writes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Engine
from tests.prefilled import fill

from tocsin.catalogue.writes import Writes
from tocsin.clock import FixedClock
from tocsin.model import fqn
from tocsin.model.change import ChangeEvent
from tocsin.model.entity import Document
from tocsin.model.people import SYSTEM, Actor
from tocsin.model.stored import Key, Written
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue
from tocsin.store.eventlog.log import EventLog

JANE = Actor("00000000-0000-4000-8000-000000000001", "jane")
SCHEMA = "pg.shop.public"
ORDERS = "pg.shop.public.orders"


@dataclass(frozen=True)
class Company:
    """A store with one of each type in it, and the ways in."""

    engine: Engine
    catalogue: SqlCatalogue
    writes: Writes
    log: EventLog
    clock: FixedClock
    ids: dict[str, str]

    def write(self) -> dict[str, str]:
        """Create one of each type; return their ids by their names."""
        for entity_type, request in (*_REQUESTS, ("table", self.table())):
            self.ids[request["name"]] = self.writes.create(entity_type, request, actor=SYSTEM).document["id"]
        return self.ids

    def table(self, name: str = "orders", **fields: Any) -> Document:
        """Return a request for a table in the schema."""
        columns = [{"name": "id", "dataType": "BIGINT"}, {"name": "email", "dataType": "VARCHAR", "dataLength": 50}]
        return {"name": name, "databaseSchema": SCHEMA, "columns": columns} | fields

    def get(self, entity_type: str, fqn: str) -> Document:
        """Return an entity, soft-deleted or not."""
        return self.catalogue.get(entity_type, Key.by_name(fqn), include="all")

    def patch(self, *operations: tuple[str, str, Any], fqn: str = ORDERS, entity_type: str = "table") -> Written:
        """Apply (op, path, value) operations."""
        patch = [{"op": op, "path": path, "value": value} for op, path, value in operations]
        return self.writes.patch(entity_type, Key.by_name(fqn), patch, actor=JANE)

    def events_after(self, offset: int) -> list[ChangeEvent]:
        """Return the events logged after ``offset``."""
        return [logged.event for logged in self.log.read(offset, 10_000)]


def company(engine: Engine) -> Company:
    """Fill an empty store with one of each type."""
    catalogue, clock = SqlCatalogue(engine), FixedClock(1_705_320_000_000)
    created = Company(engine, catalogue, Writes(catalogue, clock), EventLog(engine), clock, {})
    created.ids.update(fill(engine, "one of each type", created.write))
    return created


def add_tags(writes: Writes, *fqns: str) -> None:
    """Catalogue tags of two names each, and their classifications."""
    for tag in fqns:
        classification, name = fqn.split(tag)
        writes.ensure("classification", {"name": classification, "description": "x"}, actor=SYSTEM)
        writes.ensure("tag", {"name": name, "description": "x", "classification": classification}, actor=SYSTEM)


_REQUESTS: list[tuple[str, Document]] = [
    ("user", {"name": "jane", "email": "Jane@Example.org "}),
    ("user", {"name": "john.doe", "email": "john@example.org", "isAdmin": True}),
    ("user", {"name": "robot", "email": "robot@example.org", "isBot": True}),
    ("team", {"name": "sales", "teamType": "Group"}),
    ("testDefinition", {"name": "notNull", "entityType": "COLUMN", "testPlatforms": ["OpenMetadata"]}),
    ("testDefinition", {"name": "hasRows", "entityType": "TABLE", "testPlatforms": ["OpenMetadata"]}),
    ("domain", {"name": "commerce", "domainType": "Aggregate", "description": "Selling."}),
    ("databaseService", {"name": "pg", "serviceType": "Postgres"}),
    ("database", {"name": "shop", "service": "pg"}),
    ("databaseSchema", {"name": "public", "database": "pg.shop"}),
    ("dashboardService", {"name": "bi", "serviceType": "Metabase"}),
    ("dashboard", {"name": "revenue", "service": "bi"}),
    ("pipelineService", {"name": "airflow", "serviceType": "Airflow"}),
    ("pipeline", {"name": "nightly", "service": "airflow", "tasks": [{"name": "load"}, {"name": "check"}]}),
]
