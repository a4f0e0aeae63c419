"""Slack: one message per event or digest to an incoming webhook.

The address is secret: whoever has it can post. Next: ``flow/send/channels/slack/sender.py``.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tocsin.flow.send.channels.channel_type import ChannelType
from tocsin.flow.send.channels.endpoints import check_endpoint, endpoint_of
from tocsin.flow.send.dispatch import Sender
from tocsin.model.subscription import Category, Channel, Destination, Gathering
from tocsin.settings import Settings


def _check(destination: Destination, place: str) -> None:
    check_endpoint(destination.config.endpoint, f"{place}.endpoint")


@asynccontextmanager
async def _opened(settings: Settings, _unsubscribe_key: bytes) -> AsyncIterator[Sender]:
    from tocsin.flow.send.channels.slack.sender import slack_sender  # the libraries of HTTP, for workers alone
    from tocsin.flow.send.egress import egress_of
    from tocsin.flow.send.http_requests import HttpRequests

    async with HttpRequests(egress_of(settings.egress_allow)) as requests:
        yield slack_sender(requests, base_url=settings.base_url())


SLACK = ChannelType(
    channel=Channel.SLACK,
    phrase="in Slack",
    categories=frozenset({Category.EXTERNAL}),
    check=_check,
    targets=endpoint_of,
    gathering=Gathering.SUMMARY,
    interval_s=1.0,
    open_sender=_opened,
)
