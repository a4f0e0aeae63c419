"""Checks of what the client can do since 2.0: lineage by name, asynchronous writes, stale entities, threads."""

from __future__ import annotations

from typing import Any

from checks.checking import World, check, id_of, status_of_refusal, text, until
from checks.lineage import edge
from checks.search import wait_until_indexed
from metadata.generated.schema.api.feed.createThread import CreateThreadRequest
from metadata.generated.schema.entity.data.query import Query
from metadata.generated.schema.entity.data.table import Table
from metadata.generated.schema.entity.data.topic import TopicSampleData
from metadata.generated.schema.type.entityLineage import ColumnLineage, LineageDetails

_ENDS = ("from_entity_fqn", "from_entity_type", "to_entity_fqn", "to_entity_type")


def _ends(source: Any, target: Any) -> dict[str, str]:
    names = (text(source.fullyQualifiedName), "table", text(target.fullyQualifiedName), "table")
    return dict(zip(_ENDS, names, strict=True))


def _details(source: Any, target: Any, column: str, **fields: Any) -> LineageDetails:
    ends = [f"{text(table.fullyQualifiedName)}.{column}" for table in (source, target)]
    return LineageDetails(columnsLineage=[ColumnLineage(fromColumns=ends[:1], toColumn=ends[1])], **fields)


@check("add_lineage_by_name get_lineage_edge_by_name", "an edge with SQL and columns, by the names of its ends")
def _add(world: World) -> None:
    source, target = world.table(), world.table()
    ends, details = _ends(source, target), _details(source, target, "id", sqlQuery="INSERT INTO b SELECT * FROM a")
    answered = world.metadata.add_lineage_by_name(**ends, lineage_details=details)
    assert answered["entity"]["fullyQualifiedName"] == ends["from_entity_fqn"]
    stored = world.metadata.get_lineage_edge_by_name(**ends)["edge"]
    assert stored["sqlQuery"] == "INSERT INTO b SELECT * FROM a"
    assert [column["toColumn"] for column in stored["columnsLineage"]] == [f"{ends['to_entity_fqn']}.id"]


@check("add_lineage_by_name", "with check_patch: columns join those that are there")
def _merge(world: World) -> None:
    source, target = world.table(), world.table()
    ends = _ends(source, target)
    world.metadata.add_lineage_by_name(**ends, lineage_details=_details(source, target, "id"))
    world.metadata.add_lineage_by_name(**ends, lineage_details=_details(source, target, "email"), check_patch=True)
    stored = world.metadata.client.get(f"/lineage/getLineageEdge/{id_of(source)}/{id_of(target)}")["edge"]
    assert {column["toColumn"].rpartition(".")[2] for column in stored["columnsLineage"]} == {"id", "email"}


@check("patch_lineage_edge_by_name", "the SQL of an edge is added")
def _patch(world: World) -> None:
    source, target = world.table(), world.table()
    ends = _ends(source, target)
    world.metadata.add_lineage_by_name(**ends, lineage_details=_details(source, target, "id"))
    before, after = _details(source, target, "id"), _details(source, target, "id", sqlQuery="SELECT 2")
    assert world.metadata.patch_lineage_edge_by_name(**ends, original=before, updated=after) is True
    stored = world.metadata.client.get(f"/lineage/getLineageEdge/{id_of(source)}/{id_of(target)}")["edge"]
    assert stored["sqlQuery"] == "SELECT 2"


@check("delete_lineage_by_name", "the edge goes")
def _delete(world: World) -> None:
    source, target = world.table(), world.table()
    world.metadata.add_lineage(edge(source, target))
    world.metadata.delete_lineage_by_name(**_ends(source, target))
    assert _edges_to(world, target) == []


@check("delete_lineage_by_source_by_name", "the edges of one source go, others stay")
def _deleted_by_source(world: World) -> None:
    source, two, target = world.table(), world.table(), world.table()
    world.metadata.add_lineage(edge(source, target, source="ViewLineage"))
    world.metadata.add_lineage(edge(two, target, source="Manual"))
    world.metadata.delete_lineage_by_source_by_name("table", text(target.fullyQualifiedName), "ViewLineage")
    assert _edges_to(world, target) == [id_of(two)]


def _edges_to(world: World, table: Any) -> list[str]:
    lineage = world.metadata.get_lineage_by_name(Table, text(table.fullyQualifiedName))
    return [found["fromEntity"] for found in lineage["upstreamEdges"]]


