"""Checks of data quality: definitions, cases, results, suites, incidents, failed rows."""

from __future__ import annotations

import time
from typing import Any

from checks.checking import CheckSetup, check, id_of, status_of_refusal, text
from metadata.generated.schema.api.tests.createLogicalTestCases import CreateLogicalTestCases
from metadata.generated.schema.api.tests.createTestCaseResolutionStatus import CreateTestCaseResolutionStatus
from metadata.generated.schema.api.tests.createTestSuite import CreateTestSuiteRequest
from metadata.generated.schema.entity.data.table import Table, TableData
from metadata.generated.schema.tests.assigned import Assigned
from metadata.generated.schema.tests.basic import TestCaseResult, TestCaseStatus, TestResultValue
from metadata.generated.schema.tests.resolved import Resolved, TestCaseFailureReasonType
from metadata.generated.schema.tests.testCase import TestCase, TestCaseParameterValue
from metadata.generated.schema.tests.testCaseResolutionStatus import TestCaseResolutionStatusTypes as Step
from metadata.generated.schema.tests.testDefinition import EntityType, TestPlatform
from metadata.generated.schema.tests.testSuite import TestSuite
from metadata.generated.schema.type.basic import Timestamp

NOW = int(time.time() * 1000)
_ROWS = TableData(columns=["id", "email"], rows=[[1, "a@example.org"]])


def _case(setup: CheckSetup, table: Any = None, column: str = "") -> Any:
    """Create a test case of a new table, or of a column of one."""
    fqn = text((table or setup.table()).fullyQualifiedName)
    name = setup.name("case")
    link = f"<#E::table::{fqn}{f'::columns::{column}' if column else ''}>"
    definition = "columnValuesToBeNotNull" if column else "tableRowCountToEqual"
    values = [] if column else [TestCaseParameterValue(name="value", value="3")]
    path = f"{fqn}.{column}.{name}" if column else f"{fqn}.{name}"
    return setup.metadata.get_or_create_test_case(path, link, definition, values)


def _report(setup: CheckSetup, case: Any, status: TestCaseStatus, at: int = NOW) -> None:
    result = TestCaseResult(
        timestamp=Timestamp(at),
        testCaseStatus=status,
        result="counted",
        testResultValue=[TestResultValue(name="rowCount", value="2")],
    )
    setup.metadata.add_test_case_results(result, text(case.fullyQualifiedName))


def _set(setup: CheckSetup, case: Any, step: Step, details: Any = None) -> Any:
    return setup.metadata.create_test_case_resolution(
        CreateTestCaseResolutionStatus(
            testCaseResolutionStatusType=step,
            testCaseReference=text(case.fullyQualifiedName),
            testCaseResolutionStatusDetails=details,
        )
    )


@check("get_or_create_test_case", "a case of a table, the same one the second time")
def _create(setup: CheckSetup) -> None:
    case = _case(setup)
    assert type(case) is TestCase
    again = setup.metadata.get_or_create_test_case(text(case.fullyQualifiedName))
    assert (again.id, again.parameterValues[0].value) == (case.id, "3")
    assert again.testDefinition.fullyQualifiedName == "tableRowCountToEqual"


@check("get_or_create_test_case", "a case of a column")
def _of_column(setup: CheckSetup) -> None:
    case = _case(setup, column="email")
    assert text(case.entityLink).endswith("::columns::email>")
    assert setup.metadata.get_by_name(TestCase, text(case.fullyQualifiedName)).id == case.id


@check("add_test_case_results get_by_name", "the latest result is part of the case")
def _result(setup: CheckSetup) -> None:
    case = _case(setup)
    _report(setup, case, TestCaseStatus.Success)
    read = setup.metadata.get_by_name(TestCase, text(case.fullyQualifiedName), fields=["testCaseResult"])
    assert read.testCaseResult.testCaseStatus is TestCaseStatus.Success
    assert read.testCaseResult.testResultValue[0].value == "2"


