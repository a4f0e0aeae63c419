"""Verdicts: the statuses of tests and runs reduced to one word each.

Next: ``flow/match/streak.py`` counts them.
"""

from __future__ import annotations

RESULT_STATUSES = ("Success", "Failed", "Aborted", "Queued")
RUN_STATUSES = ("Successful", "Failed", "Pending", "Skipped", "PartialSuccess")
INGESTION_STATES = ("queued", "success", "failed", "running", "partialSuccess", "stopped")
"""What tests, runs of pipelines and of ingestion pipelines report. Source: OpenMetadata 1.13, ``tests/basic.json``,
``entity/data/pipeline.json``, ``entity/services/ingestionPipelines/ingestionPipeline.json``; seeds/001 has
``PartialSuccess`` of a pipeline."""

INCIDENT_STATUSES = ("New", "Ack", "Assigned", "Resolved")
"""How far the handling of a test's incident is. Source: OpenMetadata 1.13, ``tests/testCaseResolutionStatus.json``."""

SUCCESS = "success"

_ONE_WORD = {"successful": SUCCESS}
_SUCCESSES = frozenset({SUCCESS, *_ONE_WORD})
_UNDER_WAY = frozenset({"queued", "pending", "running"})
NO_FAILURES = frozenset({"", *_SUCCESSES, *_UNDER_WAY, "skipped", "stopped"})
"""Statuses and verdicts, in lower case, that are no failures."""


def one_word(status: str) -> str:
    """Return ``status`` in lower case, and by one word where upstream has two: ``Successful`` is ``success``."""
    lowered = status.lower()
    return _ONE_WORD.get(lowered, lowered)


def all_words(status: str) -> tuple[str, ...]:
    """Return every word that upstream has for ``status``, in lower case."""
    word = one_word(status)
    return (word, *(other for other, meant in _ONE_WORD.items() if meant == word))


def verdict_of(status: str) -> str | None:
    """Return the verdict of a test or run in one word; None while it is running."""
    word = one_word(status)
    return None if word in _UNDER_WAY else word


def is_failure(status: object) -> bool:
    """Return whether a status or verdict is a failure: no success, no run under way or cut short, and not None."""
    return str(status or "").lower() not in NO_FAILURES


def is_status_recovery(before: object, after: object) -> bool:
    """Return whether a status is a success after a failure."""
    return str(after or "").lower() in _SUCCESSES and str(before or "").lower() not in NO_FAILURES


STANDINGS = frozenset({"entityStatus", "deprecated"})
"""Fields that say whether an asset is deprecated."""


def says_deprecated(value: object) -> bool:
    """Return whether the value of a field of ``STANDINGS`` says that an asset is deprecated."""
    return value is True or str(value or "").casefold() == "deprecated"
