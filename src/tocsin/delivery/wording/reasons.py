"""Text of reasons for recipients: why they get a message, in relation to what has changed.

``you follow orders, which this test checks (alert Quality)``. Next: ``delivery/wording/content.py``.
"""

from __future__ import annotations

from collections.abc import Sequence

from tocsin.delivery.wording.assets import TEST_CASE, asset_of, checked_table, refused_asset
from tocsin.delivery.wording.change_requests import asked_clauses
from tocsin.model.change import ChangeEvent, EventType
from tocsin.model.change_request import NOT_ASKED, AskedFor, tells_author
from tocsin.model.notification import Reason, ReasonContext
from tocsin.model.phrases import list_text
from tocsin.model.subscription import Channel
from tocsin.model.thread import THREAD

RECEIVERS: dict[str, str] = {
    Channel.WEBHOOK: "endpoint",
    Channel.GOVERNANCE_WORKFLOW_CHANGE_EVENT: "queue",
    **dict.fromkeys((Channel.SLACK, Channel.MS_TEAMS, Channel.G_CHAT), "channel"),
}
"""What an alert names on each channel that names no person; of all others, an address."""
_OF_REQUESTS = frozenset({EventType.CHANGE_REQUEST_ANSWERED, EventType.CHANGE_REQUEST_UPDATED})


def why_text(event: ChangeEvent, reasons: Sequence[Reason], channel: str = "", answerable: AskedFor = NOT_ASKED) -> str:
    """Return why the recipient of an event over a channel is notified: each reason once, with all of its alerts.

    ``you own it (alerts Orders and Removed); you follow it (alert Orders)``. What an alert says beside its name, as
    what failed first, stays with it alone.
    """
    context, receiver = reason_context(event, answerable), RECEIVERS.get(channel, "address")
    alert_names: dict[str, list[str]] = {}
    for reason in reasons:
        if reason.search is not None or reason.held_by or reason.downstream_of is not None:
            alert_names[reason.sentence(context=context, receiver=receiver)] = []
            continue
        names = alert_names.setdefault(reason.sentence(context=context, names_alert=False, receiver=receiver), [])
        if reason.subscription_name not in names:
            names.append(reason.subscription_name)
    return "; ".join(f"{because}{_alerts_text(names)}" for because, names in alert_names.items())


def _alerts_text(names: Sequence[str]) -> str:
    if not names:
        return ""
    return f" (alert{'s' if len(names) > 1 else ''} {list_text(names, limit=len(names))})"


def reason_context(event: ChangeEvent, answerable: AskedFor = NOT_ASKED) -> ReasonContext:
    """Return what reasons say of an event to those who are notified of it and ``answerable`` for consumers."""
    is_for_author = event.event_type in _OF_REQUESTS and tells_author(event)
    if event.entity_type == TEST_CASE:
        table = f"{checked_table(event) or 'the table'}, which this test checks"
        return ReasonContext(table, tells_author=is_for_author)
    is_of_another = event.entity_type == THREAD or refused_asset(event) is not None
    context = ReasonContext(asset_of(event).name if is_of_another else "it", tells_author=is_for_author)
    return (
        context
        if not (answerable.assets or answerable.follows)
        else context._replace(request_clauses=asked_clauses(answerable, event))
    )
