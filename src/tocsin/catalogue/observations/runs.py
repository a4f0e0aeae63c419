"""Runs of pipelines and ingestion pipelines, reported one by one or together.

Next: ``catalogue/observations/reports.py``.
"""

from __future__ import annotations

from dataclasses import replace

from tocsin.catalogue.observations.field_checks import checked_document
from tocsin.catalogue.observations.reports import MOST_AT_ONCE, REPORTS, append_event, append_removal, is_unchanged
from tocsin.errors import InvalidInput, NotFound
from tocsin.flow.capture.write import Record
from tocsin.model.entity import Document
from tocsin.model.report import Line, StoredReport
from tocsin.model.stored import Stored, Written


def add_run(record: Record, pipeline: Stored, status: Document) -> Written:
    """Keep the state of one run of a pipeline or an ingestion pipeline."""
    kind = REPORTS[pipeline.entity_type]
    run = checked_document(kind.form, status)
    _check_tasks(pipeline, run)
    at_ms: int = run["timestamp"] if "timestamp" in run else run.get("startDate", record.at_ms)
    run["timestamp"] = at_ms
    line = Line(pipeline.id, kind.name, run[kind.part] if kind.part else "")
    earlier_report = record.transaction.series.latest(line) if kind.part else None
    before = record.transaction.series.put(line, StoredReport(at_ms, run, run[kind.status]))
    if earlier_report is not None and earlier_report.at_ms != at_ms:  # the same run, reported for another moment
        before = record.transaction.series.remove(line, earlier_report.at_ms)
    if before is not None and is_unchanged(kind, before, run):
        return Written(pipeline.document, None)
    return append_event(record, pipeline, kind, run)


def _check_tasks(pipeline: Stored, run: Document) -> None:
    """Refuse the status of a task that the pipeline has not, as upstream does."""
    task_names = {task["name"] for task in pipeline.document.get("tasks") or ()}
    for task in run.get("taskStatus", ()):
        if task["name"] not in task_names:
            there_are = f"valid tasks: {', '.join(sorted(task_names))}" if task_names else "it has none"
            raise InvalidInput(f"pipeline {pipeline.fqn} has no task {task['name']}; {there_are}", field="taskStatus")


def add_runs(record: Record, pipeline: Stored, statuses: object) -> Written:
    """Keep the states of many runs in the order of their times; each that is new or changed is an event.

    Raises
    ------
    InvalidInput : not a list of statuses, or too many
    """
    if not isinstance(statuses, list) or not all(isinstance(one, dict) for one in statuses):
        raise InvalidInput("must be a list of statuses")
    if len(statuses) > MOST_AT_ONCE:
        raise InvalidInput(f"at most {MOST_AT_ONCE} statuses at once")
    form = REPORTS[pipeline.entity_type].form
    for place, status in enumerate(statuses):
        form(status, f"[{place}]")
    result = Written(pipeline.document, None)
    events = []
    for status in sorted(statuses, key=lambda one: int(one["timestamp"])):
        result = add_run(record, replace(pipeline, document=result.document), status)
        events += [result.event] if result.event else []
    return replace(result, event=events[-1] if events else None, cascaded=tuple(events[:-1]))


def remove_run(record: Record, pipeline: Stored, at_ms: int) -> Written:
    """Forget the run of a pipeline that was reported for that moment.

    Raises
    ------
    NotFound : the pipeline has no status at that time
    """
    run = record.transaction.series.remove(Line(pipeline.id, REPORTS["pipeline"].name), at_ms)
    if run is None:
        raise NotFound(f"pipeline {pipeline.fqn} has no status at {at_ms}")
    return append_removal(record, pipeline, run)
