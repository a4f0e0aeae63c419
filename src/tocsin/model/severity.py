"""Severities: how bad it is that an alert fires, in the words of OpenMetadata's incidents.

Source: ``tests/testCaseResolutionStatus.json``, ``severities``; the words beside the numbers are ours.
Next: ``model/subscription.py``.
"""

from __future__ import annotations

from enum import StrEnum


class Severity(StrEnum):
    """How bad something is, the worst first."""

    SEVERITY_1 = "Severity1"
    SEVERITY_2 = "Severity2"
    SEVERITY_3 = "Severity3"
    SEVERITY_4 = "Severity4"
    SEVERITY_5 = "Severity5"

    @property
    def words(self) -> str:
        """Return it as people read it: ``Severity 2 (high)``."""
        return f"Severity {self.value[-1]} ({_WORDS[self]})"


_WORDS = dict(zip(Severity, ("critical", "high", "medium", "low", "minor"), strict=True))


def severity_named(name: object) -> Severity | None:
    """Return the severity of that name; None if there is none."""
    return Severity(name) if isinstance(name, str) and name in _WORDS else None
