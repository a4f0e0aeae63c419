"""Google Chat: one card per event or digest to the incoming webhook of a space.

The whole address is secret: key and token are in its query. Next: ``delivery/channels/google_chat/sender.py``.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import orjson

from tocsin.delivery.channels.channel_type import ChannelType, SenderSetup
from tocsin.delivery.channels.endpoints import check_endpoint, endpoint_of
from tocsin.delivery.channels.webhook.authentication import check_authentication
from tocsin.delivery.dispatch import Dispatch, Sender
from tocsin.model.entity import Document
from tocsin.model.subscription import Category, Channel, Destination, Gathering


def _check(destination: Destination, place: str) -> None:
    check_endpoint(destination.config.endpoint, f"{place}.endpoint")
    check_authentication(destination.config, place)


@asynccontextmanager
async def _open_sender(setup: SenderSetup) -> AsyncIterator[Sender]:
    from tocsin.delivery.channels.google_chat.sender import (
        google_chat_sender,  # the libraries of HTTP, for workers alone
    )
    from tocsin.delivery.transport.http_requests import open_transport

    async with open_transport(setup.settings, setup.recorder) as requests:
        yield google_chat_sender(requests, base_url=setup.settings.base_url())


def _preview(dispatch: Dispatch, base_url: str) -> Document:
    from tocsin.delivery.channels.google_chat.render import render_message  # only where messages are shown

    message: Document = orjson.loads(render_message(dispatch, base_url=base_url))
    return message


GOOGLE_CHAT = ChannelType(
    channel=Channel.G_CHAT,
    phrase="in Google Chat",
    categories=frozenset({Category.EXTERNAL, Category.OWNERS, Category.TEAMS}),
    check=_check,
    targets=endpoint_of,
    gathering=Gathering.SUMMARY,
    threads=True,
    interval_s=1.0,
    open_sender=_open_sender,
    config_keys=frozenset({"endpoint", "auth_type"}),
    preview=_preview,
)
