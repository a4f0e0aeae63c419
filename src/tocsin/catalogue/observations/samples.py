"""Sample rows and messages of an asset: attachments that are never versioned or indexed, nor part of events.

Source: OpenMetadata's ``TableRepository.addSampleData``. ``access/sample_masks.py`` decides what each reader sees.
"""

from __future__ import annotations

from tocsin.catalogue.observations.field_checks import Check, checked_document, shape_of
from tocsin.catalogue.observations.profiles import place_of
from tocsin.catalogue.observations.table_details import attach, check_columns
from tocsin.errors import InvalidInput
from tocsin.flow.capture.ports import Hold
from tocsin.flow.capture.write import Record
from tocsin.model.entity import Document
from tocsin.model.stored import Key, Stored, Written

SAMPLE, QUERY = "sampleData", "inspectionQuery"

ROWS = shape_of("tableData", required=("columns", "rows"))
"""The form of rows of any columns."""

_MESSAGES = shape_of("topicSampleData", required=("messages",))
FORMS: dict[str, Check] = {
    "table": ROWS,
    "container": ROWS,
    "topic": _MESSAGES,
    "searchIndex": _MESSAGES,
}
"""Types of assets that have samples, and their form."""


def put_sample(record: Record, asset: Stored, sample: Document) -> Written:
    """Attach a sample in place of the one that was there.

    Raises
    ------
    InvalidInput : it is malformed, names a column that a table has not, or a row has not one value per column.
    """
    checked_sample = checked_document(FORMS[asset.entity_type], sample)
    if asset.entity_type == "table":
        check_columns(asset, checked_sample["columns"], field="columns")
    if "rows" in checked_sample:
        check_rows(checked_sample)
    return attach(record, asset, SAMPLE, checked_sample)


def put_query(record: Record, case: Stored, query: str) -> Written:
    """Attach the query for inspecting the failed rows of a test; an empty one removes it."""
    return attach(record, case, QUERY, {QUERY: query} if query.strip() else None)


def tested_table(record: Record, case: Stored) -> Stored | None:
    """Return the table that a test case tests, if it is there."""
    tested, _ = place_of(case.document["entityFQN"])
    return record.transaction.find("table", Key.by_name(tested), Hold.SHARED)


def check_rows(sample: Document) -> None:
    """Refuse a sample whose rows have not one value for each column.

    Raises
    ------
    InvalidInput : a row has not one value for each column
    """
    width = len(sample["columns"])
    for place, row in enumerate(sample["rows"]):
        if len(row) != width:
            raise InvalidInput(f"rows[{place}] has {len(row)} values for {width} columns", field="rows")
