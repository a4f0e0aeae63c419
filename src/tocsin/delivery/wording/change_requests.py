"""Text of change requests for recipients: what changes, when and why, and what they can do.

``CR-12 announced: column email is to be removed on 2026-12-09 10:00 UTC``. Next: ``delivery/wording/reports.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tocsin.clock import LATEST_MS
from tocsin.delivery.lines import ADVICE, SHOWN_LIMIT, ChangeLine, clean_line, command_line, moment_text, quotation_of
from tocsin.delivery.wording.assets import asset_of
from tocsin.model import fqn
from tocsin.model.change import CHANGE_REQUEST, ChangeEvent, EventType
from tocsin.model.change_request import (
    AskedAsset,
    AskedFor,
    ConsumerVerdict,
    ObjectionReason,
    RequestStatus,
    request_in,
)
from tocsin.model.entity import Document
from tocsin.model.phrases import count_text, list_text

_VERBS: Mapping[str, tuple[str, str]] = {
    ConsumerVerdict.READY: ("is ready", "are ready"),
    ConsumerVerdict.NOT_AFFECTED: ("is not affected", "are not affected"),
    ConsumerVerdict.NEEDS_TIME: ("needs time", "need time"),
    ConsumerVerdict.OBJECTS: ("objects", "object"),
}
_MOMENTS = range(LATEST_MS + 1)


def announced_in_words(request: Document, zone: str) -> str:
    """Return what a request announces: ``column email is to be removed on 2026-12-09 10:00 UTC``."""
    subject = f"column {request['column']}" if request.get("column") else "it"
    new_value = request.get("newValue")
    at_ms = request.get("date")
    when = f" on {moment_text(at_ms, zone)}" if type(at_ms) is int and at_ms in _MOMENTS else ""
    verb = "was" if request.get("status") in (RequestStatus.DUE, RequestStatus.DONE) else "is"
    return {
        "removal": f"{subject} {verb} to be removed{when}",
        "type": f"{subject} {verb} to become {new_value}{when}",
        "rename": f"{subject} {verb} to be renamed to {new_value}{when}",
        "deprecation": f"{subject} {verb} to be deprecated{when}",
    }.get(str(request.get("kind")), f"a change {verb} to happen{when}")


def _kept_in_words(request: Document) -> str:
    """Return what becomes of what a withdrawn request had announced: ``column email stays``."""
    subject = f"column {request['column']}" if request.get("column") else "it"
    return {
        "removal": f"{subject} stays",
        "type": f"{subject} keeps its type",
        "rename": f"{subject} keeps its name",
        "deprecation": f"{subject} is not to be deprecated",
    }.get(str(request.get("kind")), "nothing is to happen")


def asked_clauses(answerable: AskedFor, event: ChangeEvent) -> dict[str | None, str]:
    """Return why a request asks its reader, by the name of the team that owns assets, None for the reader.

    ``you own orders_daily, which reads orders.status``: of several assets the first three, the others counted.
    """
    assets_by_team: dict[str | None, list[AskedAsset]] = {}
    for asset in answerable.assets:
        assets_by_team.setdefault(asset.team, []).append(asset)
    clauses = {team: _owned_clause(assets, event) for team, assets in assets_by_team.items()}
    if answerable.follows:
        clauses[None] = " and ".join(filter(None, ("you follow it", clauses.get(None))))
    return clauses


def _owned_clause(assets: Sequence[AskedAsset], event: ChangeEvent) -> str:
    names = list_text([clean_line(one.name) for one in assets])
    through = f" through team {assets[0].team}" if assets[0].team else ""
    changed, column = asset_of(event).name, (request_in(event) or {}).get("column")
    if column and all(one.reads_column for one in assets):
        changed = clean_line(f"{changed}.{column}")
    return f"you own {names}{through}, which {'reads' if len(assets) == 1 else 'read'} {changed}"


def is_change_overdue(event: ChangeEvent) -> bool:
    """Say whether the event tells that the date of a change request has come, and its change has not."""
    described = event.change_description
    changes = described.fields_updated if described else ()
    requests = (change.new_value for change in changes if change.name == CHANGE_REQUEST)
    return any(isinstance(request, dict) and request.get("status") == RequestStatus.DUE for request in requests)


def is_change_ahead(event: ChangeEvent) -> bool:
    """Say whether the event announces or moves a change, or reminds of it."""
    if event.event_type not in (EventType.CHANGE_REQUEST_UPDATED, EventType.CHANGE_REQUEST_REMINDER):
        return False
    return (request_in(event) or {}).get("status") == RequestStatus.ANNOUNCED


def is_objection(event: ChangeEvent) -> bool:
    """Say whether the event tells that consumers object to a change request."""
    answered = (request_in(event) or {}).get("answered")
    return isinstance(answered, dict) and answered.get("answer") == ConsumerVerdict.OBJECTS


def objection_line(objection: ObjectionReason) -> ChangeLine:
    """Return why a consumer objects, in their words: ``objection of revenue: “finance reads it until June”``."""
    consumer = clean_line(fqn.split(objection.full_name)[-1])
    return ChangeLine(quotation_of(objection.comment), label=f"objection of {consumer}")


def change_request_lines(before: Document, after: Document, _entity: Document, zone: str) -> Iterator[ChangeLine]:
    """Yield what is announced, moved, withdrawn, ended or due, and the command that answers it."""
    name, announcement = clean_line(str(after.get("name"))), announced_in_words(after, zone)
    if after.get("status") == "withdrawn":
        yield _line(f"{name} withdrawn: {_kept_in_words(after)}")
        yield from _text_lines(after, ("comment", "comment"))
        return
    if after.get("status") == RequestStatus.DONE:
        yield _line(f"{name} ended, as the asset is deleted permanently: {announcement}")
        return
    if after.get("status") == RequestStatus.DUE:
        yield _line(f"{name} is due and not done: {announcement}")
        yield ChangeLine("make the change, or move or withdraw the request", label=ADVICE)
        yield command_line(f"tocsin changes move {name} --on DATE", label="to move it")
        yield command_line(f"tocsin changes withdraw {name}", label="to withdraw it")
        return
    if "answered" in after:
        yield from _answer_lines(after, zone)
        return
    act = "announced" if not before else "is still open" if before.get("date") == after.get("date") else "moved"
    yield _line(f"{name} {act}: {announcement}")
    yield from _text_lines(after, ("comment", "comment"), ("reason", "why"), ("instead", "replacement"))
    answer, *other_answers = ConsumerVerdict
    command = f"tocsin changes answer {name} {answer}"
    line = ChangeLine(f"{command} (or {', '.join(other_answers)})", name=command)
    yield line._replace(label="to answer for a consumer")


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
    yield command_line(f"tocsin changes show {name}", label="to see who, and why")


def _text_lines(request: Document, *keys_by_label: tuple[str, str]) -> Iterator[ChangeLine]:
    """Yield the texts that people wrote, those that there are, by label and key."""
    for label, key in keys_by_label:
        if text := request.get(key):
            yield _line(str(text))._replace(label=label)


def _line(text: str) -> ChangeLine:
    return ChangeLine(clean_line(text, limit=SHOWN_LIMIT))
