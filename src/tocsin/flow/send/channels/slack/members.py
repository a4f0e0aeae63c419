"""Members of a workspace, found by their e-mail address; found ones are kept for a while, and so are unknown ones.

Source: Slack's ``users.lookupByEmail``, which takes forms, not JSON. Next: ``flow/send/channels/slack/bot.py``.
"""

from __future__ import annotations

import asyncio
from urllib.parse import urlencode

from tocsin.clock import Steady, steady_s
from tocsin.flow.send.channels.slack.api import FORM, SlackApi, SlackCall
from tocsin.flow.send.outcome import of_reason
from tocsin.model.message import Delivered, Outcome, OutcomeReason

FOUND_S = 3_600.0
"""So long a member's id is kept."""

UNKNOWN_S = 300.0
"""So long an address is taken for unknown."""

MOST_KEPT = 10_000

_Key = tuple[str, str]
_METHOD = "users.lookupByEmail"


class Members:
    """The members of the workspaces whose tokens are used, as far as they were asked for."""

    def __init__(self, api: SlackApi, steady: Steady = steady_s) -> None:
        self._api, self._steady = api, steady
        self._kept: dict[_Key, tuple[float, str | Outcome]] = {}
        self._asking: dict[_Key, asyncio.Task[str | Outcome]] = {}

    async def id_of(self, address: str, call: SlackCall) -> str | Outcome:
        """Return the id of the member with this address, or why there is none."""
        key = (call.token, address)
        until_s, cached = self._kept.get(key, (0.0, ""))
        if self._steady() < until_s:
            return cached
        if key not in self._asking:  # all messages that wait for one answer share it
            self._asking[key] = asyncio.create_task(self._look_up(key, call))
            self._asking[key].add_done_callback(lambda _: self._asking.pop(key, None))
        return await asyncio.shield(self._asking[key])

    async def _look_up(self, key: _Key, call: SlackCall) -> str | Outcome:
        _, address = key
        answer = await self._api.ask(_METHOD, urlencode({"email": address}).encode(), call, content_type=FORM)
        user = answer.values.get("user")
        user_id = user.get("id") if isinstance(user, dict) else None
        if isinstance(answer.outcome, Delivered) and isinstance(user_id, str):
            self._keep(key, FOUND_S, user_id)
            return user_id
        if answer.reason is OutcomeReason.RECIPIENT_UNKNOWN:
            self._keep(key, UNKNOWN_S, answer.outcome)
        if isinstance(answer.outcome, Delivered):
            return of_reason(OutcomeReason.SERVER_ERROR, detail=f"{_METHOD}: the answer holds no id")
        return answer.outcome

    def forget(self, address: str, call: SlackCall) -> None:
        """Ask again for this address the next time."""
        self._kept.pop((call.token, address), None)

    def _keep(self, key: _Key, for_s: float, answer: str | Outcome) -> None:
        self._kept.pop(key, None)
        self._kept[key] = (self._steady() + for_s, answer)
        while len(self._kept) > MOST_KEPT:
            del self._kept[next(iter(self._kept))]
