"""Webhook sender: one signed HTTP request per event.

Source: OpenMetadata 1.13 ``entity/events/webhook.json``, Standard Webhooks 1.0.0. Next: ``flow/send/http_requests.py``.
"""

from __future__ import annotations

import re

from tocsin.flow.send.channels.webhook.access_tokens import AccessTokens
from tocsin.flow.send.channels.webhook.authentication import AUTHORIZATION, bearer_of, oauth_client_of
from tocsin.flow.send.channels.webhook.payload import render_body
from tocsin.flow.send.channels.webhook.signature import secrets_in, sign
from tocsin.flow.send.dispatch import Dispatch, why
from tocsin.flow.send.http_requests import HttpRequests, Request, timeout_of, web_address
from tocsin.flow.send.outcome import of_reason
from tocsin.flow.send.text_blocks import clean_line
from tocsin.model.message import Outcome, OutcomeReason
from tocsin.model.subscription import Destination, DestinationConfig

_REASON_LIMIT = 500
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_LINE_BREAKS = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]+")
_OWN_HEADERS = frozenset(
    [
        "host",
        "idempotency-key",
        "content-length",
        "transfer-encoding",
        "connection",
        "upgrade",
        "te",
        "trailer",
        "expect",
        "webhook-id",
        "webhook-timestamp",
        "webhook-signature",
        "x-openmetadata-signature",
        "x-om-signature",
        "x-tocsin-offset",
        "x-tocsin-reason",
    ]
)


class WebhookSender:
    """Sends change events to webhooks; ``event_format`` is for destinations without a ``payloadFormat``."""

    def __init__(self, requests: HttpRequests, *, source: str, event_format: str = "default") -> None:
        self._requests = requests
        self._tokens = AccessTokens(requests)
        self._source = source
        self._event_format = event_format

    async def send(self, dispatch: Dispatch, destination: Destination, *, now_ms: int) -> Outcome:
        """Make one attempt and return its outcome."""
        request = self._request(dispatch, destination, now_ms)
        if request is None:
            return of_reason(OutcomeReason.BAD_URL, detail="not an http or https address")
        client = oauth_client_of(destination.config)
        if client is not None:
            return await self._tokens.send(request, destination, client, now_ms=now_ms)
        return await self._requests.send(request, now_ms=now_ms)

    def _request(self, dispatch: Dispatch, destination: Destination, now_ms: int) -> Request | None:
        """Return the request that carries ``dispatch``; None when the destination's address is not a web address.

        The endpoint as it is set now wins over the one at the time of the event: its secrets belong to it.
        """
        config = destination.config
        url = web_address(config.endpoint or dispatch.message.target, config.query_params)
        if url is None:
            return None
        body = render_body(dispatch.event, config.payload_format or self._event_format, source=self._source)
        signature = sign(
            body.payload,
            secrets_in(config.secret_key or (config.auth_type or {}).get("secretKey")),
            message_id=dispatch.message.id,
            timestamp_s=now_ms // 1000,
        )
        own = {
            "Idempotency-Key": dispatch.event.id,
            "X-Tocsin-Offset": str(dispatch.first.log_offset),
            "X-Tocsin-Reason": _ascii_line(why(dispatch.reasons)),
        }
        return Request(
            method="PUT" if config.http_method.upper() == "PUT" else "POST",
            url=url,
            headers={"Content-Type": body.content_type}
            | _authorization(config)
            | _custom(config.headers)
            | own
            | signature,
            payload=body.payload,
            timeout=timeout_of(destination),
        )


def _authorization(config: DestinationConfig) -> dict[str, str]:
    """Return the header that carries the bearer token, unless the destination has one of its own."""
    token = bearer_of(config)
    has_own = any(name.lower() == AUTHORIZATION for name in config.headers)
    return {"Authorization": f"Bearer {token}"} if token and not has_own else {}


def _custom(headers: dict[str, str]) -> dict[str, str]:
    """Return the destination's own headers without those that are ours to set and those that are none."""
    allowed = {name: value for name, value in headers.items() if name.lower() not in _OWN_HEADERS}
    titled = {"Content-Type" if name.lower() == "content-type" else name: value for name, value in allowed.items()}
    return {name: _LINE_BREAKS.sub(" ", value) for name, value in titled.items() if _TOKEN.fullmatch(name)}


def _ascii_line(text: str) -> str:
    """Return ``text`` as a header can carry it: one line of ASCII."""
    return clean_line(text, limit=_REASON_LIMIT).encode("ascii", "replace").decode()
