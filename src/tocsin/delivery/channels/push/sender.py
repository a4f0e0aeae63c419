"""Push sender: one encrypted message to each browser in which a person takes messages.

A browser that has unsubscribed answers 404 or 410: its row goes, and that is no failure. A message that reached some
browsers and is tried again for others replaces itself where it was shown, by its tag.
Source: RFC 8030 (Web Push), section 5; RFC 8292 (VAPID). Next: ``delivery/transport/http_requests.py``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from joserfc.util import urlsafe_b64decode
from yarl import URL

from tocsin.delivery.channels.push.encryption import BrowserKeys, encrypt
from tocsin.delivery.channels.push.render import render_push
from tocsin.delivery.channels.push.vapid import Vapid
from tocsin.delivery.dispatch import Dispatch
from tocsin.delivery.transport.outcome import of_reason
from tocsin.delivery.transport.request import Request, Transport, timeouts_of, web_address
from tocsin.model.message import Delivered, Outcome, OutcomeReason
from tocsin.model.subscription import Destination
from tocsin.store.catalogue.people.push_browsers import PushBrowser

_KEPT_FOR_S = 12 * 3_600
"""How long a push service keeps a message for a browser that is closed."""

_UNSUBSCRIBED = (404, 410)


@dataclass(frozen=True)
class BrowserBook:
    """Finds the browsers of a person by id and time (epoch ms), and forgets one by its session."""

    of: Callable[[str, int], Awaitable[Sequence[PushBrowser]]]
    forget: Callable[[str], Awaitable[None]]


class PushSender:
    """Sends messages to the browsers of people; the target of a message is a person's id."""

    def __init__(self, requests: Transport, vapid: Vapid, browsers: BrowserBook, *, base_url: str) -> None:
        self._requests, self._vapid, self._browsers, self._base_url = requests, vapid, browsers, base_url

    async def send(self, dispatch: Dispatch, destination: Destination, *, now_ms: int) -> Outcome:
        """Make one attempt at each browser; the outcome is the first that is to be tried again, else the first."""
        payload = render_push(dispatch, base_url=self._base_url)
        outcomes: list[Outcome] = []
        for browser in await self._browsers.of(dispatch.message.target, now_ms):
            request = self._request(browser, payload, destination, now_ms=now_ms)
            outcome = (
                of_reason(OutcomeReason.BAD_URL, detail="not an https address")
                if request is None
                else await self._requests.send(request, now_ms=now_ms)
            )
            if outcome.status_code in _UNSUBSCRIBED:
                await self._browsers.forget(browser.session_id)
            else:
                outcomes.append(outcome)
        failures = [outcome for outcome in outcomes if not isinstance(outcome, Delivered)]
        return next(iter([*failures, *outcomes]), of_reason(OutcomeReason.RECIPIENT_GONE, detail="no browser"))

    def _request(
        self, browser: PushBrowser, payload: bytes, destination: Destination, *, now_ms: int
    ) -> Request | None:
        """Return the request for one browser; None where its endpoint is no https address."""
        url: URL | None = web_address(browser.endpoint)
        if url is None:
            return None
        keys = BrowserKeys(*(urlsafe_b64decode(text.encode()) for text in (browser.p256dh, browser.auth)))
        return Request(
            method="POST",
            url=url,
            headers={
                "Authorization": self._vapid.authorization(url, now_ms=now_ms),
                "Content-Encoding": "aes128gcm",
                "Content-Type": "application/octet-stream",
                "TTL": str(_KEPT_FOR_S),
            },
            payload=encrypt(payload, keys),
            timeouts=timeouts_of(destination),
        )
