"""Events of reports, such as pipeline runs and test results, which make no new version of the entity.

A report is stored in a time series. It makes a change event if it is new or if its status (for a pipeline run, also the
status of its tasks) has changed. Repeating a report makes no event.
Next: ``catalogue/observations/runs.py``, ``catalogue/quality/results.py``.
"""

from __future__ import annotations

from dataclasses import dataclass

from tocsin.catalogue.observations.field_checks import Check, list_check_of, name, shape_of, text
from tocsin.clock import FUTURE_MS
from tocsin.flow.capture.diff import is_same
from tocsin.flow.capture.write import Record
from tocsin.model.change import ChangeDescription, EventType, FieldChange, describe
from tocsin.model.entity import Document
from tocsin.model.report import Line
from tocsin.model.stored import Stored, Written

MOST_AT_ONCE = 1_000
"""Reports that one request may bring."""

_LEFT_OUT_OF_EVENTS = "sampleData"


@dataclass(frozen=True)
class ReportKind:
    """Storage and events of the reports about one entity type.

    Attributes
    ----------
    name : of the series and of the field change
    held_as : key under which the entity holds its newest one
    form : its validator
    news : keys whose change makes an event; the first is that of the status that they report
    part : key that distinguishes runs, when it is not the time alone
    """

    name: str
    held_as: str
    form: Check
    news: tuple[str, ...]
    part: str | None = None

    @property
    def status(self) -> str:
        """The key of the status that they report."""
        return self.news[0]


_RESULT = shape_of(
    "testCaseResult",
    {
        "fqn": text,
        "testDefinition": None,
        "dimensionResults": list_check_of(
            shape_of("testCaseDimensionResult", required=("dimensionKey", "dimensionValues")),
        ),
    },
    required=("timestamp", "testCaseStatus"),
)
_RUN = shape_of(
    "entity/data/pipeline#pipelineStatus", {"taskStatus": list_check_of(shape_of("taskStatus", {"name": name}))}
)
_INGESTION = shape_of("pipelineStatus", {"runId": name}, required=("runId", "pipelineState"))

REPORTS: dict[str, ReportKind] = {
    "testCase": ReportKind("testCaseResult", "testCaseResult", _RESULT, ("testCaseStatus",)),
    "pipeline": ReportKind("pipelineStatus", "pipelineStatus", _RUN, ("executionStatus", "taskStatus")),
    "ingestionPipeline": ReportKind("pipelineStatus", "pipelineStatuses", _INGESTION, ("pipelineState",), part="runId"),
}
"""By type of entity."""


def is_unchanged(kind: ReportKind, before: Document, after: Document) -> bool:
    """Return whether a report equals the one before in everything that makes an event."""
    return all(is_same(_compared_value(kind, before, key), _compared_value(kind, after, key)) for key in kind.news)


def append_event(
    record: Record,
    entity: Stored,
    kind: ReportKind,
    report: Document,
    *,
    event_type: EventType = EventType.ENTITY_UPDATED,
    newest: Document | None = None,
    also: tuple[FieldChange, Document] | None = None,
) -> Written:
    """Record that something was reported; the entity holds it, and the keys of ``newest``, if it is the newest.

    What is dated ahead, by a clock that is wrong, is held until the next report, and is what none is compared with.
    ``also`` is a further change of the same moment, and the document that the entity has because of it in any case.
    """
    old = _report_before(record, entity, kind, report)
    if old is None:
        description = describe(kind.name, new=report)
    else:
        change = FieldChange(name=kind.name, old_value=None if is_same(old, report) else old, new_value=report)
        description = ChangeDescription(fields_updated=(change,))
    document = also[1] if also else None
    if old is None or report["timestamp"] >= old["timestamp"]:
        document = (document or entity.document) | {kind.held_as: report} | (newest or {})
    description = description.with_changes(*(also[:1] if also else ()))
    return record.note(entity, description, event_type=event_type, document=document)


def is_newest_report(record: Record, entity: Stored, kind: ReportKind, report: Document) -> bool:
    """Return whether the entity will hold a report: it is none of the past."""
    before = _report_before(record, entity, kind, report)
    return before is None or report["timestamp"] >= before["timestamp"]


def _report_before(record: Record, entity: Stored, kind: ReportKind, report: Document) -> Document | None:
    """Return the report that the entity holds, or, if that is dated ahead, the one before it; None without one."""
    latest_ms = record.at_ms + FUTURE_MS
    before: Document | None = entity.document.get(kind.held_as)
    if before is None or before["timestamp"] <= latest_ms:
        return before
    before_ms = min(report["timestamp"], latest_ms + 1)
    sound_report = record.transaction.series.latest(Line(entity.id, kind.name), before_ms=before_ms)
    return part_for_events(sound_report.document) if sound_report else None


def append_removal(record: Record, entity: Stored, report: Document) -> Written:
    """Record that a report was taken back; the entity holds the newest of those that are left."""
    kind = REPORTS[entity.entity_type]
    latest = record.transaction.series.latest(Line(entity.id, kind.name))
    document = {key: value for key, value in entity.document.items() if key not in (kind.held_as, "testCaseStatus")}
    if latest is not None:
        document[kind.held_as] = part_for_events(latest.document)
        document |= {"testCaseStatus": latest.status} if entity.entity_type == "testCase" else {}
    return record.note(entity, describe(kind.name, old=report), document=document)


def part_for_events(report: Document) -> Document:
    """Return what events and entities hold of a report: all but failed rows, which may have masked values."""
    return {key: value for key, value in report.items() if key != _LEFT_OUT_OF_EVENTS}


def _compared_value(kind: ReportKind, report: Document, key: str) -> object:
    """Return what a report says under a key; of tasks their names and statuses."""
    if key != "taskStatus":
        return report.get(key)
    return [[task.get("name"), task.get(kind.status)] for task in report.get(key) or ()]
