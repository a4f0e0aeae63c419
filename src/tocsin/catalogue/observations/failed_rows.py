"""Rows that failed a test: an attachment, kept until the test succeeds, and beside it an excerpt for messages.

The rows may have megabytes, the excerpt has at most ``MOST_EXCERPT_CHARACTERS``: a worker reads no more.
Source: OpenMetadata's ``TestCaseRepository.addFailedRowsSample``.
Next: ``delivery/wording/failing_rows.py``, ``store/outbox/failing_rows.py``.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from tocsin.access.sample_masks import MASKED, masked_places
from tocsin.catalogue.observations.field_checks import check_timestamp, checked_document
from tocsin.catalogue.observations.samples import ROWS, check_rows, tested_table
from tocsin.catalogue.observations.table_details import attach, check_columns
from tocsin.clock import FUTURE_MS
from tocsin.delivery.wording.failing_rows import excerpt_of
from tocsin.errors import Conflict, InvalidInput
from tocsin.flow.capture.write import Record
from tocsin.model.entity import Document
from tocsin.model.status import SUCCESS, is_failure, verdict_of
from tocsin.model.stored import Stored, Written

FAILED_ROWS, EXCERPT = "failedRowsSample", "failedRowsExcerpt"
RESULT_AT = "resultTimestamp"
"""Key of kept failed rows and of their excerpt: the time of the result that they belong to, epoch milliseconds."""


@dataclass(frozen=True)
class SentRows:
    """Rows that failed a test, as they are sent.

    They belong to the result of ``result_at_ms`` (epoch milliseconds), which may be reported later; without it to the
    newest one, if that is a failure. ``validates`` says whether the tested table must have their columns.
    """

    sample: Document
    result_at_ms: int | None = None
    validates: bool = True


def put_failed_rows(record: Record, case: Stored, sent: SentRows, *, masked_tags: Collection[str]) -> Written:
    """Attach rows that failed a test, with the time of their result, and which columns are masked by these tags.

    Raises
    ------
    InvalidInput : they are malformed, their columns are not the table's, or the result is a success
    Conflict : the test has a newer result
    """
    checked_sample = checked_document(ROWS, sent.sample)
    check_rows(checked_sample)
    columns, table = checked_sample["columns"], tested_table(record, case)
    if table is not None and sent.validates:
        check_columns(table, columns, field="columns")
    masked = masked_places(columns, table.document if table else {}, masked_tags)
    latest_ms = record.at_ms + FUTURE_MS
    kept_rows = checked_sample | _place_of(case, sent.result_at_ms, latest_ms=latest_ms) | {MASKED: masked}
    attach(record, case, EXCERPT, kept_excerpt_of(kept_rows) if kept_rows["rows"] else None)
    return attach(record, case, FAILED_ROWS, kept_rows)


def _place_of(case: Stored, result_at_ms: int | None, *, latest_ms: int) -> Document:
    """Return the time of the result that rows belong to, under its key; nothing if they belong to none.

    A result that is dated after ``latest_ms``, by a clock that is wrong, is newer than no other.
    """
    newest = case.document.get("testCaseResult") or {}
    newest_at_ms, status = newest.get("timestamp", 0), str(newest.get("testCaseStatus", ""))
    if result_at_ms is None:
        return {RESULT_AT: newest_at_ms} if is_failure(status) else {}
    check_timestamp(result_at_ms, "timestamp")
    if result_at_ms < newest_at_ms <= latest_ms:
        raise Conflict(
            f"The rows belong to the result of {result_at_ms}, but {case.fqn} has a newer one, of {newest_at_ms}; "
            "send the rows of that one."
        )
    if result_at_ms == newest_at_ms and verdict_of(status) == SUCCESS:
        raise InvalidInput(f"the result of {result_at_ms} is a success: no rows failed", field="timestamp")
    return {RESULT_AT: result_at_ms}


def forget_failed_rows_until(record: Record, case: Stored, success_at_ms: int) -> None:
    """Remove the rows that failed a test before a success; those of a result that comes after it stay.

    What is dated ahead of the success and of ours, by a clock that is wrong, does not come after it.
    """
    excerpt = record.transaction.attachments.get(case.id, EXCERPT) or {}
    latest_ms = max(success_at_ms, record.at_ms) + FUTURE_MS
    if not success_at_ms < excerpt.get(RESULT_AT, success_at_ms) <= latest_ms:
        forget_failed_rows(record, case)


def forget_failed_rows(record: Record, case: Stored) -> Written:
    """Remove the rows that failed a test, with their excerpt."""
    attach(record, case, EXCERPT, None)
    return attach(record, case, FAILED_ROWS, None)


def kept_excerpt_of(kept_rows: Document) -> Document:
    """Return what messages may show of kept rows, with what is kept about them."""
    excerpt = excerpt_of(kept_rows)
    masked = {MASKED: kept_rows[MASKED][: len(excerpt["columns"])]} if MASKED in kept_rows else {}
    return excerpt | masked | {key: kept_rows[key] for key in (RESULT_AT,) if key in kept_rows}
