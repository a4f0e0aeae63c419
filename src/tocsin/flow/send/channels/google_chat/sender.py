"""Google Chat sender: one message to a space, and what its answer means.

A space takes 60 messages a minute of all its apps together; beyond that it answers 429, which is tried again later. A
space or webhook that was deleted answers 404, for good. Source: Google Chat API v1, usage limits and
``spaces.messages.create``. Next: ``flow/send/http_requests.py``.
"""

from __future__ import annotations

from tocsin.flow.send.channels.google_chat.card import render_message
from tocsin.flow.send.dispatch import Dispatch
from tocsin.flow.send.http_requests import HttpRequests, Request, timeout_of, web_address
from tocsin.flow.send.outcome import of_reason
from tocsin.model.message import Outcome, OutcomeReason, Retry
from tocsin.model.subscription import Destination

_NOT_FOUND = 404


class GoogleChatSender:
    """Sends change events as cards; ``base_url`` is where their links lead."""

    def __init__(self, requests: HttpRequests, *, base_url: str) -> None:
        self._requests = requests
        self._base_url = base_url

    async def send(self, dispatch: Dispatch, destination: Destination, *, now_ms: int) -> Outcome:
        """Make one attempt and return its outcome."""
        url = web_address(destination.config.endpoint or dispatch.message.target)
        if url is None:
            return of_reason(OutcomeReason.BAD_URL, detail="not an http or https address")
        request = Request(
            method="POST",
            url=url,
            headers={"Content-Type": "application/json; charset=UTF-8"},
            payload=render_message(dispatch, base_url=self._base_url),
            timeout=timeout_of(destination),
        )
        outcome = await self._requests.send(request, now_ms=now_ms)
        if isinstance(outcome, Retry) and outcome.status_code == _NOT_FOUND:
            return of_reason(OutcomeReason.GONE, status_code=_NOT_FOUND, detail=outcome.detail)
        return outcome
