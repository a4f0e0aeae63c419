"""Change requests in messages as they are now: what has become of one since its event, and what its reader can do.

Next: ``delivery/wording/content.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tocsin.delivery.dispatch import Dispatch
from tocsin.delivery.lines import PURPOSE, ChangeLine
from tocsin.delivery.wording.change_requests import request_commands, state_lines
from tocsin.model.change import OF_CHANGE_REQUESTS
from tocsin.model.change_request import RequestNow, request_in
from tocsin.model.message import Entry


class RequestRead(NamedTuple):
    """The change request that a notification tells of as it is now, and whether its author reads that."""

    now: RequestNow
    is_author: bool


def request_read(entry: Entry, dispatch: Dispatch) -> RequestRead | None:
    """Return the request that a notification of a message tells of; None if it tells of none, or that is not known."""
    is_of_request = dispatch.requests and entry.event.event_type in OF_CHANGE_REQUESTS
    request = request_in(entry.event) if is_of_request else None
    now = dispatch.requests.get(str(request.get("id"))) if request else None
    return None if now is None else RequestRead(now, entry.recipient_id == now.author_id)


def request_lines(lines: Sequence[ChangeLine], entry: Entry, request: RequestRead, zone: str) -> list[ChangeLine]:
    """Return the lines of a change request with what has become of it, and what its reader can do now."""
    event, kinds = entry.event, {reason.kind for reason in entry.reasons}
    if not (commands := request_commands(event, kinds, is_author=request.is_author, now=request.now)):
        return [*lines]
    facts = [line for line in lines if not line.label.startswith(PURPOSE)]
    return [*facts, *state_lines(event, request.now, zone), *commands]
