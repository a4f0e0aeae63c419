"""Calls of Slack's Web API with a bot token, and the members of its workspace by their e-mail address.

The address is the setting ``slack_api_url``, never an alert's: a token goes nowhere else.
Found members are kept for a while, and so are unknown ones.
Source: Slack's "Web API"; ``users.lookupByEmail`` takes forms, not JSON. Next: ``delivery/channels/slack/answers.py``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any
from urllib.parse import urlencode

import orjson

from tocsin.clock import Steady, steady_s
from tocsin.delivery.channels.slack.answers import judge_answer
from tocsin.delivery.transport.outcome import of_reason
from tocsin.delivery.transport.request import Request, Transport, timeouts_of, web_address
from tocsin.delivery.transport.single_flight import NOT_KEPT, SingleFlightCache
from tocsin.model.message import Delivered, Outcome, OutcomeReason
from tocsin.model.subscription import Destination

JSON = "application/json; charset=utf-8"
FORM = "application/x-www-form-urlencoded"
ANSWER_BYTES = 200_000
"""Most bytes of an answer that are read: it repeats the message, with every letter beyond ASCII as six."""

FOUND_S = 3_600.0
"""So long a member's id is kept."""

UNKNOWN_S = 300.0
"""So long an address is taken for unknown."""

MOST_KEPT = 10_000

_Key = tuple[str, str]
_METHOD = "users.lookupByEmail"


@dataclass(frozen=True)
class SlackCall:
    """For which destination Slack is called, and when; ``to_person``: for one recipient of many."""

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


class Members:
    """The members of the workspaces whose tokens are used, as far as they were asked for."""

    def __init__(self, api: SlackApi, steady: Steady = steady_s) -> None:
        self._api, self._steady = api, steady
        self._members: SingleFlightCache[_Key, str | Outcome] = SingleFlightCache(MOST_KEPT)

    async def id_of(self, address: str, call: SlackCall) -> str | Outcome:
        """Return the id of the member with this address, or why there is none."""
        return await self._members.get((call.token, address), self._steady(), partial(self._look_up, address, call))

    async def _look_up(self, address: str, call: SlackCall) -> tuple[str | Outcome, float]:
        """Return the id or why there is none, and how long that is kept."""
        answer = await self._api.ask(_METHOD, urlencode({"email": address}).encode(), call, content_type=FORM)
        user = answer.values.get("user")
        user_id = user.get("id") if isinstance(user, dict) else None
        if isinstance(answer.outcome, Delivered) and isinstance(user_id, str):
            return user_id, self._steady() + FOUND_S
        if isinstance(answer.outcome, Delivered):
            return of_reason(OutcomeReason.SERVER_ERROR, detail=f"{_METHOD}: the answer holds no id"), NOT_KEPT
        is_unknown = answer.reason is OutcomeReason.RECIPIENT_UNKNOWN
        return answer.outcome, self._steady() + UNKNOWN_S if is_unknown else NOT_KEPT

    def forget(self, address: str, call: SlackCall) -> None:
        """Ask again for this address the next time."""
        self._members.forget((call.token, address))


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
