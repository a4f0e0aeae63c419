"""Reports of pipeline runs and test results, which make no new version of the entity.

A report is stored in a time series. It makes a change event if it is new or if its status (for a pipeline run, also the
status of its tasks) has changed. Repeating a report makes no event.
Next: ``catalogue/quality/incidents.py``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tocsin.catalogue.observations import report_fields
from tocsin.catalogue.observations.field_checks import Check, checked
from tocsin.errors import InvalidInput, NotFound
from tocsin.flow.capture.diff import is_same
from tocsin.flow.capture.write import Record
from tocsin.model.change import ChangeDescription, EventType, FieldChange
from tocsin.model.entity import Document
from tocsin.model.report import Line, StoredReport
from tocsin.model.stored import Stored, Written

MOST_AT_ONCE = 1_000
"""Reports that one request may bring."""


@dataclass(frozen=True)
class ReportKind:
    """Storage and events of the reports about one entity type.

    Attributes
    ----------
    name : of the series and of the field change
    held_as : key under which the entity holds its newest one
    form : its validator
    status : key of the status that they report
    news : keys whose change makes an event
    part : key that distinguishes runs, when it is not the time alone
    """

    name: str
    held_as: str
    form: Check
    status: str
    news: tuple[str, ...]
    part: str | None = None


REPORTS: dict[str, ReportKind] = {
    "testCase": ReportKind(
        "testCaseResult", "testCaseResult", report_fields.TEST_RESULT, "testCaseStatus", news=("testCaseStatus",)
    ),
    "pipeline": ReportKind(
        "pipelineStatus",
        "pipelineStatus",
        report_fields.PIPELINE_RUN,
        "executionStatus",
        ("executionStatus", "taskStatus"),
    ),
    "ingestionPipeline": ReportKind(
        "pipelineStatus",
        "pipelineStatuses",
        report_fields.INGESTION_RUN,
        "pipelineState",
        news=("pipelineState",),
        part="runId",
    ),
}
"""By type of entity."""


def add_run(record: Record, pipeline: Stored, status: Document) -> Written:
    """Keep the state of one run of a pipeline or an ingestion pipeline."""
    kind = REPORTS[pipeline.entity_type]
    run = checked(kind.form, status)
    _check_tasks(pipeline, run)
    at_ms: int = run["timestamp"] if "timestamp" in run else run.get("startDate", record.at_ms)
    run["timestamp"] = at_ms
    line = Line(pipeline.id, kind.name, run[kind.part] if kind.part else "")
    known = record.transaction.series.latest(line) if kind.part else None
    before = record.transaction.series.put(line, StoredReport(at_ms, run, run[kind.status]))
    if known is not None and known.at_ms != at_ms:  # the same run, reported for another moment
        before = record.transaction.series.remove(line, known.at_ms)
    if before is not None and is_unchanged(kind, before, run):
        return Written(pipeline.document, None)
    return append_event(record, pipeline, kind, run)


def _check_tasks(pipeline: Stored, run: Document) -> None:
    """Refuse the status of a task that the pipeline has not, as upstream does."""
    known = {task["name"] for task in pipeline.document.get("tasks") or ()}
    for task in run.get("taskStatus", ()):
        if task["name"] not in known:
            there_are = f"there are: {', '.join(sorted(known))}" if known else "it has none"
            raise InvalidInput(f"pipeline {pipeline.fqn} has no task {task['name']}; {there_are}", field="taskStatus")


def add_runs(record: Record, pipeline: Stored, statuses: object) -> Written:
    """Keep the states of many runs in the order of their times; each that is new or changed is an event."""
    if not isinstance(statuses, list) or not all(isinstance(one, dict) for one in statuses):
        raise InvalidInput("send a list of statuses")
    if len(statuses) > MOST_AT_ONCE:
        raise InvalidInput(f"send at most {MOST_AT_ONCE} statuses at once")
    form = REPORTS[pipeline.entity_type].form
    for place, status in enumerate(statuses):
        form(status, f"[{place}]")
    written = Written(pipeline.document, None)
    told = []
    for status in sorted(statuses, key=lambda one: int(one["timestamp"])):
        written = add_run(record, replace(pipeline, document=written.document), status)
        told += [written.event] if written.event else []
    return replace(written, event=told[-1] if told else None, cascaded=tuple(told[:-1]))


def remove_run(record: Record, pipeline: Stored, at_ms: int) -> Written:
    """Forget the run of a pipeline that was reported for that moment."""
    gone = record.transaction.series.remove(Line(pipeline.id, REPORTS["pipeline"].name), at_ms)
    if gone is None:
        raise NotFound(f"pipeline {pipeline.fqn} has no status of {at_ms}")
    return append_removal(record, pipeline, gone)


def is_unchanged(kind: ReportKind, before: Document, after: Document) -> bool:
    """Say whether a report says nothing that the one before did not say."""
    return all(is_same(_checked(kind, before, key), _checked(kind, after, key)) for key in kind.news)


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

    ``also`` is a further change of the same moment, and keys that the entity holds because of it in any case.
    """
    old = entity.document.get(kind.held_as)
    if old is None:
        description = ChangeDescription(fields_added=(FieldChange(name=kind.name, new_value=report),))
    else:
        change = FieldChange(name=kind.name, old_value=None if is_same(old, report) else old, new_value=report)
        description = ChangeDescription(fields_updated=(change,))
    is_newest = old is None or report["timestamp"] >= old["timestamp"]
    held = ({kind.held_as: report} | (newest or {}) if is_newest else {}) | (also[1] if also else {})
    document = entity.document | held if held else None
    return record.note(entity, _with(description, also[0] if also else None), event_type=event_type, document=document)


def append_removal(record: Record, entity: Stored, gone: Document) -> Written:
    """Record that a report was taken back; the entity holds the newest of those that are left."""
    kind = REPORTS[entity.entity_type]
    latest = record.transaction.series.latest(Line(entity.id, kind.name))
    document = {key: value for key, value in entity.document.items() if key not in (kind.held_as, "testCaseStatus")}
    if latest is not None:
        document[kind.held_as] = latest.document
        document |= {"testCaseStatus": latest.status} if entity.entity_type == "testCase" else {}
    change = FieldChange(name=kind.name, old_value=gone)
    return record.note(entity, ChangeDescription(fields_deleted=(change,)), document=document)


def _with(description: ChangeDescription, further: FieldChange | None) -> ChangeDescription:
    if further is None:
        return description
    if further.old_value is None:
        return description.model_copy(update={"fields_added": (*description.fields_added, further)})
    return description.model_copy(update={"fields_updated": (*description.fields_updated, further)})


def _checked(kind: ReportKind, report: Document, key: str) -> object:
    """Return what a report says under a key; of tasks their names and statuses."""
    if key != "taskStatus":
        return report.get(key)
    return [[task.get("name"), task.get(kind.status)] for task in report.get(key) or ()]
