"""Routes of answering a change request by the link in a mail to one person, as that person and without log-in.

Following the link shows the request, because programs follow links too; the form on the page answers. Rights are
those that the person has then. Next: ``server/changes/answer_page.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from html import escape
from typing import Annotated

from fastapi import Depends, Request, Response
from fastapi.responses import HTMLResponse
from starlette.concurrency import run_in_threadpool

from tocsin.delivery.links.answer import AnswerLink, link_of
from tocsin.errors import Conflict, Forbidden, InvalidInput, NotFound
from tocsin.flow.track.change_requests import check_open
from tocsin.model.change_request import AnswerWay
from tocsin.model.people import Actor
from tocsin.server.alerts.hourly_counts import counted_answer
from tocsin.server.alerts.message_buttons import GONE, person_of
from tocsin.server.alerts.read_elsewhere import note_read
from tocsin.server.build import Parts
from tocsin.server.changes.answer_page import (
    AnswerScope,
    answer_in,
    answer_scope,
    fields_html,
    form_in,
    give_answer,
    request_html,
)
from tocsin.server.http.errors import status_of
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.operations import answers
from tocsin.server.request import Caller, PartsHere, address_of, body_of
from tocsin.server.routes.notifications.unsubscribe import Token, link_page

router = DeclaredRoutes(tags=["change requests"])

Body = Annotated[bytes, Depends(body_of)]
Work = Callable[[AnswerLink, Caller], Response]
"""Returns the page about the request of a link for its person."""


@router.get(
    "/answer/{token}",
    response_class=HTMLResponse,
    openapi_extra=answers("Html", media="text/html", refuses="403 409 429"),
)
async def ask_for_answer(token: Token, request: Request, parts: PartsHere) -> Response:
    """Return a page that shows a change request, and a form to answer it."""
    return await _page(token, request, parts, _ask)


@router.post(
    "/answer/{token}",
    response_class=HTMLResponse,
    openapi_extra=answers("Html", media="text/html", reads="ChangeAnswerForm", refuses="403 429"),
)
async def answer_by_link(token: Token, request: Request, parts: PartsHere, body: Body) -> Response:
    """Answer a change request as the recipient of a mail, for all consumers that are theirs."""
    return await _page(token, request, parts, partial(_answer, body=body))


async def _page(token: str, request: Request, parts: Parts, work: Work) -> Response:
    """Return the page that some work makes, or the one that says why it is refused."""
    try:
        link, actor = await run_in_threadpool(_person, token, parts)
        with await parts.traffic.shares.place_for(actor) as place:
            caller = Caller(actor, parts, parts.settings.public_url or address_of(request), place)
            return await run_in_threadpool(work, link, caller)
    except (Conflict, Forbidden, InvalidInput, NotFound) as refused:
        return link_page("Answer", escape(refused.message), asks=False, status=status_of(refused))


def _person(token: str, parts: Parts) -> tuple[AnswerLink, Actor]:
    link = link_of(token, parts.alert_stores.unsubscribe_key)
    actor = person_of(link.person_id, parts) if link else None
    if link is None or actor is None:
        raise NotFound(GONE)
    return link, actor


def _open(request_id: str, caller: Caller) -> AnswerScope:
    scope = answer_scope(request_id, caller)
    check_open(scope.request, caller.parts.clock.now_ms())
    return scope


def _ask(link: AnswerLink, caller: Caller) -> Response:
    scope = _open(link.request_id, caller)
    return link_page(f"Answer {scope.request.name}", request_html(scope, caller), fields=fields_html({}))


def _answer(link: AnswerLink, caller: Caller, body: bytes) -> Response:
    scope, form = _open(link.request_id, caller), form_in(body)
    title = f"Answer {scope.request.name}"
    try:
        answer = answer_in(form, caller.zone)
    except InvalidInput as wrong:
        fields = fields_html(form, wrong.message)
        return link_page(title, request_html(scope, caller), fields=fields, status=status_of(wrong))
    with counted_answer(answer, scope.own_consumers, caller):
        give_answer(scope, answer, AnswerWay.LINK, caller)
    _note_read(link, caller)
    text = request_html(answer_scope(link.request_id, caller), caller)
    return link_page(title, f"Thank you, your answer is recorded.</p>\n<p>{text}", asks=False)


def _note_read(link: AnswerLink, caller: Caller) -> None:
    """Mark as read what asked for the answer, if it is still there."""
    record = caller.parts.alert_stores.records.by_id([link.notification_id]).get(link.notification_id)
    if record is not None and record.notification.recipient_id == caller.actor.id:
        note_read(record.notification, caller.actor, caller.parts)
