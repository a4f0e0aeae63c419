"""Reports over time, which belong to an entity outside its document, and the steps of incidents."""

from __future__ import annotations

from dataclasses import dataclass

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


@dataclass(frozen=True)
class SuiteRun:
    """The last completed run of a test suite: when it ended, and its worst status.

    Without a status nobody was told of it; a suite without any run has ended one at 0.
    """

    suite_id: str
    ended_at_ms: int
    status: str | None = None


@dataclass(frozen=True)
class SuiteResult:
    """The result of one test in a run of a suite; ``test_case`` and ``table`` are references.

    ``failing_since_ms`` is the time of its first result that is no success after its last success; None if it passed.
    """

    test_case: Document
    table: Document | None
    status: str
    at_ms: int
    failing_since_ms: int | None = None


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
