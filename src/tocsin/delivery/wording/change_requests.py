"""Text of change requests for recipients: what changes, when and why, and what they can do.

``CR-12 email is to be removed on 2026-12-09 10:00 UTC: no longer needed``. Next: ``delivery/wording/reports.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tocsin.clock import LATEST_MS
from tocsin.delivery.lines import SHOWN_LIMIT, ChangeLine, clean_line, moment_text
from tocsin.model.change_request import ConsumerVerdict
from tocsin.model.entity import Document
from tocsin.model.phrases import count_text

_VERBS: Mapping[str, tuple[str, str]] = {
    ConsumerVerdict.READY: ("is ready", "are ready"),
    ConsumerVerdict.NOT_AFFECTED: ("is not affected", "are not affected"),
    ConsumerVerdict.NEEDS_TIME: ("needs time", "need time"),
    ConsumerVerdict.OBJECTS: ("objects", "object"),
}
_MOMENTS = range(LATEST_MS + 1)


def announced_in_words(request: Document, zone: str) -> str:
    """Return what a request announces: ``email is to be removed on 2026-12-09 10:00 UTC``."""
    subject, new_value = request.get("column") or "it", request.get("newValue")
    at_ms = request.get("date")
    when = f" on {moment_text(at_ms, zone)}" if type(at_ms) is int and at_ms in _MOMENTS else ""
    verb = "was" if request.get("status") == "due" else "is"
    return {
        "removal": f"{subject} {verb} to be removed{when}",
        "type": f"{subject} {verb} to become {new_value}{when}",
        "rename": f"{subject} {verb} to be renamed to {new_value}{when}",
        "deprecation": f"{subject} {verb} to be deprecated{when}",
    }.get(str(request.get("kind")), f"a change {verb} to happen{when}")


def change_request_lines(before: Document, after: Document, _entity: Document, zone: str) -> Iterator[ChangeLine]:
    """Yield what is announced, moved, withdrawn or due, and the command that answers it."""
    name, announcement = clean_line(str(after.get("name"))), announced_in_words(after, zone)
    if after.get("status") == "withdrawn":
        yield _line(f"{name} withdrawn: {announcement}")
        return
    if after.get("status") == "due":
        yield _line(f"{name} is due and not done: {announcement}")
        advice = f"make the change, or tocsin changes move {name} --on DATE, or tocsin changes withdraw {name}"
        yield ChangeLine(advice, label="what to do")
        return
    if "answered" in after:
        yield from _answer_lines(after, zone)
        return
    lead = "" if not before else "is still open: " if before.get("date") == after.get("date") else "moved: "
    instead = f"; instead: {after['replacement']}" if after.get("replacement") else ""
    yield _line(f"{name} {lead}{announcement}: {after.get('why')}{instead}")
    answer, *other_answers = ConsumerVerdict
    command = f"tocsin changes answer {name} {answer} (or {', '.join(other_answers)})"
    yield ChangeLine(command, label="to answer for a consumer")


def _answer_lines(request: Document, zone: str) -> Iterator[ChangeLine]:
    """Yield what was answered, for how many consumers, how many are open, and what the author can do."""
    name, answered = clean_line(str(request.get("name"))), request["answered"]
    until_ms = answered.get("until")
    until = f" until {moment_text(until_ms, zone)}" if type(until_ms) is int and until_ms in _MOMENTS else ""
    count = answered.get("consumers")
    verb = _VERBS.get(str(answered.get("answer")), ("answers", "answer"))[count != 1]
    yield _line(f"{name} answered: {count_text(int(count or 0), 'consumer')} {verb}{until}")
    yield ChangeLine(announced_in_words(request, zone), label="announced")
    yield ChangeLine(f"{request.get('openAnswers')} of {request.get('consumers')}", label="answers open")
    yield ChangeLine(f"tocsin changes show {name}", label="to see who, and why")


def _line(text: str) -> ChangeLine:
    return ChangeLine(clean_line(text, limit=SHOWN_LIMIT))
