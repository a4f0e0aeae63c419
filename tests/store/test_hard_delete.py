"""Tests of a hard delete of a container on both stores: all that lies below it goes by as many statements as little."""

from __future__ import annotations

from collections import Counter

import pytest
from sqlalchemy import Engine, select
from tests.company import SmallCompany
from tests.store.test_subscriptions import counted_statements

from tocsin.model.change import EventType
from tocsin.model.people import SYSTEM
from tocsin.store.database.engine import reading
from tocsin.store.database.tables import entity, follow, lineage_edge, ownership, past_relation, tombstone
from tocsin.store.eventlog.log import EventLog


def fill_schema(company: SmallCompany, schema: str, count: int) -> list[str]:
    """Put a schema of tables, each with owner, follower and an edge to the next and to what stays; return their ids."""
    company.put("databaseSchema", {"name": schema, "database": "pg.store"})
    columns = [{"name": "id", "dataType": "INT"}]
    owner = [{"type": "user", "name": "ben"}]
    names = [f"{schema}{number}" for number in range(count)]
    for name in names:
        place = {"name": name, "databaseSchema": f"pg.store.{schema}"}
        company.put("table", {**place, "columns": columns, "owners": owner})
        company.writes.follow("table", company.ids[name], company.ids["cem"], actor=company.actor("cem"))
    for name, other_name in zip(names, [*names[1:], "revenue"], strict=True):
        ends = {"fromEntity": company.ids[name], "toEntity": company.ids[other_name]}
        edge = {side: {"type": "table", "id": one} for side, one in ends.items()}
        company.writes.put_edge(edge, actor=SYSTEM)
    return [company.ids[name] for name in names]


def fill_container(company: SmallCompany, kind: str, container: str, count: int) -> list[str]:
    """Put a service of dashboards, or a domain of domains; return the ids of what it contains."""
    names = [f"{container}{number}" for number in range(count)]
    own_fields = {"serviceType": "Looker"} if kind == "dashboardService" else {"domainType": "Aggregate"}
    company.put(kind, {"name": container, "description": "Ours.", **own_fields})
    for name in names:
        if kind == "dashboardService":
            company.put("dashboard", {"name": name, "service": container})
        else:
            company.put(kind, {"name": name, "parent": container, "description": "Ours.", **own_fields})
    return [company.ids[name] for name in names]


@pytest.mark.parametrize("kind", ["dashboardService", "domain"])
def test_other_containers_go_by_as_many_statements_as_with_few(store_engine: Engine, kind: str) -> None:
    company = SmallCompany(store_engine)
    counts = []
    for container, count in (("little", 2), ("much", 12), ("much", 12)):  # the second time, others had these names
        ids = fill_container(company, kind, container, count)
        with counted_statements(store_engine) as statements:
            company.writes.delete(kind, company.key(container), actor=SYSTEM, hard=True, recursive=True)
        counts.append(len(statements))
        with reading(store_engine) as connection:
            assert connection.execute(select(entity.c.id).where(entity.c.id.in_(ids))).all() == []
            stones = connection.scalars(select(tombstone.c.entity_id).where(tombstone.c.entity_id.in_(ids))).all()
            assert set(stones) == set(ids)
    assert max(counts) - counts[0] <= 4, counts


def test_a_schema_goes_with_its_tables_by_as_many_statements_as_with_few(store_engine: Engine) -> None:
    company = SmallCompany(store_engine)
    counts = []
    for schema, count in (("little", 2), ("much", 40)):
        ids = fill_schema(company, schema, count)
        last = len(EventLog(store_engine).read(0, 10_000))
        with counted_statements(store_engine) as statements:
            company.writes.delete("databaseSchema", company.key(schema), actor=SYSTEM, hard=True, recursive=True)
        counts.append(len(statements))
        events = [one.event for one in EventLog(store_engine).read(0, 10_000)[last:]]
        deletions = [one.entity_id for one in events if one.event_type is EventType.ENTITY_DELETED]
        assert (set(deletions), deletions[-1]) == ({*ids, company.ids[schema]}, company.ids[schema])
        updated_ids = [one.entity_id for one in events if one.entity_id not in deletions]
        assert updated_ids == [company.ids["revenue"]], "what stays is told that it has lost a source"
        with reading(store_engine) as connection:
            for column in (entity.c.id, lineage_edge.c.from_id, follow.c.entity_id, ownership.c.entity_id):
                assert connection.execute(select(column).where(column.in_(ids))).all() == []
            of_them = select(past_relation.c.relation).where(past_relation.c.entity_id.in_(ids))
            relations = Counter(connection.scalars(of_them))
            stones = connection.scalars(select(tombstone.c.entity_id).where(tombstone.c.entity_id.in_(ids))).all()
        assert {relations[one] for one in ("owner", "follower", "downstream")} == {count} == {len(stones)}
    assert counts[1] - counts[0] <= 4, counts
