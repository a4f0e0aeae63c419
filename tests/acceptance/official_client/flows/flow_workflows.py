"""Flow of the client's own workflows over a SQLite database: metadata, lineage, profiler, tests, usage, dbt."""

from __future__ import annotations

import datetime
import tempfile
import time
from pathlib import Path
from typing import Any

from dbt_project import write_artifacts
from metadata.generated.schema.entity.data.table import Table
from metadata.generated.schema.tests.testCase import TestCase
from metadata.workflow.data_quality import TestSuiteWorkflow
from metadata.workflow.metadata import MetadataWorkflow
from metadata.workflow.profiler import ProfilerWorkflow
from metadata.workflow.usage import UsageWorkflow
from till import SHOP, SINK, connection, execute, run_workflow, source

_ROWS = """
INSERT INTO customers VALUES (1, 'ann@example.org'), (2, 'ben@example.org');
INSERT INTO orders VALUES (1, 1, 10), (2, 1, NULL), (3, 2, 5);
"""
_ORDERS = "till.default.main.orders"
_TESTS = [
    {
        "name": "three_rows",
        "testDefinitionName": "tableRowCountToEqual",
        "parameterValues": [{"name": "value", "value": "3"}],
    },
    {"name": "total_is_there", "testDefinitionName": "columnValuesToBeNotNull", "columnName": "total"},
]
_LOG = """query_text,database_name,schema_name,user_name,start_time,end_time,duration
"select * from orders",default,main,ann,{day} 10:00:00.000,{day} 10:00:01.000,1
"""


def run(metadata: Any) -> object:
    """Return what each workflow left in the catalogue, and the sources of its lineage."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "shop.db"
        execute(path, SHOP + _ROWS)
        run = source("sqlite", path, {"type": "DatabaseMetadata"})
        run_workflow(MetadataWorkflow, source=run, sink=SINK, reporting_to="till.nightly")
        _await_search(metadata)
        run_workflow(MetadataWorkflow, source=source("sqlite-lineage", path, {"type": "DatabaseLineage"}), sink=SINK)
        profiler = {"type": "orm-profiler", "config": {}}
        profile_source = source("sqlite", path, {"type": "Profiler"})
        run_workflow(ProfilerWorkflow, source=profile_source, processor=profiler, sink=SINK)
        _run_tests(path)
        _report_usage(path, Path(folder))
        for _ in range(2):  # the second time there is nothing new
            _run_dbt(Path(folder))
            run_workflow(MetadataWorkflow, source=run, sink=SINK)
    return _results(metadata)


def _await_search(metadata: Any) -> None:
    """Wait until the index of search knows the view, which the lineage workflow looks for there."""
    until = time.monotonic() + 150
    while time.monotonic() < until:
        if metadata.client.get("/search/query?q=turnover&index=table_search_index&size=1")["hits"]["hits"]:
            return
        time.sleep(0.05)


def _run_tests(path: Path) -> None:
    services = [{"serviceName": "till", "serviceConnection": connection(path)}]
    suite = {"type": "TestSuite", "entityFullyQualifiedName": _ORDERS, "serviceConnections": services}
    processor = {"type": "orm-test-runner", "config": {"testCases": _TESTS}}
    run_workflow(TestSuiteWorkflow, source=source("TestSuite", None, suite), processor=processor, sink=SINK)


def _report_usage(path: Path, folder: Path) -> None:
    log, staged = folder / "queries.csv", {"filename": str(folder / "usage")}
    log.write_text(_LOG.format(day=datetime.datetime.now(datetime.UTC).date()))
    run_workflow(
        UsageWorkflow,
        source=source("query-log-usage", path, {"type": "DatabaseUsage", "queryLogFilePath": str(log)}),
        processor={"type": "query-parser", "config": {}},
        stage={"type": "table-usage", "config": staged},
        bulkSink={"type": "metadata-usage", "config": staged},
    )


def _run_dbt(folder: Path) -> None:
    config = {"type": "DBT", "dbtConfigSource": write_artifacts(folder)}
    run_workflow(MetadataWorkflow, source=source("dbt", None, config), sink=SINK)


def _results(metadata: Any) -> dict[str, Any]:
    orders = metadata.get_by_name(Table, _ORDERS, fields=["usageSummary"])
    profile = metadata.get_latest_table_profile(_ORDERS).profile
    cases = [one for one in metadata.list_all_entities(TestCase, fields=["testCaseResult"]) if one.testCaseResult]
    lineage = metadata.get_lineage_by_name(Table, "till.default.main.turnover", up_depth=1, down_depth=0)
    turnover = metadata.get_by_name(Table, "till.default.main.turnover", fields=["dataModel"])
    return {
        "profile": [profile.rowCount, profile.columnCount],
        "tests": {case.name.root: case.testCaseResult.testCaseStatus.value for case in cases},
        "usage": orders.usageSummary.dailyStats.count,
        "lineage": [len(edge["lineageDetails"]["columnsLineage"]) for edge in lineage["upstreamEdges"]],
        "dbt": turnover.dataModel.path,
    }
