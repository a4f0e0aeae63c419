"""Webhook sender: signed HTTP requests, one per event or array of events.

Source: OpenMetadata 1.13 ``entity/events/webhook.json``, Standard Webhooks 1.0.0.
Next: ``delivery/transport/http_requests.py``.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import lru_cache, partial

from yarl import URL

from tocsin.delivery.channels.endpoints import OWN_HEADERS
from tocsin.delivery.channels.sender_setup import SenderSetup
from tocsin.delivery.channels.webhook.access_tokens import AccessTokens
from tocsin.delivery.channels.webhook.authentication import (
    CHALLENGE,
    authorization_of,
    signing_secrets,
)
from tocsin.delivery.channels.webhook.filling import filled_config, is_templated
from tocsin.delivery.channels.webhook.render import COMPRESSED_FROM_BYTES, GZIP, Body, bodies_of, compress_payload
from tocsin.delivery.channels.webhook.signature import sign
from tocsin.delivery.channels.webhook.verification import Verifications
from tocsin.delivery.dispatch import NO_GUIDANCE, Dispatch, Sender
from tocsin.delivery.lines import clean_line, cut
from tocsin.delivery.templates.renderings import Renderings
from tocsin.delivery.transport.outcome import of_reason
from tocsin.delivery.transport.request import Request, Timeouts, Transport, timeouts_of, web_address
from tocsin.model.message import Delivered, Outcome, OutcomeReason
from tocsin.model.notification import Reason
from tocsin.model.runbook import LONGEST_RUNBOOK
from tocsin.model.stated_reason import WHY_HEADER, header_value
from tocsin.model.subscription import Destination

_REASON_LIMIT = 500
_TEXT_BYTES, _TEXT_LIMIT = 2_000, 150
"""Most bytes of a header with a text of a user, and most characters where it is cut: each is twelve bytes at most."""
_MOST_LINKS = 20
_MOST_ENDPOINTS = 1_000
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_LINE_BREAKS = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]+")


class WebhookSender:
    """Sends change events to webhooks; ``event_format`` is for destinations without a ``payloadFormat``."""

    def __init__(self, requests: Transport, *, source: str, event_format: str = "default") -> None:
        self._tokens = AccessTokens(requests)
        self._verifications = Verifications()
        self._source = source
        self._event_format = event_format
        self._renderings = Renderings()
        self._endpoints: dict[str, _Endpoint] = {}

    async def send(self, dispatch: Dispatch, destination: Destination, *, now_ms: int) -> Outcome:
        """Make one attempt and return its outcome: that of its last request, or of the first that fails."""
        endpoint = self._endpoint_of(destination, dispatch.message.target)
        if not endpoint.is_templated:
            return await self._send_all(self._requests_to(endpoint, dispatch, now_ms), destination, now_ms=now_ms)
        fill = partial(self._fill_requests, dispatch, destination, now_ms)
        requests, problem = await self._renderings.run(dispatch.payer, fill)
        outcome = await self._send_all(requests, destination, now_ms=now_ms)
        return replace(outcome, template_error=problem) if problem else outcome

    def _endpoint_of(self, destination: Destination, target: str) -> _Endpoint:
        """Return what all requests to a destination share; it is worked out once for as long as that is the same."""
        address = destination.config.endpoint or target
        endpoint = self._endpoints.get(destination.id)
        if endpoint is None or endpoint.destination is not destination or endpoint.address != address:
            self._endpoints.pop(destination.id, None)
            self._endpoints[destination.id] = endpoint = _Endpoint.of(destination, address)
            if len(self._endpoints) > _MOST_ENDPOINTS:
                del self._endpoints[next(iter(self._endpoints))]
        return endpoint

    async def _send_all(self, requests: list[Request], destination: Destination, *, now_ms: int) -> Outcome:
        if not requests:
            return of_reason(OutcomeReason.BAD_URL, detail="not an http or https address")
        send = partial(self._tokens.send_as_asked, destination=destination, now_ms=now_ms)
        if destination.config.verification == CHALLENGE:
            refusal = await self._verifications.refusal(requests[0], destination, send, now_ms=now_ms)
            if refusal is not None:
                return refusal
        for request in requests:
            outcome = await send(request)
            if not isinstance(outcome, Delivered):
                break
        return outcome

    def _fill_requests(self, dispatch: Dispatch, destination: Destination, now_ms: int) -> tuple[list[Request], str]:
        """Return the requests that carry ``dispatch`` with the destination's templates filled in, and what was wrong.

        The endpoint as it is set now wins over the one at the time of the event: its secrets belong to it.
        """
        accounts = self._renderings.accounts
        filling = filled_config(dispatch, destination.config, source=self._source, accounts=accounts)
        filled_destination = destination.model_copy(update={"config": filling.config})
        endpoint = _Endpoint.of(filled_destination, filling.config.endpoint or dispatch.message.target)
        requests = self._requests_to(endpoint, replace(dispatch, payloads=filling.payloads), now_ms)
        return requests, filling.problem

    def _requests_to(self, endpoint: _Endpoint, dispatch: Dispatch, now_ms: int) -> list[Request]:
        """Return the requests that carry ``dispatch``; none when the destination's address is not a web address."""
        if endpoint.url is None:
            return []
        payload_format = endpoint.destination.config.payload_format or self._event_format
        bodies = bodies_of(dispatch, payload_format, source=self._source)
        return [_request(body, dispatch, endpoint, url=endpoint.url, now_ms=now_ms) for body in bodies]


