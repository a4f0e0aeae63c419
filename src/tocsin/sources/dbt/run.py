"""One run over a dbt project: its entities, lineage, tests, results and freshness, then what it has no more.

The first run of a project is history and notifies nobody. A run that was killed is followed by another, since nothing
is written twice. Next: ``sources/process/dbt.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

from tocsin.clock import Clock
from tocsin.errors import TocsinError, Unavailable
from tocsin.flow.capture.ports import Collision
from tocsin.model.entity import Document
from tocsin.model.source_link import OF_PEOPLE
from tocsin.sources.dbt.artifacts import Artifacts
from tocsin.sources.dbt.checks import ProjectTests, results_of, run_status_of
from tocsin.sources.dbt.edges import EdgeDetails, PlannedEdge, planned_edges
from tocsin.sources.dbt.requests import PlannedEntity, ProjectPlaces
from tocsin.sources.dbt.writing import BroughtEntity, ProjectWriter, source_id_of
from tocsin.sources.report import RunReport

_MAY_PASS = (Unavailable, Collision)
"""Errors that say nothing about the entity: the store cannot be had now. They end the run."""

_DELETED = ("testCase", "dashboard", "metric", "table")
"""Types of what is deleted when the project has it no more, in this order: tests before their tables."""

_DELETED_SHARE, _FEW = 0.2, 5
"""More deletions than this share, and than a few, are made only if that is allowed."""

Progress = Callable[[int, int], None]
Outcome = TypeVar("Outcome")


@dataclass
class ProjectRun:
    """One run; ``progress`` is called with the number of finished and of all steps."""

    artifacts: Artifacts
    places: ProjectPlaces
    writer: ProjectWriter
    clock: Clock
    may_delete: bool = False
    progress: Progress = lambda done, total: None
    _brought: dict[str, BroughtEntity] = field(default_factory=dict)
    _edges: set[tuple[str, str]] = field(default_factory=set)
    _done: int = 0
    _total: int = 0

    def run(self, report: RunReport) -> RunReport:
        """Make the run and return its report; an error is in it with its place."""
        self._report, self.writer.remark = report, report.remark
        self.writer.load()
        state = self.writer.records.state()
        self.writer.is_history = not state.is_loaded
        entities = list(self.places.entities())
        statuses, edges = list(results_of(self.artifacts)), planned_edges(self.artifacts, self.places)
        self._total = len(entities) + len(edges) + len(statuses) + sum(1 for _ in self.artifacts.tests())
        self._bring_all(entities)
        tests = list(self._tests().entities())
        self._bring_all(tests)
        details = EdgeDetails(self.artifacts.adapter, self._brought)
        for edge in edges:
            self._put_edge(edge, details)
        self._report_all(statuses)
        if not report.error_count:
            self._remove_gone([*entities, *tests])
        last_run = report.as_document(ended_at_ms=self.clock.now_ms())
        if not report.is_dry:
            loaded_at_ms = state.loaded_at_ms or report.started_at_ms
            state = replace(state, is_loaded=True, loaded_at_ms=loaded_at_ms, last_run=last_run)
            self.writer.records.save(state)
        return report

    def _bring_all(self, entities: Collection[PlannedEntity]) -> None:
        for planned in entities:
            place = f"{planned.entity_type} {planned.path}"
            if (brought := self._attempt(place, partial(self.writer.bring, planned))) is None:
                continue
            self._report.note(brought.result, planned.entity_type, _name_of(brought, planned))
            if brought.document and not brought.document.get("deleted"):
                self._brought[planned.key] = brought

    def _tests(self) -> ProjectTests:
        """Return the tests of the tables that are here."""
        fqns, columns = dict[str, str](), dict[str, dict[str, str]]()
        for node in self.artifacts.tables():
            table = self._brought.get(self.places.table_key(node))
            if table is not None:
                fqns[node.unique_id] = str(table.document.get("fullyQualifiedName") or self.places.table_fqn(node))
                names = [column["name"] for column in table.document.get("columns") or ()]
                columns[node.unique_id] = {name.lower(): name for name in names}
        return ProjectTests(self.artifacts, fqns, columns)

    def _put_edge(self, edge: PlannedEdge, details: EdgeDetails) -> None:
        from_, to = self._brought.get(edge.from_key), self._brought.get(edge.to_key)
        if from_ is None or to is None:
            return
        self._edges.add((str(from_.entity_id), str(to.entity_id)))
        write = partial(self.writer.put_edge, from_, to, details.digest_of(edge), partial(details.details_of, edge))
        result = self._attempt(f"edge {edge.from_key} → {edge.to_key}", write)
        if result is not None and result != "same":
            self._report.counts[result] += 1

    def _report_all(self, statuses: Collection[tuple[str, Document]]) -> None:
        pipeline = self._brought.get("pipeline")
        reports = [(self._brought.get(key), status) for key, status in statuses]
        if pipeline is not None:
            task_names = {task["name"] for task in pipeline.document.get("tasks") or ()}
            run_status = run_status_of(self.artifacts, task_names)
            reports += [(pipeline, run_status)] if run_status else []
        for entity, status in reports:
            if entity is not None:
                place = f"result of {entity.document.get('name')}"
                is_new = self._attempt(place, partial(self.writer.report, entity, status))
                self._report.counts["results"] += bool(is_new)

    def _remove_gone(self, planned: Collection[PlannedEntity]) -> None:
        """Remove edges and delete entities that the project has no more, unless they are too many at once."""
        present_ids = {source_id_of(one) for one in planned}
        deletable = [row for row in self.writer.entities.values() if row.is_brought and row.entity_type in _DELETED]
        gone_rows = [row for row in deletable if row.source_id not in present_ids]
        links = [link for link in self.writer.links.values() if link.digest != OF_PEOPLE]
        gone_links = [link for link in links if (link.from_id, link.to_id) not in self._edges]
        for link in gone_links if self._may_remove("edges", len(gone_links), len(links)) else ():
            if result := self._attempt("edge", partial(self.writer.remove_edge, link)):
                self._report.counts[result] += 1
        if not self._may_remove("entities", len(gone_rows), len(deletable)):
            return
        for row in sorted(gone_rows, key=lambda row: _DELETED.index(row.entity_type)):
            deleted_fqn = self._attempt(f"{row.entity_type} {row.entity_id}", partial(self.writer.delete, row))
            if deleted_fqn is not None:
                self._report.note("deleted", row.entity_type, deleted_fqn)

    def _may_remove(self, noun: str, gone_count: int, all_count: int) -> bool:
        if self.may_delete or gone_count <= max(_FEW, all_count * _DELETED_SHARE):
            return True
        self._report.fail(
            f"{gone_count} of {all_count} {noun} are gone from the project: none was removed; run with "
            "--allow-deletions if that is right"
        )
        return False

    def _attempt(self, place: str, work: Callable[[], Outcome]) -> Outcome | None:
        """Do a step; an error of this step alone is in the report, with its place."""
        self._done += 1
        self.progress(min(self._done, self._total), self._total)
        try:
            return work()
        except _MAY_PASS:
            raise
        except TocsinError as error:
            self._report.fail(f"{place}: {error.message}")
            return None


def _name_of(brought: BroughtEntity, planned: PlannedEntity) -> str:
    return str(brought.document.get("fullyQualifiedName") or planned.path)
