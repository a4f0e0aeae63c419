"""Text of health summaries: a subject that has the numbers, and a list for each of them, to be read in a minute.

Next: ``delivery/wording/notices.py``.
"""

from __future__ import annotations

from collections.abc import Iterator

from tocsin.delivery.lines import moment_text
from tocsin.delivery.rich_text import BlockKind, RichBlock, RichText, Span
from tocsin.delivery.wording.notices import asset_point, paragraph
from tocsin.model.health_summary import HealthSummary, SummaryEntry, SummaryPart
from tocsin.model.phrases import count_text

_DAY = "%Y-%m-%d"


def health_text(summary: HealthSummary, *, zone: str, base_url: str) -> RichText:
    """Return what a person is told of a week in which something happened, or in which something fails."""
    numbers = ", ".join(_numbers(summary))
    return RichText(f"Your week: {numbers}", tuple(_blocks(summary, zone, base_url)))


def _numbers(summary: HealthSummary) -> Iterator[str]:
    opened, resolved = summary.opened_incidents.count, summary.resolved_incidents.count
    if opened or resolved:
        yield f"{count_text(opened, 'incident')} opened, {resolved:,} resolved"
    if count := summary.failing_tests.count:
        yield f"{count_text(count, 'test')} {'fails' if count == 1 else 'fail'}"
    if count := summary.changed_assets.count:
        yield f"{count_text(summary.version_count, 'change')} of {count_text(count, 'asset')}"


def _blocks(summary: HealthSummary, zone: str, base_url: str) -> Iterator[RichBlock]:
    since, until = (moment_text(at_ms, zone) for at_ms in (summary.since, summary.until))
    yield paragraph(f"What you own and follow, from {since} to {until}.")
    parts: tuple[tuple[str, SummaryPart], ...] = (
        ("Incidents opened", summary.opened_incidents),
        ("Incidents resolved", summary.resolved_incidents),
        ("Tests that fail now", summary.failing_tests),
        ("Changed most", summary.changed_assets),
    )
    for title, part in parts:
        if part.count:
            yield RichBlock(BlockKind.HEADING, (Span(f"{title}: {part.count:,}"),), level=3)
            yield from (_point(entry, base_url) for entry in part.first)
            if part.count > len(part.first):
                yield paragraph(f"… and {part.count - len(part.first):,} more")
    yield paragraph(
        "Choose another time, or none: tocsin preferences --health-summary. See it at any time: tocsin summary."
    )


def _point(entry: SummaryEntry, base_url: str) -> RichBlock:
    remark = f", {entry.incident}" if entry.incident else ""
    if entry.version_count is not None:
        remark = f", {count_text(entry.version_count, 'change')}"
    asset = entry.asset.to_wire()
    return asset_point(asset, str(asset.get("fullyQualifiedName") or asset["id"]), remark, base_url)
