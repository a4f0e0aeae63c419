"""Members of a workspace, found by their e-mail address; found ones are kept for a while, and so are unknown ones.

Source: Slack's ``users.lookupByEmail``, which takes forms, not JSON. Next: ``delivery/channels/slack/sender.py``.
"""

from __future__ import annotations

from functools import partial
from urllib.parse import urlencode

from tocsin.clock import Steady, steady_s
from tocsin.delivery.channels.slack.api import FORM, SlackApi, SlackCall
from tocsin.delivery.transport.outcome import of_reason
from tocsin.delivery.transport.single_flight import NOT_KEPT, SingleFlightCache
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
