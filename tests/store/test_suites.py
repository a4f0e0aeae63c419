"""Tests of logical suites: adding and removing test cases, and summaries."""

from __future__ import annotations

from functools import partial

import pytest
from sqlalchemy import Engine
from tests.store.catalogues import JANE, ORDERS, Company, company

from tocsin.catalogue.quality.suites import add_cases, remove_case
from tocsin.catalogue.seed_entities import establish, standards
from tocsin.errors import Conflict, InvalidInput, NotFound
from tocsin.model.change import EventType
from tocsin.model.stored import Key, Written
from tocsin.store.catalogue.quality.suites import SuiteReader


@pytest.fixture
def shop(store_engine: Engine) -> Company:
    sample_company = company(store_engine)
    link = f"<#E::table::{ORDERS}>"
    for name in ("first", "second"):
        request = {"name": name, "entityLink": link, "testDefinition": "hasRows"}
        sample_company.ids[name] = sample_company.writes.create("testCase", request, actor=JANE).document["id"]
    sample_company.ids["nightly checks"] = sample_company.writes.create(
        "testSuite", {"name": "nightly checks"}, actor=JANE
    ).document["id"]
    return sample_company


def _add(shop: Company, *cases: object, suite: str = "nightly checks") -> Written:
    work = partial(add_cases, case_ids=[shop.ids.get(str(case), case) for case in cases])
    return shop.writes.on_entity("testSuite", Key.by_name(suite), work, actor=JANE)


def _remove(shop: Company, case: str) -> Written:
    work = partial(remove_case, case_id=shop.ids[case])
    return shop.writes.on_entity("testSuite", Key.by_name("nightly checks"), work, actor=JANE)


def _suites(shop: Company, case: str) -> list[str]:
    return [one["fullyQualifiedName"] for one in shop.get("testCase", f"{ORDERS}.{case}")["testSuites"]]


def test_a_test_that_joins_is_one_event_of_the_suite(shop: Company) -> None:
    written = _add(shop, "first", "second")
    assert written.event is not None
    assert written.event.event_type is EventType.LOGICAL_TEST_CASE_ADDED
    assert written.event.change_description is not None
    (added,) = written.event.change_description.fields_added
    assert (added.name, [one["name"] for one in added.new_value]) == ("tests", ["first", "second"])
    assert written.event.previous_version == written.event.current_version
    assert _suites(shop, "first") == [f"{ORDERS}.testSuite", "nightly checks"]
    assert _add(shop, "first", "second").event is None


def test_results_are_reported_with_the_suites_a_test_is_in(shop: Company) -> None:
    _add(shop, "first")
    written = shop.writes.add_test_result(f"{ORDERS}.first", {"timestamp": 1, "testCaseStatus": "Failed"}, actor=JANE)
    assert written.event is not None
    assert written.event.entity is not None
    assert [one["name"] for one in written.event.entity["testSuites"]] == [f"{ORDERS}.testSuite", "nightly checks"]
    failures = [one for one in shop.log.read(0, 1_000) if one.event.event_type is EventType.TEST_CASE_FAILURE]
    assert [one.derived["testSuites"] for one in failures] == [[f"{ORDERS}.testSuite", "nightly checks"]]


def test_a_test_that_leaves_is_an_event_and_cannot_leave_twice(shop: Company) -> None:
    _add(shop, "first")
    written = _remove(shop, "first")
    assert written.event is not None
    assert written.event.change_description is not None
    assert [one.name for one in written.event.change_description.fields_deleted] == ["tests"]
    assert _suites(shop, "first") == [f"{ORDERS}.testSuite"]
    with pytest.raises(NotFound):
        _remove(shop, "first")


def test_what_cannot_join_is_refused(shop: Company) -> None:
    for case, error in ((shop.ids["orders"], NotFound), ("nobody", NotFound), (5, InvalidInput)):
        with pytest.raises(error):
            _add(shop, case)
    with pytest.raises(InvalidInput):
        _add(shop, "first", suite=f"{ORDERS}.testSuite")


def test_a_suite_lists_and_counts_its_tests(shop: Company, store_engine: Engine) -> None:
    _add(shop, "first", "second")
    for at_ms, status in ((1, "Success"), (2, "Failed")):
        shop.writes.add_test_result(f"{ORDERS}.first", {"timestamp": at_ms, "testCaseStatus": status}, actor=JANE)
    reader, suite_id = SuiteReader(store_engine), shop.ids["nightly checks"]
    own_id = shop.get("testSuite", f"{ORDERS}.testSuite")["id"]
    assert [one["name"] for one in reader.tests(suite_id)] == ["first", "second"]
    counted = {"success": 0, "failed": 1, "aborted": 0, "queued": 0, "total": 2}
    assert reader.summaries([suite_id, own_id]) == {suite_id: counted, own_id: counted}
    assert reader.of_tables([ORDERS, "none"])[ORDERS]["id"] == own_id
    shop.writes.delete("testCase", Key.by_name(f"{ORDERS}.first"), actor=JANE)
    assert [one["name"] for one in reader.tests(suite_id)] == ["second"]
    assert reader.summaries([suite_id])[suite_id]["total"] == 1


def test_a_suite_that_goes_for_good_is_forgotten(shop: Company) -> None:
    _add(shop, "first")
    shop.writes.delete("testSuite", Key.by_name("nightly checks"), actor=JANE, hard=True)
    assert _suites(shop, "first") == [f"{ORDERS}.testSuite"]


def test_membership_is_no_part_of_a_version_and_cannot_be_written(shop: Company) -> None:
    _add(shop, "first")
    changed = shop.patch(
        ("add", "/testSuites", []), ("add", "/description", "x"), fqn=f"{ORDERS}.first", entity_type="testCase"
    )
    assert changed.event is not None
    assert changed.event.change_description is not None
    assert changed.event.change_description.paths() == ("description",)
    assert len(_suites(shop, "first")) == 2
    assert all("testSuites" not in one for one in shop.catalogue.versions(shop.ids["first"]))


def test_the_suite_of_a_table_may_be_asked_for_by_its_older_name(shop: Company) -> None:
    table = shop.writes.create("table", shop.table("more"), actor=JANE).document
    request = {"name": "x", "executableEntityReference": table["fullyQualifiedName"]}
    suite = shop.writes.create("testSuite", request, actor=JANE).document
    assert (suite["fullyQualifiedName"], suite["basic"]) == (f"{table['fullyQualifiedName']}.testSuite", True)
    assert "executableEntityReference" not in suite
    with pytest.raises(Conflict):
        shop.writes.create("testSuite", request, actor=JANE)


def test_the_standard_definitions_are_made_once(shop: Company) -> None:
    establish(shop.writes)
    end = shop.log.readable_end()
    establish(shop.writes)
    assert shop.log.readable_end() == end
    names = {request["name"] for entity_type, request in standards() if entity_type == "testDefinition"}
    assert len(names) == 25
    assert shop.get("testDefinition", "columnValuesToBeUnique")["provider"] == "system"


def test_a_test_needs_a_definition_that_is_there(shop: Company) -> None:
    request = {"name": "third", "entityLink": f"<#E::table::{ORDERS}>", "testDefinition": "invented"}
    with pytest.raises(NotFound):
        shop.writes.create("testCase", request, actor=JANE)
