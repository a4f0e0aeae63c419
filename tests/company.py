"""Small company in a real store: people, teams, tables with lineage, for tests of the whole path."""

from __future__ import annotations

from dataclasses import dataclass, field
from uuid import uuid5

from sqlalchemy import Engine
from tests.prefilled import fill

from tocsin.catalogue.writes import Writes
from tocsin.clock import FixedClock
from tocsin.model.entity import Document
from tocsin.model.notification import NAMESPACE
from tocsin.model.people import SYSTEM, Actor
from tocsin.model.stored import Key
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue

STARTED_MS = 1_760_000_000_000

PEOPLE = ("ana", "ben", "cem", "dia")


@dataclass
class SmallCompany:
    """``orders`` (owned by team shop: ana, ben; followed by cem) feeds ``revenue`` (owned by dia)."""

    engine: Engine
    clock: FixedClock = field(default_factory=lambda: FixedClock(STARTED_MS))
    ids: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.writes = Writes(SqlCatalogue(self.engine), self.clock)
        self.ids |= fill(self.engine, f"small company at {self.clock.now_ms()}", self._write)

    def _write(self) -> dict[str, str]:
        """Write people, teams and tables; return their ids by their names."""
        for name in PEOPLE:
            self.put("user", {"name": name, "email": f"{name}@example.com"})
        self.put("team", {"name": "shop", "teamType": "Department", "users": [{"id": self.ids["ana"], "type": "user"}]})
        below = {"name": "tills", "users": [{"id": self.ids["ben"], "type": "user"}]}
        self.put("team", {**below, "parents": [{"id": self.ids["shop"], "type": "team"}]})
        self.put("databaseService", {"name": "pg", "serviceType": "Postgres"})
        self.put("database", {"name": "store", "service": "pg"})
        self.put("databaseSchema", {"name": "public", "database": "pg.store"})
        self.table("orders", owners=[{"type": "team", "name": "shop"}])
        self.table("revenue", owners=[{"type": "user", "name": "dia"}])
        self.writes.follow("table", self.ids["orders"], self.ids["cem"], actor=self.actor("cem"))
        edge = {side: {"type": "table", "id": self.ids[name]} for side, name in _EDGE.items()}
        self.writes.put_edge(edge, actor=SYSTEM)
        return self.ids

    def put(self, entity_type: str, request: Document) -> Document:
        """Put an entity as the system and remember its id by its name."""
        written = self.writes.upsert(entity_type, request, actor=SYSTEM)
        self.ids[request["name"]] = written.document["id"]
        return written.document

    def table(self, name: str, **fields: object) -> Document:
        """Put a table of two columns."""
        columns = [{"name": "id", "dataType": "INT"}, {"name": "email", "dataType": "VARCHAR", "dataLength": 80}]
        return self.put("table", {"name": name, "databaseSchema": "pg.store.public", "columns": columns, **fields})

    def alert(
        self,
        name: str,
        destinations: list[Document],
        *rules: str,
        resources: tuple[str, ...] = ("all",),
        poll_interval_s: int = 60,
        **fields: object,
    ) -> str:
        """Put an alert; return its id."""
        request = {
            "name": name,
            "alertType": "Notification",
            "filteringRules": {
                "resources": list(resources),
                "rules": [{"effect": "include", "condition": rule} for rule in rules],
            },
            "destinations": [{"id": destination_id(name, at), **one} for at, one in enumerate(destinations)],
            "pollInterval": poll_interval_s,
            **fields,
        }
        return str(self.put("eventsubscription", request)["id"])

    def pipeline(self, name: str, **fields: object) -> Document:
        """Put a pipeline, in a service of its own kind."""
        self.writes.upsert("pipelineService", {"name": "airflow", "serviceType": "Airflow"}, actor=SYSTEM)
        return self.put("pipeline", {"name": name, "service": "airflow", **fields})

    def run(self, pipeline: str, status: str, *, at_ms: int | None = None, after_s: int = 60) -> Document | None:
        """Report the status of a run of a pipeline some time later; return the event's document."""
        self.clock.advance(after_s * 1_000)
        report = {"timestamp": self.clock.now_ms() if at_ms is None else at_ms, "executionStatus": status}
        written = self.writes.add_pipeline_status(f"airflow.{pipeline}", report, actor=SYSTEM)
        return written.event.to_wire() if written.event else None

    def test_case(self, table: str, name: str = "has_rows", **fields: object) -> Document:
        """Put a test of a table."""
        definition = {"name": "hasRows", "entityType": "TABLE", "testPlatforms": ["OpenMetadata"]}
        self.writes.upsert("testDefinition", definition, actor=SYSTEM)
        link = f"<#E::table::pg.store.public.{table}>"
        return self.put("testCase", {"name": name, "entityLink": link, "testDefinition": "hasRows", **fields})

    def result(self, table: str, status: str, name: str = "has_rows") -> Document | None:
        """Report the result of a test of a table a second later; return the event's document."""
        self.clock.advance(1_000)
        report = {"timestamp": self.clock.now_ms(), "testCaseStatus": status}
        written = self.writes.add_test_result(f"pg.store.public.{table}.{name}", report, actor=SYSTEM)
        return written.event.to_wire() if written.event else None

    def key(self, name: str) -> Key:
        """Return by what an entity is found."""
        return Key.by_id(self.ids[name])

    def actor(self, name: str) -> Actor:
        """Return the person as whoever makes a write."""
        return Actor(id=self.ids[name], name=name)

    def describe(self, table: str, text: str, *, by: str = "dia") -> Document | None:
        """Change a table's description a second later; return the event's document."""
        self.clock.advance(1_000)
        patch = [{"op": "add", "path": "/description", "value": text}]
        written = self.writes.patch("table", self.key(table), patch, actor=self.actor(by))
        return written.event.to_wire() if written.event else None


def destination_id(alert: str, at: int = 0) -> str:
    """Return the id of an alert's destination."""
    return str(uuid5(NAMESPACE, f"{alert}-{at}"))


_EDGE = {"fromEntity": "orders", "toEntity": "revenue"}
