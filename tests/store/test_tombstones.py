"""Tests of hard deletions: the relations of what is gone are kept, however far which query is."""

from __future__ import annotations

import pytest
from sqlalchemy import Engine, delete, func, select
from tests.company import SmallCompany
from tests.notifying import notify_all

from tocsin.catalogue.writes import Writes
from tocsin.flow.capture.ports import Collision
from tocsin.flow.eventlog.readers import MATCH_STREAM, READERS
from tocsin.flow.eventlog.selection import EventSelection
from tocsin.model.change import EventType
from tocsin.model.notification import ReasonKind
from tocsin.model.people import SYSTEM
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue
from tocsin.store.database.alert_tables import match_result
from tocsin.store.database.tables import past_relation, tombstone
from tocsin.store.eventlog.log import EventLog
from tocsin.store.outbox.match_results import MatchResults
from tocsin.store.outbox.notifications import Notifications
from tocsin.store.recipients.directory import SqlDirectory


@pytest.fixture
def company(store_engine: Engine) -> SmallCompany:
    return SmallCompany(store_engine)


def delete_for_good(company: SmallCompany, name: str) -> int:
    """Delete a table for good; return the offset of its event."""
    written = company.writes.delete("table", company.key(name), actor=SYSTEM, hard=True)
    assert written.event is not None
    logged = EventLog(company.engine).find(written.event.id)
    assert logged is not None
    return logged.offset


def advance(company: SmallCompany, query: str, offset: int) -> None:
    Notifications(company.engine).advance(query, offset, now_ms=1)


def followers(company: SmallCompany, asset_id: str) -> set[str]:
    stakeholders = SqlDirectory(company.engine).stakeholders([asset_id], ReasonKind.FOLLOWER)
    return {one.principal_id for one in stakeholders}


def count(company: SmallCompany, table: object) -> int:
    with company.engine.connect() as connection:
        return int(connection.execute(select(func.count()).select_from(table)).scalar_one())  # type: ignore[arg-type]


def test_a_query_that_is_started_again_does_not_fall_back(company: SmallCompany) -> None:
    end = delete_for_good(company, "orders")
    advance(company, MATCH_STREAM, end)
    advance(company, MATCH_STREAM, end - 3)
    assert EventLog(company.engine).progress(MATCH_STREAM) == end


def test_an_id_that_is_gone_is_not_given_again(company: SmallCompany) -> None:
    """Versions stay after a hard delete, so tombstones of two entities never share an id."""
    orders = company.ids["orders"]
    delete_for_good(company, "orders")
    again = Writes(SqlCatalogue(company.engine), company.clock, lambda: orders)
    with pytest.raises(Collision):
        again.upsert("table", {"name": "orders", "databaseSchema": "pg.store.public", "columns": []}, actor=SYSTEM)


def test_what_goes_together_is_remembered_as_it_stood_before(company: SmallCompany) -> None:
    """``revenue`` is deleted before ``orders``, which feeds it, at the same moment: all downstream of both counts."""
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
    events = EventLog(company.engine).list_events(EventSelection(entity_id=company.ids["orders"]), limit=10)
    deletion_offset = max(one.offset for one in events)
    reached_assets = SqlDirectory(company.engine).reach([company.ids["orders"]], 5)
    hops_by_id = {
        asset.node_id: asset.hops
        for asset in reached_assets
        if asset.since_offset <= deletion_offset <= asset.until_offset
    }
    assert hops_by_id == {company.ids["orders"]: 0, company.ids["revenue"]: 1, far["id"]: 2}