@check("get_test_case_results", "the results of a time range, newest first")
def _results(setup: CheckSetup) -> None:
    case = _case(setup)
    for at, status in enumerate((TestCaseStatus.Success, TestCaseStatus.Failed, TestCaseStatus.Aborted)):
        _report(setup, case, status, NOW + at)
    fqn = text(case.fullyQualifiedName)
    assert [one.timestamp.root for one in setup.metadata.get_test_case_results(fqn, NOW, NOW + 1)] == [NOW + 1, NOW]
    assert len(setup.metadata.get_test_case_results(fqn, NOW - 1, NOW + 9)) == 3


@check("add_test_case_results", "a case that is not there is refused with 404")
def _nobody(setup: CheckSetup) -> None:
    result = TestCaseResult(timestamp=Timestamp(NOW), testCaseStatus=TestCaseStatus.Success)
    assert (
        status_of_refusal(lambda: setup.metadata.add_test_case_results(result, "pg.shop.public.orders.nobody")) == 404
    )


@check("create_test_case_resolution", "an incident is acknowledged, assigned and resolved")
def _incident(setup: CheckSetup) -> None:
    case = _case(setup)
    _report(setup, case, TestCaseStatus.Failed)
    assert setup.metadata.get_by_id(TestCase, case.id, fields=["incidentId"]).incidentId is not None
    acknowledgement = _set(setup, case, Step.Ack)
    assignment = _set(setup, case, Step.Assigned, Assigned(assignee=setup.ref("User olga")))
    assert assignment.testCaseResolutionStatusDetails.assignee.name == "olga"
    reason = Resolved(
        testCaseFailureReason=TestCaseFailureReasonType.MissingData,
        testCaseFailureComment="It came late.",
        resolvedBy=setup.ref("User olga"),
    )
    resolution = _set(setup, case, Step.Resolved, reason)
    assert resolution.testCaseResolutionStatusType is Step.Resolved
    assert acknowledgement.stateId == assignment.stateId == resolution.stateId


@check("get_or_create_test_definition", "a definition of the server, and one of one's own")
def _definition(setup: CheckSetup) -> None:
    definition = setup.metadata.get_or_create_test_definition("columnValuesToBeUnique")
    assert definition.validatorClass == "ColumnValuesToBeUniqueValidator"
    name = setup.name("definition")
    own_definition = setup.metadata.get_or_create_test_definition(name, "Mine.", EntityType.TABLE, [TestPlatform.Soda])
    assert setup.metadata.get_or_create_test_definition(name).id == own_definition.id
    assert own_definition.testPlatforms == [TestPlatform.Soda]


def failing_case(setup: CheckSetup) -> TestCase:
    """Return a case whose last result is a failure."""
    case = _case(setup)
    _report(setup, case, TestCaseStatus.Failed)
    return case


@check("get_or_create_test_suite", "a logical suite, the same one the second time")
def _suite(setup: CheckSetup) -> None:
    name = setup.name("suite")
    suite = setup.metadata.get_or_create_test_suite(name, "Every night.")
    assert setup.metadata.get_or_create_test_suite(name).id == suite.id
    assert not suite.basic


@check("add_logical_test_cases", "cases of two tables are in one suite, whose summary counts their results")
def _logical(setup: CheckSetup) -> None:
    suite = setup.metadata.get_or_create_test_suite(setup.name("suite"))
    cases = [_case(setup), _case(setup)]
    _report(setup, cases[0], TestCaseStatus.Success)
    _report(setup, cases[1], TestCaseStatus.Failed)
    request = CreateLogicalTestCases(testSuiteId=suite.id, testCaseIds=[one.id for one in cases])
    setup.metadata.add_logical_test_cases(request)
    read = setup.metadata.get_by_id(TestSuite, suite.id, fields=["tests", "summary"])
    assert {id_of(one) for one in read.tests} == {id_of(one) for one in cases}
    assert (read.summary.success, read.summary.failed, read.summary.total) == (1, 1, 2)
    listed = setup.metadata.list_entities(TestCase, params={"testSuiteId": str(suite.id.root)})
    assert {id_of(one) for one in listed.entities} == {id_of(one) for one in cases}


