"""Checks of runs of pipelines and of ingestion pipelines, of tasks, and of queries with their users and costs."""

from __future__ import annotations

import time
import uuid
from typing import Any

from checks.checking import CheckSetup, check, id_of, text
from checks.every_type import new
from metadata.generated.schema.api.data.createQuery import CreateQueryRequest
from metadata.generated.schema.entity.data.pipeline import Pipeline, PipelineStatus, StatusType, Task, TaskStatus
from metadata.generated.schema.entity.data.query import Query
from metadata.generated.schema.entity.services.ingestionPipelines.ingestionPipeline import PipelineState
from metadata.generated.schema.entity.services.ingestionPipelines.ingestionPipeline import (
    PipelineStatus as IngestionStatus,
)
from metadata.generated.schema.type.basic import Timestamp
from metadata.generated.schema.type.tableUsageCount import QueryCostWrapper

NOW = int(time.time() * 1000)


def _run(offset: int, status: StatusType) -> PipelineStatus:
    at = Timestamp(NOW + offset)
    task = TaskStatus(name="load", executionStatus=status, startTime=at, endTime=at)
    return PipelineStatus(timestamp=at, executionStatus=status, taskStatus=[task])


def _report_run(setup: CheckSetup, run_id: str, state: PipelineState = PipelineState.success) -> str:
    fqn = text(new(setup, "IngestionPipeline", "agent").fullyQualifiedName)
    status = IngestionStatus(runId=run_id, pipelineState=state, startDate=Timestamp(NOW), timestamp=Timestamp(NOW))
    setup.metadata.create_or_update_pipeline_status(fqn, status)
    return fqn


@check("add_pipeline_status", "a run with its tasks is the latest of its pipeline")
def _status(setup: CheckSetup) -> None:
    pipeline = new(setup, "Pipeline", "pipeline")
    fqn = text(pipeline.fullyQualifiedName)
    assert setup.metadata.add_pipeline_status(fqn, _run(0, StatusType.Failed)).id == pipeline.id
    read = setup.metadata.get_by_id(Pipeline, pipeline.id, fields=["pipelineStatus"]).pipelineStatus
    assert (read.executionStatus, read.taskStatus[0].name) == (StatusType.Failed, "load")


@check("add_bulk_pipeline_status list_pipeline_statuses", "many runs at once, read by their time")
def _bulk(setup: CheckSetup) -> None:
    fqn = text(new(setup, "Pipeline", "pipeline").fullyQualifiedName)
    setup.metadata.add_bulk_pipeline_status(fqn, [_run(at, StatusType.Successful) for at in range(4)])
    assert len(setup.metadata.list_pipeline_statuses(fqn, NOW - 1, NOW + 9)) == 4
    assert len(setup.metadata.list_pipeline_statuses(fqn, NOW + 1, NOW + 2)) == 2
    assert [one.timestamp.root for one in setup.metadata.list_pipeline_statuses(fqn, NOW, NOW + 9, limit=1)] == [
        NOW + 3
    ]


@check("add_task_to_pipeline", "a task is added to those that are there")
def _task(setup: CheckSetup) -> None:
    pipeline = new(setup, "Pipeline", "pipeline")
    read = setup.metadata.get_by_id(Pipeline, pipeline.id, fields=["tasks"])
    setup.metadata.add_task_to_pipeline(read, Task(name="publish"))
    tasks = setup.metadata.get_by_id(Pipeline, pipeline.id, fields=["tasks"]).tasks
    assert {one.name for one in tasks} == {"load", "check", "publish"}


@check("clean_pipeline_tasks", "only the tasks that are named stay")
def _tasks(setup: CheckSetup) -> None:
    pipeline = new(setup, "Pipeline", "pipeline")
    read = setup.metadata.get_by_id(Pipeline, pipeline.id, fields=["tasks"])
    setup.metadata.clean_pipeline_tasks(read, ["load"])
    tasks = setup.metadata.get_by_id(Pipeline, pipeline.id, fields=["tasks"]).tasks
    assert [one.name for one in tasks] == ["load"]


