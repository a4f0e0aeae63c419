"""Script that adds fields to the table before anything else reads it, and prints what both engines make of them.

The output is JSON: the schema of events, and whether each condition holds for the two events below, as the log source
delivers them, in Spark and in Python.
"""

from __future__ import annotations

import json
import sys

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
    from tests.parity.engines import on_spark
    from tests.parity.logged import event_at_offset
    from tests.sparksession import SHORT_LIVED

    from tocsin.conditions.check import parse_and_check
    from tocsin.conditions.evaluate import holds
    from tocsin.spark.schema import EVENTS
    from tocsin.spark.session import open_session

    events = [event_at_offset(1, entityType="table", eventType="entityUpdated", facts=_VALUES)]
    events.append(event_at_offset(2, entityType="table", eventType="entityUpdated"))
    nodes = {text: parse_and_check(text) for text in _CONDITIONS}
    session = open_session(master="local[1]", conf=SHORT_LIVED)
    pairs = on_spark(session, list(nodes.values()), events)
    answer = {
        "schema": EVENTS.json(),
        "spark": {text: [(at, one.offset) in pairs for one in events] for at, text in enumerate(nodes)},
        "python": {text: [holds(node, one) for one in events] for text, node in nodes.items()},
    }
    sys.stdout.write(json.dumps(answer))


if __name__ == "__main__":
    main()
