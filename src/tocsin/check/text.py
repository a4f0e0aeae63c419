"""Report of a check as lines of text. Next: ``cli/check.py``."""

from __future__ import annotations

from collections.abc import Iterator

from tocsin.check.policy import RuleLevel
from tocsin.check.report import CheckedProposal, CheckReport
from tocsin.model.phrases import count_text


def text_lines(report: CheckReport) -> Iterator[str]:
    """Yield the lines of a report: what breaks first, then the rest, whom it would notify, and the verdict."""
    for checked in sorted(report.checked, key=lambda one: (not one.broken, not one.is_breaking)):
        yield from _lines_of(checked)
    if report.checked:
        yield f"Would notify: {report.recipients_in_words()}."
        yield from (f"  {line}" for line in report.recipient_lines())
    if report.acknowledgement is not None:
        yield f"Acknowledged: {report.acknowledgement}"
    yield report.verdict()


def _lines_of(checked: CheckedProposal) -> Iterator[str]:
    yield f"{checked.proposal.asset}  ({checked.proposal.file}:{checked.proposal.line})"
    yield from (f"  {line}" for line in checked.changes_in_words())
    if checked.reader_count:
        yield f"  read by {count_text(checked.reader_count, 'asset')}:"
        yield from (f"    {line}" for line in checked.readers_in_words())
    for name in checked.names_of_adapted:
        yield f"  no longer read by {name}, which this changes, too"
    if tests := checked.tests_in_words():
        yield f"  tested by {tests}"
    if missing := checked.answer["missingColumns"]:
        yield f"  not in the catalogue: {', '.join(missing)}"
    for rule in checked.broken:
        mark = "error" if rule.level is RuleLevel.ERROR else "warning"
        yield f"  {mark}: {rule.name}"
