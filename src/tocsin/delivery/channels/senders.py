"""Table of senders: how each channel that sends is opened, for workers, test sends and rehearsals.

Importing it loads the libraries of HTTP and mail; what a channel is called and configured by is in
``delivery/channels/table.py``, which loads none. The inbox and the queue send nothing.
"""

from __future__ import annotations

from tocsin.delivery.channels.email import sender as email
from tocsin.delivery.channels.google_chat import sender as google_chat
from tocsin.delivery.channels.ms_teams import sender as ms_teams
from tocsin.delivery.channels.sender_setup import OpenSender
from tocsin.delivery.channels.slack import sender as slack
from tocsin.delivery.channels.webhook import sender as webhook
from tocsin.model.subscription import Channel

SENDERS: dict[Channel, OpenSender] = {
    Channel.WEBHOOK: webhook.open_sender,
    Channel.EMAIL: email.open_sender,
    Channel.SLACK: slack.open_sender,
    Channel.MS_TEAMS: ms_teams.open_sender,
    Channel.G_CHAT: google_chat.open_sender,
}
