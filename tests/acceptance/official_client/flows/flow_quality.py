"""Flow of data quality: tests, results, incidents, suites, pipeline runs, profiles, samples, joins, usage."""

from __future__ import annotations

import time
from datetime import datetime
from typing import Any

from metadata.generated.schema.api.data.createTableProfile import CreateTableProfileRequest
from metadata.generated.schema.api.tests.createLogicalTestCases import CreateLogicalTestCases
from metadata.generated.schema.api.tests.createTestCaseResolutionStatus import CreateTestCaseResolutionStatus
from metadata.generated.schema.entity.data.pipeline import Pipeline, PipelineStatus, StatusType, TaskStatus
from metadata.generated.schema.entity.data.table import (
    ColumnProfile,
    DataModel,
    ModelType,
    SystemProfile,
    Table,
    TableData,
    TableProfile,
)
from metadata.generated.schema.entity.services.ingestionPipelines.ingestionPipeline import (
    PipelineState,
)
from metadata.generated.schema.entity.services.ingestionPipelines.ingestionPipeline import (
    PipelineStatus as IngestionStatus,
)
from metadata.generated.schema.tests.basic import TestCaseResult, TestCaseStatus
from metadata.generated.schema.tests.testCase import TestCase
from metadata.generated.schema.tests.testCaseResolutionStatus import TestCaseResolutionStatusTypes
from metadata.generated.schema.type.basic import Timestamp
from metadata.generated.schema.type.usageRequest import UsageRequest
from speaking import create_everything

NOW = int(time.time() * 1000)
ORDERS = "pg.shop.public.orders"


def run(metadata: Any) -> object:
    """Return how many results, runs and profiles were read back."""
    entities = create_everything(metadata)
    return [_tests(metadata, entities), _runs(metadata), _profiles(metadata, entities["Table orders"])]


def _tests(metadata: Any, entities: dict[str, Any]) -> int:
    case = f"{ORDERS}.enough"
    for number, status in enumerate((TestCaseStatus.Success, TestCaseStatus.Failed)):
        result = TestCaseResult(timestamp=Timestamp(NOW + number), testCaseStatus=status, result="counted")
        metadata.add_test_case_results(result, case)
    read = metadata.get_by_name(TestCase, case, fields=["testCaseResult", "incidentId"])
    assert read.testCaseResult.testCaseStatus is TestCaseStatus.Failed
    step = CreateTestCaseResolutionStatus(
        testCaseResolutionStatusType=TestCaseResolutionStatusTypes.Ack, testCaseReference=case
    )
    assert metadata.create_test_case_resolution(step).testCaseResolutionStatusType is TestCaseResolutionStatusTypes.Ack
    suite = entities["TestSuite nightly_checks"]
    metadata.add_logical_test_cases(CreateLogicalTestCases(testSuiteId=suite.id, testCaseIds=[read.id]))
    assert metadata.get_or_create_test_suite("nightly_checks").id == suite.id
    assert metadata.get_or_create_test_definition("tableRowCountToBeBetween").name.root == "tableRowCountToBeBetween"
    assert metadata.get_or_create_test_case(case).id == read.id
    basic = metadata.get_or_create_executable_test_suite("pg.shop.public.customers")
    assert metadata.get_or_create_executable_test_suite("pg.shop.public.customers").id == basic.id
    assert metadata.get_executable_test_suite(ORDERS).tests[0].id == read.id
    return len(metadata.get_test_case_results(case, NOW - 1, NOW + 10))


def _runs(metadata: Any) -> int:
    def run_at(offset: int, status: StatusType) -> PipelineStatus:
        task = TaskStatus(name="load", executionStatus=status, startTime=Timestamp(NOW + offset))
        return PipelineStatus(timestamp=Timestamp(NOW + offset), executionStatus=status, taskStatus=[task])

    name = "airflow.nightly"
    assert metadata.add_pipeline_status(name, run_at(0, StatusType.Successful)).pipelineStatus is not None
    metadata.add_pipeline_status(name, run_at(0, StatusType.Successful))
    metadata.add_bulk_pipeline_status(name, [run_at(1, StatusType.Successful), run_at(2, StatusType.Failed)])
    metadata.add_bulk_pipeline_status(name, [run_at(1, StatusType.Successful), run_at(2, StatusType.Failed)])
    assert (
        metadata.get_by_name(Pipeline, name, fields=["pipelineStatus"]).pipelineStatus.executionStatus.value == "Failed"
    )
    ingestion = IngestionStatus(runId="run-1", pipelineState=PipelineState.success, timestamp=Timestamp(NOW))
    metadata.create_or_update_pipeline_status("pg.pg_metadata", ingestion)
    assert metadata.get_pipeline_status("pg.pg_metadata", "run-1").pipelineState is PipelineState.success
    return len(metadata.list_pipeline_statuses(name, NOW - 1, NOW + 10))


def _profiles(metadata: Any, orders: Any) -> int:
    request = CreateTableProfileRequest(
        tableProfile=TableProfile(timestamp=Timestamp(NOW), rowCount=42, columnCount=3),
        columnProfile=[ColumnProfile(name="email", timestamp=Timestamp(NOW), uniqueCount=40, nullCount=2)],
        systemProfile=[SystemProfile(timestamp=Timestamp(NOW), operation="INSERT", rowsAffected=7)],
    )
    metadata.ingest_profile_data(orders, request)
    latest = metadata.get_latest_table_profile(ORDERS)
    assert latest.profile.rowCount == 42
    assert {column.name.root: column.profile for column in latest.columns}["email"].uniqueCount == 40
    profiles = metadata.get_profile_data(ORDERS, NOW - 1, NOW + 1, profile_type=TableProfile)
    sample = TableData(columns=["id", "email"], rows=[[1, "a@example.org"], [2, "b@example.org"]])
    assert len(metadata.ingest_table_sample_data(orders, sample).rows) == 2
    assert metadata.get_sample_data(orders).sampleData.columns[0].root == "id"
    metadata.delete_sample_data(orders)
    model = DataModel(modelType=ModelType.DBT, sql="SELECT 1", columns=[])
    assert metadata.ingest_table_data_model(orders, model).dataModel.modelType is ModelType.DBT
    metadata.publish_table_usage(orders, UsageRequest(date=datetime.now().strftime("%Y-%m-%d"), count=10))
    metadata.compute_percentile(Table, datetime.now().strftime("%Y-%m-%d"))
    assert metadata.get_by_name(Table, ORDERS, fields=["usageSummary"]).usageSummary.dailyStats.count == 10
    return len(profiles.entities)
