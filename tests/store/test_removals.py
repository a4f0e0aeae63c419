"""Tests of recursive deletion and restoration, each entity with its own event."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

import pytest
from sqlalchemy import Engine, delete, event, func, select
from tests.store.catalogues import JANE, ORDERS, SCHEMA, Company, add_tags, company

from tocsin.errors import InvalidInput, NotFound
from tocsin.model.stored import Key
from tocsin.store.catalogue.people.identities import People
from tocsin.store.database import tables
from tocsin.store.database.engine import is_sqlite
from tocsin.store.database.observation_tables import attachment, series

_TEST_CASE = {"name": "not_null", "entityLink": f"<#E::table::{ORDERS}::columns::id>", "testDefinition": "notNull"}


@pytest.fixture
def shop(store_engine: Engine) -> Company:
    sample_company = company(store_engine)
    sample_company.writes.create("testCase", _TEST_CASE, actor=JANE)
    return sample_company


def _kinds_after(shop: Company, after: int) -> list[tuple[str, str]]:
    return [(event.event_type.value, event.entity_type) for event in shop.events_after(after)]


def _rows(engine: Engine, *counted_tables: Any) -> list[int]:
    with engine.connect() as connection:
        return [
            int(connection.execute(select(func.count()).select_from(table)).scalar_one()) for table in counted_tables
        ]


@pytest.mark.parametrize("hard", [False, True])
@pytest.mark.parametrize(
    ("entity_type", "fqn"),
    [("databaseService", "pg"), ("database", "pg.shop"), ("databaseSchema", SCHEMA), ("table", ORDERS)],
)
def test_what_is_not_empty_is_not_deleted_unless_recursively(
    shop: Company, entity_type: str, fqn: str, hard: bool
) -> None:
    end = shop.log.readable_end()
    with pytest.raises(InvalidInput, match=f"{entity_type} .* is not empty"):
        shop.writes.delete(entity_type, Key.by_name(fqn), actor=JANE, hard=hard)
    assert shop.log.readable_end() == end


def test_a_soft_delete_is_a_version_and_an_event(shop: Company) -> None:
    written = shop.writes.delete("dashboard", Key.by_name("bi.revenue"), actor=JANE)
    assert written.event is not None
    wire = written.event.to_wire()
    assert (wire["eventType"], wire["previousVersion"], wire["currentVersion"]) == ("entitySoftDeleted", 0.1, 0.2)
    assert wire["changeDescription"]["fieldsUpdated"] == [{"name": "deleted", "oldValue": False, "newValue": True}]
    assert shop.get("dashboard", "bi.revenue")["deleted"] is True
    with pytest.raises(NotFound):
        shop.catalogue.get("dashboard", Key.by_name("bi.revenue"))
    with pytest.raises(NotFound):
        shop.writes.delete("dashboard", Key.by_name("bi.revenue"), actor=JANE)


def test_a_recursive_soft_delete_reports_every_descendant_children_first(shop: Company) -> None:
    end = shop.log.readable_end()
    written = shop.writes.delete("databaseService", Key.by_name("pg"), actor=JANE, recursive=True)
    notified = _kinds_after(shop, end)
    assert {kind for kind, _ in notified} == {"entitySoftDeleted"}
    assert [entity_type for _, entity_type in notified][2:] == [
        "table",
        "databaseSchema",
        "database",
        "databaseService",
    ]
    assert {entity_type for _, entity_type in notified[:2]} == {"testCase", "testSuite"}
    assert [*written.cascaded, written.event] == shop.events_after(end)


def test_what_comes_back_brings_all_under_it(shop: Company) -> None:
    shop.writes.delete("database", Key.by_name("pg.shop"), actor=JANE, recursive=True)
    end = shop.log.readable_end()
    written = shop.writes.restore("database", shop.ids["shop"], actor=JANE)
    notified = _kinds_after(shop, end)
    assert [entity_type for _, entity_type in notified][:3] == ["database", "databaseSchema", "table"]
    assert {kind for kind, _ in notified} == {"entityRestored"}
    assert len(written.cascaded) == 4
    assert shop.get("table", ORDERS)["version"] == 0.3
    with pytest.raises(NotFound, match="is not deleted"):
        shop.writes.restore("database", shop.ids["shop"], actor=JANE)


_CONTAINERS = [("databaseService", "pg"), ("database", "pg.shop"), ("databaseSchema", SCHEMA)]


@pytest.mark.parametrize(("entity_type", "fqn"), _CONTAINERS)
@pytest.mark.parametrize("restored_by", ["restore", "rollback"])
def test_what_was_deleted_before_its_container_stays_deleted(
    shop: Company, entity_type: str, fqn: str, restored_by: str
) -> None:
    shop.writes.create("table", shop.table("refunds"), actor=JANE)
    shop.writes.delete("table", Key.by_name(ORDERS), actor=JANE, recursive=True)
    shop.writes.delete(entity_type, Key.by_name(fqn), actor=JANE, recursive=True)
    _bring_back(shop, entity_type, fqn, restored_by)
    assert shop.get(entity_type, fqn)["deleted"] is False
    assert shop.get("table", f"{SCHEMA}.refunds")["deleted"] is False
    contained = [("table", ORDERS), ("testCase", f"{ORDERS}.id.not_null")]
    assert [shop.get(*one)["deleted"] for one in contained] == [True, True]
    _bring_back(shop, "table", ORDERS, restored_by)
    assert [shop.get(*one)["deleted"] for one in contained] == [False, False]


def test_each_deletion_is_undone_by_itself(shop: Company) -> None:
    shop.writes.delete("databaseSchema", Key.by_name(SCHEMA), actor=JANE, recursive=True)
    shop.writes.delete("databaseService", Key.by_name("pg"), actor=JANE, recursive=True)
    shop.writes.restore("databaseService", shop.ids["pg"], actor=JANE)
    assert [shop.get(*one)["deleted"] for one in (*_CONTAINERS, ("table", ORDERS))] == [False, False, True, True]
    shop.writes.restore("databaseSchema", shop.get("databaseSchema", SCHEMA)["id"], actor=JANE)
    assert shop.get("table", ORDERS)["deleted"] is False
    shop.writes.delete("table", Key.by_name(ORDERS), actor=JANE, recursive=True)
    shop.writes.delete("databaseService", Key.by_name("pg"), actor=JANE, recursive=True)
    shop.writes.restore("databaseService", shop.ids["pg"], actor=JANE)
    assert shop.get("table", ORDERS)["deleted"] is True


def test_a_soft_deletion_of_an_older_release_is_undone_whole(shop: Company, store_engine: Engine) -> None:
    shop.writes.delete("database", Key.by_name("pg.shop"), actor=JANE, recursive=True)
    with store_engine.begin() as connection:
        connection.execute(delete(attachment))
    shop.writes.restore("database", shop.ids["shop"], actor=JANE)
    assert shop.get("table", ORDERS)["deleted"] is False


def _bring_back(shop: Company, entity_type: str, fqn: str, by: str) -> None:
    if by == "restore":
        shop.writes.restore(entity_type, shop.get(entity_type, fqn)["id"], actor=JANE)
    else:
        shop.writes.rollback(entity_type, Key.by_name(fqn), Decimal("0.1"), actor=JANE)


def test_what_lies_under_something_deleted_waits_for_it(shop: Company) -> None:
    shop.writes.delete("databaseSchema", Key.by_name(SCHEMA), actor=JANE, recursive=True)
    with pytest.raises(InvalidInput, match="restore it first"):
        shop.writes.restore("table", shop.ids["orders"], actor=JANE)


def test_a_put_of_what_is_soft_deleted_restores_it(shop: Company) -> None:
    shop.writes.delete("dashboard", Key.by_name("bi.revenue"), actor=JANE)
    written = shop.writes.upsert("dashboard", {"name": "revenue", "service": "bi", "description": "x"}, actor=JANE)
    assert written.event is not None
    assert written.event.event_type.value == "entityRestored"
    assert written.event.change_description is not None
    assert sorted(written.event.change_description.paths()) == ["deleted", "description"]
    assert shop.catalogue.get("dashboard", Key.by_name("bi.revenue"))["deleted"] is False


def test_a_hard_delete_says_what_was_there(shop: Company) -> None:
    before = shop.get("dashboard", "bi.revenue")
    written = shop.writes.delete("dashboard", Key.by_name("bi.revenue"), actor=JANE, hard=True)
    assert written.event is not None
    wire = written.event.to_wire()
    assert wire["eventType"] == "entityDeleted"
    assert wire["previousVersion"] == 0.1
    assert "currentVersion" not in wire
    assert wire["changeDescription"]["fieldsDeleted"] == [{"name": "entity", "oldValue": before}]
    assert wire["entity"] == before


def test_a_hard_delete_leaves_versions_and_log_and_nothing_else(shop: Company, store_engine: Engine) -> None:
    orders = {"id": shop.ids["orders"], "type": "table"}
    revenue = {"id": shop.ids["revenue"], "type": "dashboard"}
    add_tags(shop.writes, "A.b")
    shop.patch(("add", "/tags/0", {"tagFQN": "A.b"}), ("add", "/owners/0", {"id": shop.ids["jane"], "type": "user"}))
    shop.writes.follow("table", shop.ids["orders"], shop.ids["jane"], actor=JANE)
    shop.writes.put_edge({"fromEntity": orders, "toEntity": revenue}, actor=JANE)
    shop.writes.add_test_result(f"{ORDERS}.id.not_null", {"timestamp": 1, "testCaseStatus": "Success"}, actor=JANE)
    hanging = (
        tables.entity_tag,
        tables.ownership,
        tables.follow,
        tables.lineage_edge,
        series,
    )
    assert all(_rows(store_engine, *hanging))
    shop.writes.delete("databaseService", Key.by_name("pg"), actor=JANE, recursive=True, hard=True)
    assert not any(_rows(store_engine, *hanging))
    with pytest.raises(NotFound):
        shop.get("table", ORDERS)
    assert [one["version"] for one in shop.catalogue.versions(shop.ids["orders"])] == [0.2, 0.1]


def test_what_is_soft_deleted_can_be_deleted_for_good(shop: Company) -> None:
    shop.writes.delete("table", Key.by_name(ORDERS), actor=JANE, recursive=True)
    end = shop.log.readable_end()
    shop.writes.delete("table", Key.by_name(ORDERS), actor=JANE, recursive=True, hard=True)
    assert [kind for kind, _ in _kinds_after(shop, end)] == ["entityDeleted"] * 3


def test_what_is_made_again_after_a_hard_delete_is_somebody_else(shop: Company) -> None:
    shop.writes.delete("dashboard", Key.by_name("bi.revenue"), actor=JANE, hard=True)
    written = shop.writes.create("dashboard", {"name": "revenue", "service": "bi"}, actor=JANE)
    assert written.document["id"] != shop.ids["revenue"]
    assert written.document["version"] == 0.1


def test_an_owner_who_goes_for_good_is_taken_out_of_what_they_own(shop: Company, store_engine: Engine) -> None:
    shop.patch(("add", "/owners/0", {"id": shop.ids["jane"], "type": "user"}))
    end = shop.log.readable_end()
    written = shop.writes.delete("user", Key.by_name("jane"), actor=JANE, hard=True)
    assert _kinds_after(shop, end) == [("entityUpdated", "table"), ("entityDeleted", "user")]
    assert not shop.get("table", ORDERS)["owners"]
    assert [event.entity_fully_qualified_name for event in written.cascaded] == [ORDERS]
    assert People(store_engine).by_id(shop.ids["jane"]) is None


def test_whoever_goes_for_good_leaves_every_list_that_names_them_with_one_event_each(shop: Company) -> None:
    """Fault scenario 44."""
    shop.writes.upsert("user", {"name": "jane", "email": "j@x.org", "teams": [shop.ids["sales"]]}, actor=JANE)
    jane = {"id": shop.ids["jane"], "type": "user"}
    shop.patch(("add", "/owners/0", jane), ("add", "/domains/0", {"id": shop.ids["commerce"], "type": "domain"}))
    end = shop.log.readable_end()
    shop.writes.delete("user", Key.by_name("jane"), actor=JANE, hard=True)
    assert _kinds_after(shop, end) == [("entityUpdated", "table"), ("entityUpdated", "team"), ("entityDeleted", "user")]
    end = shop.log.readable_end()
    shop.writes.delete("domain", Key.by_name("commerce"), actor=JANE)
    assert _kinds_after(shop, end) == [("entityUpdated", "table"), ("entityDeleted", "domain")]
    assert not shop.get("table", ORDERS)["domains"]


def test_what_goes_together_is_not_changed_first(shop: Company) -> None:
    chart = shop.writes.create("chart", {"name": "total", "service": "bi"}, actor=JANE).document
    shop.writes.upsert("dashboard", {"name": "revenue", "service": "bi", "charts": [chart["id"]]}, actor=JANE)
    end = shop.log.readable_end()
    shop.writes.delete("dashboardService", Key.by_name("bi"), actor=JANE, recursive=True, hard=True)
    assert [kind for kind, _ in _kinds_after(shop, end)] == ["entityDeleted"] * 3


def test_a_type_that_cannot_be_soft_deleted_goes_for_good(shop: Company) -> None:
    written = shop.writes.delete("domain", Key.by_name("commerce"), actor=JANE)
    assert written.event is not None
    assert written.event.event_type.value == "entityDeleted"


def test_names_that_begin_alike_are_not_descendants(shop: Company) -> None:
    shop.writes.create("databaseService", {"name": "pg2", "serviceType": "Postgres"}, actor=JANE)
    shop.writes.create("database", {"name": "shop", "service": "pg2"}, actor=JANE)
    shop.writes.delete("databaseService", Key.by_name("pg"), actor=JANE, recursive=True)
    assert shop.get("database", "pg2.shop")["deleted"] is False


def test_what_is_read_for_a_deletion_and_a_restore_does_not_grow_with_the_tables_below(shop: Company) -> None:
    def read_for_both() -> list[int]:
        counts = list[int]()
        for work in (
            lambda: shop.writes.delete("databaseSchema", Key.by_name(SCHEMA), actor=JANE, recursive=True),
            lambda: shop.writes.restore("databaseSchema", shop.ids["public"], actor=JANE),
        ):
            with _statements(shop.engine) as statements:
                work()
            about = [one for one in statements if one.startswith("SELECT") or "attachment" in one]
            counts.append(len(about))
        return counts

    few = read_for_both()
    for number in range(9):
        shop.writes.create("table", shop.table(f"more{number}"), actor=JANE)
    assert read_for_both() == few


@contextmanager
def _statements(engine: Engine) -> Iterator[list[str]]:
    """Note what is run on a store: on SQLite, also by its driver alone."""
    statements = list[str]()

    def note(_connection: object, _cursor: object, statement: str, *_more: object) -> None:
        statements.append(statement)

    def trace(connection: Any) -> None:
        if is_sqlite(connection):
            connection.connection.dbapi_connection.set_trace_callback(statements.append)

    event.listen(engine, "before_cursor_execute", note)
    event.listen(engine, "begin", trace)
    yield statements
    event.remove(engine, "begin", trace)
    event.remove(engine, "before_cursor_execute", note)
