"""Slack sender: a bot where a destination has a bot token, else its incoming webhook.

Next: ``delivery/channels/slack/bot.py`` and ``delivery/channels/incoming_webhook.py``.
"""

from __future__ import annotations

from tocsin.delivery.channels.incoming_webhook import IncomingWebhook
from tocsin.delivery.channels.slack.answers import judge_answer
from tocsin.delivery.channels.slack.api import SlackApi
from tocsin.delivery.channels.slack.bot import SlackBot
from tocsin.delivery.channels.slack.render import render_message
from tocsin.delivery.dispatch import Dispatch
from tocsin.delivery.transport.request import Transport
from tocsin.model.message import Outcome
from tocsin.model.subscription import Destination


class SlackSender:
    """Sends change events as blocks. ``base_url`` is where their links lead, ``api_url`` where bots post to.

    ``link_key`` signs links to mute; without one there are none.
    """

    def __init__(self, requests: Transport, *, base_url: str, api_url: str, link_key: bytes = b"") -> None:
        self._webhook = IncomingWebhook(requests, base_url=base_url, render=render_message, judge=judge_answer)
        self._bot = SlackBot(SlackApi(requests, api_url), base_url=base_url, link_key=link_key)

    async def send(self, dispatch: Dispatch, destination: Destination, *, now_ms: int) -> Outcome:
        """Make one attempt and return its outcome."""
        sender = self._bot if destination.config.bot_token else self._webhook
        return await sender.send(dispatch, destination, now_ms=now_ms)
