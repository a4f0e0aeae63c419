"""Tests of every list filter on both stores."""

from __future__ import annotations

import pytest
from sqlalchemy import Engine, select
from tests.store.catalogues import JANE

from tocsin.catalogue.writes import Writes
from tocsin.clock import FixedClock
from tocsin.errors import InvalidInput
from tocsin.model.entity import Document
from tocsin.model.relations import RELATIONS
from tocsin.model.stored import Key
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue
from tocsin.store.catalogue.entities.filters import belongs_to_none
from tocsin.store.catalogue.entities.listing import Listing
from tocsin.store.database.engine import reading
from tocsin.store.database.tables import entity

_COLUMNS = [{"name": "id", "dataType": "BIGINT"}, {"name": "mail", "dataType": "TEXT"}]
_MADE: tuple[tuple[str, Document], ...] = (
    ("domain", {"name": "Sales", "domainType": "Aggregate", "description": "x"}),
    ("domain", {"name": "Web", "domainType": "Aggregate", "description": "x", "parent": "Sales"}),
    ("classification", {"name": "Tier", "description": "x"}),
    ("tag", {"name": "Tier1", "description": "x", "classification": "Tier"}),
    ("databaseService", {"name": "pg", "serviceType": "Postgres", "domains": ["Sales"]}),
    ("database", {"name": "shop", "service": "pg"}),
    ("databaseSchema", {"name": "public", "database": "pg.shop"}),
    ("databaseSchema", {"name": "web", "database": "pg.shop", "domains": ["Sales.Web"]}),
    ("table", {"name": "orders", "databaseSchema": "pg.shop.public", "columns": _COLUMNS}),
    ("table", {"name": "clicks", "databaseSchema": "pg.shop.web", "columns": _COLUMNS}),
    ("table", {"name": "own", "databaseSchema": "pg.shop.web", "columns": _COLUMNS, "domains": ["Sales"]}),
    ("databaseService", {"name": "my", "serviceType": "Mysql"}),
    ("database", {"name": "old", "service": "my"}),
    ("databaseSchema", {"name": "old", "database": "my.old"}),
    (
        "table",
        {"name": "lost", "databaseSchema": "my.old.old", "columns": _COLUMNS, "tags": [{"tagFQN": "Tier.Tier1"}]},
    ),
    ("storageService", {"name": "s3", "serviceType": "S3"}),
    ("container", {"name": "bucket", "service": "s3"}),
    ("container", {"name": "inner", "service": "s3", "parent": "s3.bucket"}),
    ("glossary", {"name": "Words", "description": "x"}),
    ("glossaryTerm", {"name": "Sale", "description": "x", "glossary": "Words", "entityStatus": "Approved"}),
    ("glossaryTerm", {"name": "Big", "description": "x", "glossary": "Words", "parent": "Words.Sale"}),
    ("testDefinition", {"name": "rows", "description": "x", "entityType": "TABLE", "testPlatforms": ["OpenMetadata"]}),
    (
        "testDefinition",
        {
            "name": "text",
            "description": "x",
            "entityType": "COLUMN",
            "testPlatforms": ["dbt", "Soda"],
            "supportedDataTypes": ["TEXT", "VARCHAR"],
            "supportedServices": ["Snowflake"],
        },
    ),
    ("testCase", {"name": "count", "entityLink": "<#E::table::pg.shop.public.orders>", "testDefinition": "rows"}),
    (
        "testCase",
        {"name": "short", "entityLink": "<#E::table::pg.shop.public.orders::columns::mail>", "testDefinition": "text"},
    ),
    ("testSuite", {"name": "logical"}),
    ("team", {"name": "crew", "teamType": "Department", "domains": ["Sales"]}),
    ("user", {"name": "ana", "email": "ana@example.org", "teams": ["crew"]}),
    ("user", {"name": "ben", "email": "ben@example.org"}),
    *(
        (
            "ingestionPipeline",
            {
                "name": kind,
                "service": {"type": service, "fullyQualifiedName": fqn},
                "pipelineType": kind,
                "sourceConfig": {"config": {}},
                "airflowConfig": {},
            },
        )
        for kind, service, fqn in (
            ("metadata", "databaseService", "pg"),
            ("usage", "databaseService", "pg"),
            ("lineage", "storageService", "s3"),
        )
    ),
)


@pytest.fixture
def catalogue(store_engine: Engine) -> SqlCatalogue:
    return fill(store_engine)


def fill(engine: Engine) -> SqlCatalogue:
    catalogue_to_fill = SqlCatalogue(engine)
    writes = Writes(catalogue_to_fill, FixedClock(1_760_000_000_000))
    for entity_type, request in _MADE:
        writes.create(entity_type, request, actor=JANE)
    return catalogue_to_fill


