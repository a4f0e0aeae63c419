"""A real dbt project, run by dbt with DuckDB: what Tocsin reads of it, beside what a parser of dbt's files reads."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from sqlalchemy import Engine, select
from tests.company import SmallCompany
from tests.dbtproject import start_store
from tests.notifying import notify_all

from tocsin.model.entity import Document
from tocsin.model.stored import Key
from tocsin.settings import Settings
from tocsin.sources.dbt.artifacts import read_artifacts
from tocsin.sources.process.dbt import ProjectOptions, run_project
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue
from tocsin.store.catalogue.relations.lineage_edges import edges_touching
from tocsin.store.database.tables import change_event, notification

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
PROJECT = Path(__file__).with_name("dbt_shop")
ENVIRONMENT = Path(os.environ.get("TOCSIN_TEST_DBT", ROOT / ".dbt"))
_PARSER = """
import json, sys
from dbt_artifacts_parser.parser import parse_manifest, parse_run_results, parse_sources
read = lambda name: json.load(open(f"{sys.argv[1]}/{name}"))
statuses = lambda results: {result.unique_id: getattr(result.status, "value", result.status) for result in results}
manifest = parse_manifest(read("manifest.json"))
nodes = list(manifest.nodes.values()) + list(manifest.sources.values())
dependents = [node for node in manifest.nodes.values() if getattr(node, "depends_on", None)]
print(json.dumps({
    "columns": {node.unique_id: sorted(node.columns or {}) for node in nodes},
    "depends": {node.unique_id: list(getattr(node.depends_on, "nodes", None) or []) for node in dependents},
    "results": statuses(parse_run_results(read("run_results.json")).results),
    "freshness": statuses(parse_sources(read("sources.json")).results),
}))
"""


class BuiltProject:
    """The project in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.target = folder, folder / "target"
        shutil.copytree(PROJECT, folder)

    def build(self) -> None:
        """Run the project as ``docs/dbt.md`` says: what fails in it is a result."""
        self._dbt("source", "freshness", may_fail=True)
        self._dbt("build", may_fail=True)
        self._dbt("docs", "generate", "--target-path", "target/docs")
        shutil.copy(self.target / "docs/catalog.json", self.target)

    def seed(self) -> None:
        self._dbt("seed")

    def parse(self) -> Document:
        """Return what a parser of dbt's files reads."""
        command = [str(ENVIRONMENT / "bin/python"), "-c", _PARSER, str(self.target)]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        assert ended.returncode == 0, ended.stderr
        answer: Document = json.loads(ended.stdout)
        return answer

    def rewrite(self, path: str, old: str, new: str) -> None:
        file = self.folder / path
        assert old in file.read_text()
        file.write_text(file.read_text().replace(old, new))

    def _dbt(self, *arguments: str, may_fail: bool = False) -> None:
        environment = os.environ | {"DBT_PROFILES_DIR": ".", "DBT_SEND_ANONYMOUS_USAGE_STATS": "false"}
        command = [str(ENVIRONMENT / "bin/dbt"), "--no-version-check", *arguments]
        ended = subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True, check=False)
        assert ended.returncode == 0 or (may_fail and ended.returncode == 1), ended.stdout


@pytest.fixture
def shop(tmp_path: Path) -> BuiltProject:
    if not (ENVIRONMENT / "bin/dbt").exists():
        pytest.skip("dbt is not there; `make dbt` gets it (170 MB)")
    return BuiltProject(tmp_path / "shop")


