"""Protocols for data that is stored per entity outside its document: time series, attachments, incidents.

Such data makes no version. ``store/observations/series.py`` implements these protocols inside the write's transaction.
Next: ``flow/capture/observations/reports.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from tocsin.model.entity import Document


@dataclass(frozen=True)
class Line:
    """One series: of which entity, what is reported, and of which part of it.

    Attributes
    ----------
    kind : ``testCaseResult``, ``pipelineStatus``, ``tableProfile``, …
    part : a column's path, a run's id; empty for the entity itself
    """

    entity_id: str
    kind: str
    part: str = ""


@dataclass(frozen=True)
class StoredReport:
    """One report: when, what, and the status it reports, if it is of a kind that reports one."""

    at_ms: int
    document: Document
    status: str | None = None


class Series(Protocol):
    """Reads and writes series."""

    def put(self, line: Line, report: StoredReport) -> Document | None:
        """Keep a report in place of the one of the same moment, which is returned; None if there was none."""
        ...

    def at(self, line: Line, at_ms: int) -> Document | None:
        """Return what was reported at that moment."""
        ...

    def latest(self, line: Line) -> StoredReport | None:
        """Return the newest report."""
        ...

    def remove(self, line: Line, at_ms: int) -> Document | None:
        """Forget what was reported at that moment, and return it; None if there was nothing."""
        ...


class Attachments(Protocol):
    """Reads and writes attachments."""

    def get(self, entity_id: str, kind: str) -> Document | None:
        """Return what of this kind is attached to an entity."""
        ...

    def put(self, entity_id: str, kind: str, document: Document) -> None:
        """Attach a document in place of the one of this kind that was there."""
        ...

    def remove(self, entity_id: str, kind: str) -> bool:
        """Take away what of this kind is attached; False if nothing was."""
        ...


@dataclass(frozen=True)
class IncidentStep:
    """One step of an incident; ``document`` is OpenMetadata's ``TestCaseResolutionStatus``."""

    id: str
    state_id: str
    test_case_id: str
    tested_id: str
    at_ms: int
    status: str
    document: Document
    assignee_id: str | None = None

    @property
    def is_open(self) -> bool:
        """Whether something is still to be done."""
        return self.status != "Resolved"


class Suites(Protocol):
    """Says which test cases are in which logical suites."""

    def add(self, suite_id: str, test_case_id: str) -> bool:
        """Put a test case into a suite; False if it is in it."""
        ...

    def remove(self, suite_id: str, test_case_id: str) -> bool:
        """Take a test case out of a suite that is not its own; False if it is not in it."""
        ...


class UsageCounts(Protocol):
    """Reads and writes how often entities were used, by day (counted from 1970-01-01)."""

    def details(self, entity_id: str, day: int) -> Document | None:
        """Return how often an entity was used up to a day on which its use was reported; else None."""
        ...

    def put(self, entity_id: str, entity_type: str, day: int, count: int) -> None:
        """Keep a count in place of the one of the same day."""
        ...

    def add(self, entity_id: str, entity_type: str, day: int, count: int) -> None:
        """Add to the count of a day; what is added may be less than nothing."""
        ...

    def rank(self, entity_type: str, day: int) -> None:
        """Work out how all entities of a type whose use was reported on a day rank among each other."""
        ...


class Incidents(Protocol):
    """Reads and writes the steps of incidents."""

    def latest(self, test_case_id: str) -> IncidentStep | None:
        """Return the newest step of all incidents of a test case."""
        ...

    def get(self, step_id: str) -> IncidentStep | None:
        """Return one step."""
        ...

    def add(self, step: IncidentStep) -> None:
        """Add a step, the newest of its test case from now on."""
        ...

    def correct(self, step: IncidentStep) -> None:
        """Replace a step's document."""
        ...
