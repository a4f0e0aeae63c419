"""Tests of a dbt project: what they are here, and what their results and the freshness of sources say.

Next: ``sources/dbt/run.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

import orjson

from tocsin.model.entity import Document
from tocsin.sources.dbt.artifacts import Artifacts, FreshnessResult, Node, NodeResult
from tocsin.sources.dbt.requests import PlannedEntity, task_name

FRESHNESS = "dbtSourceFreshness"
"""The definition of the tests that ask how old the newest row of a source is."""

_STANDARD = {
    "not_null": "columnValuesToBeNotNull",
    "unique": "columnValuesToBeUnique",
    "accepted_values": "columnValuesToBeInSet",
}
_STATUSES = {
    "pass": "Success",
    "warn": "Success",
    "fail": "Failed",
    "error": "Aborted",
    "runtime error": "Aborted",
}
"""Status of a result by dbt's word: with a warning, dbt succeeds. What was skipped has no result."""

_FRESHNESS_STATUSES = _STATUSES | {"error": "Failed"}
"""Of the freshness of a source, dbt says ``error`` when it is too old, and ``runtime error`` when it could not look."""

_TASK_STATUSES = {"success": "Successful", "error": "Failed", "runtime error": "Failed", "skipped": "Skipped"}
_LONGEST_MESSAGE = 5_000
_MS = 1_000


@dataclass(frozen=True)
class ProjectTests:
    """The tests of a project; ``table_fqns`` and ``columns`` are those of its tables, by unique id of their nodes."""

    artifacts: Artifacts
    table_fqns: Mapping[str, str]
    columns: Mapping[str, Mapping[str, str]]

    def entities(self) -> Iterator[PlannedEntity]:
        """Yield the definitions that dbt's own tests need, then the test cases."""
        cases = list(self._cases())
        definitions = {case.request["testDefinition"]: case.request for case in cases}
        for name, request in sorted(definitions.items()):
            if name not in _STANDARD.values():
                kind = "COLUMN" if "::columns::" in request["entityLink"] else "TABLE"
                yield PlannedEntity(
                    "testDefinition", f"definition {name}", _definition(name, kind), is_only_ensured=True
                )
        yield from cases

    def _cases(self) -> Iterator[PlannedEntity]:
        for test in self.artifacts.tests():
            table_id = test.attached_node or next(iter(self.artifacts.tables_behind(test.depends_on)), "")
            if table_id in self.table_fqns:
                yield self._case(test, table_id)
        for source in self.artifacts.tables():
            if source.has_freshness and source.unique_id in self.table_fqns:
                link = _link(self.table_fqns[source.unique_id])
                request = {"name": f"{source.name}_freshness", "testDefinition": FRESHNESS, "entityLink": link}
                yield PlannedEntity("testCase", freshness_key(source.unique_id), request)

    def _case(self, test: Node, table_id: str) -> PlannedEntity:
        column = self.columns.get(table_id, {}).get((test.column_name or "").lower())
        metadata = test.test_metadata
        generic_name = metadata.name if metadata else "singular"
        definition = _STANDARD.get(generic_name) if column else None
        if definition is None:
            definition = f"dbt_{generic_name}" + ("" if column else "_table") * (generic_name != "singular")
        request: Document = {
            "name": test.name,
            "testDefinition": definition,
            "entityLink": _link(self.table_fqns[table_id], column),
        }
        if test.description:
            request["description"] = test.description
        if generic_name == "accepted_values" and metadata is not None and column:
            values = orjson.dumps(metadata.arguments.get("values") or []).decode()
            request["parameterValues"] = [{"name": "allowedValues", "value": values}]
        return PlannedEntity("testCase", test.unique_id, request)


def freshness_key(source_id: str) -> str:
    """Return the key of the test case that holds the freshness of a source."""
    return f"freshness {source_id}"


def results_of(artifacts: Artifacts) -> Iterator[tuple[str, Document]]:
    """Yield the keys of test cases and what was found, in the order of the files."""
    for result in artifacts.results:
        status = _STATUSES.get(result.status) if result.unique_id.startswith("test.") else None
        at_ms = _ended_at_ms(result) or artifacts.run_at_ms
        if status is not None and at_ms is not None:
            yield result.unique_id, _test_result(result, status, at_ms)
    for freshness in artifacts.freshness:
        status = _FRESHNESS_STATUSES.get(freshness.status)
        if status is not None and freshness.snapshotted_at is not None:
            at_ms = _ms_of(freshness.snapshotted_at)
            text = _freshness_text(freshness)
            yield freshness_key(freshness.unique_id), {"timestamp": at_ms, "testCaseStatus": status, "result": text}


def run_status_of(artifacts: Artifacts, task_names: set[str]) -> Document | None:
    """Return the state of the pipeline's run; None without one. A test that fails fails itself, not the run."""
    if artifacts.run_at_ms is None:
        return None
    results = [result for result in artifacts.results if result.status in _TASK_STATUSES]
    tasks = [
        {"name": task_name(result.unique_id), "executionStatus": _TASK_STATUSES[result.status]}
        for result in results
        if task_name(result.unique_id) in task_names
    ]
    if not tasks:
        return None
    has_failed = any(task["executionStatus"] == "Failed" for task in tasks)
    status = "Failed" if has_failed else "Successful"
    return {"timestamp": artifacts.run_at_ms, "executionStatus": status, "taskStatus": tasks}


def _test_result(result: NodeResult, status: str, at_ms: int) -> Document:
    text = (result.message or "").strip()[:_LONGEST_MESSAGE]
    document: Document = {"timestamp": at_ms, "testCaseStatus": status}
    if result.status == "warn":
        text = f"Warning: {text}" if text else "Warning"
    if text:
        document["result"] = text
    if result.failures:
        document["failedRows"] = result.failures
    return document


def _freshness_text(freshness: FreshnessResult) -> str:
    if freshness.error:
        return freshness.error[:_LONGEST_MESSAGE]
    if freshness.max_loaded_at is None or freshness.max_loaded_at_time_ago_in_s is None:
        return "No row has the time at which it was loaded."
    hours = freshness.max_loaded_at_time_ago_in_s / 3600
    loaded = freshness.max_loaded_at.isoformat(sep=" ", timespec="minutes")
    text = f"The newest row was loaded at {loaded}, {hours:.1f} hours before it was looked at."
    return f"Warning: {text}" if freshness.status == "warn" else text


def _definition(name: str, kind: str) -> Document:
    words = name.removeprefix("dbt_").removesuffix("_table").replace("_", " ")
    texts = {
        FRESHNESS: ("dbt source freshness", "The newest row of a source is recent enough."),
        "dbt_singular": ("dbt singular test", "A query of the dbt project finds no row."),
    }
    display_name, description = texts.get(
        name, (f"dbt {words}", f"The generic test {words} of the dbt project passes.")
    )
    return {
        "name": name,
        "displayName": display_name,
        "description": description,
        "entityType": kind,
        "testPlatforms": ["dbt"],
    }


def _link(table_fqn: str, column: str | None = None) -> str:
    return f"<#E::table::{table_fqn}>" if column is None else f"<#E::table::{table_fqn}::columns::{column}>"


def _ended_at_ms(result: NodeResult) -> int | None:
    ends = [timing.completed_at for timing in result.timing if timing.completed_at]
    return _ms_of(max(ends)) if ends else None


def _ms_of(moment: datetime) -> int:
    return int(moment.timestamp() * _MS)
