"""Microsoft Teams: one card per event or digest to the webhook of a workflow.

The address is secret: the signature that allows posting is in its query.
Next: ``delivery/channels/ms_teams/sender.py``.
"""

from __future__ import annotations

from tocsin.delivery.channels.channel_type import ChannelType
from tocsin.delivery.channels.endpoints import endpoint_of
from tocsin.delivery.channels.webhook.authentication import check_posting
from tocsin.model.subscription import Category, Channel

MS_TEAMS = ChannelType(
    channel=Channel.MS_TEAMS,
    phrase="in Microsoft Teams",
    categories=frozenset(Category),
    check=check_posting,
    targets=endpoint_of,
    interval_s=0.25,
    config_keys=frozenset({"endpoint", "auth_type"}),
)