@check("get_or_create_executable_test_suite", "the suite of a table, made once")
def _executable(setup: CheckSetup) -> None:
    fqn = text(setup.table().fullyQualifiedName)
    suite = setup.metadata.get_or_create_executable_test_suite(fqn)
    assert setup.metadata.get_or_create_executable_test_suite(fqn).id == suite.id


@check("get_executable_test_suite", "the suite that came with a table's first case, and none before")
def _executable_of_case(setup: CheckSetup) -> None:
    table = setup.table()
    assert setup.metadata.get_executable_test_suite(text(table.fullyQualifiedName)) is None
    case = _case(setup, table)
    suite = setup.metadata.get_executable_test_suite(text(table.fullyQualifiedName))
    assert [one.id for one in suite.tests] == [case.id]
    assert suite.basicEntityReference.id == table.id


@check("create_or_update_executable_test_suite delete_executable_test_suite", "the suite of a table comes and goes")
def _executable_gone(setup: CheckSetup) -> None:
    fqn = text(setup.table().fullyQualifiedName)
    request = CreateTestSuiteRequest(name=f"{fqn}.testSuite", basicEntityReference=fqn)
    suite = setup.metadata.create_or_update_executable_test_suite(request)
    assert suite.basic is True
    setup.metadata.delete_executable_test_suite(TestSuite, suite.id, recursive=True, hard_delete=True)
    assert setup.metadata.get_by_id(Table, setup.metadata.get_by_name(Table, fqn).id, ["testSuite"]).testSuite is None


@check("ingest_failed_rows_sample get_failed_rows_sample", "the rows that failed a test")
def _failed_rows(setup: CheckSetup) -> None:
    case = _case(setup, column="email")
    _report(setup, case, TestCaseStatus.Failed)
    assert setup.metadata.ingest_failed_rows_sample(case, _ROWS).rows == [[1, "a@example.org"]]
    assert [text(one) for one in setup.metadata.get_failed_rows_sample(case).columns] == ["id", "email"]


@check("ingest_failed_rows_sample", "without validation, columns that the table has not")
def _any_rows(setup: CheckSetup) -> None:
    case = _case(setup)
    _report(setup, case, TestCaseStatus.Failed)
    failed_rows = TableData(columns=["anything"], rows=[["x"]])
    assert setup.metadata.ingest_failed_rows_sample(case, failed_rows, validate=False).rows == [["x"]]


@check("ingest_inspection_query", "the query that shows the rows that failed")
def _query(setup: CheckSetup) -> None:
    case = _case(setup, column="email")
    _report(setup, case, TestCaseStatus.Failed)
    case_with_query = setup.metadata.ingest_inspection_query(case, "SELECT * FROM orders WHERE email IS NULL")
    assert text(case_with_query.inspectionQuery) == "SELECT * FROM orders WHERE email IS NULL"


@check("patch_test_case_definition", "a case gets another parameter")
def _parameters(setup: CheckSetup) -> None:
    case = _case(setup)
    values = [TestCaseParameterValue(name="value", value="7")]
    patched = setup.metadata.patch_test_case_definition(case, text(case.entityLink), values, True)
    assert (patched.parameterValues[0].value, patched.computePassedFailedRowCount) == ("7", True)


@check("delete_test_case", "a case goes by its name")
def _delete(setup: CheckSetup) -> None:
    case = _case(setup)
    setup.metadata.delete_test_case(text(case.fullyQualifiedName), hard=True)
    assert setup.metadata.get_by_name(TestCase, text(case.fullyQualifiedName)) is None
