"""Open senders for tests of what leaves Tocsin."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tocsin.flow.send.channels.webhook.sender import WebhookSender
from tocsin.flow.send.egress import Egress
from tocsin.flow.send.http_requests import HttpRequests


@asynccontextmanager
async def webhook_sender(egress: Egress) -> AsyncIterator[WebhookSender]:
    """A webhook sender behind this egress rule."""
    async with HttpRequests(egress) as requests:
        yield WebhookSender(requests, source="http://tocsin")
