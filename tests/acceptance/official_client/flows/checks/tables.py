"""Checks of what is reported about tables, containers, topics and indexes: samples, profiles, models, joins, usage."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Any

from checks.checking import CheckSetup, check, id_of, id_of_ref, reference, status_of_refusal, text
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


def _profiled_table(setup: CheckSetup) -> Any:
    table = setup.table()
    request = CreateTableProfileRequest(
        tableProfile=TableProfile(timestamp=Timestamp(NOW), rowCount=42, columnCount=3),
        columnProfile=[ColumnProfile(name="email", timestamp=Timestamp(NOW), uniqueCount=40, nullCount=2)],
        systemProfile=[SystemProfile(timestamp=Timestamp(NOW), operation="INSERT", rowsAffected=7)],
    )
    assert setup.metadata.ingest_profile_data(table, request).id == table.id
    return table


@check("ingest_table_sample_data get_sample_data", "rows are kept and read")
def _sample(setup: CheckSetup) -> None:
    table = setup.table()
    assert setup.metadata.ingest_table_sample_data(table, _ROWS).rows == [[1, "a@example.org"], [2, None]]
    read = setup.metadata.get_sample_data(table)
    assert ([text(one) for one in read.sampleData.columns], len(read.sampleData.rows)) == (["id", "email"], 2)


@check("delete_sample_data", "rows go")
def _no_sample(setup: CheckSetup) -> None:
    table = setup.table()
    setup.metadata.ingest_table_sample_data(table, _ROWS)
    setup.metadata.delete_sample_data(table)
    assert setup.metadata.get_sample_data(table).sampleData is None


@check("ingest_profile_data get_latest_table_profile", "the latest profile of a table and of its columns")
def _latest(setup: CheckSetup) -> None:
    read = setup.metadata.get_latest_table_profile(_profiled_table(setup).fullyQualifiedName)
    assert (read.profile.rowCount, read.profile.columnCount) == (42, 3)
    assert {text(one.name): one.profile for one in read.columns}["email"].uniqueCount == 40


@check("get_profile_data", "the profiles of a table in a time range")
def _table_profiles(setup: CheckSetup) -> None:
    fqn = text(_profiled_table(setup).fullyQualifiedName)
    listed = setup.metadata.get_profile_data(fqn, NOW - 1, NOW + 1, profile_type=TableProfile)
    assert [(one.rowCount, one.timestamp.root) for one in listed.entities] == [(42, NOW)]
    assert setup.metadata.get_profile_data(fqn, NOW - 9, NOW - 1, profile_type=TableProfile).entities == []


@check("get_profile_data", "the profiles of a column")
def _column_profiles(setup: CheckSetup) -> None:
    fqn = f"{text(_profiled_table(setup).fullyQualifiedName)}.email"
    listed = setup.metadata.get_profile_data(fqn, NOW - 1, NOW + 1, profile_type=ColumnProfile)
    assert [one.nullCount for one in listed.entities] == [2]


@check("get_profile_data", "the profiles of statements")
def _statement_profiles(setup: CheckSetup) -> None:
    fqn = text(_profiled_table(setup).fullyQualifiedName)
    listed = setup.metadata.get_profile_data(fqn, NOW - 1, NOW + 1, profile_type=SystemProfile)
    assert [one.rowsAffected for one in listed.entities] == [7]


@check("get_profile_data_by_type", "the profiles of all tables, and of one kind")
def _profiles_of_type(setup: CheckSetup) -> None:
    ids = {id_of(_profiled_table(setup)) for _ in range(2)}
    listed = setup.metadata.get_profile_data_by_type(Table, NOW, NOW, ProfileTypeEnum.column)
    assert ids <= {id_of_ref(one.entityReference) for one in listed.entities}
    assert {type(one.profileData) for one in listed.entities} == {ColumnProfile}
    all_profiles = setup.metadata.get_profile_data_by_type(Table, NOW, NOW)
    assert {one.profileType for one in all_profiles.entities} == set(ProfileTypeEnum)
    assert all_profiles.total == 3 * listed.total


@check("ingest_table_data_model", "the model of dbt, with its SQL")
def _model(setup: CheckSetup) -> None:
    table = setup.table()
    model = DataModel(modelType=ModelType.DBT, sql="SELECT 1", columns=[], path="models/orders.sql")
    assert setup.metadata.ingest_table_data_model(table, model).dataModel.path == "models/orders.sql"
    read = setup.metadata.get_by_id(Table, table.id, fields=["dataModel"])
    assert text(read.dataModel.sql) == "SELECT 1"


@check("publish_table_usage", "the usage of a day")
def _usage(setup: CheckSetup) -> None:
    table = setup.table()
    setup.metadata.publish_table_usage(table, UsageRequest(date=TODAY, count=10))
    assert setup.metadata.get_by_id(Table, table.id, fields=["usageSummary"]).usageSummary.dailyStats.count == 10


@check("compute_percentile publish_table_usage", "the percentile of tables, databases and dashboards")
def _percentile(setup: CheckSetup) -> None:
    table = setup.table()
    setup.metadata.publish_table_usage(table, UsageRequest(date=TODAY, count=1000))
    for kind in ("table", "database", Dashboard):
        setup.metadata.compute_percentile(kind, TODAY)
    usage = setup.metadata.get_by_id(Table, table.id, fields=["usageSummary"]).usageSummary
    assert usage.dailyStats.percentileRank > 50


@check("publish_dashboard_usage", "usage adds up over a day")
def _dashboard_usage(setup: CheckSetup) -> None:
    dashboard = setup.entities["Dashboard sales"]
    for _ in range(2):
        setup.metadata.publish_dashboard_usage(dashboard, UsageRequest(date=TODAY, count=4))
    read = setup.metadata.get_by_id(Dashboard, dashboard.id, fields=["usageSummary"])
    assert read.usageSummary.dailyStats.count == 8


@check("publish_pipeline_usage", "the usage of a pipeline")
def _pipeline_usage(setup: CheckSetup) -> None:
    pipeline = setup.entities["Pipeline nightly"]
    setup.metadata.publish_pipeline_usage(pipeline, UsageRequest(date=TODAY, count=3))
    read = setup.metadata.get_by_id(Pipeline, pipeline.id, fields=["usageSummary"])
    assert read.usageSummary.dailyStats.count == 3


@check("publish_frequently_joined_with", "joins of columns, on both sides")
def _joins(setup: CheckSetup) -> None:
    left_table, right_table = setup.table(), setup.table()
    joined = JoinedWith(fullyQualifiedName=f"{text(right_table.fullyQualifiedName)}.id", joinCount=5)
    joins = TableJoins(startDate=TODAY, dayCount=1, columnJoins=[ColumnJoins(columnName="id", joinedWith=[joined])])
    setup.metadata.publish_frequently_joined_with(left_table, joins)
    for table in (left_table, right_table):
        read = setup.metadata.get_by_id(Table, table.id, fields=["joins"]).joins
        assert [join.joinedWith[0].joinCount for join in read.columnJoins] == [5]


@check("publish_frequently_joined_with", "a day that is long over is refused with 400")
def _old_joins(setup: CheckSetup) -> None:
    table = setup.table()
    old = (datetime.now(UTC) - timedelta(days=40)).strftime("%Y-%m-%d")
    joins = TableJoins(startDate=old, dayCount=1, columnJoins=[])
    assert status_of_refusal(lambda: setup.metadata.publish_frequently_joined_with(table, joins)) == 400


@check("create_or_update_table_profiler_config", "the configuration of the profiler is kept")
def _profiler(setup: CheckSetup) -> None:
    table = setup.table()
    config = TableProfilerConfig(includeColumns=[ColumnProfilerConfig(columnName="email")], profileQuery="SELECT 1")
    setup.metadata.create_or_update_table_profiler_config(text(table.fullyQualifiedName), config)
    read = setup.metadata.get_by_id(Table, table.id, fields=["tableProfilerConfig"]).tableProfilerConfig
    assert (text(read.profileQuery), read.includeColumns[0].columnName) == ("SELECT 1", "email")


@check("create_or_update_table_profiler_config", "how much of a table the profiler reads")
def _configure_sampling(setup: CheckSetup) -> None:
    table = setup.table()
    config = TableProfilerConfig(profileSampleConfig=_SAMPLED)
    setup.metadata.create_or_update_table_profiler_config(text(table.fullyQualifiedName), config)
    read = setup.metadata.get_by_id(Table, table.id, fields=["tableProfilerConfig"]).tableProfilerConfig
    assert read.profileSampleConfig is not None and read.profileSampleConfig == config.profileSampleConfig


@check("create_or_update_custom_metric", "a metric of a table, and one of a column")
def _metric(setup: CheckSetup) -> None:
    table = setup.table()
    for column in (None, "email"):
        request = CreateCustomMetricRequest(name="rows", expression="SELECT count(*)", columnName=column)
        setup.metadata.create_or_update_custom_metric(request, id_of(table))
    read = setup.metadata.get_by_id(Table, table.id, fields=["customMetrics", "columns"])
    assert [text(one.name) for one in read.customMetrics] == ["rows"]
    assert [text(one.name) for one in read.columns[1].customMetrics] == ["rows"]


@check("bulk_create_or_update_tables", "two tables in one request, again unchanged")
def _bulk(setup: CheckSetup) -> None:
    from metadata.generated.schema.api.data.bulkCreateTable import BulkCreateTable

    columns = [{"name": "a", "dataType": "INT"}]
    tables = [
        CreateTableRequest(name=setup.name("table"), databaseSchema="pg.shop.public", columns=columns) for _ in range(2)
    ]
    for _ in range(2):
        result = setup.metadata.bulk_create_or_update_tables(BulkCreateTable(tables=tables))
        assert (result.numberOfRowsPassed.root, result.numberOfRowsFailed.root) == (2, 0)
    table = setup.metadata.get_by_name(Table, f"pg.shop.public.{text(tables[0].name)}")
    assert table.version.root == 0.1


@check("get_table_columns", "all columns, then one page of them")
def _columns(setup: CheckSetup) -> None:
    fqn = text(setup.table().fullyQualifiedName)
    assert [text(one.name) for one in setup.metadata.get_table_columns(fqn)] == ["id", "email", "address"]
    page = setup.metadata.get_table_columns(fqn, fields=["tags"], params={"limit": "1", "offset": "1"})
    assert [text(one.name) for one in page] == ["email"]


def _ran(setup: CheckSetup, pipeline: Any, status: LastRunStatus) -> PipelineObservability:
    pipeline_reference = setup.metadata.get_entity_reference(Pipeline, text(pipeline.fullyQualifiedName))
    return PipelineObservability(
        pipeline=pipeline_reference,
        serviceType=PipelineServiceType.Airflow,
        lastRunTime=Timestamp(NOW),
        lastRunStatus=status,
        averageRunTime=12.5,
    )


@check("add_pipeline_observability", "when the pipelines of a table ran last, and how they ended")
def _pipelines(setup: CheckSetup) -> None:
    table, pipelines = setup.table(), [new(setup, "Pipeline", "pipeline") for _ in range(2)]
    runs = [_ran(setup, one, LastRunStatus.Successful) for one in pipelines]
    answered = setup.metadata.add_pipeline_observability(table.id, runs)
    assert {id_of_ref(one.pipeline) for one in answered.pipelineObservability} == {id_of(one) for one in pipelines}
    read = setup.metadata.get_by_id(Table, table.id, fields=["pipelineObservability"]).pipelineObservability
    assert [(one.lastRunStatus, one.averageRunTime) for one in read] == [(LastRunStatus.Successful, 12.5)] * 2
    served = Table(**setup.metadata.client.get(f"/tables/{id_of(table)}/pipelineObservability"))
    assert served.pipelineObservability == read


@check("add_single_pipeline_observability", "one pipeline of a table anew, the others stay")
def _one_pipeline(setup: CheckSetup) -> None:
    table, pipelines = setup.table(), [new(setup, "Pipeline", "pipeline") for _ in range(2)]
    for pipeline, status in zip((*pipelines, pipelines[0]), ("Successful", "Successful", "Failed"), strict=True):
        run = _ran(setup, pipeline, LastRunStatus(status))
        assert setup.metadata.add_single_pipeline_observability(table.id, run).id == table.id
    read = setup.metadata.get_by_id(Table, table.id, fields=["pipelineObservability"]).pipelineObservability
    status_by_pipeline = {id_of_ref(one.pipeline): one.lastRunStatus.value for one in read}
    assert status_by_pipeline == {id_of(pipelines[0]): "Failed", id_of(pipelines[1]): "Successful"}


@check("ingest_container_sample_data get_container_sample_data", "rows of a container")
def _container(setup: CheckSetup) -> None:
    model = {"columns": [{"name": "id", "dataType": "INT"}, {"name": "email", "dataType": "STRING"}]}
    request = {"service": "s3", "dataModel": model}
    container = put(setup.metadata, CreateContainerRequest, setup.name("bucket"), request)
    assert len(setup.metadata.ingest_container_sample_data(container, _ROWS).rows) == 2
    assert setup.metadata.get_container_sample_data(container).sampleData.rows[0] == [1, "a@example.org"]


@check("list_container_children", "a page of what a bucket holds")
def _children(setup: CheckSetup) -> None:
    parent = put(setup.metadata, CreateContainerRequest, setup.name("bucket"), {"service": "s3"})
    for _ in range(3):
        fields = {"service": "s3", "parent": reference(parent)}
        put(setup.metadata, CreateContainerRequest, setup.name("object"), fields)
    page = setup.metadata.list_container_children(text(parent.fullyQualifiedName), limit=2)
    assert (len(page.entities), page.total) == (2, 3)
    assert all(type(one) is Container for one in page.entities)
    last_page = setup.metadata.list_container_children(text(parent.fullyQualifiedName), limit=2, offset=2)
    assert len(last_page.entities) == 1


@check("ingest_topic_sample_data", "messages of a topic")
def _topic(setup: CheckSetup) -> None:
    sample = TopicSampleData(messages=['{"id": 1}', '{"id": 2}'])
    assert len(setup.metadata.ingest_topic_sample_data(setup.entities["Topic placed"], sample).messages) == 2


@check("ingest_search_index_sample_data", "messages of a search index")
def _index(setup: CheckSetup) -> None:
    sample = SearchIndexSampleData(messages=['{"id": 1}'])
    index_with_sample = setup.metadata.ingest_search_index_sample_data(setup.entities["SearchIndex orders_ix"], sample)
    assert index_with_sample.messages == ['{"id": 1}']