@dataclass(frozen=True, repr=False)
class _Endpoint:
    """What all requests to a destination share, as it is set up now; ``url`` is None where it is no web address."""

    destination: Destination
    address: str
    url: URL | None
    is_templated: bool
    method: str
    headers: dict[str, str]
    secrets: tuple[str, ...]
    timeouts: Timeouts

    @classmethod
    def of(cls, destination: Destination, address: str) -> _Endpoint:
        """Return that of a destination whose requests go to an address."""
        config = destination.config
        return cls(
            destination=destination,
            address=address,
            url=web_address(address, config.query_params),
            is_templated=is_templated(config),
            method="PUT" if config.http_method.upper() == "PUT" else "POST",
            headers=authorization_of(config) | _custom(config.headers),
            secrets=signing_secrets(config),
            timeouts=timeouts_of(destination),
        )


def _request(body: Body, dispatch: Dispatch, endpoint: _Endpoint, *, url: URL, now_ms: int) -> Request:
    compression = endpoint.destination.config.compression
    is_packed = compression == GZIP and len(body.payload) >= COMPRESSED_FROM_BYTES
    return Request(
        method=endpoint.method,
        url=url,
        headers={
            "Content-Type": body.content_type,
            **endpoint.headers,
            **_about(body, is_array=dispatch.sends_arrays),
            **(_guidance_headers(body, dispatch) if dispatch.guidance else {}),
            **({"Content-Encoding": GZIP} if is_packed else {}),
            **sign(body.payload, endpoint.secrets, message_id=body.id, timestamp_s=now_ms // 1000),
        },
        payload=compress_payload(body.payload) if is_packed else body.payload,
        timeouts=endpoint.timeouts,
    )


def _about(body: Body, *, is_array: bool) -> dict[str, str]:
    """Return the headers that say what is in a body."""
    first = body.entries[0]
    reasons = tuple(reason for entry in body.entries for reason in entry.reasons)
    carried_events = [entry.carried for entry in body.entries]
    marks = {
        "X-Tocsin-Breaking": any(one.is_breaking for one in carried_events),
        "X-Tocsin-Recursive": any(one.is_recursive for one in carried_events),
    }
    stated_reasons = {one.stated_reason for one in carried_events}
    links = [f'<{address}>; rel="alternate"' for address in body.full_events[:_MOST_LINKS]]
    return (
        {
            "Idempotency-Key": body.id if is_array else first.carried.id,
            "X-Tocsin-Offset": str(first.log_offset),
            "X-Tocsin-Reason": _reason_line(reasons),
        }
        | {header: "true" for header, is_meant in marks.items() if is_meant}
        | _why(stated_reasons)
        | ({"Link": ", ".join(links)} if links else {})
    )


def _guidance_headers(body: Body, dispatch: Dispatch) -> dict[str, str]:
    """Return the headers with what alerts say of the events in a body: the worst severity and the first runbook."""
    if not dispatch.guidance:
        return {}
    guided = [dispatch.guidance.get(entry.notification_id, NO_GUIDANCE) for entry in body.entries]
    severity = min((one.severity for one in guided if one.severity), default=None)
    runbook = next((advice.runbook for one in guided for advice in one.advice), None)
    return ({"X-Tocsin-Severity": severity.value} if severity else {}) | (
        {"X-Tocsin-Runbook": _text_value(clean_line(runbook, limit=LONGEST_RUNBOOK))} if runbook else {}
    )


def _why(reasons: Collection[str | None]) -> dict[str, str]:
    """Return the header that says why changes were made, as their authors say: all for the same reason."""
    (reason, *other_reasons) = reasons
    return {} if reason is None or other_reasons else {WHY_HEADER: _text_value(reason)}


def _text_value(text: str) -> str:
    """Return a line of a user's as a header can carry it, cut where it would be too long for receivers."""
    value = header_value(text)
    return value if len(value) <= _TEXT_BYTES else header_value(cut(text, limit=_TEXT_LIMIT))


def _custom(headers: dict[str, str]) -> dict[str, str]:
    """Return the destination's own headers without those that are ours to set and those that are none."""
    custom = {name: value for name, value in headers.items() if name.lower() not in OWN_HEADERS}
    titled = {"Content-Type" if name.lower() == "content-type" else name: value for name, value in custom.items()}
    return {name: _LINE_BREAKS.sub(" ", value) for name, value in titled.items() if _TOKEN.fullmatch(name)}


@lru_cache(maxsize=1_000)
def _reason_line(reasons: tuple[Reason, ...]) -> str:
    """Return reasons as a header can carry them: one line of ASCII."""
    why = "; ".join(dict.fromkeys(reason.sentence(receiver="endpoint") for reason in reasons))
    return clean_line(why, limit=_REASON_LIMIT).encode("ascii", "replace").decode()


def build_sender(requests: Transport, setup: SenderSetup) -> Sender:
    """Return the sender."""
    return WebhookSender(requests, source=setup.settings.base_url(), event_format=setup.settings.event_format)
