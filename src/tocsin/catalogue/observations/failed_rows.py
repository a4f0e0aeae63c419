"""Rows that failed a test: an attachment, kept until the test succeeds, and beside it an excerpt for messages.

The rows may have megabytes, the excerpt has at most ``MOST_EXCERPT_CHARACTERS``: a worker reads no more.
Source: OpenMetadata's ``TestCaseRepository.addFailedRowsSample``.
Next: ``delivery/wording/failing_rows.py``, ``store/outbox/failing_rows.py``.
"""

from __future__ import annotations

from tocsin.catalogue.observations.field_checks import checked_document
from tocsin.catalogue.observations.samples import ROWS, check_rows, tested_table
from tocsin.catalogue.observations.table_details import attach, check_columns
from tocsin.delivery.wording.failing_rows import excerpt_of
from tocsin.flow.capture.write import Record
from tocsin.model.entity import Document
from tocsin.model.status import is_failure
from tocsin.model.stored import Stored, Written

FAILED_ROWS, EXCERPT = "failedRowsSample", "failedRowsExcerpt"
RESULT_AT = "resultTimestamp"
"""Key of kept failed rows and of their excerpt: the time of the result that they belong to, epoch milliseconds."""


def put_failed_rows(record: Record, case: Stored, sample: Document, *, validate: bool = True) -> Written:
    """Attach rows that failed a test, with the time of its newest result if that is a failure.

    ``validate`` says whether the tested table must have their columns.

    Raises
    ------
    InvalidInput : they are malformed, or their columns are not the table's
    """
    checked_sample = checked_document(ROWS, sample)
    check_rows(checked_sample)
    table = tested_table(record, case) if validate else None
    if table is not None:
        check_columns(table, checked_sample["columns"], field="columns")
    newest = case.document.get("testCaseResult") or {}
    belongs = {RESULT_AT: newest["timestamp"]} if is_failure(newest.get("testCaseStatus")) else {}
    kept_rows = checked_sample | belongs
    attach(record, case, EXCERPT, kept_excerpt_of(kept_rows) if kept_rows["rows"] else None)
    return attach(record, case, FAILED_ROWS, kept_rows)


def forget_failed_rows(record: Record, case: Stored) -> Written:
    """Remove the rows that failed a test, with their excerpt."""
    attach(record, case, EXCERPT, None)
    return attach(record, case, FAILED_ROWS, None)


def kept_excerpt_of(kept_rows: Document) -> Document:
    """Return what messages may show of kept rows, with the time of the result that they belong to."""
    return excerpt_of(kept_rows) | {key: kept_rows[key] for key in (RESULT_AT,) if key in kept_rows}
