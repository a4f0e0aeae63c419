"""Checks of what the client can do since 2.0: lineage by name, stale entities, threads, incidents as tasks."""

from __future__ import annotations

from typing import Any

from checks.checking import CheckSetup, check, id_of, status_of_refusal, text, until
from checks.lineage import edge
from checks.quality import failing_case
from checks.search import wait_until_indexed
from metadata.generated.schema.api.feed.createThread import CreateThreadRequest
from metadata.generated.schema.entity.activity.activityEvent import ActivityEvent, ActivityEventType
from metadata.generated.schema.entity.data.query import Query
from metadata.generated.schema.entity.data.table import Table
from metadata.generated.schema.entity.data.topic import TopicSampleData
from metadata.generated.schema.entity.tasks.task import Task as StrictTask
from metadata.generated.schema.type.entityLineage import ColumnLineage, LineageDetails
from metadata.ingestion.ometa.task_models import ResolveTaskRequest, TaskCategory, TaskEntityStatus

_ENDS = ("from_entity_fqn", "from_entity_type", "to_entity_fqn", "to_entity_type")


def _ends(source: Any, target: Any) -> dict[str, str]:
    names = (text(source.fullyQualifiedName), "table", text(target.fullyQualifiedName), "table")
    return dict(zip(_ENDS, names, strict=True))


def _details(source: Any, target: Any, column: str, **fields: Any) -> LineageDetails:
    ends = [f"{text(table.fullyQualifiedName)}.{column}" for table in (source, target)]
    return LineageDetails(columnsLineage=[ColumnLineage(fromColumns=ends[:1], toColumn=ends[1])], **fields)


@check("add_lineage_by_name get_lineage_edge_by_name", "an edge with SQL and columns, by the names of its ends")
def _add(setup: CheckSetup) -> None:
    source, target = setup.table(), setup.table()
    ends, details = _ends(source, target), _details(source, target, "id", sqlQuery="INSERT INTO b SELECT * FROM a")
    answered = setup.metadata.add_lineage_by_name(**ends, lineage_details=details)
    assert answered["entity"]["fullyQualifiedName"] == ends["from_entity_fqn"]
    stored = setup.metadata.get_lineage_edge_by_name(**ends)["edge"]
    assert stored["sqlQuery"] == "INSERT INTO b SELECT * FROM a"
    assert [column["toColumn"] for column in stored["columnsLineage"]] == [f"{ends['to_entity_fqn']}.id"]


@check("add_lineage_by_name", "with check_patch: columns join those that are there")
def _merge(setup: CheckSetup) -> None:
    source, target = setup.table(), setup.table()
    ends = _ends(source, target)
    setup.metadata.add_lineage_by_name(**ends, lineage_details=_details(source, target, "id"))
    setup.metadata.add_lineage_by_name(**ends, lineage_details=_details(source, target, "email"), check_patch=True)
    stored = setup.metadata.client.get(f"/lineage/getLineageEdge/{id_of(source)}/{id_of(target)}")["edge"]
    assert {column["toColumn"].rpartition(".")[2] for column in stored["columnsLineage"]} == {"id", "email"}


@check("patch_lineage_edge_by_name", "the SQL of an edge is added")
def _patch(setup: CheckSetup) -> None:
    source, target = setup.table(), setup.table()
    ends = _ends(source, target)
    setup.metadata.add_lineage_by_name(**ends, lineage_details=_details(source, target, "id"))
    before, after = _details(source, target, "id"), _details(source, target, "id", sqlQuery="SELECT 2")
    assert setup.metadata.patch_lineage_edge_by_name(**ends, original=before, updated=after) is True
    stored = setup.metadata.client.get(f"/lineage/getLineageEdge/{id_of(source)}/{id_of(target)}")["edge"]
    assert stored["sqlQuery"] == "SELECT 2"


@check("delete_lineage_by_name", "the edge goes")
def _delete(setup: CheckSetup) -> None:
    source, target = setup.table(), setup.table()
    setup.metadata.add_lineage(edge(source, target))
    setup.metadata.delete_lineage_by_name(**_ends(source, target))
    assert _edges_to(setup, target) == []