@check("create_or_update_pipeline_status get_pipeline_status", "a run of an ingestion pipeline by its id")
def _ingestion(setup: CheckSetup) -> None:
    run_id = str(uuid.uuid4())
    read = setup.metadata.get_pipeline_status(_report_run(setup, run_id), run_id)
    assert (read.runId, read.pipelineState) == (run_id, PipelineState.success)


@check("get_pipeline_status", "None for a run that has not reported yet")
def _no_run(setup: CheckSetup) -> None:
    fqn = text(new(setup, "IngestionPipeline", "agent").fullyQualifiedName)
    assert setup.metadata.get_pipeline_status(fqn, str(uuid.uuid4())) is None


@check("get_pipeline_status_between_ts create_or_update_pipeline_status", "the runs of a time range, a run once")
def _runs_between(setup: CheckSetup) -> None:
    run_id = str(uuid.uuid4())
    fqn = _report_run(setup, run_id, PipelineState.running)
    ended_run = IngestionStatus(runId=run_id, pipelineState=PipelineState.failed, timestamp=Timestamp(NOW))
    setup.metadata.create_or_update_pipeline_status(fqn, ended_run)
    runs = setup.metadata.get_pipeline_status_between_ts(fqn, NOW - 1, NOW + 1)
    assert [one.pipelineState for one in runs] == [PipelineState.failed]


@check("get_by_name create_or_update_pipeline_status", "an ingestion pipeline is read with its last runs")
def _listed_runs(setup: CheckSetup) -> None:
    pipeline = new(setup, "IngestionPipeline", "runner")
    fqn = text(pipeline.fullyQualifiedName)
    run = IngestionStatus(runId="1f0e", pipelineState=PipelineState.success, timestamp=Timestamp(NOW))
    setup.metadata.create_or_update_pipeline_status(fqn, run)
    runs = setup.metadata.get_by_name(type(pipeline), fqn, fields=["*"]).pipelineStatuses
    assert [one.runId for one in (runs if isinstance(runs, list) else [runs])] == ["1f0e"]


@check("extract_pipeline_id_from_fqn", "the id of an ingestion pipeline")
def _id(setup: CheckSetup) -> None:
    pipeline = new(setup, "IngestionPipeline", "agent")
    assert setup.metadata.extract_pipeline_id_from_fqn(text(pipeline.fullyQualifiedName)) == id_of(pipeline)


def _queries(setup: CheckSetup, table: Any, sql: str) -> None:
    request = CreateQueryRequest(query=sql, service="pg", users=["olga"], usedBy=["ann"], dialect="postgres")
    setup.metadata.ingest_entity_queries_data(table, [request])


@check("ingest_entity_queries_data get_entity_queries", "a query of a table, with its users, literals masked")
def _query(setup: CheckSetup) -> None:
    table = setup.table()
    _queries(setup, table, f"SELECT * FROM {text(table.name)} WHERE id = 4711")
    (query,) = setup.metadata.get_entity_queries(table.id, fields=["queryUsedIn", "users"])
    assert "4711" not in text(query.query)
    assert [one.id for one in query.queryUsedIn.root] == [table.id]
    assert ([one.name for one in query.users], query.usedBy) == (["olga"], ["ann"])


@check("ingest_entity_queries_data", "the same query again is one query")
def _query_again(setup: CheckSetup) -> None:
    table = setup.table()
    for _ in range(2):
        _queries(setup, table, f"SELECT id FROM {text(table.name)}")
    assert len(setup.metadata.get_entity_queries(table.id)) == 1


@check("publish_query_cost", "what a query costs")
def _cost(setup: CheckSetup) -> None:
    table = setup.table()
    sql = f"SELECT email FROM {text(table.name)}"
    _queries(setup, table, sql)
    cost = QueryCostWrapper(cost=1.5, count=3, date=str(NOW), query=sql, dialect="postgres", totalDuration=9)
    answered = setup.metadata.publish_query_cost(cost, "pg")
    (query,) = setup.metadata.get_entity_queries(table.id)
    assert answered["cost"] == 1.5
    assert type(query) is Query and answered["queryReference"]["id"] == id_of(query)
