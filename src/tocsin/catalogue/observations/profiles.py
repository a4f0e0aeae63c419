"""Profiles of tables, of their columns, and of the DML statements that changed them.

Only the table's profile makes a change event (field ``profile``). Column profiles may reveal values, so they are only
stored in their series.
Source: OpenMetadata's ``TableRepository.addTableProfileData``. Next: ``server/routes/observations/profiles.py``.
"""

from __future__ import annotations

from tocsin.catalogue.observations.field_checks import (
    check_of,
    check_timestamp,
    checked_document,
    integer,
    is_whole,
    list_check_of,
    name,
    one_of,
    shape,
    shape_of,
    without_nulls,
)
from tocsin.errors import NotFound
from tocsin.flow.capture.diff import is_same
from tocsin.flow.capture.write import Record
from tocsin.model import fqn
from tocsin.model.change import ChangeDescription, FieldChange, describe
from tocsin.model.columns import missing_column, relative_fqns_by_spelling
from tocsin.model.entity import Document
from tocsin.model.report import Line, StoredReport
from tocsin.model.stored import Stored, Written

FIELD = "profile"
TABLE_PROFILE, COLUMN_PROFILE, SYSTEM_PROFILE = "tableProfile", "columnProfile", "systemProfile"
KINDS = {"table": TABLE_PROFILE, "column": COLUMN_PROFILE, "system": SYSTEM_PROFILE}
"""What a profile is of, and the kind of its series."""

OPERATIONS = ("UPDATE", "INSERT", "DELETE", "WRITE")
"""What the operations of system profiles may be."""

SHOWING_VALUES = frozenset(
    "min max mean sum median firstQuartile thirdQuartile interQuartileRange histogram cardinalityDistribution".split()
)
"""Keys of a column's profile that show values, and not just how many there are."""

_TABLE_NAMES = 4


_extreme = check_of(lambda value: is_whole(value) or isinstance(value, float | str), "a number or a string")
_REQUEST = shape_of(
    "createTableProfile",
    {
        "columnProfile": list_check_of(shape_of("columnProfile", {"name": name, "min": _extreme, "max": _extreme})),
        "systemProfile": list_check_of(
            shape({"timestamp": check_timestamp, "operation": one_of(*OPERATIONS)}, {"rowsAffected": integer}),
        ),
    },
)
"""The profiles of a table, of its columns, and of the statements that changed it."""


def put_profile(record: Record, table: Stored, request: Document) -> Written:
    """Keep the profiles of one moment; nothing if the same were kept before.

    Raises
    ------
    InvalidInput : they are malformed, or one is of a column that the table has not.
    """
    request_profiles = checked_document(_REQUEST, request)
    table_profile = without_nulls(request_profiles["tableProfile"])
    lines = [(Line(table.id, TABLE_PROFILE), table_profile)]
    paths = relative_fqns_by_spelling("table", table.fqn, table.document)
    lines += [
        (_column(table, paths, profile["name"]), without_nulls(profile))
        for profile in request_profiles.get(COLUMN_PROFILE, ())
    ]
    lines += [
        (Line(table.id, SYSTEM_PROFILE, profile["operation"]), without_nulls(profile))
        for profile in request_profiles.get(SYSTEM_PROFILE, ())
    ]
    before = record.transaction.series.latest(lines[0][0])
    old_reports = [
        record.transaction.series.put(line, StoredReport(profile["timestamp"], profile)) for line, profile in lines
    ]
    if all(old is not None and is_same(old, profile) for old, (_, profile) in zip(old_reports, lines, strict=True)):
        return Written(table.document, None)
    if before is None:
        return record.note(table, describe(FIELD, new=table_profile))
    old_value = None if is_same(before.document, table_profile) else before.document
    change = FieldChange(name=FIELD, old_value=old_value, new_value=table_profile)
    return record.note(table, ChangeDescription(fields_updated=(change,)))


def remove_profile(record: Record, table: Stored, kind: str, at_ms: int, *, column: str = "") -> Written:
    """Remove the profiles of one kind at a time; removing the table's own makes an event.

    Raises
    ------
    NotFound : the table has no such profile at that time
    """
    parts = OPERATIONS if kind == SYSTEM_PROFILE else (column,)
    removed_profiles = [record.transaction.series.remove(Line(table.id, kind, part), at_ms) for part in parts]
    profiles = [one for one in removed_profiles if one is not None]
    if not profiles:
        raise NotFound(f"table {table.fqn} has no {kind} at {at_ms}")
    if kind != TABLE_PROFILE:
        return Written(table.document, None)
    return record.note(table, describe(FIELD, old=profiles[0]))


def place_of(name: str) -> tuple[str, str]:
    """Return the FQN of the table that an FQN names or leads through, and the path of the column; else empty."""
    names = fqn.split(name)
    return fqn.join(names[:_TABLE_NAMES]), fqn.join(names[_TABLE_NAMES:])


def _column(table: Stored, paths: dict[str, str], name: str) -> Line:
    if name not in paths:
        raise missing_column(table.fqn, name, paths, field=COLUMN_PROFILE)
    return Line(table.id, COLUMN_PROFILE, paths[name])
