"""Table of senders: how each channel that sends is opened, for workers, test sends and rehearsals.

Importing it loads the libraries of HTTP and mail; what a channel is called and configured by is in
``delivery/channels/table.py``, which loads none. The inbox and the queue send nothing.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from tocsin.delivery.channels.email import sender as email
from tocsin.delivery.channels.google_chat import sender as google_chat
from tocsin.delivery.channels.ms_teams import sender as ms_teams
from tocsin.delivery.channels.push import sender as push
from tocsin.delivery.channels.sender_setup import OpenSender, SenderSetup
from tocsin.delivery.channels.slack import sender as slack
from tocsin.delivery.channels.webhook import sender as webhook
from tocsin.delivery.dispatch import Sender
from tocsin.delivery.transport.http_requests import open_transport
from tocsin.delivery.transport.request import Transport
from tocsin.model.subscription import Channel


def _over_http(build: Callable[[Transport, SenderSetup], Sender]) -> OpenSender:
    """Return what opens a sender that makes HTTP requests; nothing is sent where the setup has a recorder."""

    @asynccontextmanager
    async def open_sender(setup: SenderSetup) -> AsyncIterator[Sender]:
        async with open_transport(setup.settings, setup.recorder) as requests:
            yield build(requests, setup)

    return open_sender


SENDERS: dict[Channel, OpenSender] = {
    Channel.WEBHOOK: _over_http(webhook.build_sender),
    Channel.EMAIL: email.open_sender,
    Channel.SLACK: _over_http(slack.build_sender),
    Channel.MS_TEAMS: _over_http(ms_teams.build_sender),
    Channel.G_CHAT: _over_http(google_chat.build_sender),
    Channel.PUSH: _over_http(push.build_sender),
}
