"""Checks of what is reported about tables, containers, topics and indexes: samples, profiles, models, joins, usage."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Any

from checks.checking import World, check, id_of, id_of_ref, reference, status_of_refusal, text
from checks.every_type import new
from metadata.generated.schema.api.data.createContainer import CreateContainerRequest
from metadata.generated.schema.api.data.createTable import CreateTableRequest
from metadata.generated.schema.api.data.createTableProfile import CreateTableProfileRequest
from metadata.generated.schema.api.tests.createCustomMetric import CreateCustomMetricRequest
from metadata.generated.schema.entity.data.container import Container
from metadata.generated.schema.entity.data.dashboard import Dashboard
from metadata.generated.schema.entity.data.pipeline import Pipeline
from metadata.generated.schema.entity.data.searchIndex import SearchIndexSampleData
from metadata.generated.schema.entity.data.table import (
    ColumnJoins,
    ColumnProfile,
    ColumnProfilerConfig,
    DataModel,
    JoinedWith,
    ModelType,
    SystemProfile,
    Table,
    TableData,
    TableJoins,
    TableProfile,
    TableProfilerConfig,
)
from metadata.generated.schema.entity.data.topic import TopicSampleData
from metadata.generated.schema.entity.services.pipelineService import PipelineServiceType
from metadata.generated.schema.type.basic import Timestamp
from metadata.generated.schema.type.entityProfile import ProfileTypeEnum
from metadata.generated.schema.type.pipelineObservability import LastRunStatus, PipelineObservability
from metadata.generated.schema.type.usageRequest import UsageRequest
from speaking import put

NOW = int(time.time() * 1000)
TODAY = datetime.now(UTC).strftime("%Y-%m-%d")
_SAMPLED = {"sampleConfigType": "STATIC", "config": {"profileSample": 10, "profileSampleType": "PERCENTAGE"}}
_ROWS = TableData(columns=["id", "email"], rows=[[1, "a@example.org"], [2, None]])


def _profiled_table(world: World) -> Any:
    table = world.table()
    request = CreateTableProfileRequest(
        tableProfile=TableProfile(timestamp=Timestamp(NOW), rowCount=42, columnCount=3),
        columnProfile=[ColumnProfile(name="email", timestamp=Timestamp(NOW), uniqueCount=40, nullCount=2)],
        systemProfile=[SystemProfile(timestamp=Timestamp(NOW), operation="INSERT", rowsAffected=7)],
    )
    assert world.metadata.ingest_profile_data(table, request).id == table.id
    return table


@check("ingest_table_sample_data get_sample_data", "rows are kept and read")
def _sample(world: World) -> None:
    table = world.table()
    assert world.metadata.ingest_table_sample_data(table, _ROWS).rows == [[1, "a@example.org"], [2, None]]
    read = world.metadata.get_sample_data(table)
    assert ([text(one) for one in read.sampleData.columns], len(read.sampleData.rows)) == (["id", "email"], 2)


@check("delete_sample_data", "rows go")
def _no_sample(world: World) -> None:
    table = world.table()
    world.metadata.ingest_table_sample_data(table, _ROWS)
    world.metadata.delete_sample_data(table)
    assert world.metadata.get_sample_data(table).sampleData is None


@check("ingest_profile_data get_latest_table_profile", "the latest profile of a table and of its columns")
def _latest(world: World) -> None:
    read = world.metadata.get_latest_table_profile(_profiled_table(world).fullyQualifiedName)
    assert (read.profile.rowCount, read.profile.columnCount) == (42, 3)
    assert {text(one.name): one.profile for one in read.columns}["email"].uniqueCount == 40


@check("get_profile_data", "the profiles of a table in a time range")
def _table_profiles(world: World) -> None:
    fqn = text(_profiled_table(world).fullyQualifiedName)
    listed = world.metadata.get_profile_data(fqn, NOW - 1, NOW + 1, profile_type=TableProfile)
    assert [(one.rowCount, one.timestamp.root) for one in listed.entities] == [(42, NOW)]
    assert world.metadata.get_profile_data(fqn, NOW - 9, NOW - 1, profile_type=TableProfile).entities == []


@check("get_profile_data", "the profiles of a column")
def _column_profiles(world: World) -> None:
    fqn = f"{text(_profiled_table(world).fullyQualifiedName)}.email"
    listed = world.metadata.get_profile_data(fqn, NOW - 1, NOW + 1, profile_type=ColumnProfile)
    assert [one.nullCount for one in listed.entities] == [2]


@check("get_profile_data", "the profiles of statements")
def _statement_profiles(world: World) -> None:
    fqn = text(_profiled_table(world).fullyQualifiedName)
    listed = world.metadata.get_profile_data(fqn, NOW - 1, NOW + 1, profile_type=SystemProfile)
    assert [one.rowsAffected for one in listed.entities] == [7]


@check("get_profile_data_by_type", "the profiles of all tables, and of one kind")
def _profiles_of_type(world: World) -> None:
    ids = {id_of(_profiled_table(world)) for _ in range(2)}
    listed = world.metadata.get_profile_data_by_type(Table, NOW, NOW, ProfileTypeEnum.column)
    assert ids <= {id_of_ref(one.entityReference) for one in listed.entities}
    assert {type(one.profileData) for one in listed.entities} == {ColumnProfile}
    all_profiles = world.metadata.get_profile_data_by_type(Table, NOW, NOW)
    assert {one.profileType for one in all_profiles.entities} == set(ProfileTypeEnum)
    assert all_profiles.total == 3 * listed.total


@check("ingest_table_data_model", "the model of dbt, with its SQL")
def _model(world: World) -> None:
    table = world.table()
    model = DataModel(modelType=ModelType.DBT, sql="SELECT 1", columns=[], path="models/orders.sql")
    assert world.metadata.ingest_table_data_model(table, model).dataModel.path == "models/orders.sql"
    read = world.metadata.get_by_id(Table, table.id, fields=["dataModel"])
    assert text(read.dataModel.sql) == "SELECT 1"


@check("publish_table_usage", "the usage of a day")
def _usage(world: World) -> None:
    table = world.table()
    world.metadata.publish_table_usage(table, UsageRequest(date=TODAY, count=10))
    assert world.metadata.get_by_id(Table, table.id, fields=["usageSummary"]).usageSummary.dailyStats.count == 10


@check("compute_percentile publish_table_usage", "the percentile of tables, databases and dashboards")
def _percentile(world: World) -> None:
    table = world.table()
    world.metadata.publish_table_usage(table, UsageRequest(date=TODAY, count=1000))
    for kind in ("table", "database", Dashboard):
        world.metadata.compute_percentile(kind, TODAY)
    usage = world.metadata.get_by_id(Table, table.id, fields=["usageSummary"]).usageSummary
    assert usage.dailyStats.percentileRank > 50


@check("publish_dashboard_usage", "usage adds up over a day")
def _dashboard_usage(world: World) -> None:
    dashboard = world.entities["Dashboard sales"]
    for _ in range(2):
        world.metadata.publish_dashboard_usage(dashboard, UsageRequest(date=TODAY, count=4))
    read = world.metadata.get_by_id(Dashboard, dashboard.id, fields=["usageSummary"])
    assert read.usageSummary.dailyStats.count == 8


@check("publish_pipeline_usage", "the usage of a pipeline")
def _pipeline_usage(world: World) -> None:
    pipeline = world.entities["Pipeline nightly"]
    world.metadata.publish_pipeline_usage(pipeline, UsageRequest(date=TODAY, count=3))
    read = world.metadata.get_by_id(Pipeline, pipeline.id, fields=["usageSummary"])
    assert read.usageSummary.dailyStats.count == 3


@check("publish_frequently_joined_with", "joins of columns, on both sides")
def _joins(world: World) -> None:
    left_table, right_table = world.table(), world.table()
    joined = JoinedWith(fullyQualifiedName=f"{text(right_table.fullyQualifiedName)}.id", joinCount=5)
    joins = TableJoins(startDate=TODAY, dayCount=1, columnJoins=[ColumnJoins(columnName="id", joinedWith=[joined])])
    world.metadata.publish_frequently_joined_with(left_table, joins)
    for table in (left_table, right_table):
        read = world.metadata.get_by_id(Table, table.id, fields=["joins"]).joins
        assert [join.joinedWith[0].joinCount for join in read.columnJoins] == [5]


@check("publish_frequently_joined_with", "a day that is long over is refused with 400")
def _old_joins(world: World) -> None:
    table = world.table()
    old = (datetime.now(UTC) - timedelta(days=40)).strftime("%Y-%m-%d")
    joins = TableJoins(startDate=old, dayCount=1, columnJoins=[])
    assert status_of_refusal(lambda: world.metadata.publish_frequently_joined_with(table, joins)) == 400


@check("create_or_update_table_profiler_config", "the configuration of the profiler is kept")
def _profiler(world: World) -> None:
    table = world.table()
    config = TableProfilerConfig(includeColumns=[ColumnProfilerConfig(columnName="email")], profileQuery="SELECT 1")
    world.metadata.create_or_update_table_profiler_config(text(table.fullyQualifiedName), config)
    read = world.metadata.get_by_id(Table, table.id, fields=["tableProfilerConfig"]).tableProfilerConfig
    assert (text(read.profileQuery), read.includeColumns[0].columnName) == ("SELECT 1", "email")


@check("create_or_update_table_profiler_config", "how much of a table the profiler reads")
def _configure_sampling(world: World) -> None:
    table = world.table()
    config = TableProfilerConfig(profileSampleConfig=_SAMPLED)
    world.metadata.create_or_update_table_profiler_config(text(table.fullyQualifiedName), config)
    read = world.metadata.get_by_id(Table, table.id, fields=["tableProfilerConfig"]).tableProfilerConfig
    assert read.profileSampleConfig is not None and read.profileSampleConfig == config.profileSampleConfig


@check("create_or_update_custom_metric", "a metric of a table, and one of a column")
def _metric(world: World) -> None:
    table = world.table()
    for column in (None, "email"):
        request = CreateCustomMetricRequest(name="rows", expression="SELECT count(*)", columnName=column)
        world.metadata.create_or_update_custom_metric(request, id_of(table))
    read = world.metadata.get_by_id(Table, table.id, fields=["customMetrics", "columns"])
    assert [text(one.name) for one in read.customMetrics] == ["rows"]
    assert [text(one.name) for one in read.columns[1].customMetrics] == ["rows"]


@check("bulk_create_or_update_tables", "two tables in one request, again unchanged")
def _bulk(world: World) -> None:
    from metadata.generated.schema.api.data.bulkCreateTable import BulkCreateTable

    columns = [{"name": "a", "dataType": "INT"}]
    tables = [
        CreateTableRequest(name=world.name("table"), databaseSchema="pg.shop.public", columns=columns) for _ in range(2)
    ]
    for _ in range(2):
        result = world.metadata.bulk_create_or_update_tables(BulkCreateTable(tables=tables))
        assert (result.numberOfRowsPassed.root, result.numberOfRowsFailed.root) == (2, 0)
    table = world.metadata.get_by_name(Table, f"pg.shop.public.{text(tables[0].name)}")
    assert table.version.root == 0.1


@check("get_table_columns", "all columns, then one page of them")
def _columns(world: World) -> None:
    fqn = text(world.table().fullyQualifiedName)
    assert [text(one.name) for one in world.metadata.get_table_columns(fqn)] == ["id", "email", "address"]
    page = world.metadata.get_table_columns(fqn, fields=["tags"], params={"limit": "1", "offset": "1"})
    assert [text(one.name) for one in page] == ["email"]


def _ran(world: World, pipeline: Any, status: LastRunStatus) -> PipelineObservability:
    pipeline_reference = world.metadata.get_entity_reference(Pipeline, text(pipeline.fullyQualifiedName))
    return PipelineObservability(
        pipeline=pipeline_reference,
        serviceType=PipelineServiceType.Airflow,
        lastRunTime=Timestamp(NOW),
        lastRunStatus=status,
        averageRunTime=12.5,
    )


@check("add_pipeline_observability", "when the pipelines of a table ran last, and how they ended")
def _pipelines(world: World) -> None:
    table, pipelines = world.table(), [new(world, "Pipeline", "pipeline") for _ in range(2)]
    runs = [_ran(world, one, LastRunStatus.Successful) for one in pipelines]
    answered = world.metadata.add_pipeline_observability(table.id, runs)
    assert {id_of_ref(one.pipeline) for one in answered.pipelineObservability} == {id_of(one) for one in pipelines}
    read = world.metadata.get_by_id(Table, table.id, fields=["pipelineObservability"]).pipelineObservability
    assert [(one.lastRunStatus, one.averageRunTime) for one in read] == [(LastRunStatus.Successful, 12.5)] * 2
    served = Table(**world.metadata.client.get(f"/tables/{id_of(table)}/pipelineObservability"))
    assert served.pipelineObservability == read


@check("add_single_pipeline_observability", "one pipeline of a table anew, the others stay")
def _one_pipeline(world: World) -> None:
    table, pipelines = world.table(), [new(world, "Pipeline", "pipeline") for _ in range(2)]
    for pipeline, status in zip((*pipelines, pipelines[0]), ("Successful", "Successful", "Failed"), strict=True):
        run = _ran(world, pipeline, LastRunStatus(status))
        assert world.metadata.add_single_pipeline_observability(table.id, run).id == table.id
    read = world.metadata.get_by_id(Table, table.id, fields=["pipelineObservability"]).pipelineObservability
    status_by_pipeline = {id_of_ref(one.pipeline): one.lastRunStatus.value for one in read}
    assert status_by_pipeline == {id_of(pipelines[0]): "Failed", id_of(pipelines[1]): "Successful"}


@check("ingest_container_sample_data get_container_sample_data", "rows of a container")
def _container(world: World) -> None:
    model = {"columns": [{"name": "id", "dataType": "INT"}, {"name": "email", "dataType": "STRING"}]}
    request = {"service": "s3", "dataModel": model}
    container = put(world.metadata, CreateContainerRequest, world.name("bucket"), request)
    assert len(world.metadata.ingest_container_sample_data(container, _ROWS).rows) == 2
    assert world.metadata.get_container_sample_data(container).sampleData.rows[0] == [1, "a@example.org"]


@check("list_container_children", "a page of what a bucket holds")
def _children(world: World) -> None:
    parent = put(world.metadata, CreateContainerRequest, world.name("bucket"), {"service": "s3"})
    for _ in range(3):
        fields = {"service": "s3", "parent": reference(parent)}
        put(world.metadata, CreateContainerRequest, world.name("object"), fields)
    page = world.metadata.list_container_children(text(parent.fullyQualifiedName), limit=2)
    assert (len(page.entities), page.total) == (2, 3)
    assert all(type(one) is Container for one in page.entities)
    last_page = world.metadata.list_container_children(text(parent.fullyQualifiedName), limit=2, offset=2)
    assert len(last_page.entities) == 1


@check("ingest_topic_sample_data", "messages of a topic")
def _topic(world: World) -> None:
    sample = TopicSampleData(messages=['{"id": 1}', '{"id": 2}'])
    assert len(world.metadata.ingest_topic_sample_data(world.entities["Topic placed"], sample).messages) == 2


@check("ingest_search_index_sample_data", "messages of a search index")
def _index(world: World) -> None:
    sample = SearchIndexSampleData(messages=['{"id": 1}'])
    index_with_sample = world.metadata.ingest_search_index_sample_data(world.entities["SearchIndex orders_ix"], sample)
    assert index_with_sample.messages == ['{"id": 1}']
