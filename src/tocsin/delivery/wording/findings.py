"""Text of what the self-audit finds at an alert, and of editors who may view less than before.

Next: ``delivery/wording/reports.py``.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from tocsin.delivery.lines import SHOWN_LIMIT, ChangeLine, Rank, advice_line, clean_line, command_line, moment_text
from tocsin.model.alert_editor import ViewExtent
from tocsin.model.audit_finding import FindingKind
from tocsin.model.entity import Document
from tocsin.model.phrases import in_words

_SAID: dict[str, str] = {
    FindingKind.RESULT_MISSING: "an event matched, and nothing says what came of it",
    FindingKind.NOT_MATCHED: "people were notified of an event that does not match",
    FindingKind.NOTIFICATION_MISSING: "notifications are missing",
    FindingKind.NOTIFICATION_UNEXPECTED: "there are more notifications than were written",
    FindingKind.RELATION_MISSING: "the deletion of an asset may not have reached all who followed it",
    FindingKind.NOTIFIED_TWICE: "a person was notified twice of one event",
    FindingKind.DELIVERY_MISSING: "a notification has no message",
    FindingKind.DELIVERED_TWICE: "a message was delivered more than once",
    FindingKind.DELIVERY_STUCK: "a message is long due, and nobody tries it",
    FindingKind.INCIDENT_MISSING: "a failure matched, and no incident was opened",
    FindingKind.INCIDENT_UNRESOLVED: "an incident is not resolved, although its asset has succeeded since",
    FindingKind.REMINDER_MISSING: "nobody was reminded of an incident",
    FindingKind.CHECK_MISSING: "a scheduled check was not made",
    FindingKind.TOO_SLOW: "switched off, because its conditions take too long",
    FindingKind.NAME_UNKNOWN: "it names something that is no longer there",
    FindingKind.FAILING: "switched off, because its conditions cannot be evaluated",
    FindingKind.TOO_COSTLY: "switched off, because all alerts together cost too much",
    FindingKind.UNREADABLE: "nobody is notified, because its conditions cannot be read",
}
_CORRECT = "correct its conditions"
_REMEDIES: dict[str, str] = {
    FindingKind.TOO_SLOW: "make its conditions simpler",
    FindingKind.TOO_COSTLY: "make its conditions simpler",
    FindingKind.FAILING: _CORRECT,
}
"""What helps an alert that is switched off, before it is switched on again."""

_WITHOUT_PROCESS = frozenset({FindingKind.DELIVERY_STUCK, FindingKind.REMINDER_MISSING, FindingKind.CHECK_MISSING})
"""Findings that are there when a process does not run."""

_SEEN: dict[str, str] = {
    ViewExtent.EVERYTHING: "may view all that it covers",
    ViewExtent.PART: "may view only a part of what it covers",
    ViewExtent.NOTHING: "may view nothing of what it covers",
    ViewExtent.DELETED: "was deleted",
}


def finding_lines(_old: Document, finding: Document, alert: Document, _zone: str) -> Iterator[ChangeLine]:
    """Yield what is wrong with an alert, the numbers where they differ, and what helps."""
    kind = str(finding.get("kind"))
    yield ChangeLine(_SAID.get(kind) or in_words(kind), rank=Rank.REPORTED)
    if about := finding.get("about"):
        yield ChangeLine(clean_line(str(about), limit=SHOWN_LIMIT), rank=Rank.REPORTED, label="about")
    expected, actual = finding.get("expected"), finding.get("found")
    if expected != actual:
        yield ChangeLine(f"{expected}, found {actual}", rank=Rank.REPORTED, label="expected")
    yield from _advice_on(kind, finding, alert)


def _advice_on(kind: str, finding: Document, alert: Document) -> Iterator[ChangeLine]:
    """Yield what helps against a finding; against a fault of Tocsin itself, whom to tell, and what shows more."""
    if remedy := _REMEDIES.get(kind):
        command = f"tocsin alerts enable {name_in_command(alert)}"
        yield advice_line(f"{remedy}, then {command}", command)
    elif kind in (FindingKind.UNREADABLE, FindingKind.NAME_UNKNOWN):
        yield advice_line(_CORRECT)
    elif kind == FindingKind.INCIDENT_UNRESOLVED and finding.get("about"):
        command = f"tocsin incidents resolve {shlex.quote(str(finding['about']))}"
        yield advice_line(f"resolve it: {command}", command)
    elif kind in _WITHOUT_PROCESS:
        yield advice_line("see whether everything runs: tocsin health", "tocsin health")
    elif event_id := str(finding.get("eventId") or ""):
        command = f"tocsin explain {shlex.quote(event_id)} --alert {name_in_command(alert)}"
        yield advice_line(f"tell an administrator; to see what came of the event: {command}", command)
    else:
        yield advice_line("tell an administrator")


def name_in_command(alert: Document) -> str:
    """Return the name of an alert as a shell takes it."""
    return clean_line(shlex.quote(str(alert.get("name"))), limit=SHOWN_LIMIT)


def narrowing_lines(_old: Document, view: Document, alert: Document, _zone: str) -> Iterator[ChangeLine]:
    """Yield which editor may view less than before: the alert covers only what all of them may view."""
    extent = str(view.get("mayView"))
    editor = clean_line(str(view.get("displayName") or view.get("name") or "an editor"))
    yield ChangeLine(f"its editor {editor} {_SEEN.get(extent, in_words(extent))}", rank=Rank.REPORTED)
    yield ChangeLine("it tells only of what all of its editors may view", rank=Rank.REPORTED, label="what follows")
    if extent != ViewExtent.EVERYTHING:
        command = f"tocsin alerts take-over {name_in_command(alert)} --yes"
        yield advice_line(f"somebody who may view all of it can take it over: {command}", command)


def expiry_lines(_old: Document, expiry: Document, alert: Document, zone: str) -> Iterator[ChangeLine]:
    """Yield when an alert expires or has expired, and how it goes on."""
    moment_ms = expiry.get("expires")
    when = moment_text(moment_ms, zone) if isinstance(moment_ms, int) else "soon"
    is_over = alert.get("enabled") is False
    yield ChangeLine(f"{'expired' if is_over else 'expires'} {when}", rank=Rank.REPORTED)
    follows = "it notifies nobody any more" if is_over else "it is disabled then"
    command = f"tocsin alerts extend {name_in_command(alert)} DATE"
    yield ChangeLine(follows, rank=Rank.REPORTED, label="what follows")
    yield command_line(command, label="to enable it again" if is_over else "to keep it", rank=Rank.REPORTED)
