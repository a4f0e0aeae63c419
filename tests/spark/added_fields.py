"""Script that adds fields to the table before anything else reads it, and prints what both engines make of them.

The output is JSON: the schema of events, the two events below as the log source delivers them (Arrow, in base64), the
SQL of each condition, and whether Python says that it holds, per event.
"""

from __future__ import annotations

import json
import sys
from base64 import b64encode

import pyarrow as pa

from tocsin.conditions.fields import FIELDS, STORED, Field, Provenance
from tocsin.conditions.nodes import Kind

_ADDED = (
    Field("costCenter", Kind.TEXT, "a text"),
    Field("auditState", Kind.STATUS, "a status"),
    Field("watchers", Kind.TEXTS, "a set"),
    Field("rowCount", Kind.NUMBER, "a number", Provenance.STREAK),
    Field("fillRate", Kind.NUMBER, "a number with decimals", scale=2, stored_as="fill_ratio"),
    Field("isUrgent", Kind.BOOLEAN, "a truth value"),
)
_VALUES = {
    "costCenter": "Sales",
    "auditState": "Failed",
    "watchers": ["ann", "ben"],
    "rowCount": 7,
    "fillRate": 0.25,
    "isUrgent": True,
}
_CONDITIONS = (
    "costCenter == 'Sales'",
    "costCenter.startsWith('Sa')",
    "auditState == 'FAILED'",
    "watchers == 'ben'",
    "watchers.size() == 2",
    "rowCount >= 7",
    "fillRate == 0.25",
    "isUrgent == true",
    "!isUrgent",
    "rowCount == null",
)


def main() -> None:
    """Add the fields and print the result."""
    STORED.update({row.name: row for row in _ADDED})
    FIELDS.update({row.name: row for row in _ADDED})
    from tests.parity.logged import log_row, logged

    from tocsin.conditions.check import checked
    from tocsin.conditions.evaluate import holds
    from tocsin.spark.conditions import expression
    from tocsin.spark.schema import EVENTS
    from tocsin.spark.sources import to_arrow

    events = [logged(1, entityType="table", eventType="entityUpdated", facts=_VALUES)]
    events.append(logged(2, entityType="table", eventType="entityUpdated"))
    batch = to_arrow([log_row(one) for one in events])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    nodes = {condition: checked(condition) for condition in _CONDITIONS}
    answer = {
        "schema": EVENTS.json(),
        "events": b64encode(sink.getvalue()).decode(),
        "sql": {condition: expression(node) for condition, node in nodes.items()},
        "python": {condition: [holds(node, one) for one in events] for condition, node in nodes.items()},
    }
    sys.stdout.write(json.dumps(answer))


if __name__ == "__main__":
    main()
