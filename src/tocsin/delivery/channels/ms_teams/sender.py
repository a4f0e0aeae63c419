"""Microsoft Teams sender: one message to a workflow or an old connector, and what its answer means.

A workflow answers 202 when it has taken a message. An old connector answers 200: with ``1`` if it was delivered, else
with a sentence that holds the status that it met. A workflow that was deleted answers 404, for good.
Source: Microsoft's "Create incoming webhooks with Workflows" and "Rate limiting for connectors".
Next: ``delivery/channels/incoming_webhook.py``.
"""

from __future__ import annotations

import re
from functools import partial

from tocsin.delivery.channels.incoming_webhook import IncomingWebhook
from tocsin.delivery.channels.ms_teams.render import render_message
from tocsin.delivery.channels.sender_setup import SenderSetup
from tocsin.delivery.dispatch import Sender
from tocsin.delivery.transport.outcome import of_http_status, of_reason
from tocsin.delivery.transport.request import Transport
from tocsin.model.message import Delivered, Outcome, OutcomeReason, Retry

_NOT_FOUND = 404
_FAILED = re.compile(
    r"Webhook message delivery failed with error:.*?returned HTTP error (?P<status>[45]\d\d)", re.DOTALL
)


def judge_answer(outcome: Outcome) -> Outcome:
    """Return what an answer of Teams means, by the status that it has or names."""
    if isinstance(outcome, Delivered) and (stated := _FAILED.search(outcome.detail)):
        outcome = of_http_status(int(stated["status"]), detail=outcome.detail)
    if isinstance(outcome, Retry) and outcome.status_code == _NOT_FOUND:
        return of_reason(OutcomeReason.GONE, status_code=_NOT_FOUND, detail=outcome.detail)
    return outcome


ms_teams_sender = partial(IncomingWebhook, render=render_message, judge=judge_answer)
"""Returns the sender of change events as cards; ``base_url`` is where their links lead."""


def build_sender(requests: Transport, setup: SenderSetup) -> Sender:
    """Return the sender."""
    return ms_teams_sender(requests, base_url=setup.settings.base_url())
