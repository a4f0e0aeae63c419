"""Microsoft Teams: one card per event or digest to the webhook of a workflow.

The address is secret: the signature that allows posting is in its query.
Next: ``delivery/channels/ms_teams/sender.py``.
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
    from tocsin.delivery.channels.ms_teams.sender import ms_teams_sender  # the libraries of HTTP, for workers alone
    from tocsin.delivery.transport.http_requests import open_transport

    async with open_transport(setup.settings, setup.recorder) as requests:
        yield ms_teams_sender(requests, base_url=setup.settings.base_url())


def _preview(dispatch: Dispatch, base_url: str) -> Document:
    from tocsin.delivery.channels.ms_teams.render import render_message  # only where messages are shown

    message: Document = orjson.loads(render_message(dispatch, base_url=base_url))
    return message


MS_TEAMS = ChannelType(
    channel=Channel.MS_TEAMS,
    phrase="in Microsoft Teams",
    categories=frozenset({Category.EXTERNAL, Category.OWNERS, Category.TEAMS}),
    check=_check,
    targets=endpoint_of,
    gathering=Gathering.SUMMARY,
    interval_s=0.25,
    open_sender=_open_sender,
    config_keys=frozenset({"endpoint", "auth_type"}),
    preview=_preview,
)
