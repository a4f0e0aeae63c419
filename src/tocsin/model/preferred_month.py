"""What a person's preferences of now would have made of the notifications that they had in the last 30 days.

Next: ``store/outbox/preferred_months.py``.
"""

from __future__ import annotations

from collections.abc import Mapping

from tocsin.model.entity import WireModel
from tocsin.model.subscription import Channel

MONTH_DAYS = 30
ALL_ROLES = "all"


class ChannelMonth(WireModel):
    """Notifications over one channel by when they would have come.

    Attributes
    ----------
    at_once_count : as it happened
    digest_count : messages that waited for their time: an hour, a day, a week, or the end of quiet hours
    in_digests_count : notifications in these messages
    never_count : never, because nobody wants them
    """

    at_once_count: int
    digest_count: int
    in_digests_count: int
    never_count: int


class PreferredMonth(WireModel):
    """Notifications since a moment (epoch milliseconds), by channel and by kind of change.

    Attributes
    ----------
    kinds : how many events were of a kind, as ``all`` and by the roles of the person; one may be of several kinds
    is_cut : whether there were more over a channel than are counted: the newest are
    """

    since: int
    channels: Mapping[Channel, ChannelMonth]
    kinds: Mapping[str, Mapping[str, int]]
    is_cut: bool
