"""Health summary of a person: what became of what they own and follow in a week, as far as they may view it.

Next: ``store/outbox/health_summaries.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tocsin.model.entity import EntityReference, WireModel

MOST_NAMED = 5
"""Assets that each part of a summary names; it counts all."""


class SummaryEntry(WireModel):
    """An asset of a summary: the incident that it is named for, or how many versions it got."""

    asset: EntityReference
    incident: str | None = None
    version_count: int | None = None


class SummaryPart(WireModel):
    """How many there are in all, and the first of them."""

    count: int = 0
    first: tuple[SummaryEntry, ...] = ()


class HealthSummary(WireModel):
    """What happened from ``since`` on, before ``until`` (epoch milliseconds), and what fails at the moment.

    ``changed_assets`` are those with new versions, those with most first; ``version_count`` counts the versions of all.
    """

    since: int
    until: int
    opened_incidents: SummaryPart = SummaryPart()
    resolved_incidents: SummaryPart = SummaryPart()
    failing_tests: SummaryPart = SummaryPart()
    changed_assets: SummaryPart = SummaryPart()
    version_count: int = 0

    @property
    def is_empty(self) -> bool:
        """Return whether nothing happened, and nothing fails."""
        parts = (self.opened_incidents, self.resolved_incidents, self.failing_tests, self.changed_assets)
        return not any(part.count for part in parts)


class HealthPreview(WireModel):
    """The summary of the seven days until now, and the mail that would say it; no mail where there is nothing to say.

    ``due_at`` is when the next one is sent; None for a person who has not chosen to get one.
    """

    due_at: int | None = None
    summary: HealthSummary
    message: Mapping[str, Any] | None = None  # Any: JSON, as of a mail: subject, text and html