def test_a_project_is_read_as_dbts_parser_reads_it_and_a_change_of_it_reaches_the_owner(
    shop: BuiltProject, sqlite_engine: Engine
) -> None:
    shop.seed()
    shop.build()
    _compare(shop)
    start_store(sqlite_engine)
    company = SmallCompany(sqlite_engine)
    to = {"category": "Owners", "type": "ActivityFeed"}
    company.alert("Broken", [to], "breaking() || testStatus == 'Failed'", poll_interval_s=0)
    notify_all(sqlite_engine)
    options = ProjectOptions(str(shop.target), "warehouse")
    report = run_project(sqlite_engine, Settings(), options)
    assert (report["errors"], report["counts"]["created"]) == ([], 28)
    assert notify_all(sqlite_engine) == 0, "history"
    _expect_shop(sqlite_engine)
    assert set(run_project(sqlite_engine, Settings(), options)["counts"]) == {"results", "same"}

    shop.rewrite("models/marts/orders.sql", "o.total, o.status", "cast(o.total as int) as total, o.status")
    shop.build()
    report = run_project(sqlite_engine, Settings(), options)
    assert (report["errors"], report["counts"]["changed"]) == ([], 1)
    notify_all(sqlite_engine)
    with sqlite_engine.connect() as connection:
        query = select(change_event.c.event_type, notification.c.reasons).join_from(
            notification, change_event, change_event.c.log_offset == notification.c.log_offset
        )
        event_types = [row.event_type for row in connection.execute(query) if "Broken" in row.reasons]
    assert sorted(event_types) == ["entityUpdated", "testCaseFailure"], "the type is narrowed, and the test fails again"


def _compare(shop: BuiltProject) -> None:
    expectation, remarks = shop.parse(), list[str]()
    artifacts = read_artifacts(shop.target, remarks.append)
    assert remarks == []
    assert {key: sorted(node.columns) for key, node in artifacts.nodes.items()} == expectation["columns"]
    depends = {key: list(artifacts.nodes[key].depends_on.nodes) for key in expectation["depends"]}
    assert depends == expectation["depends"]
    assert {result.unique_id: result.status for result in artifacts.results} == expectation["results"]
    assert {result.unique_id: result.status for result in artifacts.freshness} == expectation["freshness"]


def _column_lineage(engine: Engine, from_id: str, to_id: str) -> dict[str, list[str]]:
    """Return what the columns of the second table are made from in the first, by the last parts of their names."""
    with engine.connect() as connection:
        edges = edges_touching(connection, [to_id])[to_id]
    (edge,) = [edge for edge in edges if edge.from_["id"] == from_id]
    return {
        entry["toColumn"].rpartition(".")[2]: [name.rpartition(".")[2] for name in entry["fromColumns"]]
        for entry in edge.details["columnsLineage"]
    }


def _expect_shop(engine: Engine) -> None:
    catalogue = SqlCatalogue(engine)

    def get(entity_type: str, fqn: str) -> Document:
        return catalogue.get(entity_type, Key.by_name(fqn))

    orders = get("table", "warehouse.shop.main.orders")
    assert [column["name"] for column in orders["columns"]][:3] == ["order_id", "customer_id", "customer_name"]
    assert [owner["name"] for owner in orders["owners"]] == ["ben"]
    assert get("table", "warehouse.shop.main.stg_orders")["tableType"] == "View"
    assert get("metric", "revenue")["displayName"] == "Revenue"
    assert get("dashboard", "dbt.weekly_report")["sourceUrl"] == "https://bi.example.com/weekly"
    failed_test = get("testCase", "warehouse.shop.main.orders.totals_are_positive")
    assert failed_test["testCaseResult"]["failedRows"] == 1
    freshness = get("testCase", "warehouse.shop.main.raw_orders.raw_orders_freshness")
    assert freshness["testCaseResult"]["testCaseStatus"] == "Failed"
    assert get("pipeline", "dbt.shop")["pipelineStatus"]["executionStatus"] == "Successful"
    customers, staging = (get("table", f"warehouse.shop.main.{name}")["id"] for name in ("raw_customers", "stg_orders"))
    assert _column_lineage(engine, customers, orders["id"]) == {"customer_name": ["name"]}
    totals = get("table", "warehouse.shop.main.open_totals")["id"]
    through_ephemeral = {"customer_id": ["customer_id"], "open_total": ["total"]}
    assert _column_lineage(engine, staging, totals) == through_ephemeral
