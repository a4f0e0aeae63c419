"""Buttons to answer a change request, in messages that ask people for it; to look at it, in others.

A mail to a person has a link by a signed token, which names the person and the request: it works until the date that
the request has when it is used. Elsewhere others may read the message: the link leads to the request's page, which asks
to log in. Answers that need no words are buttons in Slack as well, and Slack says who presses them. Their tokens name
the notification, and, as that may be removed before the date, a destination and the recipient.
Next: ``server/routes/notifications/answer_links.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from tocsin.delivery.dispatch import Button, Choice, Dispatch
from tocsin.delivery.links.acknowledge import LinkSigner
from tocsin.delivery.links.tokens import about_of, sign_token
from tocsin.model.change import EventType
from tocsin.model.change_request import ConsumerVerdict, RequestStatus, request_in
from tocsin.model.entity import Document
from tocsin.model.message import Entry
from tocsin.model.notification import ReasonKind
from tocsin.model.subscription import Channel

_PURPOSE, _IN_CHAT, _OF_NOTIFICATION = "answer", "answer by button", "answer in chat"
_ASKING = (EventType.CHANGE_REQUEST_UPDATED, EventType.CHANGE_REQUEST_REMINDER)
_CHOICES = {ConsumerVerdict.READY: "We are ready", ConsumerVerdict.NOT_AFFECTED: "Not affected"}
"""Answers that need neither a date nor a comment."""


class AnswerLink(NamedTuple):
    """What a token asks for: to answer a request, both by their ids, as a person.

    ``notification_id`` is what asked them; empty in older links.
    """

    person_id: str
    request_id: str
    notification_id: str = ""


class AnswerPress(NamedTuple):
    """What a button in a chat asks for: an answer to the request of a notification, by who presses it.

    ``recipient_id`` is the only one who may, None in a channel; ``destination_key`` a destination that sends it. Older
    buttons name neither: ``destination_key`` is None, and the notification, which must be there, says who may.
    """

    notification_id: str
    request_id: str
    verdict: ConsumerVerdict
    destination_key: tuple[str, str] | None
    recipient_id: str | None


def answer_buttons_of(dispatch: Dispatch, links: LinkSigner, *, now_ms: int) -> Mapping[str, tuple[Button, ...]]:
    """Return the buttons of a message, by the ids of the notifications in it: one for each request that is open.

    The last notification of a request has it, of those that ask the reader if there are any.
    """
    last_entries: dict[str, tuple[Entry, Document]] = {}
    asking_entries: dict[str, Entry] = {}
    for entry in dispatch.entries:
        request = request_in(entry.event) if entry.event.event_type in _ASKING else None
        if request is not None:
            last_entries[request["id"]] = (entry, request)
            asking_entries |= {request["id"]: entry} if _is_asked(entry, dispatch) else {}
    return {
        entry.notification_id: (
            _button(asking_entries[identity], request, dispatch, links)
            if identity in asking_entries
            else Button(f"Look at {request['name']}", _page_of(request, links), ""),
        )
        for identity, (entry, request) in last_entries.items()
        if _is_open(request, dispatch, now_ms)
    }


def _is_asked(entry: Entry, dispatch: Dispatch) -> bool:
    """Return whether a notification asks its reader for an answer: in a chat that others read, who reads it there."""
    is_in_chat = entry.recipient_id is None and dispatch.message.channel != Channel.EMAIL
    return is_in_chat or any(one.kind is ReasonKind.ASKED for one in entry.reasons)


def _is_open(request: Document, dispatch: Dispatch, now_ms: int) -> bool:
    """Return whether a request takes answers, as it is now, or else as its event says."""
    if (now := dispatch.requests.get(request["id"])) is not None:
        return now.at(now_ms).ended is None
    return request.get("status") == RequestStatus.ANNOUNCED and now_ms < int(request["date"])


def _page_of(request: Document, links: LinkSigner) -> str:
    return f"{links.base_url}/#/changes/{request['name']}"


def _button(entry: Entry, request: Document, dispatch: Dispatch, links: LinkSigner) -> Button:
    text, channel = f"Answer {request['name']}", dispatch.message.channel
    if channel == Channel.EMAIL and entry.recipient_id and links.key and dispatch.reaches_recipient:
        token = token_of(AnswerLink(entry.recipient_id, request["id"], entry.notification_id), links.key)
        return Button(text, f"{links.base_url}/api/v1/answer/{token}", token)
    address = _page_of(request, links)
    if channel != Channel.SLACK or not links.key or not entry.reasons:
        return Button(text, address, "")
    destination_key = min(one.destination_key for one in entry.reasons)
    presses = [
        AnswerPress(entry.notification_id, request["id"], verdict, destination_key, entry.recipient_id)
        for verdict in _CHOICES
    ]
    choices = (Choice(_CHOICES[press.verdict], press_token_of(press, links.key)) for press in presses)
    return Button(text, address, "", tuple(choices))


def token_of(link: AnswerLink, key: bytes) -> str:
    """Return the token for a link."""
    return sign_token(_PURPOSE, ".".join(filter(None, link)), key)


def link_of(token: str, key: bytes) -> AnswerLink | None:
    """Return what a token asks for; None for what was not signed with ``key``."""
    about = about_of(_PURPOSE, token, key)
    return None if about is None else AnswerLink(*about.split("."))


def press_token_of(press: AnswerPress, key: bytes) -> str:
    """Return the token of a button in a chat."""
    about = (press.notification_id, press.request_id, press.verdict)
    if press.destination_key is None:
        return sign_token(_OF_NOTIFICATION, ".".join(about), key)
    return sign_token(_IN_CHAT, ".".join((*about, *press.destination_key, press.recipient_id or "")), key)


def press_of(token: str, key: bytes) -> AnswerPress | None:
    """Return what the button of a token asks for; None for what was not signed with ``key``."""
    if (about := about_of(_IN_CHAT, token, key)) is not None:
        notification_id, request_id, verdict, alert_id, destination_id, recipient_id = about.split(".")
        destination_key = (alert_id, destination_id)
        return AnswerPress(notification_id, request_id, ConsumerVerdict(verdict), destination_key, recipient_id or None)
    if (about := about_of(_OF_NOTIFICATION, token, key)) is None:
        return None
    notification_id, request_id, verdict = about.split(".")
    return AnswerPress(notification_id, request_id, ConsumerVerdict(verdict), None, None)