@check("delete_lineage_by_source_by_name", "the edges of one source go, others stay")
def _deleted_by_source(setup: CheckSetup) -> None:
    source, two, target = setup.table(), setup.table(), setup.table()
    setup.metadata.add_lineage(edge(source, target, source="ViewLineage"))
    setup.metadata.add_lineage(edge(two, target, source="Manual"))
    setup.metadata.delete_lineage_by_source_by_name("table", text(target.fullyQualifiedName), "ViewLineage")
    assert _edges_to(setup, target) == [id_of(two)]


def _edges_to(setup: CheckSetup, table: Any) -> list[str]:
    lineage = setup.metadata.get_lineage_by_name(Table, text(table.fullyQualifiedName))
    return [found["fromEntity"] for found in lineage["upstreamEdges"]]


@check("delete_async restore_async", "both are done when the server answers, with the id of a job")
def _asynchronous(setup: CheckSetup) -> None:
    table, name = setup.table(), lambda: setup.metadata.get_by_name(Table, text(table.fullyQualifiedName))
    assert set(setup.metadata.delete_async(Table, table.id)) == {"jobId", "message"}
    assert name() is None
    assert set(setup.metadata.restore_async(Table, table.id)) == {"jobId", "message"}
    assert name().id == table.id


@check("delete_stale_entities", "what a connector no longer sees in its scope is soft-deleted")
def _stale(setup: CheckSetup) -> None:
    from metadata.generated.schema.api.data.createDatabaseSchema import CreateDatabaseSchemaRequest

    schema = setup.metadata.create_or_update(CreateDatabaseSchemaRequest(name=setup.name("schema"), database="pg.shop"))
    scope = text(schema.fullyQualifiedName)
    tables = [setup.table(databaseSchema=scope) for _ in range(6)]
    live = [text(table.fullyQualifiedName) for table in tables[1:]]
    result = setup.metadata.delete_stale_entities(Table, {"databaseSchema": scope}, live)
    assert (result.numberOfRowsPassed.root, result.numberOfRowsFailed.root) == (1, 0), result
    assert setup.metadata.get_by_name(Table, text(tables[0].fullyQualifiedName)) is None
    assert all(setup.metadata.get_by_name(Table, fqn) for fqn in live)


@check("create_thread list_threads get_thread list_posts", "a conversation about a table")
def _thread(setup: CheckSetup) -> None:
    table = setup.table()
    link = f"<#E::table::{text(table.fullyQualifiedName)}>"
    thread = setup.metadata.create_thread(CreateThreadRequest(message="Who fills this?", about=link))
    listed = setup.metadata.list_threads(entity_link=link, limit=5)
    assert ([thread.id for thread in listed.entities], listed.total) == ([thread.id], 1)
    setup.metadata.client.post(f"/feed/{id_of(thread)}/posts", '{"message": "We do."}')
    assert [post.message for post in setup.metadata.get_thread(thread.id.root).posts] == ["We do."]
    assert [post.message for post in setup.metadata.list_posts(thread.id.root).entities] == ["We do."]


@check("get_topic_sample_data", "messages of a topic are read")
def _messages(setup: CheckSetup) -> None:
    topic = setup.entities["Topic placed"]
    setup.metadata.ingest_topic_sample_data(topic, TopicSampleData(messages=["one", "two"]))
    assert setup.metadata.get_topic_sample_data(topic).sampleData.messages == ["one", "two"]


@check("bulk_create_or_update", "override_metadata: an administrator's bot replaces what is there")
def _overridden(setup: CheckSetup) -> None:
    from metadata.generated.schema.api.data.createTable import CreateTableRequest

    table = setup.table(description="Old.")
    columns = [{"name": "id", "dataType": "BIGINT"}]
    request = CreateTableRequest(
        name=text(table.name), databaseSchema="pg.shop.public", columns=columns, description="New."
    )
    result = setup.metadata.bulk_create_or_update([request], override_metadata=True)
    assert result.numberOfRowsFailed.root == 0, result
    assert text(setup.metadata.get_by_id(Table, table.id).description) == "New."


