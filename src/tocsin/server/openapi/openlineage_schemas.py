"""Schemas of OpenLineage events and of what became of them.

Next: ``server/routes/lineage/openlineage.py``.
"""

from __future__ import annotations

from tocsin.model.entity import Document
from tocsin.server.http.json_schema import (
    COUNT,
    FLAG,
    OPEN,
    TEXT,
    TIME,
    array,
    closed_object,
    either,
    exact_object,
    ref,
)
from tocsin.sources.openlineage.events import RunEventType

MOST_EVENTS = 1_000
"""Events of one batch."""

_IDENTIFIER: Document = {
    "type": "object",
    "required": ["namespace", "name"],
    "properties": {"namespace": TEXT, "name": TEXT},
}
_DATASET: Document = _IDENTIFIER | {"properties": _IDENTIFIER["properties"] | {"facets": OPEN}}

OPENLINEAGE_REQUESTS: dict[str, Document] = {
    "OpenLineageEvent": {
        "type": "object",
        "description": "An event of a run, of a job, or of a dataset, by OpenLineage's specification.",
        "required": ["eventTime"],
        "properties": {
            "eventTime": {"type": "string", "format": "date-time"},
            "producer": TEXT,
            "schemaURL": TEXT,
            "eventType": either(*RunEventType),
            "run": {"type": "object", "required": ["runId"], "properties": {"runId": TEXT, "facets": OPEN}},
            "job": _DATASET,
            "inputs": array(_DATASET),
            "outputs": array(_DATASET),
            "dataset": _DATASET,
        },
    },
    "OpenLineageBatchRequest": closed_object(
        {"events": {**array(ref("OpenLineageEvent")), "minItems": 1, "maxItems": MOST_EVENTS}}, required=["events"]
    ),
}

_SUMMARY = exact_object({"received": COUNT, "successful": COUNT, "failed": COUNT, "skipped": COUNT})
_FAILED_EVENT = exact_object({"index": COUNT, "reason": TEXT, "retriable": FLAG})

OPENLINEAGE_RESPONSE = exact_object(
    {
        "status": either("success", "partial_success", "failure"),
        "message": TEXT,
        "lineageEdgesCreated": COUNT,
    },
    {"summary": _SUMMARY, "failedEvents": array(_FAILED_EVENT)},
)

UNRESOLVED_LINEAGE = exact_object(
    {"namespace": TEXT, "name": TEXT, "reason": TEXT, "events": COUNT, "firstAt": TIME, "lastAt": TIME}
)
