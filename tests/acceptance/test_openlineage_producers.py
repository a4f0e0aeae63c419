"""Real producers of OpenLineage: its client for Python, and its listener inside a Spark that runs statements."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest
from openlineage.client import OpenLineageClient
from openlineage.client.event_v2 import InputDataset, Job, OutputDataset, Run, RunEvent, RunState
from openlineage.client.facet_v2 import RunFacet, column_lineage_dataset, error_message_run, schema_dataset
from tests.contract.test_openlineage import NAMESPACE, NEXT_RUN, RUN, runs_of, write_setting
from tests.serving import Served, warehouse
from tests.startedserver import served, sqlite_url

__all__ = ["served", "sqlite_url"]

PACKAGE = "io.openlineage:openlineage-spark_2.13:1.53.0"
_STATEMENTS = """
import sys
from pyspark.sql import SparkSession
url, token, folder, package = sys.argv[1:]
settings = {
    "spark.jars.packages": package, "spark.ui.enabled": "false", "spark.sql.warehouse.dir": f"{folder}/warehouse",
    "spark.extraListeners": "io.openlineage.spark.agent.OpenLineageSparkListener",
    "spark.openlineage.transport.type": "http", "spark.openlineage.transport.url": url,
    "spark.openlineage.transport.auth.type": "api_key", "spark.openlineage.transport.auth.apiKey": token,
    "spark.openlineage.namespace": "spark_prod", "spark.driver.host": "127.0.0.1", "spark.sql.shuffle.partitions": "1",
}
builder = SparkSession.builder.master("local[1]").appName("nightly")
for key, value in settings.items():
    builder = builder.config(key, value)
spark = builder.getOrCreate()
spark.sql("create table orders (id int, total double) using parquet")
spark.sql("insert into orders values (1, 2.5)")
spark.sql("create table totals using parquet as select id, total * 2 as double_total from orders")
try:
    spark.sql("insert into totals select id, raise_error('no such order') from orders")
except Exception as error:
    assert "no such order" in str(error), error
else:
    sys.exit("the statement did not fail")
spark.stop()
"""


@pytest.fixture
def administrator(served: Served) -> httpx.Client:
    return served.client(served.log_in("admin@tocsin.example.org", served.password))


def test_the_python_client_brings_lineage_and_a_failed_run(served: Served, administrator: httpx.Client) -> None:
    with administrator:
        orders = warehouse(administrator)
        write_setting(administrator, namespaceToServiceMapping={NAMESPACE: "warehouse"}, autoCreateEntities=True)
        token = administrator.headers["Authorization"].removeprefix("Bearer ")
        transport = {"type": "http", "url": served.url, "auth": {"type": "api_key", "apiKey": token}}
        producer = OpenLineageClient(config={"transport": transport})
        column = column_lineage_dataset.Fields(
            inputFields=[column_lineage_dataset.InputField(NAMESPACE, "shop.public.orders", "id")]
        )
        target = OutputDataset(
            NAMESPACE,
            "shop.public.copies",
            facets={
                "schema": schema_dataset.SchemaDatasetFacet([schema_dataset.SchemaDatasetFacetFields("id", "BIGINT")]),
                "columnLineage": column_lineage_dataset.ColumnLineageDatasetFacet(fields={"id": column}),
            },
        )
        error: dict[str, RunFacet] = {"errorMessage": error_message_run.ErrorMessageRunFacet("no room", "SQL")}
        states = ((RUN, RunState.COMPLETE), (NEXT_RUN, RunState.FAIL), (NEXT_RUN, RunState.COMPLETE))
        for run_id, state in states:
            producer.emit(
                RunEvent(
                    eventType=state,
                    eventTime=datetime.now(UTC).isoformat(),
                    run=Run(run_id, facets=error if state is RunState.FAIL else {}),
                    job=Job("airflow", "copy"),
                    producer="https://producer.example.org",
                    inputs=[InputDataset(NAMESPACE, "shop.public.orders")],
                    outputs=[target],
                )
            )
        producer.close()
        copies = administrator.get("/tables/name/warehouse.shop.public.copies").json()
        assert [(column["name"], column["dataType"]) for column in copies["columns"]] == [("id", "BIGINT")]
        edge = administrator.get(f"/lineage/getLineageEdge/{orders['id']}/{copies['id']}").json()["edge"]
        assert [column["toColumn"] for column in edge["columnsLineage"]] == ["warehouse.shop.public.copies.id"]
        runs = {run["executionId"]: run for run in runs_of(administrator, "openlineage.airflow-copy")}
        assert runs[RUN]["executionStatus"] == "Successful"
        assert runs[NEXT_RUN]["executionStatus"] == "Failed", "failed, then completed: it failed"
        assert runs[NEXT_RUN]["error"]["errorMessage"] == "no room"


@pytest.mark.slow
@pytest.mark.soak
def test_sparks_listener_brings_tables_lineage_and_the_failed_statement(
    served: Served, administrator: httpx.Client, tmp_path: Path
) -> None:
    """The package comes from a Maven repository, as Spark is set up to reach one."""
    with administrator:
        warehouse(administrator)
        mapping = {f"file:{tmp_path}/warehouse": "warehouse", "file": "warehouse"}
        write_setting(administrator, namespaceToServiceMapping=mapping, autoCreateEntities=True)
        token = administrator.headers["Authorization"].removeprefix("Bearer ")
        command = [sys.executable, "-c", _STATEMENTS, served.url, token, str(tmp_path), PACKAGE]
        process = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=280)
        if "unresolved dependency" in process.stderr:
            pytest.skip(f"{PACKAGE} cannot be fetched")
        assert process.returncode == 0, process.stderr[-2_000:]
        assert administrator.get("/openlineage/unresolved").json()["data"] == []
        tables = {
            table["fullyQualifiedName"]: table["id"]
            for table in administrator.get("/tables", params={"limit": 50}).json()["data"]
        }
        ends = f"{tables['warehouse.default.default.orders']}/{tables['warehouse.default.default.totals']}"
        edge = administrator.get(f"/lineage/getLineageEdge/{ends}").json()["edge"]
        assert "raise_error" not in str(edge), "nothing of the statement that failed"
        assert {column["toColumn"].rsplit(".", 1)[1] for column in edge["columnsLineage"]} == {"id", "double_total"}
        (pipeline,) = administrator.get("/pipelines", params={"limit": 50}).json()["data"]
        (run,) = runs_of(administrator, pipeline["fullyQualifiedName"])
        assert (run["executionStatus"], "no such order" in str(run)) == ("Failed", True)
