"""Report of a check as a Markdown comment. Next: ``cli/check.py``.

Names come from metadata, so everything is escaped: nothing of it is markup, an image, a link or a mention.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tocsin.check.policy import RuleLevel
from tocsin.check.report import CheckedProposal, CheckReport
from tocsin.model.phrases import count_text

LONGEST_COMMENT = 60_000
"""Characters of a comment: GitHub takes 65,536."""

_MARKUP = re.compile(r"([\\`*_\[\]#!|<>~&$]|:(?=//)|(?<=www)\.)")


def markdown_text(report: CheckReport) -> str:
    """Return a report as a comment."""
    icon = "❌" if report.has_errors else "✅"
    parts = [f"### {icon} Tocsin: {escape(report.verdict())}\n"]
    changes_in_order = sorted(report.checked, key=lambda one: (not one.broken, not one.is_breaking))
    end_parts = [*_end_of(report)]
    room = LONGEST_COMMENT - sum(map(len, (*parts, *end_parts))) - 100
    for number, checked_change in enumerate(changes_in_order):
        part = "\n".join(_lines_of(checked_change)) + "\n"
        if len(part) > room:
            parts.append(f"\n{count_text(len(changes_in_order) - number, 'more change')} left out.\n")
            break
        room -= len(part)
        parts.append(part)
    return "\n".join((*parts, *end_parts)).rstrip() + "\n"


def _end_of(report: CheckReport) -> Iterator[str]:
    if report.checked:
        yield f"**Would notify:** {escape(report.recipients_in_words())}."
        yield from (f"- {escape(line)}" for line in report.recipient_lines()[:50])
    if report.acknowledgement is not None:
        yield f"\n**Acknowledged:** {escape(report.acknowledgement)}"
    if report.remarks:
        yield "\n<details><summary>Not checked</summary>\n"
        yield from (f"- {escape(remark)}" for remark in report.remarks[:50])
        yield "\n</details>"


def _lines_of(checked: CheckedProposal) -> Iterator[str]:
    yield f"**{escape(checked.proposal.asset)}** ({escape(f'{checked.proposal.file}:{checked.proposal.line}')})\n"
    yield from (f"{'  ' * depth}- {escape(line)}" for depth, line in checked.details())
    for rule in checked.broken:
        yield f"- {'❌' if rule.level is RuleLevel.ERROR else '⚠️'} {escape(rule.name)}"


def escape(text: str) -> str:
    """Return a text as Markdown that shows it as it is, in one line."""
    return _MARKUP.sub(r"\\\1", " ".join(text.split())).replace("@", "@\u200b").replace("\\<", "&lt;")
