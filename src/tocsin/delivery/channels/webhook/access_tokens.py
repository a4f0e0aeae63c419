"""Access tokens of webhooks with OAuth 2.0 client credentials: fetched, kept until they expire, refreshed once on 401.

Source: RFC 6749 section 4.4, OpenMetadata 1.13 ``OAuth2TokenManager`` (credentials in the form, 30 s before expiry).
Requests for tokens obey the egress policy and the destination's timeouts.
Next: ``delivery/transport/http_requests.py``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from functools import partial
from urllib.parse import urlencode

import orjson

from tocsin.delivery.channels.webhook.authentication import OAuthClient, oauth_client_of
from tocsin.delivery.transport.outcome import of_reason
from tocsin.delivery.transport.request import Request, Transport, timeouts_of, web_address
from tocsin.delivery.transport.single_flight import NOT_KEPT, SingleFlightCache
from tocsin.model.address import MASK
from tocsin.model.message import Delivered, Outcome, OutcomeReason, Rejected, Retry
from tocsin.model.subscription import Destination

LIFETIME_S = 3_600
"""Seconds that a token is kept whose answer does not say how long it is valid; none is kept for longer than a day."""

MARGIN_S = 30
"""Seconds before its end from which a token is no longer used."""

MOST_KEPT = 1_000
"""Destinations whose tokens are kept at once."""

_UNAUTHORIZED = 401
_LONGEST_S = 86_400
_TOKEN = re.compile(r"[\x21-\x7e]{1,8000}")


@dataclass(frozen=True)
class _Grant:
    """A token and the time until which it is used."""

    token: str = field(repr=False)
    until_ms: float


class AccessTokens:
    """Sends requests with access tokens and keeps one token per destination and client."""

    def __init__(self, requests: Transport) -> None:
        self._requests = requests
        self._grants: SingleFlightCache[tuple[str, OAuthClient], _Grant | Outcome] = SingleFlightCache(MOST_KEPT)

    async def send_as_asked(self, request: Request, destination: Destination, *, now_ms: int) -> Outcome:
        """Send a request, with an access token if the destination's ``authType`` asks for one."""
        client = oauth_client_of(destination.config)
        if client is None:
            return await self._requests.send(request, now_ms=now_ms)
        return await self.send(request, destination, client, now_ms=now_ms)

    async def send(self, request: Request, destination: Destination, client: OAuthClient, *, now_ms: int) -> Outcome:
        """Send a request with the destination's token, again with a new one if the receiver answers 401.

        Without a token nothing is sent, and the outcome is that of asking for it; it says nothing of the answer's text.
        """
        grant = await self._grant(destination, client, now_ms)
        if not isinstance(grant, _Grant):
            return grant
        outcome = await self._send_with_token(request, grant, now_ms)
        if not isinstance(outcome, Retry) or outcome.status_code != _UNAUTHORIZED:
            return outcome
        self._grants.forget((destination.id, client), grant)
        newer = await self._grant(destination, client, now_ms)
        if not isinstance(newer, _Grant):
            return newer
        return await self._send_with_token(request, newer, now_ms)

    async def _send_with_token(self, request: Request, grant: _Grant, now_ms: int) -> Outcome:
        """Send a request with a token; the outcome does not repeat it."""
        outcome = await self._requests.send(_with_token(request, grant), now_ms=now_ms)
        return replace(outcome, detail=outcome.detail.replace(grant.token, MASK))

    async def _grant(self, destination: Destination, client: OAuthClient, now_ms: int) -> _Grant | Outcome:
        return await self._grants.get((destination.id, client), now_ms, partial(self._ask, destination, client, now_ms))

    async def _ask(self, destination: Destination, client: OAuthClient, now_ms: int) -> tuple[_Grant | Outcome, float]:
        url = web_address(client.token_url)
        if url is None:
            return of_reason(OutcomeReason.BAD_URL, detail="the token URL is not an http or https address"), NOT_KEPT
        request = Request(
            method="POST",
            url=url,
            headers={"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"},
            payload=urlencode(_form(client)).encode(),
            timeouts=timeouts_of(destination),
        )
        outcome = await self._requests.send(request, now_ms=now_ms)
        if not isinstance(outcome, Delivered):
            return _not_granted(outcome), NOT_KEPT
        grant = _parse_grant(outcome.detail, now_ms)
        if grant is None:
            return of_reason(
                OutcomeReason.SERVER_ERROR, detail="the token URL's answer holds no bearer token"
            ), NOT_KEPT
        return grant, grant.until_ms


def _form(client: OAuthClient) -> dict[str, str]:
    form = {
        "grant_type": "client_credentials",
        "client_id": client.client_id,
        "client_secret": client.client_secret,
    }
    return form | ({"scope": client.scope} if client.scope else {})


def _with_token(request: Request, grant: _Grant) -> Request:
    return replace(request, headers=request.headers | {"Authorization": f"Bearer {grant.token}"})


def _not_granted(outcome: Retry | Rejected) -> Outcome:
    """Return the outcome of a request for a token as that of the message.

    Its status code and text are not the receiver's: 410 from there stops nothing, and the text may hold secrets.
    """
    reason = OutcomeReason.CLIENT_ERROR if outcome.reason is OutcomeReason.GONE else outcome.reason
    detail = outcome.detail if outcome.status_code is None else f"it answered {outcome.status_code}"
    after_s = outcome.after_s if isinstance(outcome, Retry) else None
    return of_reason(reason, detail=f"no access token from the token URL: {detail}", after_s=after_s)


def _parse_grant(answer: str, now_ms: int) -> _Grant | None:
    """Return the token in an answer; None if there is none that a header can carry."""
    try:
        response = orjson.loads(answer)
    except orjson.JSONDecodeError:
        return None
    token = response.get("access_token") if isinstance(response, dict) else None
    if not isinstance(token, str) or not _TOKEN.fullmatch(token):
        return None
    if str(response.get("token_type", "bearer")).lower() != "bearer":
        return None
    return _Grant(token, now_ms + 1000 * (_lifetime_s(response.get("expires_in")) - MARGIN_S))


def _lifetime_s(stated: object) -> float:
    """Return the seconds for which a token is valid; some servers state them as text."""
    try:
        seconds = float(stated) if isinstance(stated, int | float | str) else LIFETIME_S
    except ValueError:
        return LIFETIME_S
    return min(max(seconds, 0.0), _LONGEST_S) if seconds == seconds else LIFETIME_S
