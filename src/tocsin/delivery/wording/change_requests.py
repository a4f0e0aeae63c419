"""Text of change requests for recipients: what changes, when and why, and what they can do.

``CR-12 announced: column email is to be removed on 2026-12-09 10:00 UTC``. Next: ``delivery/wording/reports.py``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

from tocsin.clock import LATEST_MS
from tocsin.delivery.lines import ADVICE, SHOWN_LIMIT, ChangeLine, clean_line, command_line, moment_text, quotation_of
from tocsin.delivery.wording.assets import asset_of
from tocsin.model import fqn
from tocsin.model.change import CHANGE_REQUEST, ChangeDescription, ChangeEvent, EventType, FieldChange
from tocsin.model.change_request import (
    AskedAsset,
    AskedFor,
    ConsumerVerdict,
    ObjectionReason,
    RequestNow,
    RequestStatus,
    request_in,
)
from tocsin.model.entity import Document
from tocsin.model.notification import ReasonKind
from tocsin.model.phrases import count_text, list_text

_VERBS: Mapping[str, tuple[str, str]] = {
    ConsumerVerdict.READY: ("is ready", "are ready"),
    ConsumerVerdict.NOT_AFFECTED: ("is not affected", "are not affected"),
    ConsumerVerdict.NEEDS_TIME: ("needs time", "need time"),
    ConsumerVerdict.OBJECTS: ("objects", "object"),
}
_MOMENTS = range(LATEST_MS + 1)
_STILL_OPEN = "is still open"
_ENDED = "ended, as the asset is deleted permanently"
_ENDS: Mapping[RequestStatus, str] = {
    RequestStatus.WITHDRAWN: "withdrawn",
    RequestStatus.DONE: "ended",
    RequestStatus.DUE: "its date has come",
}
SINCE_THEN = "since then"
"""The label of the line that says what has become of it."""

_ACTS, _TEXTS = "acts", "texts"
"""Keys of a request in an event that stands for several: what happened, and what people said, each with its label."""


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
    """Return whether the event tells that the date of a change request has come, and its change has not."""
    described = event.change_description
    changes = described.fields_updated if described else ()
    requests = (change.new_value for change in changes if change.name == CHANGE_REQUEST)
    return any(isinstance(request, dict) and request.get("status") == RequestStatus.DUE for request in requests)


def is_change_ahead(event: ChangeEvent) -> bool:
    """Return whether the event announces or moves a change, or reminds of it."""
    if event.event_type not in (EventType.CHANGE_REQUEST_UPDATED, EventType.CHANGE_REQUEST_REMINDER):
        return False
    return (request_in(event) or {}).get("status") == RequestStatus.ANNOUNCED


def is_objection(event: ChangeEvent) -> bool:
    """Return whether the event tells that consumers object to a change request."""
    answered = (request_in(event) or {}).get("answered")
    return isinstance(answered, dict) and answered.get("answer") == ConsumerVerdict.OBJECTS


def objection_line(objection: ObjectionReason) -> ChangeLine:
    """Return why a consumer objects, in their words: ``objection of revenue: “finance reads it until June”``."""
    consumer = clean_line(objection.display_name or fqn.split(objection.full_name)[-1])
    return ChangeLine(quotation_of(objection.comment), label=f"objection of {consumer}")


def change_request_lines(before: Document, after: Document, _entity: Document, zone: str) -> Iterator[ChangeLine]:
    """Yield what is announced, moved, withdrawn, ended or due, and what the author of one that is due can do."""
    name, announcement = clean_line(str(after.get("name"))), announced_in_words(after, zone)
    if isinstance(after.get(_TEXTS), tuple):  # of several events: JSON has no tuples
        yield from _folded_lines(name, after, zone)
        return
    if after.get("status") == RequestStatus.WITHDRAWN:
        yield _line(f"{name} withdrawn: {_kept_in_words(after)}")
        yield from _text_lines(after, ("comment", "comment"))
        return
    if after.get("status") == RequestStatus.DONE:
        yield _line(f"{name} {_ENDED}: {announcement}")
        return
    if after.get("status") == RequestStatus.DUE:
        yield _line(f"{name} is due and not done: {announcement}")
        yield ChangeLine("make the change, or move or withdraw the request", label=ADVICE)
        yield from _author_commands(name)
        return
    if "answered" in after:
        yield from _answer_lines(after, zone)
        return
    yield _line(f"{name} {acts_in_words([(before, after)])}: {announcement}")
    yield from _text_lines(after, ("comment", "comment"), ("reason", "why"), ("instead", "replacement"))


def acts_in_words(requests: Sequence[tuple[Document, Document]]) -> str:
    """Return what happened to a request, from what it was before and after each event: ``announced and moved twice``.

    That it was still open is said of nothing else.
    """
    acts = [_act_of(before, after) for before, after in requests]
    counts = Counter(act for act in acts if act != _STILL_OPEN)
    texts = [
        act if times == 1 else f"{act} {'twice' if times == 2 else f'{times:,} times'}" for act, times in counts.items()
    ]
    return list_text(texts) or _STILL_OPEN


def _act_of(before: Document, after: Document) -> str:
    if after.get("status") == RequestStatus.WITHDRAWN:
        return "withdrawn"
    if after.get("status") == RequestStatus.DONE:
        return _ENDED
    return "announced" if not before else _STILL_OPEN if before.get("date") == after.get("date") else "moved"


def fold_requests(events: Sequence[ChangeEvent]) -> ChangeEvent:
    """Return several events about one change request as one: how it is in the end, and what happened until then."""
    values = [(_value_before(event), request_in(event) or {}) for event in events]
    texts = [
        (label, text)
        for event, (_, after) in zip(events, values, strict=True)
        for label, text in (("comment", after.get("comment")), ("reason", event.reason))
        if text
    ]
    acts = {_ACTS: acts_in_words(values), _TEXTS: tuple(dict.fromkeys(texts))}
    change = FieldChange(name=CHANGE_REQUEST, old_value=values[0][0] or None, new_value={**values[-1][1], **acts})
    names = dict.fromkeys(event.user_name for event in events if event.user_name)
    return events[-1].model_copy(
        update={
            "change_description": ChangeDescription(fields_updated=(change,)),
            "user_name": list_text(list(names)) or None,
            "reason": None,
        }
    )


def _value_before(event: ChangeEvent) -> Document:
    described = event.change_description
    changes = described.fields_updated if described else ()
    values = (one.old_value for one in changes if one.name == CHANGE_REQUEST)
    return next((value for value in values if isinstance(value, dict)), {})


def _folded_lines(name: str, after: Document, zone: str) -> Iterator[ChangeLine]:
    """Yield what happened to a request in several events, how it is in the end, and what people said of it."""
    is_withdrawn = after.get("status") == RequestStatus.WITHDRAWN
    yield _line(f"{name} {after[_ACTS]}: {_kept_in_words(after) if is_withdrawn else announced_in_words(after, zone)}")
    yield from (_line(text)._replace(label=label) for label, text in after[_TEXTS])
    if not is_withdrawn:
        yield from _text_lines(after, ("reason", "why"), ("instead", "replacement"))


def request_commands(
    event: ChangeEvent, kinds: Collection[ReasonKind], *, is_author: bool, now: RequestNow | None = None
) -> list[ChangeLine]:
    """Return with which commands readers of an announced change can answer, change the request, or look at it.

    People whom it asks answer, and its author moves or withdraws it, unless it takes no answers ``now``.
    """
    if not is_change_ahead(event):
        return []
    name = clean_line(str((request_in(event) or {}).get("name")))
    is_over = now is not None and now.ended is not None
    lines: list[ChangeLine] = []
    if ReasonKind.ASKED in kinds and not is_over:
        answer, *other_answers = ConsumerVerdict
        command = f"tocsin changes answer {name} {answer}"
        line = ChangeLine(f"{command} (or {', '.join(other_answers)})", name=command)
        lines.append(line._replace(label="to answer for a consumer"))
    if is_author and not is_over:
        lines += _author_commands(name)
    return lines or [command_line(f"tocsin changes show {name}", label="to look at it")]


def state_lines(event: ChangeEvent, now: RequestNow, zone: str) -> list[ChangeLine]:
    """Return what has become of an announced change since an event: that it was withdrawn, moved, made, or is due."""
    if not is_change_ahead(event):
        return []
    is_moved = now.due_at_ms != (request_in(event) or {}).get("date")
    text = _ENDS[now.ended] if now.ended else f"moved to {moment_text(now.due_at_ms, zone)}" if is_moved else ""
    return [ChangeLine(text, label=SINCE_THEN)] if text else []


def _author_commands(name: str) -> list[ChangeLine]:
    return [
        command_line(f"tocsin changes move {name} --on DATE", label="to move it"),
        command_line(f"tocsin changes withdraw {name}", label="to withdraw it"),
    ]


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
