"""Are test results, pipeline runs and lineage written like everything else, but without a version?"""

from __future__ import annotations

import pytest
from sqlalchemy import Engine
from tests.store.catalogues import JANE, ORDERS, SCHEMA, Company, company

from tocsin.errors import Conflict, InvalidInput, NotFound
from tocsin.flow.capture.ports import Key, Written
from tocsin.store.lineage import Lineage

_CASE = f"{ORDERS}.id.not_null"
_REQUEST = {"name": "not_null", "entityLink": f"<#E::table::{ORDERS}::columns::id>", "testDefinition": "notNull"}


@pytest.fixture
def shop(store_engine: Engine) -> Company:
    return company(store_engine)


def _event(written: Written) -> tuple[str, str]:
    assert written.event is not None
    wire = written.event.to_wire()
    assert wire["previousVersion"] == wire["currentVersion"] == 0.1
    (kind,) = [kind for kind in ("fieldsAdded", "fieldsUpdated", "fieldsDeleted") if wire["changeDescription"][kind]]
    return wire["eventType"], f"{kind} {wire['changeDescription'][kind][0]['name']}"


def test_a_test_case_stands_under_what_it_tests_and_in_the_tables_own_suite(shop: Company) -> None:
    written = shop.writes.create("testCase", _REQUEST, actor=JANE)
    case = written.document
    assert (case["fullyQualifiedName"], case["entityFQN"]) == (_CASE, f"{ORDERS}.id")
    assert case["testSuite"]["fullyQualifiedName"] == f"{ORDERS}.testSuite"
    assert case["testDefinition"]["name"] == "notNull"
    suite = shop.get("testSuite", f"{ORDERS}.testSuite")
    assert (suite["basic"], suite["basicEntityReference"]["id"]) == (True, shop.ids["orders"])
    assert [event.entity_type for event in written.cascaded] == ["testSuite"]
    second = shop.writes.create("testCase", _REQUEST | {"name": "unique"}, actor=JANE)
    assert second.document["testSuite"] == case["testSuite"]
    assert second.cascaded == ()


def test_a_test_case_may_test_the_table_itself(shop: Company) -> None:
    written = shop.writes.create("testCase", _REQUEST | {"entityLink": f"<#E::table::{ORDERS}>"}, actor=JANE)
    assert written.document["fullyQualifiedName"] == f"{ORDERS}.not_null"


def test_a_test_case_may_name_its_suite(shop: Company) -> None:
    suite = shop.writes.create("testSuite", {"name": "nightly checks"}, actor=JANE).document
    written = shop.writes.create("testCase", _REQUEST | {"testSuite": "nightly checks"}, actor=JANE)
    assert written.document["testSuite"]["id"] == suite["id"]