def test_what_goes_together_is_still_downstream_of_each_other_through_what_stays(company: SmallCompany) -> None:
    """``orders`` feeds ``view``, which stays; ``view`` feeds ``tail``, which is deleted just before ``orders``."""
    company.put("databaseSchema", {"name": "other", "database": "pg.store"})
    columns = [{"name": "id", "dataType": "INT"}]
    view = company.put("table", {"name": "view", "databaseSchema": "pg.store.other", "columns": columns})
    tail = company.put("table", {"name": "tail", "databaseSchema": "pg.store.public", "columns": columns})
    for source, product in ((company.ids["orders"], view["id"]), (view["id"], tail["id"])):
        ends = {"fromEntity": {"type": "table", "id": source}, "toEntity": {"type": "table", "id": product}}
        company.writes.put_edge(ends, actor=SYSTEM)
    company.writes.delete("databaseSchema", company.key("public"), actor=SYSTEM, hard=True, recursive=True)
    log = EventLog(company.engine).read(0, 10_000)
    deletion_offsets = {
        logged_event.event.entity_id: logged_event.offset
        for logged_event in log
        if logged_event.event.event_type is EventType.ENTITY_DELETED
    }
    assert deletion_offsets[tail["id"]] < deletion_offsets[company.ids["orders"]]
    reached_assets = SqlDirectory(company.engine).reach([company.ids["orders"]], 5)
    at = deletion_offsets[company.ids["orders"]]
    hops_by_id = {one.node_id: one.hops for one in reached_assets if one.since_offset <= at <= one.until_offset}
    assert hops_by_id == {company.ids["orders"]: 0, company.ids["revenue"]: 1, view["id"]: 1, tail["id"]: 2}


def test_a_match_result_says_how_many_relations_were_gone_before_it(company: SmallCompany) -> None:
    company.alert("all", [{"category": "Owners", "type": "ActivityFeed"}], resources=("table",))
    company.clock.advance(1)
    sound, incomplete = delete_for_good(company, "revenue"), delete_for_good(company, "orders")
    relation = past_relation.c
    with company.engine.begin() as connection:
        connection.execute(
            delete(past_relation).where(relation.until_offset == incomplete, relation.relation == "follower")
        )
    notify_all(company.engine)
    query = select(match_result.c.log_offset, match_result.c.missing_count).where(
        match_result.c.log_offset.in_([sound, incomplete])
    )
    with company.engine.connect() as connection:
        assert dict(connection.execute(query).all()) == {sound: 0, incomplete: 1}


def test_the_relations_of_what_is_gone_stay_when_all_queries_have_passed(company: SmallCompany) -> None:
    company.pipeline("nightly", owners=[{"type": "user", "name": "dia"}])
    company.run("nightly", "Failed")
    orders, nightly = company.ids["orders"], company.ids["nightly"]
    delete_for_good(company, "orders")
    company.writes.delete("pipeline", company.key("nightly"), actor=SYSTEM, hard=True)
    for query in READERS:
        advance(company, query, EventLog(company.engine).readable_end())
    assert followers(company, orders) == {company.ids["cem"]}
    owners = SqlDirectory(company.engine).stakeholders([nightly], ReasonKind.OWNER)
    assert {one.principal_id for one in owners} == {company.ids["dia"]}
    assert count(company, tombstone) == 2


def test_what_is_made_again_under_a_name_has_relations_of_its_own(company: SmallCompany) -> None:
    """Fault scenario 42."""
    before = company.ids["orders"]
    delete_for_good(company, "orders")
    company.table("orders", owners=[{"type": "user", "name": "dia"}])
    company.writes.follow("table", company.ids["orders"], company.ids["ben"], actor=company.actor("ben"))
    delete_for_good(company, "orders")
    assert followers(company, before) == {company.ids["cem"]}
    assert followers(company, company.ids["orders"]) == {company.ids["ben"]}


def test_the_audit_forgets_tombstones_and_no_relations(company: SmallCompany) -> None:
    first, second = delete_for_good(company, "revenue"), delete_for_good(company, "orders")
    MatchResults(company.engine).forget(through=first, now_ms=1)
    assert count(company, tombstone) == 1
    MatchResults(company.engine).forget(through=second, now_ms=1)
    assert (count(company, tombstone), followers(company, company.ids["orders"])) == (0, {company.ids["cem"]})
