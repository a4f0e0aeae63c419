"""Answers to members who press buttons: who they are by Slack's word, and what came of it.

Source: Slack's ``users.info``, ``auth.test`` and ``response_url``. Next: ``server/alerts/slack_buttons.py``.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlencode

from tocsin.delivery.channels.slack.api import FORM, JSON, Answer, SlackApi, SlackCall
from tocsin.delivery.channels.slack.interactions import ephemeral, is_of_slack
from tocsin.delivery.transport.outcome import of_reason
from tocsin.delivery.transport.request import Request, Timeouts, Transport, web_address
from tocsin.errors import Unavailable
from tocsin.model.message import Delivered, Outcome, OutcomeReason
from tocsin.settings import ChannelSettings

IDENTIFY_S = 2.0
"""Within this time Slack has to say who a member is: the whole answer to it may take three seconds."""

_REPLY_TIMEOUTS = Timeouts(None, None, total_s=10)


class Replies:
    """Conversation with Slack about a button; ``api_url`` is where its Web API is."""

    def __init__(self, requests: Transport, api_url: str) -> None:
        self._requests, self._api_url = requests, api_url
        self._api = SlackApi(requests, api_url)

    async def address_of(self, member: str, call: SlackCall) -> str | None:
        """Return the e-mail address of a member of the bot's own workspace; None for anybody else, and for bots.

        A person who shares a channel from another workspace has the address that its administrators say.

        Raises
        ------
        Unavailable : Slack does not say
        """
        try:
            async with asyncio.timeout(IDENTIFY_S):
                user_answer, bot_answer = await asyncio.gather(
                    self._api.ask("users.info", urlencode({"user": member}).encode(), call, content_type=FORM),
                    self._api.ask("auth.test", b"", call, content_type=FORM),
                )
        except TimeoutError as late:
            raise _unknown() from late
        if user_answer.reason is OutcomeReason.RECIPIENT_UNKNOWN:
            return None
        if not (isinstance(user_answer.outcome, Delivered) and isinstance(bot_answer.outcome, Delivered)):
            raise _unknown()
        return _address(user_answer, bot_answer, member)

    async def reply(self, response_url: str, text: str, *, now_ms: int) -> Outcome:
        """Tell the member who pressed a button; nobody is told at an address that is not Slack's."""
        url = web_address(response_url)
        if url is None or not is_of_slack(response_url, self._api_url):
            return of_reason(OutcomeReason.BAD_URL, detail="not an address of Slack")
        headers = {"Content-Type": JSON}
        request = Request("POST", url, headers, ephemeral(text), _REPLY_TIMEOUTS)
        return await self._requests.send(request, now_ms=now_ms)


def _address(user_answer: Answer, bot_answer: Answer, member: str) -> str | None:
    user = _object(user_answer.values.get("user"))
    if user.get("id") != member or user.get("is_bot") or user.get("deleted"):
        return None
    enterprise = _object(user.get("enterprise_user")).get("enterprise_id")
    shared = (
        (user.get("team_id"), bot_answer.values.get("team_id")),
        (enterprise, bot_answer.values.get("enterprise_id")),
    )
    if not any(one == other and isinstance(one, str) and one for one, other in shared):
        return None
    address = _object(user.get("profile")).get("email")
    return address if isinstance(address, str) and address else None


def _object(value: Any) -> dict[str, Any]:  # Any: a JSON value
    return value if isinstance(value, dict) else {}


def _unknown() -> Unavailable:
    return Unavailable("Slack did not say who you are, so nothing was changed. Try again.")


@asynccontextmanager
async def replies_of(settings: ChannelSettings) -> AsyncIterator[Replies]:
    """Yield a conversation with Slack, at addresses that ``settings`` allow."""
    from tocsin.delivery.transport.http_requests import open_transport  # loads aiohttp, which no start needs

    async with open_transport(settings) as requests:
        yield Replies(requests, settings.slack_api_url)
