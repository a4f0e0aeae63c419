"""Tests of tombstones: kept until every query has passed the deletion, in whatever order they advance."""

from __future__ import annotations

from itertools import permutations

import pytest
from sqlalchemy import Engine, delete, func, select
from tests.company import SmallCompany
from tests.telling import tell_all

from tocsin.catalogue.writes import Writes
from tocsin.flow.capture.ports import Collision
from tocsin.flow.eventlog.readers import MATCH_STREAM, READERS, STREAK_STREAM
from tocsin.model.notification import ReasonKind
from tocsin.model.people import SYSTEM
from tocsin.store.alerts.directory import SqlDirectory
from tocsin.store.alerts.match_results import MatchResults
from tocsin.store.alerts.tables import match_result
from tocsin.store.entities.catalogue import SqlCatalogue
from tocsin.store.eventlog.log import EventLog
from tocsin.store.outbox.notifications import Notifications
from tocsin.store.tables import tombstone, tombstone_relation

QUERIES = (*READERS, "search_stream")
ORDERS = list(permutations(QUERIES))


@pytest.fixture
def company(store_engine: Engine) -> SmallCompany:
    return SmallCompany(store_engine)


def deleted(company: SmallCompany, name: str) -> int:
    """Delete a table for good; return the offset of its event."""
    written = company.writes.delete("table", company.key(name), actor=SYSTEM, hard=True)
    assert written.event is not None
    logged = EventLog(company.engine).find(written.event.id)
    assert logged is not None
    return logged.offset


def advance(company: SmallCompany, query: str, offset: int) -> None:
    Notifications(company.engine).advance(query, offset, now_ms=1)


def followers(company: SmallCompany, asset_id: str) -> set[str]:
    found = SqlDirectory(company.engine).stakeholders([asset_id], ReasonKind.FOLLOWER)
    return {one.principal_id for one in found}


def count(company: SmallCompany, table: object) -> int:
    with company.engine.connect() as connection:
        return int(connection.execute(select(func.count()).select_from(table)).scalar_one())  # type: ignore[arg-type]


@pytest.mark.parametrize("order", ORDERS, ids="-".join)
def test_nothing_is_let_go_before_the_slowest_reader_has_passed(company: SmallCompany, order: tuple[str, ...]) -> None:
    """The streak query has yet to process a report just before the deletion."""
    company.pipeline("nightly", owners=[{"type": "user", "name": "dia"}])
    company.run("nightly", "Failed")
    orders, nightly = company.ids["orders"], company.ids["nightly"]
    deleted(company, "orders")
    company.writes.delete("pipeline", company.key("nightly"), actor=SYSTEM, hard=True)
    end = EventLog(company.engine).readable_end()
    waiting = set(READERS)
    for query in order:
        assert followers(company, orders) == {company.ids["cem"]}
        owners = SqlDirectory(company.engine).stakeholders([nightly], ReasonKind.OWNER)
        assert {one.principal_id for one in owners} == {company.ids["dia"]}
        advance(company, query, end)
        waiting.discard(query)
        if not waiting:
            break
    assert followers(company, orders) == set()
    assert count(company, tombstone_relation) == 0
    assert count(company, tombstone) == 2  # what the audit compares with stays


def test_the_streaks_hold_nothing_back_where_nothing_was_reported(company: SmallCompany) -> None:
    end = deleted(company, "orders")
    advance(company, STREAK_STREAM, 0)
    advance(company, MATCH_STREAM, end)
    assert count(company, tombstone_relation) == 0


def test_a_query_that_is_started_again_does_not_fall_back(company: SmallCompany) -> None:
    end = deleted(company, "orders")
    advance(company, MATCH_STREAM, end)
    advance(company, MATCH_STREAM, end - 3)
    assert EventLog(company.engine).progress(MATCH_STREAM) == end


def test_a_query_that_is_no_reader_any_more_holds_nothing_back(company: SmallCompany) -> None:
    advance(company, "retired_stream", 1)
    advance(company, MATCH_STREAM, deleted(company, "orders"))
    assert count(company, tombstone_relation) == 0


def test_an_id_that_is_gone_is_not_given_again(company: SmallCompany) -> None:
    """Versions stay after a hard delete, so tombstones of two entities never share an id."""
    orders = company.ids["orders"]
    deleted(company, "orders")
    again = Writes(SqlCatalogue(company.engine), company.clock, lambda: orders)
    with pytest.raises(Collision):
        again.upsert("table", {"name": "orders", "databaseSchema": "pg.store.public", "columns": []}, actor=SYSTEM)


def test_what_is_made_again_under_a_name_has_relations_of_its_own(company: SmallCompany) -> None:
    before = company.ids["orders"]
    first = deleted(company, "orders")
    company.table("orders", owners=[{"type": "user", "name": "dia"}])
    company.writes.follow("table", company.ids["orders"], company.ids["ben"], actor=company.actor("ben"))
    second = deleted(company, "orders")
    assert followers(company, before) == {company.ids["cem"]}
    assert followers(company, company.ids["orders"]) == {company.ids["ben"]}
    advance(company, MATCH_STREAM, first)
    assert followers(company, before) == set()
    assert followers(company, company.ids["orders"]) == {company.ids["ben"]}
    advance(company, MATCH_STREAM, second)
    assert count(company, tombstone_relation) == 0


def test_what_goes_together_is_remembered_as_it_stood_before(company: SmallCompany) -> None:
    """``revenue`` is deleted before ``orders``, which feeds it; its downstream assets are notified of both."""
    schema = {"name": "other", "database": "pg.store"}
    company.put("databaseSchema", schema)
    columns = [{"name": "id", "dataType": "INT"}]
    far = company.put("table", {"name": "far", "databaseSchema": "pg.store.other", "columns": columns})
    edge = {
        "fromEntity": {"type": "table", "id": company.ids["revenue"]},
        "toEntity": {"type": "table", "id": far["id"]},
    }
    company.writes.put_edge(edge, actor=SYSTEM)
    company.writes.delete("databaseSchema", company.key("public"), actor=SYSTEM, hard=True, recursive=True)
    reached = {one.node_id: one.hops for one in SqlDirectory(company.engine).reach([company.ids["orders"]], 5)}
    assert reached == {company.ids["orders"]: 0, far["id"]: 2}


def test_a_telling_says_how_many_relations_were_gone_before_it(company: SmallCompany) -> None:
    company.alert("all", [{"category": "Owners", "type": "ActivityFeed"}], resources=("table",))
    company.clock.advance(1)
    sound, lost = deleted(company, "revenue"), deleted(company, "orders")
    relation = tombstone_relation.c
    with company.engine.begin() as connection:
        connection.execute(
            delete(tombstone_relation).where(relation.log_offset == lost, relation.relation == "follower")
        )
    tell_all(company.engine)
    query = select(match_result.c.log_offset, match_result.c.missing_count).where(
        match_result.c.log_offset.in_([sound, lost])
    )
    with company.engine.connect() as connection:
        assert dict(connection.execute(query).all()) == {sound: 0, lost: 1}


def test_the_audit_forgets_tombstones_that_are_told_and_no_others(company: SmallCompany) -> None:
    first, second = deleted(company, "revenue"), deleted(company, "orders")
    advance(company, MATCH_STREAM, first)
    MatchResults(company.engine).forget(through=second, now_ms=1)
    assert (count(company, tombstone), followers(company, company.ids["orders"])) == (1, {company.ids["cem"]})
    advance(company, MATCH_STREAM, second)
    MatchResults(company.engine).forget(through=second, now_ms=1)
    assert count(company, tombstone) == 0
