"""Stores that mirror a fake OpenMetadata, for tests: runs, what they bring, and changes at the server."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import Engine
from tests.openmetadata import (
    TOKEN,
    FakeOpenMetadata,
    now_ms,
    table_id,
)
from tests.prefilled import Ids, fill

from tocsin.catalogue.writes import Writes
from tocsin.clock import Clock, SystemClock
from tocsin.delivery.transport.egress import egress_of
from tocsin.model.entity import Document
from tocsin.model.people import SYSTEM, Actor
from tocsin.model.stored import Key
from tocsin.rehearsal import RehearsalAudience
from tocsin.server.bootstrap import ADMINISTRATOR, first_start
from tocsin.settings import Settings
from tocsin.sources.openmetadata.mapping import Mapping
from tocsin.sources.openmetadata.mirror import Mirror, RunOptions
from tocsin.sources.openmetadata.upstream import Access, Upstream
from tocsin.sources.openmetadata.writing import Writer
from tocsin.sources.process.build import BOT, MirrorRecords, ensure_unmapped_policy
from tocsin.sources.records import SourceEntity
from tocsin.sources.report import RunReport
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue
from tocsin.store.catalogue.people.identities import People
from tocsin.store.eventlog.log import EventLog

CLOCK = SystemClock()
MAPPED = Mapping(("snow",))
ORDERS = "snow.dwh.marts.orders_0"


class Mirrored:
    """A store, a server that it mirrors, and the runs."""

    def __init__(self, engine: Engine, fake: FakeOpenMetadata) -> None:
        self.engine, self.fake = engine, fake
        self.catalogue, self.records = SqlCatalogue(engine), MirrorRecords(engine)
        self.writes = Writes(self.catalogue, CLOCK)
        fill(engine, "what a mirror needs", self._prepare)
        self.waited: list[float] = []
        self.clock: Clock = CLOCK

    def _prepare(self) -> Ids:
        if People(self.engine).by_name(ADMINISTRATOR["name"]) is None:
            first_start(self.engine, Settings())
        ensure_unmapped_policy(self.writes)
        return {}

    def run(self, mapping: Mapping = MAPPED, **options: Any) -> RunReport:
        bot = People(self.engine).by_name(BOT["name"])
        assert bot is not None
        actor = Actor(bot.id, bot.name, is_bot=True)
        writer = Writer(self.writes, self.records, actor, mapping, self.clock, is_dry=options.get("is_dry", False))
        audience = RehearsalAudience(self.engine, self.clock)
        writer.rehearsed = audience.add
        access = Access(self.fake.address, TOKEN, egress_of(["127.0.0.0/8"]), options.pop("answer_bytes", 2**20))
        with Upstream(access, self.clock, self._wait) as upstream:
            report = Mirror(upstream, writer, self.clock, RunOptions(**options)).run()
        report.would_tell = audience.as_document()
        return report

    def run_killed(self, dies_at: Callable[[SourceEntity], bool]) -> None:
        """Run, and die before the first record is kept for which ``dies_at`` is true."""
        keep = self.records.put

        def die_or_keep(entity: SourceEntity) -> None:
            if dies_at(entity):
                raise KeyboardInterrupt
            keep(entity)

        with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(self.records, "put", die_or_keep)
            self.run()

    def _wait(self, seconds: float) -> bool:
        self.waited.append(seconds)
        return False

    def table(self, name: str = ORDERS) -> Document:
        return self.catalogue.get("table", Key.by_name(name), "all")

    def is_deleted(self, entity_type: str, entity_id: str) -> bool:
        return bool(self.catalogue.get(entity_type, Key.by_id(entity_id), "all")["deleted"])

    def events(self) -> list[Any]:
        return [logged.event for logged in EventLog(self.engine).read(0, 10_000)]

    def end(self) -> int:
        return EventLog(self.engine).readable_end()

    def user(self, name: str, **fields: object) -> Actor:
        request = {"name": name, "email": f"{name}@example.org", **fields}
        document = self.writes.create("user", request, actor=SYSTEM).document
        return Actor(document["id"], name)

    def alert(self, name: str = "all", category: str = "Admins") -> None:
        admin = People(self.engine).by_name("admin")
        assert admin is not None
        destinations = [{"id": table_id(99), "category": category, "type": "ActivityFeed"}]
        request: Document = {"name": name, "alertType": "Notification", "destinations": destinations, "enabled": True}
        request["filteringRules"] = {"resources": ["table"], "rules": []}
        self.writes.create("eventsubscription", request, actor=Actor(admin.id, admin.name, is_admin=True))


def change_table(mirror: Mirrored, at_ms: int | None = None, **fields: object) -> Document:
    """Change the first table at the server, and return it."""
    before = mirror.fake.lists["tables"][table_id(0)]
    after = before | {"updatedAt": at_ms or now_ms(), "updatedBy": "upstream.jane", "version": 0.4} | fields
    return mirror.fake.put("tables", after)


def put(mirror: Mirrored, collection: str, number: int, name: str, **fields: Any) -> Document:
    """Keep an entity without parents at the server."""
    document = {"id": table_id(number), "name": name, "fullyQualifiedName": name, "updatedAt": now_ms()}
    return mirror.fake.put(collection, document | {"updatedBy": "upstream.admin", "version": 0.1} | fields)
