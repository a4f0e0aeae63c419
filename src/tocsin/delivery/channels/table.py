"""Table of channels: one row per channel that is implemented.

The check of destinations, test sends, workers, the masking of secrets, explanations and the documentation read it.
Next: ``delivery/channels/senders.py`` and ``delivery/channels/previews.py``. ``docs/recipes.md`` shows how to add one.
"""

from __future__ import annotations

from tocsin.delivery.channels.activity_feed.channel import ACTIVITY_FEED
from tocsin.delivery.channels.channel_type import ChannelType
from tocsin.delivery.channels.email.channel import EMAIL
from tocsin.delivery.channels.google_chat.channel import GOOGLE_CHAT
from tocsin.delivery.channels.governance_workflow.channel import GOVERNANCE_WORKFLOW
from tocsin.delivery.channels.ms_teams.channel import MS_TEAMS
from tocsin.delivery.channels.push.channel import PUSH
from tocsin.delivery.channels.slack.channel import SLACK
from tocsin.delivery.channels.webhook.channel import WEBHOOK
from tocsin.model.subscription import Channel

CHANNELS: dict[Channel, ChannelType] = {
    row.channel: row
    for row in (
        WEBHOOK,
        EMAIL,
        SLACK,
        MS_TEAMS,
        GOOGLE_CHAT,
        ACTIVITY_FEED,
        GOVERNANCE_WORKFLOW,
        PUSH,
    )
}


UNSENT = frozenset({Channel.ACTIVITY_FEED, Channel.GOVERNANCE_WORKFLOW_CHANGE_EVENT})
"""Channels that have no sender: their notifications are read where they are stored."""


def phrase_of(channel: str) -> str:
    """Return how a sentence says a channel: ``by mail``; its name where it is none of these."""
    return next((one.phrase for one in CHANNELS.values() if one.channel == channel), channel)
