"""Tests of lineage writes: one event per changed edge, none for unchanged ones."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, func, select
from tests.soak import SOAK
from tests.store.catalogues import JANE, ORDERS, SCHEMA, Company, company
from tests.store.test_subscriptions import counted_statements

from tocsin.catalogue.lineage.external import edges_in
from tocsin.errors import InvalidInput, NotFound
from tocsin.model.change import EventType
from tocsin.model.entity import Document
from tocsin.model.stored import Key, Written
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue
from tocsin.store.catalogue.lineage.reach import Lineage
from tocsin.store.catalogue.relations import lineage_edges as edges
from tocsin.store.database import tables
from tocsin.store.database.tables import lineage_carrier

STAMPS = ("createdAt", "createdBy", "updatedAt", "updatedBy")
REVENUE = {"type": "dashboard", "fullyQualifiedName": "bi.revenue"}
NIGHTLY = {"type": "pipeline", "fullyQualifiedName": "airflow.nightly"}


@pytest.fixture
def shop(store_engine: Engine) -> Company:
    sample_company = company(store_engine)
    for name in ("clean", "report"):
        sample_company.ids[name] = sample_company.writes.create(
            "table", sample_company.table(name), actor=JANE
        ).document["id"]
    return sample_company


def table(name: str) -> Document:
    return {"type": "table", "fullyQualifiedName": f"{SCHEMA}.{name}"}


def put(shop: Company, from_: Document, to: Document, **details: Any) -> Written:
    edge = {"fromEntity": from_, "toEntity": to} | ({"lineageDetails": details} if details else {})
    return shop.writes.put_edge(edge, actor=JANE)


def details_of(shop: Company, engine: Engine, from_: str, to: str) -> Document:
    details = Lineage(engine).edge(shop.ids[from_], shop.ids[to]).details
    return {key: value for key, value in details.items() if key not in STAMPS}


def event_summary(written: Written) -> tuple[str, str, str]:
    """Return the name of the asset, what happened to it, and of which list the change is."""
    assert written.event is not None
    wire = written.event.to_wire()
    assert wire["previousVersion"] == wire["currentVersion"] == 0.1
    (kind,) = [kind for kind in ("fieldsAdded", "fieldsUpdated", "fieldsDeleted") if wire["changeDescription"][kind]]
    (change,) = wire["changeDescription"][kind]
    return wire["entityFullyQualifiedName"], wire["eventType"], f"{kind} {change['name']}"


def column(*from_: str, to: str, table_name: str = "clean") -> Document:
    return {"fromColumns": [f"{ORDERS}.{name}" for name in from_], "toColumn": f"{SCHEMA}.{table_name}.{to}"}


def test_another_text_of_the_query_is_kept_and_notifies_nobody(shop: Company, store_engine: Engine) -> None:
    columns = [column("id", to="id")]
    for text in ("select 1", "create table t as select 1", "select 1"):
        written = put(shop, table("orders"), table("clean"), sqlQuery=text, columnsLineage=columns)
        assert details_of(shop, store_engine, "orders", "clean")["sqlQuery"] == text
        assert (written.event is not None) == written.created
    both = put(shop, table("orders"), table("clean"), sqlQuery="select 2")
    assert event_summary(both)[2] == "fieldsUpdated lineage", "the columns are gone as well"


def test_columns_in_another_order_notify_nobody(shop: Company, store_engine: Engine) -> None:
    to_id, to_email = column("id", "email", to="id"), column("id", to="email")
    put(shop, table("orders"), table("clean"), columnsLineage=[to_id, to_email])
    again = [to_email, column("email", "id", to="id")]
    assert put(shop, table("orders"), table("clean"), columnsLineage=again).event is None
    assert details_of(shop, store_engine, "orders", "clean")["columnsLineage"] == again, "kept as it was sent last"
    for fewer in ([column("id", to="id"), to_email], [to_email]):
        written = put(shop, table("orders"), table("clean"), columnsLineage=fewer)
        assert event_summary(written)[2] == "fieldsUpdated lineage"


def test_an_edge_is_an_event_of_the_asset_it_leads_to(shop: Company, store_engine: Engine) -> None:
    assert event_summary(put(shop, table("orders"), REVENUE)) == ("bi.revenue", "entityUpdated", "fieldsAdded lineage")
    assert put(shop, table("orders"), REVENUE).event is None
    detailed = put(shop, table("orders"), REVENUE, description="monthly")
    assert event_summary(detailed) == ("bi.revenue", "entityUpdated", "fieldsUpdated lineage")
    assert details_of(shop, store_engine, "orders", "revenue") == {"description": "monthly", "source": "Manual"}
    removal = shop.writes.delete_edge(table("orders"), REVENUE, actor=JANE)
    assert event_summary(removal) == ("bi.revenue", "entityUpdated", "fieldsDeleted lineage")
    with pytest.raises(NotFound):
        shop.writes.delete_edge(table("orders"), REVENUE, actor=JANE)
    with pytest.raises(NotFound):
        put(shop, table("orders"), {"type": "dashboard", "name": "nowhere"})


def test_an_edge_says_who_made_and_who_changed_it(shop: Company, store_engine: Engine) -> None:
    put(shop, table("orders"), table("clean"))
    shop.clock.advance(1000)
    put(shop, table("orders"), table("clean"), description="cleaned")
    details = Lineage(store_engine).edge(shop.ids["orders"], shop.ids["clean"]).details
    assert details["updatedAt"] - details["createdAt"] == 1000
    assert (details["createdBy"], details["updatedBy"]) == ("jane", "jane")
    assert put(shop, table("orders"), table("clean"), **details).event is None


def test_columns_and_the_pipeline_are_checked_and_made_full(shop: Company, store_engine: Engine) -> None:
    nulls = {"sqlQuery": None, "description": None, "tempLineageTables": None}
    pipeline = {"type": "pipeline", "id": shop.ids["nightly"], "name": None}
    columns = [column("id", "email", to="email"), column("id", to="id")]
    put(shop, table("orders"), table("clean"), columnsLineage=columns, pipeline=pipeline, **nulls)
    assert details_of(shop, store_engine, "orders", "clean") == {
        "source": "Manual",
        "columnsLineage": columns,
        "pipeline": {
            "id": shop.ids["nightly"],
            "type": "pipeline",
            "name": "nightly",
            "fullyQualifiedName": "airflow.nightly",
        },
    }


@pytest.mark.parametrize(
    ("details", "error"),
    [
        ({"colour": "red"}, InvalidInput),
        ({"source": "Guess"}, InvalidInput),
        ({"source": ["Manual"]}, InvalidInput),
        ({"sqlQuery": 5}, InvalidInput),
        ({"assetEdges": True}, InvalidInput),
        ({"columnsLineage": {}}, InvalidInput),
        ({"columnsLineage": ["id"]}, InvalidInput),
        ({"columnsLineage": [{"from": "id"}]}, InvalidInput),
        ({"columnsLineage": [{"fromColumns": [5]}]}, InvalidInput),
        ({"columnsLineage": [column("nothing", to="id")]}, InvalidInput),
        ({"columnsLineage": [column("id", to="nothing")]}, InvalidInput),
        ({"columnsLineage": [column("id", to="id", table_name="report")]}, InvalidInput),
        ({"columnsLineage": [{"toColumn": '"a'}]}, InvalidInput),
        ({"tempLineageTables": [{"fromEntity": "a"}]}, InvalidInput),
        ({"pipeline": "nightly"}, InvalidInput),
        ({"pipeline": {"type": ["x"], "id": "y"}}, InvalidInput),
        ({"pipeline": {"type": "pipeline", "fullyQualifiedName": "airflow.nowhere"}}, NotFound),
    ],
)
@pytest.mark.soak_on_postgresql
def test_what_is_malformed_is_refused(shop: Company, details: Document, error: type[Exception]) -> None:
    end = shop.log.readable_end()
    with pytest.raises(error):
        put(shop, table("orders"), table("clean"), **details)
    assert shop.events_after(end) == []


def test_an_end_without_columns_takes_any_column(shop: Company) -> None:
    entry = {"fromColumns": [f"{ORDERS}.id"], "toColumn": "bi.revenue.total"}
    assert put(shop, table("orders"), REVENUE, columnsLineage=[entry]).created


def test_a_patch_adds_columns_one_by_one(shop: Company, store_engine: Engine) -> None:
    put(shop, table("orders"), table("clean"), source="QueryLineage")

    def patch(*operations: Document) -> Written:
        return shop.writes.patch_edge(table("orders"), table("clean"), operations, actor=JANE)

    first = patch({"op": "add", "path": "/columnsLineage/0", "value": column("id", to="id")})
    assert event_summary(first) == (f"{SCHEMA}.clean", "entityUpdated", "fieldsUpdated lineage")
    patch({"op": "add", "path": "/columnsLineage/0/fromColumns/1", "value": f"{ORDERS}.email"})
    patch({"op": "add", "path": "/pipeline", "value": {"id": shop.ids["nightly"], "type": "pipeline"}})
    details = details_of(shop, store_engine, "orders", "clean")
    assert details["columnsLineage"] == [column("id", "email", to="id")]
    assert (details["pipeline"]["name"], details["source"]) == ("nightly", "QueryLineage")
    assert patch({"op": "test", "path": "/source", "value": "QueryLineage"}).event is None
    for wrong_operation in (
        {"op": "remove", "path": "/columnsLineage/9"},
        {"op": "replace", "path": "", "value": []},
        {},
    ):
        with pytest.raises(InvalidInput):
            patch(wrong_operation)
    with pytest.raises(NotFound):
        shop.writes.patch_edge(table("clean"), table("orders"), [], actor=JANE)


def test_a_column_that_has_gone_stays_in_the_edge_until_somebody_takes_it_out(shop: Company) -> None:
    put(shop, table("orders"), table("clean"), columnsLineage=[column("email", to="email")])
    shop.patch(("remove", "/columns/1", None))
    operations = [{"op": "add", "path": "/columnsLineage/-", "value": column("id", to="id")}]
    assert shop.writes.patch_edge(table("orders"), table("clean"), operations, actor=JANE).event is not None


def test_edges_of_one_source_go_together_each_with_its_event(shop: Company) -> None:
    put(shop, table("orders"), table("report"), source="ViewLineage")
    put(shop, table("clean"), table("report"), source="ViewLineage")
    put(shop, NIGHTLY, table("report"), source="Manual")
    put(shop, table("report"), REVENUE, source="ViewLineage")
    written = shop.writes.delete_edges_by_source(table("report"), "ViewLineage", actor=JANE)
    assert [edge["fromEntity"]["name"] for edge in written.document["edges"]] == ["clean", "orders"]
    assert [event.entity_fully_qualified_name for event in written.cascaded] == [f"{SCHEMA}.report"] * 2
    assert shop.writes.delete_edges_by_source(table("report"), "ViewLineage", actor=JANE).cascaded == ()
    with pytest.raises(InvalidInput):
        shop.writes.delete_edges_by_source(table("report"), "Hearsay", actor=JANE)


def test_a_pipelines_lineage_is_what_it_moves(shop: Company) -> None:
    put(shop, table("orders"), table("clean"), source="PipelineLineage", pipeline=NIGHTLY)
    put(shop, table("orders"), table("report"), source="DbtLineage", pipeline=NIGHTLY)
    written = shop.writes.delete_edges_by_source(NIGHTLY, "PipelineLineage", actor=JANE)
    assert [event.entity_fully_qualified_name for event in written.cascaded] == [f"{SCHEMA}.clean"]


def test_a_hard_delete_removes_edges_and_makes_events_downstream(shop: Company, store_engine: Engine) -> None:
    put(shop, table("orders"), table("clean"))
    put(shop, table("orders"), table("orders"))
    put(shop, table("clean"), table("report"))
    end = shop.log.readable_end()
    shop.writes.delete("table", Key.by_name(f"{SCHEMA}.clean"), actor=JANE, hard=True)
    events = [(event.event_type.value, event.entity_fully_qualified_name) for event in shop.events_after(end)]
    assert events == [("entityUpdated", f"{SCHEMA}.report"), ("entityDeleted", f"{SCHEMA}.clean")]
    shop.writes.delete("databaseService", Key.by_name("pg"), actor=JANE, hard=True, recursive=True)
    kinds = {event.event_type.value for event in shop.events_after(end)[2:]}
    assert kinds == {"entityDeleted"}, "what goes as well needs not be notified of its edges"
    with store_engine.connect() as connection:
        assert connection.execute(select(func.count()).select_from(tables.lineage_edge)).scalar() == 0


def test_an_edge_whose_pipeline_goes_stays_without_it(shop: Company, store_engine: Engine) -> None:
    put(shop, table("orders"), table("clean"), source="PipelineLineage", pipeline=NIGHTLY)
    end = shop.log.readable_end()
    shop.writes.delete("pipeline", Key.by_name("airflow.nightly"), actor=JANE, hard=True)
    events = [(event.event_type.value, event.entity_fully_qualified_name) for event in shop.events_after(end)]
    assert events == [("entityUpdated", f"{SCHEMA}.clean"), ("entityDeleted", "airflow.nightly")]
    assert details_of(shop, store_engine, "orders", "clean") == {"source": "PipelineLineage"}
    with store_engine.connect() as connection:
        assert connection.execute(select(func.count()).select_from(lineage_carrier)).scalar() == 0


def test_lineage_is_read_by_level_and_survives_cycles(shop: Company, store_engine: Engine) -> None:
    for name in "abcd":
        shop.writes.create("table", shop.table(name), actor=JANE)
    for from_, to in (("a", "a"), ("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")):
        put(shop, table(from_), table(to))
    reader = Lineage(store_engine)

    def lineage_of(upstream: int, downstream: int) -> tuple[list[str], int, int]:
        read = reader.around("table", Key.by_name(f"{SCHEMA}.a"), upstream_depth=upstream, downstream_depth=downstream)
        assert read["entity"]["name"] == "a"
        return [node["name"] for node in read["nodes"]], len(read["upstreamEdges"]), len(read["downstreamEdges"])

    assert lineage_of(0, 0) == ([], 0, 0)
    assert lineage_of(0, 1) == (["b"], 0, 2)
    assert lineage_of(0, 2) == (["b", "c"], 0, 3)
    assert lineage_of(0, 99) == (["b", "c", "d"], 0, 5)
    assert lineage_of(1, 0) == (["c"], 2, 0)
    with pytest.raises(NotFound):
        reader.around("table", Key.by_name("nowhere"))


@pytest.mark.soak_on_postgresql
def test_a_source_may_feed_very_many(shop: Company, store_engine: Engine) -> None:
    """Fault scenario 29."""
    for number in range(329):
        shop.writes.create("table", shop.table(f"t{number}"), actor=JANE)
        put(shop, table("orders"), table(f"t{number}"))
    read = Lineage(store_engine).around("table", Key.by_name(ORDERS), upstream_depth=3, downstream_depth=3)
    assert (len(read["nodes"]), len(read["downstreamEdges"])) == (329, 329)


@given(st.lists(st.tuples(st.sampled_from("pdsh"), *[st.sampled_from(("orders", "clean", "report"))] * 2), max_size=12))
@settings(max_examples=15 if SOAK else 6, suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.soak_on_postgresql
def test_the_lineage_fields_of_the_log_say_exactly_which_edges_there_are(
    store_engine: Engine, writes: list[tuple[str, str, str]]
) -> None:
    _empty(store_engine)
    shop = company(store_engine)
    for name in ("clean", "report"):
        shop.writes.create("table", shop.table(name), actor=JANE)
    for kind, from_, to in writes:
        with contextlib.suppress(NotFound):
            _do(shop, kind, from_, to)
    known_edges: set[tuple[str, str]] = set()
    for event in shop.events_after(0):
        for heard in edges_in(event.to_wire()):
            ends = heard.edge["fromEntity"]["fullyQualifiedName"], heard.edge["toEntity"]["fullyQualifiedName"]
            (known_edges.discard if heard.is_gone else known_edges.add)(ends)
        if event.event_type is EventType.ENTITY_DELETED:
            known_edges = {ends for ends in known_edges if ends[1] != event.entity_fully_qualified_name}
    with store_engine.connect() as connection:
        stored_edges = edges.read(connection, edges.EDGES)
    assert known_edges == {(edge.from_["fullyQualifiedName"], edge.to["fullyQualifiedName"]) for edge in stored_edges}


def _do(shop: Company, kind: str, from_: str, to: str) -> None:
    match kind:
        case "p":
            put(shop, table(from_), table(to), source="PipelineLineage", sqlQuery=f"{from_} {to}")
        case "d":
            shop.writes.delete_edge(table(from_), table(to), actor=JANE)
        case "s":
            shop.writes.delete_edges_by_source(table(to), "PipelineLineage", actor=JANE)
        case _:
            shop.writes.delete("table", Key.by_name(f"{SCHEMA}.{to}"), actor=JANE, hard=True)


def _empty(engine: Engine) -> None:
    with engine.begin() as connection:
        for store_table in reversed(tables.METADATA.sorted_tables):
            connection.execute(store_table.delete())


def test_edges_that_a_pipeline_moves_are_read_without_the_other_edges_of_their_sources(
    shop: Company, store_engine: Engine
) -> None:
    put(shop, table("orders"), table("clean"), pipeline=NIGHTLY)
    put(shop, table("orders"), table("report"))
    nightly_id = shop.ids["nightly"]
    with store_engine.connect() as connection, counted_statements(store_engine) as statements:
        touching = edges.edges_touching(connection, [nightly_id])
    assert [edge.to["name"] for edge in touching[nightly_id]] == ["clean"]
    assert touching[nightly_id][0].details["pipeline"]["id"] == nightly_id
    assert len(statements) == 3, "from it, to it, moved by it"


def test_remembered_edges_are_read_again_after_an_edge_is_put_or_deleted(shop: Company, store_engine: Engine) -> None:
    put(shop, table("orders"), table("clean"))
    orders_id, clean_id, report_id = (shop.ids[name] for name in ("orders", "clean", "report"))
    with SqlCatalogue(store_engine).transaction() as transaction:
        transaction.remember_relations([orders_id, clean_id])
        transaction.delete_edge(orders_id, clean_id)
        assert transaction.edges_of(orders_id) == transaction.edges_of(clean_id) == []
        transaction.remember_relations([orders_id])
        orders, report = (transaction.find("table", Key.by_id(one)) for one in (orders_id, report_id))
        assert orders is not None and report is not None
        transaction.put_edge(orders, report, {})
        assert [edge.to["id"] for edge in transaction.edges_of(orders_id)] == [report_id]
