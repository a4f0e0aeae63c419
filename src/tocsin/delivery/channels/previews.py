"""Table of previews: how each channel shows a message to people as it would be sent, as JSON.

Next: ``delivery/channels/email/render.py``.
"""

from __future__ import annotations

from collections.abc import Callable

from tocsin.delivery.channels.email import render as email
from tocsin.delivery.channels.google_chat import render as google_chat
from tocsin.delivery.channels.ms_teams import render as ms_teams
from tocsin.delivery.channels.slack import render as slack
from tocsin.delivery.dispatch import Dispatch
from tocsin.model.entity import Document
from tocsin.model.subscription import Channel

Preview = Callable[[Dispatch, str], Document]
"""Returns what would be sent; the second argument is where the links in it lead."""

PREVIEWS: dict[Channel, Preview] = {
    Channel.EMAIL: email.preview,
    Channel.SLACK: slack.preview,
    Channel.MS_TEAMS: ms_teams.preview,
    Channel.G_CHAT: google_chat.preview,
}
