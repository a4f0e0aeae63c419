"""Channels as stages and store know them: how a message carries several notifications, and whether it is for people.

What a channel's configuration holds, and how it renders and sends: ``delivery/channels/table.py``.
"""

from __future__ import annotations

from tocsin.model.subscription import Channel, Gathering

GATHERINGS: dict[str, Gathering] = {
    Channel.WEBHOOK.value: Gathering.ARRAYS,
    Channel.EMAIL.value: Gathering.SUMMARY,
    Channel.SLACK.value: Gathering.SUMMARY,
    Channel.MS_TEAMS.value: Gathering.SUMMARY,
    Channel.G_CHAT.value: Gathering.SUMMARY,
    Channel.ACTIVITY_FEED.value: Gathering.NONE,
    Channel.GOVERNANCE_WORKFLOW_CHANGE_EVENT.value: Gathering.NONE,
    Channel.PUSH.value: Gathering.SUMMARY,
}
"""How the channels carry several notifications."""

WORDED: tuple[str, ...] = tuple(
    name for name, gathering in GATHERINGS.items() if gathering is Gathering.SUMMARY and name != Channel.PUSH.value
)
"""The channels whose messages people read, and templates word; a push message says no more than where to read."""