@check("delete_async restore_async", "both are done when the server answers, with the id of a job")
def _asynchronous(world: World) -> None:
    table, name = world.table(), lambda: world.metadata.get_by_name(Table, text(table.fullyQualifiedName))
    assert set(world.metadata.delete_async(Table, table.id)) == {"jobId", "message"}
    assert name() is None
    assert set(world.metadata.restore_async(Table, table.id)) == {"jobId", "message"}
    assert name().id == table.id


@check("delete_stale_entities", "what a connector no longer sees in its scope is soft-deleted")
def _stale(world: World) -> None:
    from metadata.generated.schema.api.data.createDatabaseSchema import CreateDatabaseSchemaRequest

    schema = world.metadata.create_or_update(CreateDatabaseSchemaRequest(name=world.name("schema"), database="pg.shop"))
    scope = text(schema.fullyQualifiedName)
    tables = [world.table(databaseSchema=scope) for _ in range(6)]
    live = [text(table.fullyQualifiedName) for table in tables[1:]]
    result = world.metadata.delete_stale_entities(Table, {"databaseSchema": scope}, live)
    assert (result.numberOfRowsPassed.root, result.numberOfRowsFailed.root) == (1, 0), result
    assert world.metadata.get_by_name(Table, text(tables[0].fullyQualifiedName)) is None
    assert all(world.metadata.get_by_name(Table, fqn) for fqn in live)


@check("create_thread list_threads get_thread list_posts", "a conversation about a table")
def _thread(world: World) -> None:
    table = world.table()
    link = f"<#E::table::{text(table.fullyQualifiedName)}>"
    thread = world.metadata.create_thread(CreateThreadRequest(message="Who fills this?", about=link))
    listed = world.metadata.list_threads(entity_link=link, limit=5)
    assert ([thread.id for thread in listed.entities], listed.total) == ([thread.id], 1)
    world.metadata.client.post(f"/feed/{id_of(thread)}/posts", '{"message": "We do."}')
    assert [post.message for post in world.metadata.get_thread(thread.id.root).posts] == ["We do."]
    assert [post.message for post in world.metadata.list_posts(thread.id.root).entities] == ["We do."]


@check("get_topic_sample_data", "messages of a topic are read")
def _messages(world: World) -> None:
    topic = world.entities["Topic placed"]
    world.metadata.ingest_topic_sample_data(topic, TopicSampleData(messages=["one", "two"]))
    assert world.metadata.get_topic_sample_data(topic).sampleData.messages == ["one", "two"]


@check("bulk_create_or_update", "override_metadata: an administrator's bot replaces what is there")
def _overridden(world: World) -> None:
    from metadata.generated.schema.api.data.createTable import CreateTableRequest

    table = world.table(description="Old.")
    columns = [{"name": "id", "dataType": "BIGINT"}]
    request = CreateTableRequest(
        name=text(table.name), databaseSchema="pg.shop.public", columns=columns, description="New."
    )
    result = world.metadata.bulk_create_or_update([request], override_metadata=True)
    assert result.numberOfRowsFailed.root == 0, result
    assert text(world.metadata.get_by_id(Table, table.id).description) == "New."


@check("es_get_lineage_processed_queries", "queries whose lineage is known, by their checksums")
def _mark_processed(world: World) -> None:
    from metadata.generated.schema.api.data.createQuery import CreateQueryRequest

    sql = f"SELECT 1 AS {world.name('a')}"
    query = world.metadata.create_or_update(CreateQueryRequest(query=sql, service="pg", processedLineage=True))
    read = wait_until_indexed(world, "query", world.metadata.get_by_id(Query, query.id))
    processed = world.metadata.es_get_lineage_processed_queries("pg", [read.checksum, "0" * 32])
    assert processed == {read.checksum: set()}


@check("es_get_upstream_entity_ids", "the ids of what a table is made from")
def _upstream(world: World) -> None:
    source, target, lone = world.table(), world.table(), world.table()
    world.metadata.add_lineage(edge(source, target))
    for table in (target, lone):
        wait_until_indexed(world, "table", table)

    def upstream() -> Any:
        return world.metadata.es_get_upstream_entity_ids(Table, [id_of(target), id_of(lone)])

    until(lambda: any(upstream().values()))
    assert upstream() == {id_of(target): {id_of(source)}, id_of(lone): set()}


@check("get_context", "a table as a markdown document")
def _context(world: World) -> None:
    table = world.table(description="Every order.")
    context = world.metadata.get_context(Table, text(table.fullyQualifiedName))
    assert "Every order." in context and "email" in context and context.startswith("# ")
    assert status_of_refusal(lambda: world.metadata.get_context(Table, "pg.shop.public.nowhere")) == 404
