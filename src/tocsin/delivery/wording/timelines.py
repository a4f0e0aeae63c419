"""Sentences of timelines: what happened to an incident or change request, who did it, and whom a message told.

``dana acknowledged it: “looking”``; ``alerts Late and Quality told ben by mail: delivered``. A moment is as the API has
it. Next: ``server/alerts/incidents.py``, ``cli/changes.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tocsin.delivery.lines import SHOWN_LIMIT, clean_line, moment_text, quotation_of
from tocsin.model.alert_incident import StepKind
from tocsin.model.change_request import AnswerWay, ConsumerVerdict, RequestStepKind
from tocsin.model.entity import Document
from tocsin.model.message import MessageStatus
from tocsin.model.own_address import named_target
from tocsin.model.phrases import in_words, list_text

_SOMEBODY = "a person"
_ENDINGS: Mapping[str, str] = {
    MessageStatus.PENDING: "not sent yet",
    MessageStatus.AWAITING_RETRY: "not delivered yet, is tried again",
    MessageStatus.AWAITING_REPLAY: "not delivered yet, waits for its replay",
    MessageStatus.QUEUED: "waits in the queue",
    MessageStatus.DELIVERED: "delivered",
    MessageStatus.RETRY_LIMIT_REACHED: "given up",
}
_ANSWERED: Mapping[str, str] = {
    ConsumerVerdict.READY: "it is ready",
    ConsumerVerdict.NOT_AFFECTED: "it is not affected",
    ConsumerVerdict.NEEDS_TIME: "it needs time",
    ConsumerVerdict.OBJECTS: "it objects",
}
_WAYS: Mapping[str, str] = {AnswerWay.LINK: " by the link in a mail", AnswerWay.CHAT: " by a button in a chat"}


def incident_sentence(moment: Document, zone: str) -> str:
    """Return what happened to an incident, or what a person did to it and why: ``dana assigned it to ben``."""
    who, joined_name = _who(moment), (moment.get("incident") or {}).get("name") or "another incident"
    sentence = {
        StepKind.OPENED: "a failure opened it",
        StepKind.ACKNOWLEDGED: f"{who} acknowledged it",
        StepKind.ASSIGNED: f"{who} assigned it to {_name(moment.get('assignee'))}{_absence_text(moment, zone)}",
        StepKind.RESOLVED: f"{who} resolved it",
        StepKind.MERGED: f"{who} merged it with {joined_name}",
        StepKind.SPLIT: f"{who} split it from {joined_name}",
        StepKind.NOT_CAUSED: f"{who} said that it and {joined_name} have different causes",
        StepKind.CAUSE_RESTORED: f"{who} said that it and {joined_name} may have one cause after all",
        StepKind.COMMENTED: f"{who} wrote",
        StepKind.REMINDED: "alerts reminded of it, as nobody had acknowledged it",
        StepKind.RECOVERED: "a success resolved it",
    }[StepKind(moment["kind"])]
    cause = f" as {in_words(str(moment['reason']))}" if moment.get("reason") else ""
    return _with_comment(f"{sentence}{cause}", moment)


def _absence_text(moment: Document, zone: str) -> str:
    """Return that it is meant for a person who is away: for whom another one stands in, or nobody."""
    until_ms, person = moment.get("awayUntil"), moment.get("for")
    if not isinstance(until_ms, int) or person is None:
        return ""
    is_their_own = person.get("id") == (moment.get("assignee") or {}).get("id")
    return f"{'' if is_their_own else f' for {_name(person)}'}, who is away until {moment_text(until_ms, zone)}"


def message_sentence(moment: Document, phrase: str) -> str:
    """Return whom a message told, how (``phrase``: ``by mail``), for which alerts, and what came of it."""
    recipient = moment["recipient"]
    name = str(recipient.get("displayName") or recipient.get("name") or recipient["id"])
    who = named_target(name, moment.get("destinations") or ())
    status, reason = str(moment["status"]), moment.get("reason")
    ending = _ENDINGS.get(status) or in_words(status)
    is_caused = status not in (MessageStatus.DELIVERED, MessageStatus.PENDING, MessageStatus.QUEUED)
    cause = f" ({in_words(str(reason))})" if reason and is_caused else ""
    names = [str(one.get("name") or one["id"]) for one in moment["alerts"]]
    alerts = f"alert{'' if len(names) == 1 else 's'} {list_text(names)}"
    sentence = f"{alerts} told {who} {phrase}" if names else f"{who} was told {phrase}"
    return clean_line(f"{sentence}: {ending}{cause}", limit=SHOWN_LIMIT)


def request_sentence(moment: Document, zone: str, name_of: Callable[[Document], str]) -> str:
    """Return what happened to a change request: ``dana answered for a.orders: it needs time until 2026-12-16 …``.

    ``name_of`` returns what a consumer is called; times are in an IANA ``zone``.
    """
    who, until_ms, entity = _who(moment), moment.get("until"), moment.get("entity")
    until = moment_text(until_ms, zone) if isinstance(until_ms, int) else ""
    consumer = f" for {name_of(entity)}" if entity else ""
    verdict = _ANSWERED.get(str(moment.get("answer")), "")
    answer = f": {verdict}{f' until {until}' if until else ''}" if verdict else ""
    sentence = {
        RequestStepKind.ANNOUNCED: f"{who} announced it",
        RequestStepKind.ASKED: "its date came, and its author was asked, as the change was not made",
        RequestStepKind.MISSING: "its date came, and the column was no longer there",
        RequestStepKind.ANSWERED: f"{who} answered{consumer}{_WAYS.get(str(moment.get('way')), '')}{answer}",
        RequestStepKind.COMMENTED: f"{who} commented",
        RequestStepKind.REMINDED: f"{who} reminded {name_of(entity)}"
        if entity
        else "who had not answered was reminded",
        RequestStepKind.MOVED: f"{who} moved it{f' to {until}' if until else ''}",
        RequestStepKind.WITHDRAWN: f"{who} withdrew it",
        RequestStepKind.DONE: "the change was made",
    }[RequestStepKind(moment["kind"])]
    return _with_comment(sentence, moment)


def _who(moment: Document) -> str:
    return _name(moment.get("user"))


def _name(reference: Document | None) -> str:
    names: Sequence[object] = [(reference or {}).get(key) for key in ("displayName", "name")]
    name = next((str(one) for one in names if one), _SOMEBODY)
    return f"{name} (deleted)" if (reference or {}).get("deleted") else name


def _with_comment(sentence: str, moment: Document) -> str:
    """Return a sentence with what its author said, in quotation marks."""
    comment = moment.get("comment")
    return clean_line(sentence, limit=SHOWN_LIMIT) + (f": {quotation_of(str(comment))}" if comment else "")
