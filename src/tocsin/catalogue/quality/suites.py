"""Test cases of logical test suites, which people assemble, as opposed to the basic suite of a table.

Adding a test case makes an event of the suite, ``logicalTestCaseAdded``, but no version of the suite or the test case.
Source: OpenMetadata's ``TestCaseRepository.addTestCasesToLogicalTestSuite``.
"""

from __future__ import annotations

from tocsin.catalogue.observations.reports import MOST_AT_ONCE
from tocsin.errors import InvalidInput, NotFound
from tocsin.flow.capture.ports import Hold
from tocsin.flow.capture.references import reference_to
from tocsin.flow.capture.write import Record
from tocsin.model.change import EventType, describe
from tocsin.model.stored import Key, Stored, Written

_FIELD = "tests"


def add_cases(record: Record, suite: Stored, case_ids: object) -> Written:
    """Put test cases into a logical suite; those that are in it already change nothing.

    Raises
    ------
    InvalidInput : the suite is the one of a table, or the ids are no list of texts.
    NotFound : there is no such test case.
    """
    _check_logical(suite)
    if not isinstance(case_ids, list) or not all(isinstance(one, str) for one in case_ids):
        raise InvalidInput("testCaseIds must be a list of ids", field="testCaseIds")
    if len(case_ids) > MOST_AT_ONCE:
        raise InvalidInput(f"testCaseIds must be a list of at most {MOST_AT_ONCE} ids", field="testCaseIds")
    cases = [_case(record, case_id) for case_id in dict.fromkeys(one.lower() for one in case_ids)]
    new_cases = [reference_to(case) for case in cases if record.transaction.suites.add(suite.id, case.id)]
    if not new_cases:
        return Written(suite.document, None)
    return record.note(suite, describe(_FIELD, new=new_cases), event_type=EventType.LOGICAL_TEST_CASE_ADDED)


def remove_case(record: Record, suite: Stored, case_id: str) -> Written:
    """Take a test case out of a logical suite.

    Raises
    ------
    NotFound : it is not in it.
    InvalidInput : the suite is the one of a table.
    """
    _check_logical(suite)
    case = _case(record, case_id, even_deleted=True)
    if not record.transaction.suites.remove(suite.id, case.id):
        raise NotFound(f"test case {case.fqn} is not in {suite.fqn}")
    return record.note(suite, describe(_FIELD, old=[reference_to(case)]))


def _check_logical(suite: Stored) -> None:
    if suite.document.get("basic"):
        raise InvalidInput(
            f"{suite.fqn} is the suite of a table: it always contains the table's tests", field="testSuiteId"
        )


def _case(record: Record, case_id: str, *, even_deleted: bool = False) -> Stored:
    case: Stored | None = record.transaction.find("testCase", Key.by_id(case_id), Hold.SHARED)
    if case is None or (record.visible(case).is_deleted and not even_deleted):
        raise NotFound(f"testCase {case_id} not found")
    return case
