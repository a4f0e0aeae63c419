"""Stored notification records of an event, with messages and all attempts.

``store/outbox/records.py`` reads them. Next: ``alerts/explanations/people.py``.
"""

from __future__ import annotations

from dataclasses import dataclass

from tocsin.model.change_kinds import Frequency
from tocsin.model.message import DroppedReason
from tocsin.model.notification import Notification, Reason
from tocsin.model.own_address import shown_target
from tocsin.model.preferences import DEFAULT, IN_APP, FrequencyChoice, Layer


@dataclass(frozen=True)
class AttemptRecord:
    """One try at a message, how it ended, the reasons that it left out, and why no template worded it."""

    number: int
    started_at_ms: int
    duration_ms: int
    outcome: str
    reason: str
    status_code: int | None
    detail: str
    dropped: tuple[DroppedReason, ...] = ()
    template_error: str = ""


@dataclass(frozen=True)
class MessageRecord:
    """A stored message: ``due_at_ms`` is the time of the next attempt, while there will be one.

    ``grouping_key`` says what it gathers, if anything; ``notification_count`` is how many it carries. ``held_since_ms``
    is since when its destination is paused, or, if ``is_stopped``, stopped.
    """

    id: str
    target: str
    status: str
    attempt_count: int
    due_at_ms: int
    grouping_key: str | None = None
    notification_count: int = 1
    attempts: tuple[AttemptRecord, ...] = ()
    held_since_ms: int | None = None
    is_stopped: bool = False


@dataclass(frozen=True)
class NotificationRecord:
    """A notification as it is stored, and the names of its recipient, if that is a user.

    ``message`` is None for the inbox, whose row is its own. ``choice`` is what its recipient preferred when
    it was written. ``objections`` are the reasons that a waiting message will leave out, as of now: muted, for example.
    """

    notification: Notification
    read_at_ms: int | None = None
    message: MessageRecord | None = None
    user_name: str | None = None
    choice: FrequencyChoice = DEFAULT
    display_name: str | None = None
    objections: tuple[DroppedReason, ...] = ()

    @property
    def shown_name(self) -> str | None:
        """Return what people call its recipient; None if that is no user."""
        return self.display_name or self.user_name

    @property
    def is_off(self) -> bool:
        """Return whether it is kept but not shown in the app, as its recipient prefers."""
        is_in_app = self.notification.channel == IN_APP.value
        return is_in_app and self.choice.frequency is Frequency.NEVER

    @property
    def is_muted(self) -> bool:
        """Return whether a mute of its recipient kept it back when it was written."""
        return self.choice.layer is Layer.MUTE

    @property
    def is_withheld(self) -> bool:
        """Return whether its message waits, and will leave all of it out when it is sent."""
        return bool(self.objections) and len({one.reason for one in self.objections}) >= len(self.notification.reasons)

    @property
    def who(self) -> str:
        """Return whom it is for, as people say it: a user's name, or the address, which may be masked."""
        return self.user_name or (shown_target(self.message.target) if self.message else self.notification.address)

    @property
    def dropped_reasons(self) -> tuple[DroppedReason, ...]:
        """Return the reasons that the last attempt at its message left out of this notification."""
        last = self.message.attempts[-1].dropped if self.message and self.message.attempts else ()
        return tuple(one for one in last if one.notification_id == self.notification.id)

    @property
    def reasons(self) -> tuple[Reason, ...]:
        """Return its reasons without those that the last attempt left out."""
        left_out = {one.reason for one in self.dropped_reasons}
        return tuple(one for one in self.notification.reasons if one not in left_out)

    def names(self, alert: str) -> bool:
        """Return whether the alert of that id or name is one of its reasons."""
        return any(alert in (reason.subscription_id, reason.subscription_name) for reason in self.notification.reasons)
