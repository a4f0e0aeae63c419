"""Route that Slack calls when a person presses a button in a message of a bot: signed by Slack, without log-in.

What came of it is told to that person, after the answer. Next: ``server/alerts/slack_buttons.py``.
"""

from __future__ import annotations

from typing import Annotated

import structlog
from fastapi import Depends, Header, Request, Response
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool

from tocsin.delivery.channels.slack.api import SlackCall
from tocsin.delivery.channels.slack.interactions import ButtonPress, Signed, press_in
from tocsin.delivery.channels.slack.replies import replies_of
from tocsin.errors import Unavailable
from tocsin.model.message import Delivered
from tocsin.server.alerts.slack_buttons import SlackButton, press_as, pressed_button
from tocsin.server.build import Parts
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.operations import answers
from tocsin.server.request import PartsHere, address_of, answer, body_of

router = DeclaredRoutes(tags=["inbox"])
_log = structlog.get_logger()

Body = Annotated[bytes, Depends(body_of)]
Timestamp = Annotated[
    str, Header(alias="X-Slack-Request-Timestamp", max_length=20, description="When it was sent, epoch seconds.")
]
Signature = Annotated[
    str, Header(alias="X-Slack-Signature", max_length=200, description="Slack's signature of the request.")
]


@router.post(
    "/slack/interactions", openapi_extra=answers("Taken", reads="SlackInteraction", refuses="401 429", never="409")
)
async def take_interaction(
    request: Request, parts: PartsHere, body: Body, timestamp: Timestamp = "", signature: Signature = ""
) -> Response:
    """Handle the press of a button in a bot's message (``payload``), signed by Slack."""
    press = press_in(body)
    button = await run_in_threadpool(pressed_button, press, Signed(body, timestamp, signature), parts)
    says = await _press(press, button, parts, parts.settings.public_url or address_of(request))
    response = answer({})
    response.background = BackgroundTask(_reply, press.response_url, says, parts)
    return response


async def _press(press: ButtonPress, button: SlackButton, parts: Parts, root: str) -> str:
    call = SlackCall(button.destination, parts.clock.now_ms(), to_person=True)
    try:
        async with replies_of(parts.settings) as slack:
            address = await slack.address_of(press.member, call)
    except Unavailable as silent:
        return silent.message
    return await press_as(address, button, parts, root)


async def _reply(response_url: str, says: str, parts: Parts) -> None:
    async with replies_of(parts.settings) as slack:
        outcome = await slack.reply(response_url, says, now_ms=parts.clock.now_ms())
    if not isinstance(outcome, Delivered):
        _log.warning("slack.member_not_told", reason=outcome.reason.value, status_code=outcome.status_code)