ASKED: tuple[tuple[str, dict[str, str], list[str]], ...] = (
    ("table", {"domain": "Sales"}, ["orders", "own"]),
    ("table", {"domain": "Sales.Web"}, ["clicks"]),
    ("table", {"domain": "null"}, ["lost"]),
    ("table", {"domain": "Nowhere"}, []),
    ("databaseSchema", {"domain": "Sales"}, ["public"]),
    ("testCase", {"domain": "Sales"}, ["count", "short"]),
    ("testCase", {"domain": "Sales.Web"}, []),
    ("user", {"domain": "Sales"}, ["ana"]),
    ("user", {"domain": "null"}, ["ben"]),
    ("table", {"tier": "Tier.Tier1"}, ["lost"]),
    ("table", {"tier": "Tier.Tier2"}, []),
    ("table", {"includeEmptyTestSuite": "false"}, ["orders"]),
    ("table", {"includeEmptyTestSuite": "true"}, ["lost", "orders", "clicks", "own"]),
    ("container", {"root": "true"}, ["bucket"]),
    ("container", {"root": "false"}, ["bucket", "inner"]),
    ("glossaryTerm", {"entityStatus": "Approved"}, ["Sale"]),
    ("glossaryTerm", {"entityStatus": "Approved,Draft", "parent": "Words"}, ["Sale"]),
    ("testDefinition", {"entityType": "COLUMN"}, ["text"]),
    ("testDefinition", {"testPlatform": "Soda"}, ["text"]),
    ("testDefinition", {"testPlatform": "OpenMetadata"}, ["rows"]),
    ("testDefinition", {"supportedDataType": "TEXT"}, ["text"]),
    ("testDefinition", {"supportedDataType": "INT"}, []),
    ("testDefinition", {"supportedService": "Snowflake"}, ["rows", "text"]),
    ("testDefinition", {"supportedService": "Mysql"}, ["rows"]),
    ("testCase", {"entityLink": "<#E::table::pg.shop.public.orders>"}, ["count"]),
    ("testCase", {"entityLink": "<#E::table::pg.shop.public.orders>", "includeAllTests": "true"}, ["count", "short"]),
    ("testCase", {"entityFQN": "pg.shop.public.orders.mail"}, ["short"]),
    ("testCase", {"testCaseType": "column"}, ["short"]),
    ("testCase", {"testCaseType": "table"}, ["count"]),
    ("testCase", {"testCaseType": "all"}, ["count", "short"]),
    ("testSuite", {"testSuiteType": "logical"}, ["logical"]),
    ("testSuite", {"testSuiteType": "basic"}, ["pg.shop.public.orders.testSuite"]),
    ("testSuite", {"includeEmptyTestSuites": "false"}, ["pg.shop.public.orders.testSuite"]),
    ("ingestionPipeline", {"pipelineType": "metadata, usage"}, ["metadata", "usage"]),
    ("ingestionPipeline", {"serviceType": "storageService"}, ["lineage"]),
    ("ingestionPipeline", {"service": "pg"}, ["metadata", "usage"]),
    ("table", {"spoon": "x"}, ["lost", "orders", "clicks", "own"]),
)


def test_every_filter_leaves_what_it_says(catalogue: SqlCatalogue) -> None:
    for entity_type, filters, expected in ASKED:
        listing = Listing(filters=tuple(sorted(filters.items())), limit=100)
        page = catalogue.list_entities(entity_type, listing)
        assert [one["name"] for one in page.documents] == expected, (entity_type, filters)
        assert page.total == len(expected)


@pytest.mark.postgres
def test_what_no_domain_has_is_not_asked_row_by_row(postgres_engine: Engine) -> None:
    fill(postgres_engine)
    query = select(entity.c.id).where(entity.c.entity_type == "table", belongs_to_none("table"))
    statement = query.compile(postgres_engine, compile_kwargs={"literal_binds": True})
    with reading(postgres_engine) as connection:
        connection.exec_driver_sql("SET LOCAL work_mem = '64kB'")
        plan = "\n".join(connection.exec_driver_sql(f"EXPLAIN {statement}").scalars())
    assert "Anti Join" in plan
    assert "SubPlan" not in plan


def test_what_lies_under_something_is_found_by_its_id(catalogue: SqlCatalogue) -> None:
    glossary = catalogue.get("glossary", Key.by_name("Words"))["id"]
    page = catalogue.list_entities("glossaryTerm", Listing(filters=(("glossary", glossary),)))
    assert [one["name"] for one in page.documents] == ["Sale", "Big"]
    suite = catalogue.get("testSuite", Key.by_name("pg.shop.public.orders.testSuite"))["id"]
    cases = catalogue.list_entities("testCase", Listing(filters=(("testSuiteId", suite),)))
    assert [one["name"] for one in cases.documents] == ["count", "short"]


@pytest.mark.parametrize(
    ("entity_type", "name"),
    [
        ("testCase", "testCaseType"),
        ("testCase", "includeAllTests"),
        ("testSuite", "testSuiteType"),
        ("table", "includeEmptyTestSuite"),
        ("container", "root"),
        ("eventsubscription", "alertType"),
    ],
)
@pytest.mark.soak_on_postgresql
def test_a_word_that_no_filter_knows_is_refused(catalogue: SqlCatalogue, entity_type: str, name: str) -> None:
    with pytest.raises(InvalidInput):
        catalogue.list_entities(entity_type, Listing(filters=((name, "spoon"),)))


@pytest.mark.parametrize("cursor", ["cGcAeA", "!", "_w"])
@pytest.mark.soak_on_postgresql
def test_what_is_no_cursor_is_refused(catalogue: SqlCatalogue, cursor: str) -> None:
    for listing in (Listing(after=cursor), Listing(before=cursor)):
        with pytest.raises(InvalidInput, match="not a cursor"):
            catalogue.list_entities("table", listing)


def test_a_domain_reports_its_assets(catalogue: SqlCatalogue) -> None:
    domains = [catalogue.get("domain", Key.by_name(name)) for name in ("Sales", "Sales.Web")]
    assets_by_domain = catalogue.related_entities(RELATIONS["domain"]["assets"], domains)
    assert {key: [one["name"] for one in many] for key, many in assets_by_domain.items() if isinstance(many, list)} == {
        domains[0]["id"]: ["crew", "pg", "own"],
        domains[1]["id"]: ["web"],
    }
