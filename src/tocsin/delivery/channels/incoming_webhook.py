"""Sender for incoming webhooks of chats: one JSON document per message to a secret address.

What a chat's document and its answers look like is in its own folder. ``authType`` counts as for webhooks.
Next: ``delivery/transport/http_requests.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tocsin.delivery.channels.webhook.access_tokens import AccessTokens
from tocsin.delivery.channels.webhook.authentication import authorization_of, signing_secrets
from tocsin.delivery.channels.webhook.signature import sign
from tocsin.delivery.dispatch import Dispatch
from tocsin.delivery.transport.outcome import of_reason
from tocsin.delivery.transport.request import Request, Transport, timeouts_of, web_address
from tocsin.model.message import Outcome, OutcomeReason
from tocsin.model.subscription import Destination

Render = Callable[..., bytes]
"""Renders a dispatch; ``base_url`` is where the links in it lead."""

Judge = Callable[[Outcome], Outcome]
"""Returns what an answer means, by the rules of the chat."""


class IncomingWebhook:
    """Sends messages to incoming webhooks of one chat; ``query`` is added to their addresses."""

    def __init__(
        self,
        requests: Transport,
        *,
        base_url: str,
        render: Render,
        judge: Judge,
        query: Mapping[str, str] | None = None,
    ) -> None:
        self._tokens = AccessTokens(requests)
        self._base_url = base_url
        self._render = render
        self._judge = judge
        self._query = dict(query or {})

    async def send(self, dispatch: Dispatch, destination: Destination, *, now_ms: int) -> Outcome:
        """Make one attempt and return its outcome."""
        url = web_address(destination.config.endpoint or dispatch.message.target, self._query)
        if url is None:
            return of_reason(OutcomeReason.BAD_URL, detail="not an http or https address")
        payload = self._render(dispatch, base_url=self._base_url)
        request = Request(
            method="POST",
            url=url,
            headers={"Content-Type": "application/json; charset=utf-8"}
            | _authentication(payload, dispatch, destination, now_ms=now_ms),
            payload=payload,
            timeouts=timeouts_of(destination),
        )
        return self._judge(await self._tokens.send_as_asked(request, destination, now_ms=now_ms))


def _authentication(payload: bytes, dispatch: Dispatch, destination: Destination, *, now_ms: int) -> dict[str, str]:
    """Return the headers that ``authType`` asks for: none unless it is ``bearer``."""
    secrets = signing_secrets(destination.config)
    if not secrets:
        return {}
    signature = sign(payload, secrets, message_id=dispatch.message.id, timestamp_s=now_ms // 1000)
    return authorization_of(destination.config) | signature
