"""Report of one run of a source: counts per result, errors with their place, and what a dry run would do."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from tocsin.model.entity import Document

_MOST_ERRORS = 50
_MOST_REMARKS = 200


@dataclass
class RunReport:
    """What one run did, or with ``is_dry`` would do."""

    started_at_ms: int
    is_dry: bool = False
    counts: Counter[str] = field(default_factory=Counter)
    errors: list[str] = field(default_factory=list)
    error_count: int = 0
    would: list[Document] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    would_tell: Document = field(default_factory=dict)

    def fail(self, text: str) -> None:
        """Note an error with its place."""
        self.error_count += 1
        if len(self.errors) < _MOST_ERRORS:
            self.errors.append(text)

    def remark(self, text: str) -> None:
        """Note what was left out."""
        if len(self.remarks) < _MOST_REMARKS:
            self.remarks.append(text)

    def note(self, result: str, entity_type: str, fqn: str) -> None:
        """Count a result; a dry run names the entity as well."""
        self.counts[result] += 1
        if self.is_dry and result not in ("same", "notMapped"):
            self.would.append({"what": result, "entityType": entity_type, "fullyQualifiedName": fqn})

    def as_document(self, *, ended_at_ms: int) -> Document:
        """Return the report as it is kept and shown."""
        document: Document = {
            "startedAt": self.started_at_ms,
            "endedAt": ended_at_ms,
            "counts": {str(result): count for result, count in sorted(self.counts.items())},
            "errorCount": self.error_count,
            "errors": self.errors,
            "leftOut": self.remarks,
        }
        return document | ({"dryRun": True, "would": self.would, "wouldTell": self.would_tell} if self.is_dry else {})
