"""Checks of search, and of what the client finds by it: people, tables of a name pattern, views, lineage of a query.

The client remembers also what it did not find, so each check first waits for the index, asking without its look-ups.
"""

from __future__ import annotations

import json
from typing import Any

from checks.checking import CheckSetup, check, id_of, text, until
from checks.every_type import new
from metadata.generated.schema.api.data.createContainer import CreateContainerRequest
from metadata.generated.schema.api.data.createQuery import CreateQueryRequest
from metadata.generated.schema.entity.data.container import Container
from metadata.generated.schema.entity.data.query import Query
from metadata.generated.schema.entity.data.table import Table, TableType
from metadata.generated.schema.entity.services.databaseService import DatabaseService
from metadata.generated.schema.entity.teams.user import User
from metadata.ingestion.ometa.ometa_api import OpenMetadata
from speaking import put


def wait_until_indexed(setup: CheckSetup, index: str, entity: Any) -> Any:
    """Wait until search knows an entity; return the entity."""
    parameters = {"q": f"id:{id_of(entity)}"} if index == "query" else {"q": text(entity.name)}
    path = f"/search/query?q={parameters['q']}&index={index}_search_index&size=1"
    until(lambda: setup.metadata.client.get(path)["hits"]["hits"])
    return entity


def _table(setup: CheckSetup, **fields: Any) -> Any:
    return wait_until_indexed(setup, "table", setup.table(**fields))


@check("es_search_from_fqn", "a table by its FQN")
def _by_fqn(setup: CheckSetup) -> None:
    table = _table(setup)
    tables = setup.metadata.es_search_from_fqn(Table, text(table.fullyQualifiedName))
    assert [one.id for one in tables] == [table.id]


@check("es_search_from_fqn", "tables of any service and schema, with fields")
def _by_pattern(setup: CheckSetup) -> None:
    table = _table(setup, domains=["Sales"])
    tables = setup.metadata.es_search_from_fqn(Table, f"*.shop.*.{text(table.name)}", fields="domains")
    assert [[domain.name for domain in one.domains.root] for one in tables] == [["Sales"]]


@check("es_search_from_fqn", "None for what is not there")
def _no_hit(setup: CheckSetup) -> None:
    assert setup.metadata.es_search_from_fqn(Table, "pg.shop.public.nowhere") is None


@check("search_in_any_service", "a table whose service nobody names")
def _any_service(setup: CheckSetup) -> None:
    table = _table(setup)
    fqn = text(table.fullyQualifiedName).removeprefix("pg.")
    assert setup.metadata.search_in_any_service(Table, fqn).id == table.id


@check("paginate_es", "every table once, a page at a time")
def _pages(setup: CheckSetup) -> None:
    names = {text(_table(setup, name=setup.name("leaf")).name) for _ in range(3)}
    filtered = json.dumps({"query": {"bool": {"must": [{"term": {"service.name.keyword": "pg"}}]}}})
    names_of_pages = [text(one.name) for one in setup.metadata.paginate_es(Table, query_filter=filtered, size=25)]
    assert len(set(names_of_pages)) == len(names_of_pages)
    assert names <= set(names_of_pages)


@check("paginate_es", "sorted by relevance")
def _relevance(setup: CheckSetup) -> None:
    table = _table(setup)
    tables = setup.metadata.paginate_es(Table, search_query=text(table.name), sort_field="_score", size=5)
    assert next(iter(tables)).id == table.id


@check("get_entity_from_es yield_entities_from_es", "the entity that a query finds")
def _entity(setup: CheckSetup) -> None:
    table = _table(setup)
    query = f"/search/query?q={text(table.name)}&index=table_search_index&from=0&size=1"
    assert setup.metadata.get_entity_from_es(Table, query).id == table.id
    assert [one.id for one in setup.metadata.yield_entities_from_es(Table, query)] == [table.id]


@check("yield_es_view_def patch_lineage_processed_flag", "the views of a service; incremental: those not yet processed")
def _views(setup: CheckSetup) -> None:
    view = _table(setup, tableType=TableType.View, schemaDefinition="CREATE VIEW x AS SELECT 1")
    names = {one.table_name: one.view_definition for one in setup.metadata.yield_es_view_def("pg")}
    assert names[text(view.name)] == "CREATE VIEW x AS SELECT 1"
    setup.metadata.patch_lineage_processed_flag(Table, text(view.fullyQualifiedName))

    def open_views() -> set[str]:
        return {one.table_name for one in setup.metadata.yield_es_view_def("pg", incremental=True)}

    until(lambda: text(view.name) not in open_views())


@check("es_search_container_by_path", "a container by its full path")
def _container(setup: CheckSetup) -> None:
    path = f"s3://bucket/{setup.name('path')}"
    fields = {"service": "s3", "fullPath": path}
    container = wait_until_indexed(
        setup, "container", put(setup.metadata, CreateContainerRequest, setup.name("part"), fields)
    )
    containers = setup.metadata.es_search_container_by_path(path)
    assert [(type(one), one.id) for one in containers] == [(Container, container.id)]


