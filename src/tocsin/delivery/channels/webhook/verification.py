"""Verification of webhook endpoints: a challenge that is answered before the first event goes there.

Each worker asks once, and again when endpoint or secrets change. Who answers it has agreed to get events, and where
the destination has a secret knows it. Next: ``delivery/channels/webhook/sender.py``.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from secrets import token_urlsafe

import orjson

from tocsin.delivery.channels.webhook.authentication import signing_secrets
from tocsin.delivery.channels.webhook.signature import key_of, sign
from tocsin.delivery.transport.outcome import of_reason
from tocsin.delivery.transport.request import Request
from tocsin.delivery.transport.single_flight import KEPT_ALWAYS, NOT_KEPT, SingleFlightCache
from tocsin.model.message import Delivered, Outcome, OutcomeReason
from tocsin.model.subscription import Destination

MOST_KEPT = 1_000
"""Endpoints that are remembered at once."""

Send = Callable[[Request], Awaitable[Outcome]]
_Endpoint = tuple[str, str, str]


class Verifications:
    """The endpoints that have answered; ``new_challenge`` gives a text that cannot be guessed."""

    def __init__(self, new_challenge: Callable[[], str] = lambda: token_urlsafe(24)) -> None:
        self._new_challenge = new_challenge
        self._refusals: SingleFlightCache[_Endpoint, Outcome | None] = SingleFlightCache(MOST_KEPT)

    async def refusal(self, event: Request, destination: Destination, send: Send, *, now_ms: int) -> Outcome | None:
        """Return why an event may not be sent yet; None if the endpoint has answered, now or before.

        The challenge goes the way of ``event``, with the same headers. Callers that wait for the same answer share a
        request.
        """
        secrets = signing_secrets(destination.config)
        endpoint = (destination.id, str(event.url), " ".join(secrets))
        return await self._refusals.get(endpoint, now_ms, partial(self._verify, event, secrets, send, now_ms))

    async def _verify(
        self, event: Request, secrets: tuple[str, ...], send: Send, now_ms: int
    ) -> tuple[Outcome | None, float]:
        """Send a challenge; return why the answer is none, and how long that is kept."""
        challenge = self._new_challenge()
        outcome = await send(_request(event, challenge, secrets, now_ms))
        if not isinstance(outcome, Delivered):
            return replace(outcome, detail=f"verification of the endpoint: {outcome.detail}"), NOT_KEPT
        if not is_answer(outcome.detail, challenge, secrets):
            detail = "the endpoint did not answer the challenge"
            return of_reason(OutcomeReason.NOT_VERIFIED, status_code=outcome.status_code, detail=detail), NOT_KEPT
        return None, KEPT_ALWAYS


def is_answer(text: str, challenge: str, secrets: tuple[str, ...]) -> bool:
    """Return whether a response answers a challenge: ``{"response": …}``.

    It is the hex HMAC-SHA256 of the challenge with one of the secrets, or the challenge itself where there is none.
    """
    try:
        body = orjson.loads(text)
    except orjson.JSONDecodeError:
        return False
    response = body.get("response") if isinstance(body, dict) else None
    if not isinstance(response, str):
        return False
    expected = [hmac.new(key_of(one), challenge.encode(), hashlib.sha256).hexdigest() for one in secrets]
    return any(hmac.compare_digest(one.encode(), response.encode()) for one in expected or [challenge])


def _request(event: Request, challenge: str, secrets: tuple[str, ...], now_ms: int) -> Request:
    """Return the request that asks: that of an event with another body."""
    payload = orjson.dumps({"type": "endpointVerification", "challenge": challenge, "timestamp": now_ms})
    signature = sign(payload, secrets, message_id=f"verification_{challenge}", timestamp_s=now_ms // 1000)
    headers = {name: value for name, value in event.headers.items() if name.lower() not in _OF_EVENT}
    return replace(event, headers=headers | {"Content-Type": "application/json"} | signature, payload=payload)


_OF_EVENT = frozenset(
    {"content-encoding", "content-type", "idempotency-key", "link", "x-tocsin-offset", "x-tocsin-reason"}
)
