"""Form of the page to answer a change request by the link in a mail, and what it sends.

The page works without scripts, and says in words what it refuses.
Next: ``server/routes/notifications/answer_links.py``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime, time
from functools import partial
from html import escape
from typing import NamedTuple
from urllib.parse import parse_qsl

from tocsin.catalogue.changes import answer_request, request_value
from tocsin.delivery.lines import moment_text
from tocsin.delivery.wording.change_requests import announced_in_words
from tocsin.errors import InvalidInput
from tocsin.flow.schedule.wall_clock import first_moment_s, zone_named
from tocsin.model.change_request import (
    LONGEST_TEXT,
    AnnouncedChange,
    AnswerWay,
    ChangeAnswer,
    ConsumerAnswer,
    ConsumerVerdict,
)
from tocsin.model.entity import Document
from tocsin.model.phrases import count_text
from tocsin.server.access.references import shown_name_of, with_names
from tocsin.server.changes.consumers import ids_to_answer
from tocsin.server.changes.requests import found_request
from tocsin.server.http.errors import parse_as
from tocsin.server.request import Caller

_MOST_NAMED = 20
_MOST_FIELDS = 10
_LABELS = {
    ConsumerVerdict.READY: "We are ready.",
    ConsumerVerdict.NOT_AFFECTED: "It does not affect us.",
    ConsumerVerdict.NEEDS_TIME: "We need time until the day below.",
    ConsumerVerdict.OBJECTS: "We object, because of what is written below.",
}
_ANSWERS = {
    ConsumerVerdict.READY: "We are ready",
    ConsumerVerdict.NOT_AFFECTED: "It does not affect us",
    ConsumerVerdict.NEEDS_TIME: "We need time",
    ConsumerVerdict.OBJECTS: "We object",
}
Form = Mapping[str, str]
"""The fields of the form, as they were sent."""


class AnswerScope(NamedTuple):
    """A request, all its consumers, and those for which the caller answers; hidden ones are none of these."""

    request: AnnouncedChange
    consumers: Sequence[ConsumerAnswer]
    own_consumers: Sequence[ConsumerAnswer]


def answer_scope(request_id: str, caller: Caller) -> AnswerScope:
    """Return for what the caller answers of a request.

    Raises
    ------
    NotFound : there is no such request that the caller may see
    Forbidden : they answer for none of its consumers
    """
    request = found_request(request_id, caller)
    consumers = caller.parts.changes.consumers(request.id)
    own_ids = frozenset(ids_to_answer(request, consumers, None, caller))
    return AnswerScope(request, consumers, [one for one in consumers if one.consumer.id in own_ids])


def give_answer(scope: AnswerScope, answer: ChangeAnswer, way: AnswerWay, caller: Caller) -> None:
    """Take the caller's answer for all consumers that are theirs.

    Raises
    ------
    Conflict : the request takes no answers any more
    """
    consumer_ids = [one.consumer.id for one in scope.own_consumers]
    work = partial(answer_request, request_id=scope.request.id, answer=answer, consumer_ids=consumer_ids, way=way)
    caller.parts.writes.within(work, actor=caller.actor)


def press_answer(scope: AnswerScope, answer: ChangeAnswer, caller: Caller) -> str:
    """Take the answer of a button in a chat from who pressed it. Say what came of it.

    Raises
    ------
    Conflict : as ``give_answer``
    """
    give_answer(scope, answer, AnswerWay.CHAT, caller)
    count = count_text(len(scope.own_consumers), "consumer")
    return f"Your answer to {scope.request.name} is recorded, for {count}: {_LABELS[answer.answer]}"


def form_in(body: bytes) -> Form:
    """Return the fields of a form.

    Raises
    ------
    InvalidInput : it is none, or holds a NUL character, which PostgreSQL cannot hold
    """
    try:
        fields = dict(parse_qsl(body.decode("ascii"), max_num_fields=_MOST_FIELDS, errors="strict"))
    except ValueError as error:
        raise InvalidInput("The body must be the form of the page, in UTF-8.") from error
    if any("\0" in text for text in fields.values()):
        raise InvalidInput("The form contains a NUL character; remove it.")
    return fields


def answer_in(form: Form, zone: str) -> ChangeAnswer:
    """Return the answer that a form holds; the day, in an IANA zone, counts only for who needs time.

    Raises
    ------
    InvalidInput : it holds none
    """
    if form.get("answer") not in frozenset(ConsumerVerdict):
        raise InvalidInput("Choose an answer.")
    verdict, comment = ConsumerVerdict(form["answer"]), form.get("comment", "").replace("\r\n", "\n").strip()
    if verdict is ConsumerVerdict.OBJECTS and not comment:
        raise InvalidInput("Write why you object.")
    until = {"until": _day_in(form, zone)} if verdict is ConsumerVerdict.NEEDS_TIME else {}
    return parse_as(ChangeAnswer, {"answer": verdict.value, **until, **({"comment": comment} if comment else {})})


def _day_in(form: Form, zone: str) -> int:
    """Return when the day of a form begins in a zone, epoch milliseconds."""
    try:
        day = date.fromisoformat(form.get("until", ""))
        return first_moment_s(datetime.combine(day, time.min), zone_named(zone, field="timezone")) * 1_000
    except (OverflowError, ValueError) as error:
        raise InvalidInput("Say until which day you need time, such as 2026-12-16.") from error


def request_html(scope: AnswerScope, caller: Caller) -> str:
    """Return what a request asks of the caller, as HTML: what changes and why, their consumers, their answers."""
    request, zone, me = scope.request, caller.zone, caller.actor
    own_references = [one.consumer.reference for one in scope.own_consumers]
    authors = [one.answer.author for one in scope.own_consumers if one.answer]
    people = [{"id": me.id, "type": "user", "name": me.name}, request.author, *authors]
    references = with_names([*people, request.subject, *own_references], caller)
    asset = references[request.entity_id]
    announcement = announced_in_words(request_value(request, caller.parts.clock.now_ms()), zone)
    names = [
        "yourself, as a follower" if consumer["id"] == me.id else _name_of(references[consumer["id"]])
        for consumer in own_references[:_MOST_NAMED]
    ]
    more_text = f" and {len(own_references) - _MOST_NAMED:,} more" if len(own_references) > _MOST_NAMED else ""
    open_count = sum(one.answer is None for one in scope.consumers)
    facts = [
        ("Asset", f"{_name_of(asset)} ({asset['type']})"),
        ("You answer as", shown_name_of(references[me.id])),
        ("Announced by", "you" if request.author_id == me.id else shown_name_of(references[request.author_id])),
        ("Why", request.why),
        ("Instead", request.replacement or ""),
        ("You answer for", f"{', '.join(names)}{more_text}"),
        ("Your answer now", _own_text(scope, references, caller)),
        ("Answers", f"{open_count:,} of {count_text(len(scope.consumers), 'consumer')} open"),
        ("Until", f"{moment_text(request.due_at_ms, zone)}; you can change your answer by this link until then"),
    ]
    lines = "<br>".join(f"{label}: {escape(text)}" for label, text in facts if text)
    return f"<b>{escape(f'{request.name}: {announcement}')}</b><br>{lines}"


def _name_of(reference: Mapping[str, object]) -> str:
    return str(reference.get("fullyQualifiedName") or reference.get("name") or reference["id"])


def _own_text(scope: AnswerScope, references: Mapping[str, Document], caller: Caller) -> str:
    """Return the present answers for the caller's consumers, each once."""
    texts: list[str] = []
    for _, step in scope.own_consumers:
        if step is None or step.verdict is None:
            texts.append("open")
            continue
        until = f" until {moment_text(step.until_ms, caller.zone)}" if step.until_ms is not None else ""
        who = "you" if step.user_id == caller.actor.id else shown_name_of(references[step.user_id])
        comment = f": {step.comment}" if step.comment else ""
        texts.append(f"{_ANSWERS[step.verdict]}{until} ({who}){comment}")
    return ", ".join(dict.fromkeys(texts))


def fields_html(form: Form, problem: str = "") -> str:
    """Return the fields of the form as HTML, filled with what was sent, and what was wrong with that."""
    wrong = f'<p class="wrong">{escape(problem)}</p>' if problem else ""
    choices = "".join(
        f'<label><input type="radio" name="answer" value="{verdict.value}" required'
        f"{' checked' if form.get('answer') == verdict.value else ''}> {label}</label>"
        for verdict, label in _LABELS.items()
    )
    until, comment = (escape(form.get(name, "")) for name in ("until", "comment"))
    return (
        f"{wrong}{choices}"
        f'<label>Until <input type="date" name="until" value="{until}"></label>'
        f'<label>Comment <textarea name="comment" rows="4" maxlength="{LONGEST_TEXT}">{comment}</textarea></label>'
    )
