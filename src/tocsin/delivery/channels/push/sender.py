"""Push sender: one encrypted message to each browser in which a person takes messages.

A browser that has unsubscribed answers 404 or 410: its row goes, and that is no failure; what has subscribed anew
meanwhile is attempted at once. A message that reached some browsers and is tried again for others, or after a crash,
replaces itself: by its topic while it is not shown, by its tag where it is. Source: RFC 8030 (Web Push), section 5;
RFC 8292 (VAPID).
Next: ``delivery/transport/http_requests.py``.
"""

from __future__ import annotations

import asyncio

from joserfc.util import urlsafe_b64decode
from yarl import URL

from tocsin.delivery.channels.push.encryption import BrowserKeys, encrypt
from tocsin.delivery.channels.push.render import render_push
from tocsin.delivery.channels.push.vapid import Vapid
from tocsin.delivery.channels.sender_setup import PushSetup, SenderSetup
from tocsin.delivery.dispatch import Dispatch, Sender
from tocsin.delivery.transport.outcome import of_reason
from tocsin.delivery.transport.request import Request, Timeouts, Transport, timeouts_of, web_address
from tocsin.model.message import Delivered, Outcome, OutcomeReason, Rejected, Retry
from tocsin.model.push_browser import PushBrowser
from tocsin.model.subscription import Destination

_KEPT_FOR_S = 12 * 3_600
"""How long a push service keeps a message for a browser that is closed."""

_UNSUBSCRIBED = (404, 410)
_MOST_PRESSING: tuple[type[Outcome], ...] = (Retry, Rejected, Delivered)


class PushSender:
    """Sends messages to the browsers of people; the target of a message is a person's id."""

    def __init__(self, requests: Transport, push: PushSetup, *, base_url: str) -> None:
        self._requests, self._push, self._base_url = requests, push, base_url
        self._vapid = Vapid.of_text(push.key, base_url)

    async def send(self, dispatch: Dispatch, destination: Destination, *, now_ms: int) -> Outcome:
        """Make one attempt at each browser; the outcome is one that is to be tried again, else a failure, else any."""
        payload = render_push(dispatch, base_url=self._base_url)
        topic, timeouts = dispatch.message.id.replace("-", ""), timeouts_of(destination)

        async def attempt(browser: PushBrowser) -> Outcome | None:
            request = self._request(browser, (payload, topic, timeouts), now_ms=now_ms)
            return await self._attempt(browser, request, now_ms=now_ms)

        browsers = await self._push.browsers_of(dispatch.message.target, now_ms)
        outcomes = await asyncio.gather(*map(attempt, browsers))
        if None in outcomes:
            endpoints = {browser.endpoint for browser in browsers}
            current_browsers = await self._push.browsers_of(dispatch.message.target, now_ms)
            renewed_browsers = [browser for browser in current_browsers if browser.endpoint not in endpoints]
            outcomes += await asyncio.gather(*map(attempt, renewed_browsers))
        no_browser = of_reason(OutcomeReason.RECIPIENT_GONE, detail="no browser")
        attempt_outcomes = [outcome for outcome in outcomes if outcome is not None]
        return min(attempt_outcomes, key=lambda one: _MOST_PRESSING.index(type(one)), default=no_browser)

    async def _attempt(self, browser: PushBrowser, request: Request | None, *, now_ms: int) -> Outcome | None:
        """Return how the attempt at a browser went; None for one that has unsubscribed, which is forgotten."""
        if request is None:
            return of_reason(OutcomeReason.BAD_URL, detail="not an address on the web")
        outcome = await self._requests.send(request, now_ms=now_ms)
        if outcome.status_code not in _UNSUBSCRIBED:
            return outcome
        await self._push.forget(browser)
        return None

    def _request(self, browser: PushBrowser, content: tuple[bytes, str, Timeouts], *, now_ms: int) -> Request | None:
        """Return the request for one browser; None where its endpoint is no address on the web.

        ``content`` is what it says, what it replaces (its topic), and how long it may take.
        """
        payload, topic, timeouts = content
        url: URL | None = web_address(browser.endpoint)
        if url is None:
            return None
        keys = BrowserKeys(*(urlsafe_b64decode(text.encode()) for text in (browser.p256dh, browser.auth)))
        headers = {
            "Authorization": self._vapid.authorization(url, now_ms=now_ms),
            "Content-Encoding": "aes128gcm",
            "Content-Type": "application/octet-stream",
            "TTL": str(_KEPT_FOR_S),
            "Topic": topic,
        }
        return Request("POST", url, headers, encrypt(payload, keys), timeouts)


def build_sender(requests: Transport, setup: SenderSetup) -> Sender:
    """Return what sends to the browsers of people.

    Raises
    ------
    ValueError : there is nothing to send to them with
    """
    if setup.push is None:
        raise ValueError("push messages need the server's key and the browsers of people")
    return PushSender(requests, setup.push, base_url=setup.settings.base_url())