@check("es_search_from_alias", "a table by one of its aliases")
def _alias(setup: CheckSetup) -> None:
    alias = f"pg.shop.public.{setup.name('alias')}"
    table = _table(setup, aliases=[alias])
    tables = setup.metadata.es_search_from_alias(Table, alias)
    assert [one.id for one in tables] == [table.id]


@check("es_get_queries_with_lineage patch_lineage_processed_flag", "the checksums of queries that are processed")
def _queries(setup: CheckSetup) -> None:
    service = text(new(setup, "DatabaseService", "queried").name)
    query = put(setup.metadata, CreateQueryRequest, setup.name("query"), {"query": "SELECT 4", "service": service})
    setup.metadata.patch_lineage_processed_flag(Query, text(query.fullyQualifiedName))
    search_path = f"/search/query?q=&index=query&query_filter={OpenMetadata.get_query_with_lineage_filter(service)}"
    until(lambda: setup.metadata.client.get(search_path)["hits"]["hits"])
    checksums = setup.metadata.es_get_queries_with_lineage(service)
    assert checksums == {text(setup.metadata.get_by_id(Query, query.id).checksum)}


@check("get_reference_by_email", "a user and a team by their addresses")
def _by_email(setup: CheckSetup) -> None:
    user, team = (new(setup, kind, kind.lower()) for kind in ("User", "Team"))
    for index, entity in (("user", user), ("team", team)):
        wait_until_indexed(setup, index, entity)
        (hit,) = setup.metadata.get_reference_by_email(text(entity.email)).root
        assert (hit.type, str(hit.id.root)) == (index, id_of(entity))


@check("get_reference_by_name", "a team, and a user by the name that is shown")
def _by_name(setup: CheckSetup) -> None:
    team = wait_until_indexed(setup, "team", new(setup, "Team", "team"))
    assert [one.type for one in setup.metadata.get_reference_by_name(text(team.name)).root] == ["team"]
    user = new(setup, "User", "user")
    changed = user.model_copy(deep=True)
    changed.displayName = "Rosalind Quist"
    assert setup.metadata.patch(User, user, changed) is not None
    path = "/search/query?q=Quist&index=user_search_index&size=1"
    until(lambda: setup.metadata.client.get(path)["hits"]["hits"])
    (hit,) = setup.metadata.get_reference_by_name("Rosalind Quist").root
    assert hit.id == user.id


@check("get_reference_by_name get_reference_by_email", "None for nobody")
def _nobody(setup: CheckSetup) -> None:
    assert setup.metadata.get_reference_by_name("nobody.at.all") is None
    assert setup.metadata.get_reference_by_email("nobody@example.org") is None


@check("add_lineage_by_query", "an INSERT … SELECT makes an edge with its columns")
def _by_query(setup: CheckSetup) -> None:
    source, target = _table(setup), _table(setup)
    service = setup.metadata.get_by_name(DatabaseService, "pg")
    sql = f"INSERT INTO public.{text(target.name)} (id, email) SELECT id, email FROM public.{text(source.name)}"
    setup.metadata.add_lineage_by_query(service, sql, database_name="shop", schema_name="public")
    edges = setup.metadata.get_lineage_by_id(Table, id_of(target))["upstreamEdges"]
    assert [at["fromEntity"] for at in edges] == [id_of(source)]
    assert len(edges[0]["lineageDetails"]["columnsLineage"]) == 2


@check("get_suffix", "the newer face of the client searches, counts and filters by services as they are shown")
def _fluent(setup: CheckSetup) -> None:
    from metadata.sdk.api.search import Search

    table, kind = _table(setup), setup.metadata.get_suffix(Table)
    assert kind == "/tables"
    Search.set_default_client(setup.metadata.metadata)
    name = text(table.name)
    filters = {"service.displayName.keyword": "pg"}
    search_result = Search.search(
        name, index="table_search_index", filters=filters, sort_field="_score", sort_order="desc"
    )
    assert [hit["_id"] for hit in search_result["hits"]["hits"]] == [id_of(table)]
    assert search_result["aggregations"]["sterms#entityType"]["buckets"] == [{"key": "table", "doc_count": 1}]
    aggregation = Search.aggregate(name, index="table_search_index", field="entityType")
    assert aggregation["aggregations"]["sterms#entityType"]["buckets"] == [{"key": "table", "doc_count": 1}]
    assert Search.suggest(name) == []
    builder_result = (
        Search.builder().query(name).index("table_search_index").size(1).include_aggregations(False).execute()
    )
    assert [hit["_id"] for hit in builder_result["hits"]["hits"]] == [id_of(table)]
    assert "aggregations" not in builder_result
