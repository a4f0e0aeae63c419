"""Table of previews: how each channel shows a message to people as it would be sent, as JSON.

Next: ``delivery/channels/email/render.py``.
"""

from __future__ import annotations

from collections.abc import Callable

import orjson

from tocsin.delivery.channels.email import render as email
from tocsin.delivery.channels.google_chat import render as google_chat
from tocsin.delivery.channels.ms_teams import render as ms_teams
from tocsin.delivery.channels.slack import render as slack
from tocsin.delivery.dispatch import Dispatch
from tocsin.model.entity import Document
from tocsin.model.subscription import Channel

Preview = Callable[[Dispatch, str], Document]
"""Returns what would be sent; the second argument is where the links in it lead."""


def _preview_of(render: Callable[..., bytes]) -> Preview:
    """Return the preview of a channel that renders JSON."""
    return lambda dispatch, base_url: orjson.loads(render(dispatch, base_url=base_url))


PREVIEWS: dict[Channel, Preview] = {
    Channel.EMAIL: email.render_texts,
    Channel.SLACK: _preview_of(slack.render_message),
    Channel.MS_TEAMS: _preview_of(ms_teams.render_message),
    Channel.G_CHAT: _preview_of(google_chat.render_message),
}
