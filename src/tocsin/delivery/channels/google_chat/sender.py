"""Google Chat sender: one message to a space, and what its answer means.

A space takes 60 messages a minute of all its apps together; beyond that it answers 429, which is tried again later. A
space or webhook that was deleted answers 404, for good. Source: Google Chat API v1, usage limits and
``spaces.messages.create``. Next: ``delivery/channels/incoming_webhook.py``.
"""

from __future__ import annotations

from functools import partial

from tocsin.delivery.channels.google_chat.render import render_message, thread_key_of
from tocsin.delivery.channels.incoming_webhook import IncomingWebhook
from tocsin.delivery.channels.sender_setup import SenderSetup
from tocsin.delivery.dispatch import Sender
from tocsin.delivery.transport.outcome import of_reason
from tocsin.delivery.transport.request import Transport
from tocsin.model.message import Outcome, OutcomeReason, Retry

_NOT_FOUND = 404
_IN_THREAD = {"messageReplyOption": "REPLY_MESSAGE_FALLBACK_TO_NEW_THREAD"}
"""Without it a space ignores the key of a thread."""


def judge_answer(outcome: Outcome) -> Outcome:
    """Return what an answer of a space means."""
    if isinstance(outcome, Retry) and outcome.status_code == _NOT_FOUND:
        return of_reason(OutcomeReason.GONE, status_code=_NOT_FOUND, detail=outcome.detail)
    return outcome


google_chat_sender = partial(
    IncomingWebhook, render=render_message, judge=judge_answer, query=_IN_THREAD, thread_of=thread_key_of
)
"""Returns the sender of change events as cards; ``base_url`` is where their links lead."""


def build_sender(requests: Transport, setup: SenderSetup) -> Sender:
    """Return the sender."""
    return google_chat_sender(requests, base_url=setup.settings.base_url())
