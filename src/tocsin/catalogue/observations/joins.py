"""Join counts of tables: per day, by column and table, for the last 30 days.

A join is stored for both of its tables. It is an attachment: no version, no notification.
Source: OpenMetadata's ``TableRepository.addJoins``. Next: ``server/routes/observations/table_details.py``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from tocsin.catalogue.observations.field_checks import checked_document, count, day, integer, list_check_of, name, shape
from tocsin.catalogue.observations.profiles import place_of
from tocsin.catalogue.observations.table_details import check_columns
from tocsin.catalogue.observations.usage import day_number, day_text
from tocsin.errors import InvalidInput
from tocsin.flow.capture.write import Record
from tocsin.model.entity import Document
from tocsin.model.stored import Key, Stored, Written, not_found

JOINS = "joins"
KEPT_DAYS = 30
_DAY_MS = 86_400_000
_JOINED = list_check_of(shape({"fullyQualifiedName": name, "joinCount": count}))
_REQUEST = shape(
    {"startDate": day},
    {
        "dayCount": integer,
        "columnJoins": list_check_of(shape({"columnName": name, "joinedWith": _JOINED})),
        "directTableJoins": _JOINED,
    },
)

Pair = tuple[str, str]
"""A column's path, or nothing for the table itself, and the FQN of what it is joined with."""


def put_joins(record: Record, table: Stored, request: Document) -> Written:
    """Add what a table was joined with on a day to what is known of it.

    Raises
    ------
    InvalidInput : it is malformed, or of a day that is not one of the last 30.
    NotFound : there is no such table or column to be joined with.
    """
    request_joins = checked_document(_REQUEST, request)
    on_day, today = day_number(request_joins["startDate"]), record.at_ms // _DAY_MS
    if not today - KEPT_DAYS < on_day <= today:
        raise InvalidInput(f"startDate must be within the last {KEPT_DAYS} days", field="startDate")
    check_columns(table, [one["columnName"] for one in request_joins.get("columnJoins", ())])
    for column, other_fqn, times in _joins(request_joins):
        other_table, other_column = _find_joined(record, other_fqn)
        _add(record, table, on_day, ((column, other_fqn), times))
        own_fqn = f"{table.fqn}.{column}" if column else table.fqn
        _add(record, other_table, on_day, ((other_column, own_fqn), times))
    return Written(table.document, None)


def summary(joins: Document, today: int) -> Document:
    """Return what a table was joined with in the last 30 days, most often first, as OpenMetadata's ``TableJoins``."""
    columns: dict[str, Counter[str]] = {}
    for on_day, pairs in joins["days"].items():
        if int(on_day) > today - KEPT_DAYS:
            for column, times_by_fqn in pairs.items():
                columns.setdefault(column, Counter()).update(times_by_fqn)
    joins_by_column = {column: _ranked_joins(times_by_fqn) for column, times_by_fqn in sorted(columns.items())}
    return {
        "startDate": day_text(today - KEPT_DAYS + 1),
        "dayCount": KEPT_DAYS,
        "directTableJoins": joins_by_column.pop("", []),
        "columnJoins": [
            {"columnName": column, "joinedWith": times_by_fqn} for column, times_by_fqn in joins_by_column.items()
        ],
    }


def _joins(request: Document) -> Iterator[tuple[str, str, int]]:
    for column_join in request.get("columnJoins", ()):
        for joined in column_join["joinedWith"]:
            yield column_join["columnName"], joined["fullyQualifiedName"], joined["joinCount"]
    for joined in request.get("directTableJoins", ()):
        yield "", joined["fullyQualifiedName"], joined["joinCount"]


def _find_joined(record: Record, fqn: str) -> tuple[Stored, str]:
    table_fqn, column = place_of(fqn)
    table = record.transaction.find("table", Key.by_name(table_fqn))
    if table is None or record.visible(table).is_deleted:
        raise not_found("table", Key.by_name(table_fqn))
    check_columns(table, [column] if column else [])
    return table, column


def _add(record: Record, table: Stored, on_day: int, join: tuple[Pair, int]) -> None:
    (column, other_fqn), times = join
    old_joins = record.transaction.attachments.get(table.id, JOINS) or {"days": {}}
    oldest = record.at_ms // _DAY_MS - KEPT_DAYS
    days = {one: pairs for one, pairs in old_joins["days"].items() if int(one) > oldest}
    times_by_fqn = days.setdefault(str(on_day), {}).setdefault(column, {})
    times_by_fqn[other_fqn] = times_by_fqn.get(other_fqn, 0) + times
    record.transaction.attachments.put(table.id, JOINS, {"days": days})


def _ranked_joins(times_by_fqn: Counter[str]) -> list[Document]:
    return [{"fullyQualifiedName": fqn, "joinCount": times} for fqn, times in times_by_fqn.most_common()]
