"""Calls of Slack's Web API with a bot token.

The address is the setting ``slack_api_url``, never an alert's: a token goes nowhere else.
Source: Slack's "Web API". Next: ``delivery/channels/slack/answers.py``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import orjson

from tocsin.delivery.channels.slack.answers import judge_answer
from tocsin.delivery.transport.outcome import of_reason
from tocsin.delivery.transport.request import Request, Transport, timeouts_of, web_address
from tocsin.model.message import Delivered, Outcome, OutcomeReason
from tocsin.model.subscription import Destination

JSON = "application/json; charset=utf-8"
FORM = "application/x-www-form-urlencoded"
ANSWER_BYTES = 200_000
"""Most bytes of an answer that are read: it repeats the message, with every letter beyond ASCII as six."""


@dataclass(frozen=True)
class SlackCall:
    """For which destination something is asked, and when; ``to_person``: for one recipient of many."""

    destination: Destination
    now_ms: int
    to_person: bool = False

    @property
    def token(self) -> str:
        """Return the bot token."""
        return self.destination.config.bot_token or ""


@dataclass(frozen=True)
class Answer:
    """An answer: what it means, and the values in it."""

    outcome: Outcome
    values: dict[str, Any] = field(default_factory=dict)

    @property
    def reason(self) -> OutcomeReason:
        """Return why it ended as it did."""
        return OutcomeReason.OK if isinstance(self.outcome, Delivered) else self.outcome.reason


class SlackApi:
    """Slack's Web API at ``url``."""

    def __init__(self, requests: Transport, url: str) -> None:
        self._requests, self._url = requests, url.rstrip("/")

    async def ask(self, method: str, payload: bytes, call: SlackCall, *, content_type: str = JSON) -> Answer:
        """Call a method and return the answer."""
        url = web_address(f"{self._url}/{method}")
        if url is None:
            return Answer(of_reason(OutcomeReason.BAD_URL, detail="slack_api_url is not an http or https address"))
        request = Request(
            method="POST",
            url=url,
            headers={"Content-Type": content_type, "Authorization": f"Bearer {call.token}"},
            payload=payload,
            timeouts=timeouts_of(call.destination),
            answer_bytes=ANSWER_BYTES,
        )
        outcome, body = await self._requests.exchange(request, now_ms=call.now_ms)
        values = _values(body)
        if isinstance(outcome, Delivered):
            return Answer(_outcome_of_ok(outcome, values, method, to_person=call.to_person), values)
        return Answer(judge_answer(outcome, to_person=call.to_person), values)


def _values(body: bytes) -> dict[str, Any]:
    try:
        values = orjson.loads(body)
    except orjson.JSONDecodeError:
        return {}
    return values if isinstance(values, dict) else {}


def _outcome_of_ok(outcome: Delivered, values: dict[str, Any], method: str, *, to_person: bool) -> Outcome:
    """Return what a 200 means: only ``"ok": true`` is success. Of the answer what identifies the message is kept."""
    fields = {key: values[key] for key in ("ok", "error", "needed", "channel", "ts") if key in values}
    detail = orjson.dumps(fields).decode()
    if values.get("ok") is True:
        is_identified = isinstance(values.get("channel"), str) and isinstance(values.get("ts"), str)
        return Delivered(outcome.status_code, detail, f"{values['channel']}/{values['ts']}" if is_identified else None)
    if "ok" not in values:
        return of_reason(OutcomeReason.SERVER_ERROR, status_code=outcome.status_code, detail=f"{method}: no answer")
    return judge_answer(Delivered(outcome.status_code, detail), to_person=to_person)
