"""Runs over dbt projects: what they bring, whom they notify, what of people's work stays, and what faults do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from sqlalchemy import Engine
from tests.company import SmallCompany
from tests.dbtproject import NOT_NULL, ORDERS, RAW, SERVICE, DbtProject, a_node, depends_on, served_folder, start_store
from tests.notifying import notify_all

from tocsin.errors import Conflict, InvalidInput, Unavailable
from tocsin.model.entity import Document
from tocsin.model.lineage import Edge
from tocsin.model.stored import Key
from tocsin.settings import Settings
from tocsin.sources.process.dbt import ProjectOptions, run_project
from tocsin.sources.process.stored_records import StoredRecords
from tocsin.sources.records import SourceEntity
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue
from tocsin.store.catalogue.relations.lineage_edges import edges_touching
from tocsin.store.eventlog.log import EventLog
from tocsin.store.eventlog.relay_lead import RelayLead
from tocsin.store.upkeep.stored_settings import store_secret

RAW_ORDERS = f"{SERVICE}.shop.main.raw_orders"
CASE = f"{ORDERS}.id.not_null_orders_id"
ANA = "ana"


class Company(SmallCompany):
    """The company with a store that was started, and a project."""

    def __init__(self, engine: Engine, folder: Path) -> None:
        start_store(engine)
        super().__init__(engine)
        self.project = DbtProject(folder / "target")

    def find(self, fqn: str, entity_type: str = "table") -> Document:
        return SqlCatalogue(self.engine).get(entity_type, Key.by_name(fqn), "all")

    def edges(self) -> list[Edge]:
        """Return the edges of the tables that the project has."""
        with self.engine.connect() as connection:
            by_id = edges_touching(connection, [self.find(name)["id"] for name in (ORDERS, RAW_ORDERS)])
        edges = {(edge.from_["id"], edge.to["id"]): edge for touching in by_id.values() for edge in touching}
        return list(edges.values())

    def run_dbt(self, **options: bool) -> Document:
        return self.project.run(self.engine, **options)

    def bring(self) -> None:
        """Make the first run, of which nobody is told."""
        notify_all(self.engine)
        assert self.run_dbt()["errors"] == []
        assert notify_all(self.engine) == 0


@pytest.fixture
def company(store_engine: Engine, tmp_path: Path) -> Company:
    return Company(store_engine, tmp_path)


def test_the_first_run_brings_everything_and_notifies_nobody_and_the_second_writes_nothing(company: Company) -> None:
    company.alert("All", [{"category": "Owners", "type": "ActivityFeed"}])
    company.project.test_result("fail", failures=2, message="Got 2 results")
    company.bring()
    table = company.find(ORDERS)
    assert [(column["name"], column["dataType"]) for column in table["columns"]] == [
        ("id", "INT"),
        ("total", "DECIMAL"),
    ]
    assert table["columns"][0]["description"] == "Number of the order."
    assert [label["tagFQN"] for label in table["columns"][0]["tags"]] == ["dbtTags.key"]
    assert (table["description"], table["owners"][0]["name"]) == ("One row per order.", ANA)
    assert [label["tagFQN"] for label in table["tags"]] == ["dbtTags.daily"]
    assert table["dataModel"]["rawSql"] == "select 1"
    assert company.find("dbt.weekly", "dashboard")["owners"][0]["name"] == "ben"
    edges = {(edge.from_["fullyQualifiedName"], edge.to["fullyQualifiedName"]) for edge in company.edges()}
    assert edges == {(RAW_ORDERS, ORDERS), (ORDERS, "dbt.weekly")}, "through the ephemeral model"
    case = company.find(CASE, "testCase")
    assert case["testDefinition"]["name"] == "columnValuesToBeNotNull"
    assert case["testCaseResult"]["testCaseStatus"] == "Failed"
    end = EventLog(company.engine).readable_end()
    report = company.run_dbt()
    assert set(report["counts"]) == {"results", "same"} and report["counts"]["results"] == 0
    assert EventLog(company.engine).readable_end() == end


def test_a_failed_test_and_a_retyped_column_reach_the_owner_once(company: Company) -> None:
    company.alert("Broken", [{"category": "Owners", "type": "ActivityFeed"}], "breaking() || testStatus == 'Failed'")
    company.project.test_result("pass")
    company.bring()
    company.project.types["model.shop.orders"][1] = ("total", "INTEGER")
    company.project.test_result("fail", at="2026-11-30T11:00:00Z", failures=2, message="Got 2 results")
    report = company.run_dbt()
    assert (report["counts"]["changed"], report["counts"]["results"]) == (1, 1)
    assert notify_all(company.engine) == 2
    company.run_dbt()
    assert notify_all(company.engine) == 0


def test_freshness_is_a_test_of_the_source(company: Company) -> None:
    freshness: Document = {"unique_id": RAW, "status": "error", "snapshotted_at": "2026-11-30T10:00:00Z"}
    freshness |= {"max_loaded_at": "2026-11-28T22:00:00Z", "max_loaded_at_time_ago_in_s": 129_600.0}
    company.project.freshness = [freshness]
    company.bring()
    result = company.find(f"{RAW_ORDERS}.raw_orders_freshness", "testCase")["testCaseResult"]
    assert result["testCaseStatus"] == "Failed"
    assert "36.0 hours" in result["result"]
    company.project.freshness = []
    assert "deleted" not in company.run_dbt()["counts"], "a run that did not look at it"


def test_results_of_compiling_are_no_results_of_tests(company: Company) -> None:
    company.project.test_result("fail", failures=2)
    company.bring()
    company.project.test_result("success", at="2026-11-30T11:00:00Z")
    company.project.command = "generate"
    report = company.run_dbt()
    assert any("`dbt generate`" in remark for remark in report["leftOut"])
    assert company.find(CASE, "testCase")["testCaseResult"]["testCaseStatus"] == "Failed"


def test_a_part_that_cannot_be_written_keeps_nobody_from_hearing_of_the_others(company: Company) -> None:
    company.alert("All", [{"category": "Owners", "type": "ActivityFeed"}])
    node = a_node("model", "a::b>", depends_on=depends_on())
    company.project.nodes[node["unique_id"]] = node
    notify_all(company.engine)
    assert company.run_dbt()["errorCount"] == 1
    assert notify_all(company.engine) == 0
    company.project.nodes["model.shop.orders"]["description"] = "One row per order, paid or not."
    company.run_dbt()
    assert notify_all(company.engine) == 1


def test_a_table_of_another_connector_is_described_and_never_deleted(company: Company) -> None:
    company.put("databaseService", {"name": SERVICE, "serviceType": "Postgres"})
    company.put("database", {"name": "shop", "service": SERVICE})
    company.put("databaseSchema", {"name": "main", "database": f"{SERVICE}.shop"})
    columns = [{"name": "ID", "dataType": "BIGINT"}, {"name": "extra", "dataType": "JSON"}]
    request = {"name": "orders", "databaseSchema": f"{SERVICE}.shop.main", "tableType": "Partitioned"}
    company.put("table", request | {"columns": columns})
    company.bring()
    table = company.find(ORDERS)
    assert [(column["name"], column["dataType"]) for column in table["columns"]] == [
        ("ID", "BIGINT"),
        ("extra", "JSON"),
    ]
    assert (table["columns"][0]["description"], table["tableType"]) == ("Number of the order.", "Partitioned")
    del company.project.nodes["model.shop.orders"], company.project.nodes[NOT_NULL]
    company.run_dbt(may_delete=True)
    assert company.find(ORDERS)["deleted"] is False


def test_what_people_wrote_deleted_and_removed_stays(company: Company) -> None:
    company.bring()
    dia = company.actor("dia")
    table = company.find(ORDERS)
    patch = [{"op": "replace", "path": "/description", "value": "What customers bought."}]
    company.writes.patch("table", Key.by_id(table["id"]), patch, actor=dia)
    (edge,) = [edge for edge in company.edges() if edge.to["type"] == "dashboard"]
    company.writes.delete_edge(edge.from_, edge.to, actor=dia)
    dashboard = company.find("dbt.weekly", "dashboard")
    company.writes.delete("dashboard", Key.by_id(dashboard["id"]), actor=dia)
    company.project.nodes["model.shop.orders"]["description"] = "As the project says."
    company.run_dbt()
    assert company.find(ORDERS)["description"] == "What customers bought."
    assert company.find("dbt.weekly", "dashboard")["deleted"] is True
    assert {edge.to["type"] for edge in company.edges()} == {"table"}


def test_what_the_project_has_no_more_is_deleted_and_comes_back(company: Company) -> None:
    company.bring()
    orders, test = company.project.nodes.pop("model.shop.orders"), company.project.nodes.pop(NOT_NULL)
    report = company.run_dbt()
    assert report["counts"]["deleted"] == 2
    assert company.find(ORDERS)["deleted"] is True
    company.project.nodes |= {"model.shop.orders": orders, NOT_NULL: test}
    assert company.run_dbt()["counts"]["restored"] >= 1
    assert company.find(ORDERS)["deleted"] is False


def test_a_test_that_moves_to_another_table_is_deleted_and_created(company: Company) -> None:
    company.bring()
    company.project.nodes[NOT_NULL]["attached_node"] = RAW
    counts = company.run_dbt()["counts"]
    assert (counts["created"], counts["deleted"]) == (1, 1)
    assert company.find(f"{RAW_ORDERS}.id.not_null_orders_id", "testCase")["deleted"] is False
    assert company.find(CASE, "testCase")["deleted"] is True


def test_many_deletions_at_once_are_refused_until_they_are_allowed(company: Company) -> None:
    for number in range(9):
        node = a_node("model", f"m{number}", depends_on=depends_on())
        company.project.nodes[node["unique_id"]] = node
    company.bring()
    company.project.nodes = {key: node for key, node in company.project.nodes.items() if ".m" not in key}
    report = company.run_dbt()
    assert "deleted" not in report["counts"] and "--allow-deletions" in report["errors"][0]
    assert company.run_dbt(may_delete=True)["counts"]["deleted"] == 9


def test_a_dry_run_says_what_would_change_and_whom_it_would_tell(company: Company) -> None:
    company.alert("All", [{"category": "Owners", "type": "ActivityFeed"}])
    report = company.run_dbt(is_dry=True)
    assert report["counts"]["created"] >= 8 and report["wouldTell"]["people"] == []
    end = EventLog(company.engine).readable_end()
    company.bring()
    company.project.nodes["model.shop.orders"]["description"] = "One row per order, paid or not."
    end = EventLog(company.engine).readable_end()
    report = company.run_dbt(is_dry=True)
    assert [change["fullyQualifiedName"] for change in report["would"]] == [ORDERS]
    assert [person["name"] for person in report["wouldTell"]["people"]] == [ANA]
    assert EventLog(company.engine).readable_end() == end


def test_a_run_that_is_killed_is_finished_by_the_next(company: Company, monkeypatch: pytest.MonkeyPatch) -> None:
    class Killed(StoredRecords):
        def put(self, row: SourceEntity) -> None:
            if row.entity_type == "table":
                raise KeyboardInterrupt
            super().put(row)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("tocsin.sources.process.dbt.StoredRecords", Killed)
        company.run_dbt()
    company.bring()
    assert company.run_dbt()["counts"].keys() == {"same"}
    del company.project.nodes["model.shop.orders"], company.project.nodes[NOT_NULL]
    company.project.exposures, company.project.sources = {}, {}
    assert company.run_dbt()["counts"]["deleted"] == 5, "also what was created by the run that was killed"


def test_two_projects_share_a_table_and_the_one_that_only_reads_it_does_not_delete_it(company: Company) -> None:
    company.bring()
    reader = DbtProject(company.project.folder.parent / "reader", name="reader")
    reader.nodes, reader.exposures, reader.freshness = {}, {}, []
    reader.sources = {RAW: reader.sources[RAW] | {"identifier": "orders"}}
    assert reader.run(company.engine)["errors"] == []
    reader.sources = {}
    reader.run(company.engine, may_delete=True)
    assert company.find(ORDERS)["deleted"] is False


def test_two_runs_over_one_project_do_not_work_at_once(company: Company) -> None:
    company.project.write()
    lead = RelayLead(company.engine, f"source-dbt:{SERVICE}.shop", company.clock, lease_s=60.0)
    assert lead.try_to_take()
    with pytest.raises(Conflict, match="wait for its end"):
        company.run_dbt()
    lead.give_up()


def test_files_that_are_none_of_dbt_are_refused_with_their_place(sqlite_engine: Engine, tmp_path: Path) -> None:
    company = Company(sqlite_engine, tmp_path)
    options = ProjectOptions(str(tmp_path / "target"), SERVICE)
    for text, problem in (
        (None, "has no manifest.json"),
        ("[1", "is no JSON"),
        ("[]", "lacks metadata.dbt_schema_version"),
        (json.dumps({"metadata": {"dbt_schema_version": "https://x/dbt/catalog/v1.json"}}), "is no manifest.json"),
        (json.dumps({"metadata": {"dbt_schema_version": "https://x/dbt/manifest/v3.json"}}), "has version 3"),
    ):
        if text is not None:
            company.project.folder.mkdir(exist_ok=True)
            (company.project.folder / "manifest.json").write_text(text)
        with pytest.raises(InvalidInput, match=problem):
            run_project(company.engine, Settings(), options)


def test_files_are_fetched_from_an_address_with_the_stored_header(sqlite_engine: Engine, tmp_path: Path) -> None:
    company = Company(sqlite_engine, tmp_path)
    company.project.write()
    (company.project.folder / "sources.json").unlink()
    settings = Settings(egress_allow=("127.0.0.0/8",))
    with served_folder(company.project.folder, authorization="Token right") as address:
        options = ProjectOptions(f"{address}/target?job=7", SERVICE)
        with pytest.raises(Unavailable, match="answers 401: see the setting dbt_authorization"):
            run_project(company.engine, settings, options)
        store_secret(company.engine, "dbt_authorization", "Token right")
        assert run_project(company.engine, settings, options)["errors"] == []
        assert company.find(ORDERS)["name"] == "orders"
        with pytest.raises(Unavailable, match=r"127\.0\.0\.1"):
            run_project(company.engine, Settings(egress_allow=()), options)
        with pytest.raises(InvalidInput, match=r"/nothing has no manifest\.json"):
            run_project(company.engine, settings, ProjectOptions(f"{address}/nothing", SERVICE))


def test_a_malformed_part_is_left_out_and_a_newer_version_is_read(sqlite_engine: Engine, tmp_path: Path) -> None:
    company = Company(sqlite_engine, tmp_path)
    company.project.manifest_version = 99
    company.project.nodes["model.shop.bad"] = {"unique_id": "model.shop.bad", "columns": 7}
    report = company.run_dbt()
    assert any("version 99" in remark for remark in report["leftOut"])
    assert any(remark.startswith("nodes model.shop.bad: ") for remark in report["leftOut"])
    assert company.find(ORDERS)["name"] == "orders"


def test_texts_of_a_project_are_names_and_nothing_else(sqlite_engine: Engine, tmp_path: Path) -> None:
    company = Company(sqlite_engine, tmp_path)
    hostile_names = ['a"b.c', "x'; DROP TABLE entity; --", "<script>alert(1)</script>", "ü" * 200, "a::b>"]
    for name in hostile_names:
        node = a_node("model", name, tags=[name], depends_on=depends_on("model.shop.orders"))
        company.project.nodes[node["unique_id"]] = node
    report = company.run_dbt()
    names = {name for name in hostile_names if not any(name in error for error in report["errors"])}
    assert "x'; DROP TABLE entity; --" in names
    for error in report["errors"]:
        assert error.startswith(("table ", "tag "))