@check("es_get_lineage_processed_queries", "queries whose lineage is known, by their checksums")
def _mark_processed(setup: CheckSetup) -> None:
    from metadata.generated.schema.api.data.createQuery import CreateQueryRequest

    sql = f"SELECT 1 AS {setup.name('a')}"
    query = setup.metadata.create_or_update(CreateQueryRequest(query=sql, service="pg", processedLineage=True))
    read = wait_until_indexed(setup, "query", setup.metadata.get_by_id(Query, query.id))
    processed = setup.metadata.es_get_lineage_processed_queries("pg", [read.checksum, "0" * 32])
    assert processed == {read.checksum: set()}


@check("es_get_upstream_entity_ids", "the ids of what a table is made from")
def _upstream(setup: CheckSetup) -> None:
    source, target, lone = setup.table(), setup.table(), setup.table()
    setup.metadata.add_lineage(edge(source, target))
    for table in (target, lone):
        wait_until_indexed(setup, "table", table)

    def upstream() -> Any:
        return setup.metadata.es_get_upstream_entity_ids(Table, [id_of(target), id_of(lone)])

    until(lambda: any(upstream().values()))
    assert upstream() == {id_of(target): {id_of(source)}, id_of(lone): set()}


@check("get_context", "a table as a markdown document")
def _context(setup: CheckSetup) -> None:
    table = setup.table(description="Every order.")
    context = setup.metadata.get_context(Table, text(table.fullyQualifiedName))
    assert "Every order." in context and "email" in context and context.startswith("# ")
    assert status_of_refusal(lambda: setup.metadata.get_context(Table, "pg.shop.public.nowhere")) == 404


@check(
    "list_tasks get_task resolve_task",
    "the incident of a failed test is a task, acknowledged and resolved with a reason",
)
def _incident_task(setup: CheckSetup) -> None:
    case = failing_case(setup)
    task_page = setup.metadata.list_tasks(
        category=TaskCategory.Incident, status=TaskEntityStatus.Open, about_entity=text(case.fullyQualifiedName)
    )
    (task,) = task_page.entities
    assert (task_page.total, text(task.about.fullyQualifiedName)) == (1, text(case.fullyQualifiedName))
    assert [one.id for one in task.availableTransitions] == ["ack", "assign", "resolve"]
    acknowledged_task = setup.metadata.resolve_task(id_of(task), ResolveTaskRequest(transitionId="ack"))
    assert (acknowledged_task.status, acknowledged_task.workflowStageId) == (TaskEntityStatus.InProgress, "ack")
    reason = {"testCaseFailureReason": "MissingData"}
    request = ResolveTaskRequest(transitionId="resolve", comment="the feed was late", payload=reason)
    assert setup.metadata.resolve_task(id_of(task), request).resolution.comment == "the feed was late"
    read = setup.metadata.get_task(id_of(task))
    assert (read.status, read.payload["failureReason"]) == (TaskEntityStatus.Completed, "MissingData")
    assert read.availableTransitions == []
    StrictTask.model_validate(setup.metadata.client.get(f"/tasks/{id_of(task)}"))


@check("", "activity is read by its strict model: an event for each changed field")
def _activity(setup: CheckSetup) -> None:
    table = setup.table()
    setup.metadata.patch_description(Table, table, "Every order.", force=True)
    name = text(table.fullyQualifiedName)
    client = setup.metadata.client
    paths = [f"/entity/table/{id_of(table)}", f"/entity/table/name/{name}", "/my-feed", "/following", ""]
    pages = [client.get(f"/activity{path}")["data"] for path in paths]
    events = [[ActivityEvent.model_validate(one) for one in page] for page in pages]
    assert [one.eventType for one in events[0]] == [
        ActivityEventType.DescriptionUpdated,
        ActivityEventType.EntityCreated,
    ]
    assert (events[0][0].newValue, events[0][0].actor.type) == ("Every order.", "user")
    assert events[1] == events[0]
    actor = events[0][0].actor.id.root
    by_actor = [ActivityEvent.model_validate(one) for one in client.get(f"/activity/user/{actor}")["data"]]
    assert by_actor[0] == events[0][0]
    assert client.get("/activity/count") > 1
