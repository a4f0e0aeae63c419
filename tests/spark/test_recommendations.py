"""Tests of the recommendation job: what it finds on Spark and stores, and what its tasks read of either store."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from pyspark.sql import SparkSession
from sqlalchemy import Engine
from tests.company import SmallCompany
from tests.stores import ON_BOTH_STORES, store_url

from tocsin.jobs.recommendations import RecommendationParts, recommend
from tocsin.jobs.resolving import StoreAddress
from tocsin.model.people import SYSTEM
from tocsin.model.recommendation import Evidence
from tocsin.model.stored import Key
from tocsin.spark.relations import RELATIONS, RelationReader
from tocsin.spark.session import interpreting_session
from tocsin.store.recipients.recommendations import Recommendations
from tocsin.store.recipients.team_follows import TeamFollows

__all__ = ["store_url"]

pytestmark = pytest.mark.spark

_PII = [{"tagFQN": "PII.Sensitive", "source": "Classification", "labelType": "Manual", "state": "Confirmed"}]
_TABLES = ("orders", "users", "items", "stock", "report", "secret", "dropped", "labelled")


class Shops:
    """A company whose tables lie in schemas of their own, but for orders, users and items."""

    def __init__(self, engine: Engine) -> None:
        self.company = SmallCompany(engine)
        self.ids, self.writes = self.company.ids, self.company.writes
        self.company.put("classification", {"name": "PII", "description": "x"})
        self.company.put("tag", {"name": "Sensitive", "classification": "PII", "description": "x"})
        for name in ("users", "items"):
            self.company.table(name)
        for name in ("stock", "report", "secret", "dropped", "labelled"):
            self.company.put("databaseSchema", {"name": f"of_{name}", "database": "pg.store"})
            tags = _PII if name == "labelled" else []
            self.company.table(name, databaseSchema=f"pg.store.of_{name}", tags=tags)
        self.company.table("orders", tags=_PII)
        self.link("revenue", "report")
        self.link("secret", "orders")
        self.link("dropped", "orders")
        members = [{"id": self.ids[one], "type": "user"} for one in ("cem", "ben", "dia")]
        self.company.put("team", {"name": "crew", "teamType": "Group", "users": members})
        for who, name in (("cem", "users"), ("ben", "orders"), ("ben", "stock"), ("dia", "stock")):
            self.follow(who, name)
        self.follow("dia", "public", "databaseSchema")
        self.writes.delete("table", Key.by_id(self.ids["dropped"]), actor=SYSTEM)
        Recommendations(engine).dismiss(self.ids["cem"], self.ids["secret"], now_ms=1)

    def link(self, source: str, target: str) -> None:
        edge = {
            side: {"type": "table", "id": self.ids[name]}
            for side, name in (("fromEntity", source), ("toEntity", target))
        }
        self.writes.put_edge(edge, actor=SYSTEM)

    def follow(self, who: str, name: str, entity_type: str = "table") -> None:
        self.company.clock.advance(1)
        self.writes.follow(entity_type, self.ids[name], self.ids[who], actor=SYSTEM)

    def evidence(self, who: str) -> dict[tuple[str, str], Evidence]:
        names = {entity_id: name for name, entity_id in self.ids.items()}
        evidence, _ = Recommendations(self.company.engine).of(self.ids[who])
        return {(names.get(one.entity_id, one.entity_id), one.kind.value): one for one in evidence}


def test_the_job_stores_assets_with_their_reasons_and_rests_while_nothing_happens(
    spark: SparkSession, sqlite_engine: Engine
) -> None:
    shops = Shops(sqlite_engine)
    ids, address = shops.ids, sqlite_engine.url.render_as_string(hide_password=False)
    store, clock = StoreAddress(address, "NORMAL"), shops.company.clock
    parts = RecommendationParts(interpreting_session(spark), sqlite_engine, store, clock)
    assert recommend(parts) > 0
    assert recommend(parts) == 0, "nothing has happened"
    reasons = shops.evidence("cem")
    assert reasons.keys() == {
        ("items", "container"),
        ("revenue", "container"),
        ("revenue", "madeFrom"),
        ("report", "lineage"),
        ("stock", "together"),
        ("stock", "team"),
        ("labelled", "tag"),
    }, "nothing that is followed, deleted or dismissed"
    assert reasons["items", "container"].named_ids == (ids["users"], ids["public"]), "what is followed last"
    assert reasons["report", "lineage"].named_ids == (ids["orders"], ids["revenue"])
    team, together = reasons["stock", "team"], reasons["stock", "together"]
    assert (team.named_ids, team.people_count, team.member_count) == ((ids["crew"],), 2, 3)
    assert (together.named_ids, together.people_count) == ((ids["orders"],), 1)
    assert {one.entity_id: one.place for one in reasons.values()}[ids["revenue"]] == 1, "for two reasons"
    assert {name for name, _ in shops.evidence("dia")}.isdisjoint(_TABLES[:3]), "they follow the schema"


def read_all(address: str, relation: str) -> set[Sequence[object]]:
    reader = RelationReader(address, relation)
    batches = (batch for part in reader.partitions() for batch in reader.read(part))
    return {tuple(row.values()) for batch in batches for row in batch.to_pylist()}


@ON_BOTH_STORES
def test_tasks_read_each_relation_once_in_ranges_of_ids(store_engine: Engine) -> None:
    shops = Shops(store_engine)
    ids, address = shops.ids, store_engine.url.render_as_string(hide_password=False)
    TeamFollows(store_engine).add(ids["crew"], "table", ids["items"], now_ms=1)
    relations = {name: read_all(address, name) for name in RELATIONS}
    assert {row[:2] for row in relations["follow"]} >= {(ids["cem"], ids["orders"]), (ids["dia"], ids["public"])}
    assert (ids["orders"], "table", ids["public"]) in relations["asset"]
    assert ids["dropped"] not in {row[0] for row in relations["asset"]}
    assert (ids["revenue"], ids["report"]) in relations["edge"]
    assert relations["tag"] >= {(ids[name], ids["Sensitive"]) for name in ("orders", "labelled")}
    assert (ids["orders"], ids["shop"]) in relations["owner"]
    assert {row for row in relations["member"] if row[0] == ids["crew"]} == {
        (ids["crew"], ids[who]) for who in ("cem", "ben", "dia")
    }
    assert relations["team_follow"] == {(ids[who], ids["items"]) for who in ("cem", "ben", "dia")}
    assert relations["dismissed"] == {(ids["cem"], ids["secret"])}
    shops.writes.delete("user", Key.by_id(ids["cem"]), actor=SYSTEM)
    assert ids["cem"] not in {row[0] for row in read_all(address, "follow")}, "a deactivated person counts no more"