@pytest.mark.parametrize(
    ("link", "error"),
    [
        ("orders", InvalidInput),
        ("<#E::dashboard::bi.revenue>", InvalidInput),
        (f"<#E::table::{SCHEMA}.nowhere>", NotFound),
    ],
)
def test_a_test_case_needs_a_table(shop: Company, link: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        shop.writes.create("testCase", _REQUEST | {"entityLink": link}, actor=JANE)


def test_a_put_test_case_stays_where_it_is(shop: Company) -> None:
    made = shop.writes.upsert("testCase", _REQUEST, actor=JANE)
    assert shop.writes.upsert("testCase", _REQUEST, actor=JANE).event is None
    again = shop.writes.upsert("testCase", _REQUEST | {"parameterValues": [{"name": "min", "value": "1"}]}, actor=JANE)
    assert (again.document["id"], again.document["entityFQN"]) == (made.document["id"], f"{ORDERS}.id")
    assert again.document["version"] == 0.2
    with pytest.raises(Conflict):
        shop.writes.create("testCase", _REQUEST, actor=JANE)


def test_a_failed_test_is_a_failure_and_any_other_result_an_update(shop: Company) -> None:
    shop.writes.create("testCase", _REQUEST, actor=JANE)
    results = [
        {"timestamp": at, "testCaseStatus": status} for at, status in ((1, "Success"), (2, "Failed"), (3, "Aborted"))
    ]
    written = [shop.writes.add_test_result(_CASE, result, actor=JANE) for result in results]
    assert [_event(one) for one in written] == [
        ("entityUpdated", "fieldsAdded testCaseResult"),
        ("testCaseFailure", "fieldsUpdated testCaseResult"),
        ("entityUpdated", "fieldsUpdated testCaseResult"),
    ]
    case = shop.get("testCase", _CASE)
    assert (case["testCaseResult"], case["testCaseStatus"], case["version"]) == (results[2], "Aborted", 0.1)
    assert shop.catalogue.reports("testCase", case["id"], limit=2) == results[:0:-1]


def test_the_same_result_again_is_nothing_and_a_corrected_one_is_an_event(shop: Company) -> None:
    shop.writes.create("testCase", _REQUEST, actor=JANE)
    result = {"timestamp": 1, "testCaseStatus": "Failed"}
    shop.writes.add_test_result(_CASE, result, actor=JANE)
    assert shop.writes.add_test_result(_CASE, result | {"result": "again"}, actor=JANE).event is None
    corrected = shop.writes.add_test_result(_CASE, result | {"testCaseStatus": "Success"}, actor=JANE)
    assert _event(corrected) == ("entityUpdated", "fieldsUpdated testCaseResult")


def test_a_late_result_is_told_but_does_not_hide_a_newer_one(shop: Company) -> None:
    shop.writes.create("testCase", _REQUEST, actor=JANE)
    newer = {"timestamp": 9, "testCaseStatus": "Success"}
    shop.writes.add_test_result(_CASE, newer, actor=JANE)
    late = shop.writes.add_test_result(_CASE, {"timestamp": 5, "testCaseStatus": "Failed"}, actor=JANE)
    assert _event(late)[0] == "testCaseFailure"
    assert shop.get("testCase", _CASE)["testCaseResult"] == newer


def test_a_later_write_keeps_the_latest_result(shop: Company) -> None:
    shop.writes.create("testCase", _REQUEST, actor=JANE)
    result = {"timestamp": 1, "testCaseStatus": "Failed"}
    shop.writes.add_test_result(_CASE, result, actor=JANE)
    written = shop.patch(("add", "/description", "x"), fqn=_CASE, entity_type="testCase")
    assert written.document["testCaseResult"] == result
    assert written.event is not None
    assert written.event.change_description is not None
    assert written.event.change_description.paths() == ("description",)


def test_a_report_needs_a_time_and_a_status(shop: Company) -> None:
    for status in ({"executionStatus": "Failed"}, {"timestamp": 1}, {"timestamp": "1", "executionStatus": "Failed"}):
        with pytest.raises(InvalidInput):
            shop.writes.add_pipeline_status("airflow.nightly", status, actor=JANE)


def test_a_pipelines_run_is_an_event_and_no_version(shop: Company) -> None:
    status = {"timestamp": 1, "executionStatus": "Pending"}
    report = shop.writes.add_pipeline_status
    assert _event(report("airflow.nightly", status, actor=JANE)) == ("entityUpdated", "fieldsAdded pipelineStatus")
    assert report("airflow.nightly", status, actor=JANE).event is None
    done = report("airflow.nightly", status | {"executionStatus": "Successful"}, actor=JANE)
    assert _event(done) == ("entityUpdated", "fieldsUpdated pipelineStatus")
    assert done.document["pipelineStatus"]["executionStatus"] == "Successful"
    assert shop.catalogue.versions(shop.ids["nightly"])[0]["version"] == 0.1


def test_a_lineage_edge_is_an_event_of_the_asset_it_leads_to(shop: Company, store_engine: Engine) -> None:
    orders, revenue = (
        {"id": shop.ids["orders"], "type": "table"},
        {"type": "dashboard", "fullyQualifiedName": "bi.revenue"},
    )
    edge = {"fromEntity": orders, "toEntity": revenue}
    added = shop.writes.put_edge(edge, actor=JANE)
    assert _event(added) == ("entityUpdated", "fieldsAdded lineage")
    assert added.event is not None
    assert added.event.entity_fully_qualified_name == "bi.revenue"
    assert shop.writes.put_edge(edge, actor=JANE).event is None
    detailed = edge | {"lineageDetails": {"sqlQuery": "select 1"}}
    assert _event(shop.writes.put_edge(detailed, actor=JANE)) == ("entityUpdated", "fieldsUpdated lineage")
    assert Lineage(store_engine).edge(shop.ids["orders"], shop.ids["revenue"]) == {"sqlQuery": "select 1"}
    assert _event(shop.writes.delete_edge(orders, revenue, actor=JANE)) == ("entityUpdated", "fieldsDeleted lineage")
    with pytest.raises(NotFound):
        shop.writes.delete_edge(orders, revenue, actor=JANE)
    with pytest.raises(NotFound):
        shop.writes.put_edge(edge | {"toEntity": {"type": "dashboard", "name": "nowhere"}}, actor=JANE)


def test_lineage_is_read_by_level_and_survives_cycles(shop: Company, store_engine: Engine) -> None:
    names = ("a", "b", "c", "d")
    ends = {
        name: {"id": shop.writes.create("table", shop.table(name), actor=JANE).document["id"], "type": "table"}
        for name in names
    }
    for from_, to in (("a", "a"), ("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")):
        shop.writes.put_edge({"fromEntity": ends[from_], "toEntity": ends[to]}, actor=JANE)
    reader = Lineage(store_engine)

    def found(upstream: int, downstream: int) -> tuple[list[str], int, int]:
        read = reader.around("table", Key.by_name(f"{SCHEMA}.a"), upstream_depth=upstream, downstream_depth=downstream)
        assert read["entity"]["id"] == ends["a"]["id"]
        return [node["name"] for node in read["nodes"]], len(read["upstreamEdges"]), len(read["downstreamEdges"])

    assert found(0, 0) == ([], 0, 0)
    assert found(0, 1) == (["b"], 0, 2)
    assert found(0, 2) == (["b", "c"], 0, 3)
    assert found(0, 99) == (["b", "c", "d"], 0, 5)
    assert found(1, 0) == (["c"], 2, 0)
    with pytest.raises(NotFound):
        reader.around("table", Key.by_name("nowhere"))
