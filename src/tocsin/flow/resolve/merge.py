"""Recipients of one event: candidates that nothing suppresses, once for each channel and key, with all reasons.

People whose mutes keep all their reasons quiet are among them, with the mute: schedule makes it a choice of never,
unless the change is of a mandatory kind.

Next: ``flow/resolve/portions.py`` for many events; ``flow/schedule/messages.py``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from tocsin.flow.resolve.candidates import Candidate, Stop
from tocsin.model.mute import Mute
from tocsin.model.notification import Reason, directness
from tocsin.model.notification_draft import EventHead, NotificationDraft, reasons_of
from tocsin.model.subscription import Channel


class Recipient(NamedTuple):
    """Recipient of an event over one channel, with every reason.

    ``key`` is notified once: a user's id in the inbox, a lower-case address for email, the same and the bot for a bot,
    subscription and endpoint for a webhook. ``target`` is where it goes. ``mute`` is what keeps every reason quiet.
    """

    channel: Channel
    key: str
    target: str
    user_id: str | None
    reasons: tuple[Reason, ...]
    mute: Mute | None = None

    def draft(self, event: EventHead) -> NotificationDraft:
        """Return the notification of this recipient about an event."""
        channel, key, target, user_id, reasons, mute = self
        return NotificationDraft(event, channel, key, target, user_id, reasons_of(reasons), mute=mute)


def merge_candidates(ways: Iterable[Candidate]) -> Iterable[Recipient]:
    """Return the recipients of one event, each once: reasons in order, of several people the first id. No order."""
    recipients_by_key: dict[tuple[Channel, str], Recipient] = {}
    muted_recipients: dict[tuple[Channel, str], Recipient] = {}
    for channel, key, target, person, reason, stop, mute in ways:
        if stop is not None and (stop is not Stop.MUTED or person is None):
            continue
        user_id = person.id if person else None
        recipients = recipients_by_key if stop is None else muted_recipients
        before = recipients.get((channel, key))
        if before is None:
            recipients[channel, key] = Recipient(channel, key, target, user_id, (reason,), mute)
        elif reason not in before.reasons or user_id != before.user_id:
            recipients[channel, key] = _with_reason(before, user_id, reason)
    return (muted_recipients | recipients_by_key).values() if muted_recipients else recipients_by_key.values()


def _with_reason(recipient: Recipient, user_id: str | None, reason: Reason) -> Recipient:
    user_ids = [known for known in (recipient.user_id, user_id) if known]
    reasons = (
        recipient.reasons
        if reason in recipient.reasons
        else tuple(sorted((*recipient.reasons, reason), key=reason_order))
    )
    return recipient._replace(user_id=min(user_ids, default=None), reasons=reasons)


def reason_order(reason: Reason) -> tuple[str, ...]:
    """Return what reasons are ordered by; missing parts come first."""
    return (
        reason.kind,
        f"{reason.hops:010d}",
        "{:04d}{}{}".format(*directness(reason.through)),
        reason.subscription_name,
        reason.subscription_id,
        reason.destination_id,
        reason.team or "",
        reason.via or "",
    )
