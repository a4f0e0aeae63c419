"""Open senders for tests of what leaves Tocsin."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tocsin.delivery.channels.webhook.sender import WebhookSender
from tocsin.delivery.transport.egress import Egress
from tocsin.delivery.transport.http_requests import HttpRequests


@asynccontextmanager
async def webhook_sender(egress: Egress) -> AsyncIterator[WebhookSender]:
    """A webhook sender behind this egress rule."""
    async with HttpRequests(egress) as requests:
        yield WebhookSender(requests, source="http://tocsin")
