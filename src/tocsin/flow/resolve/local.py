"""Recipients of one event, in Python: for explanations and previews, and the reference for ``spark/resolve.py``.

It never replaces Spark in production. Next: ``flow/schedule/messages.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tocsin.flow.resolve.candidates import candidates
from tocsin.flow.resolve.directory import Audience
from tocsin.flow.resolve.recipient_rules import RecipientRule
from tocsin.model.change import LoggedEvent
from tocsin.model.notification import Reason
from tocsin.model.subscription import Channel


@dataclass(frozen=True)
class Recipient:
    """Recipient of an event over one channel, with every reason.

    ``key`` is notified once: a user's id in the inbox, a lower-case address for email, subscription and
    endpoint for a webhook. ``target`` is where it goes.
    """

    channel: Channel
    key: str
    target: str
    user_id: str | None
    reasons: tuple[Reason, ...]


def recipients(
    logged: LoggedEvent, rows: Sequence[RecipientRule], audience: Audience, asked: Mapping[str, int] | None = None
) -> tuple[Recipient, ...]:
    """Return the recipients of ``logged`` given the ``rows`` of the alerts it matched, ordered by channel and key.

    ``asked`` holds, by alert, the accepted answers to its conditions on the recipient (``conditions/relations.py``).
    """
    found: dict[tuple[Channel, str], _Found] = defaultdict(_Found)
    for one in candidates(logged, rows, audience, asked):
        if one.stop is None:
            found[one.channel, one.key].add(one.target, one.person.id if one.person else None, one.reason)
    return tuple(found[at].recipient(*at) for at in sorted(found))


class _Found:
    """What has been gathered so far for one (channel, key)."""

    def __init__(self) -> None:
        self.target = ""
        self.user_ids: set[str] = set()
        self.reasons: set[Reason] = set()

    def add(self, target: str, user_id: str | None, reason: Reason) -> None:
        self.target = target
        self.user_ids.update([user_id] if user_id else [])
        self.reasons.add(reason)

    def recipient(self, channel: Channel, key: str) -> Recipient:
        reasons = tuple(sorted(self.reasons, key=reason_order))
        return Recipient(channel, key, self.target, min(self.user_ids, default=None), reasons)


def reason_order(reason: Reason) -> tuple[str, ...]:
    """Return what reasons are ordered by; missing parts come first, as in Spark."""
    return (
        reason.kind,
        f"{reason.hops:010d}",
        reason.subscription_name,
        reason.subscription_id,
        reason.destination_id,
        reason.team or "",
        reason.via or "",
    )
