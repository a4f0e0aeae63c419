"""Text of reasons for recipients: why they get a message, in relation to what has changed.

``you follow orders, which this test checks (alert Quality)``. Next: ``delivery/wording/content.py``.
"""

from __future__ import annotations

from collections.abc import Sequence

from tocsin.delivery.wording.assets import TEST_CASE, asset_of, checked_table, refused_asset
from tocsin.model.change import ChangeEvent
from tocsin.model.notification import Reason
from tocsin.model.subscription import Channel
from tocsin.model.thread import THREAD

_RECEIVERS = {
    Channel.WEBHOOK: "endpoint",
    Channel.GOVERNANCE_WORKFLOW_CHANGE_EVENT: "queue",
    **dict.fromkeys((Channel.SLACK, Channel.MS_TEAMS, Channel.G_CHAT), "channel"),
}
"""What an alert names on each channel that names no person; of all others, an address."""


def why_text(event: ChangeEvent, reasons: Sequence[Reason], channel: str = "") -> str:
    """Return why the recipient of an event over a channel is notified: each reason once."""
    receiver = _RECEIVERS.get(Channel(channel), "address") if channel else "address"
    subject = subject_of(event)
    return "; ".join(dict.fromkeys(reason.sentence(subject=subject, receiver=receiver) for reason in reasons))


def subject_of(event: ChangeEvent) -> str:
    """Return what the entity of an event is about: the table that a test checks, the asset of a thread or refusal."""
    if event.entity_type == TEST_CASE:
        return f"{checked_table(event) or 'the table'}, which this test checks"
    is_of_another = event.entity_type == THREAD or refused_asset(event) is not None
    return asset_of(event).name if is_of_another else "it"
