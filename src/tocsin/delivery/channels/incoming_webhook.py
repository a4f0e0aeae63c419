"""Sender for incoming webhooks of chats: one JSON document per message to a secret address.

What a chat's document and its answers look like is in its own folder. ``authType`` counts as for webhooks.
Next: ``delivery/transport/http_requests.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from tocsin.delivery.channels.webhook.access_tokens import AccessTokens
from tocsin.delivery.channels.webhook.authentication import authorization_of, signing_secrets
from tocsin.delivery.channels.webhook.signature import sign
from tocsin.delivery.dispatch import Dispatch
from tocsin.delivery.transport.outcome import of_reason
from tocsin.delivery.transport.request import Request, Transport, timeouts_of, web_address
from tocsin.model.message import Delivered, Outcome, OutcomeReason
from tocsin.model.subscription import Destination

Render = Callable[..., bytes]
"""Renders a dispatch; ``base_url`` is where the links in it lead."""

Judge = Callable[[Outcome], Outcome]
"""Returns what an answer means, by the rules of the chat."""


class IncomingWebhook:
    """Sends messages to incoming webhooks of one chat; ``query`` is added to their addresses.

    ``thread_of`` says in which thread of the chat a message is sent: what comes later is sent there as well.
    """

    def __init__(
        self,
        requests: Transport,
        *,
        base_url: str,
        render: Render,
        judge: Judge,
        query: Mapping[str, str] | None = None,
        thread_of: Callable[[Dispatch], str] | None = None,
    ) -> None:
        self._tokens = AccessTokens(requests)
        self._base_url = base_url
        self._render = render
        self._judge = judge
        self._query = dict(query or {})
        self._thread_of = thread_of

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
        outcome = self._judge(await self._tokens.send_as_asked(request, destination, now_ms=now_ms))
        if self._thread_of is None or not isinstance(outcome, Delivered):
            return outcome
        return replace(outcome, remote_id=self._thread_of(dispatch))


def _authentication(payload: bytes, dispatch: Dispatch, destination: Destination, *, now_ms: int) -> dict[str, str]:
    """Return the headers that ``authType`` asks for: none unless it is ``bearer``."""
    secrets = signing_secrets(destination.config)
    if not secrets:
        return {}
    signature = sign(payload, secrets, message_id=dispatch.message.id, timestamp_s=now_ms // 1000)
    return authorization_of(destination.config) | signature
