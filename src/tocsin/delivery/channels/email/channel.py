"""Email: one mail per recipient and event or digest, over the mail server of the settings.

Next: ``delivery/channels/email/sender.py``.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tocsin.delivery.channels.channel_type import ChannelType, SenderSetup
from tocsin.delivery.dispatch import Dispatch, Sender
from tocsin.errors import InvalidInput
from tocsin.model.entity import Document
from tocsin.model.subscription import Category, Channel, Destination, Gathering


def _check(destination: Destination, place: str) -> None:
    if destination.category is Category.EXTERNAL and not _addresses(destination):
        raise InvalidInput("external e-mail needs at least one address", field=f"{place}.receivers")


def _addresses(destination: Destination) -> tuple[str, ...]:
    return tuple(receiver for receiver in destination.config.receivers if "@" in receiver)


@asynccontextmanager
async def _open_sender(setup: SenderSetup) -> AsyncIterator[Sender]:
    from tocsin.delivery.channels.email.render import MailSettings  # the libraries of mail, for workers alone
    from tocsin.delivery.channels.email.sender import EmailSender, mail_server_of

    settings = setup.settings
    mails = MailSettings(settings.smtp_sender, settings.base_url(), setup.link_key)
    async with EmailSender(mail_server_of(settings), mails, setup.recorder) as sender:
        yield sender


def _preview(dispatch: Dispatch, base_url: str) -> Document:
    from tocsin.delivery.channels.email.render import MailSettings, preview  # only where messages are shown

    return preview(dispatch, MailSettings("", base_url))


EMAIL = ChannelType(
    channel=Channel.EMAIL,
    phrase="by mail",
    categories=frozenset(Category),
    check=_check,
    targets=_addresses,
    config_keys=frozenset(),
    gathering=Gathering.SUMMARY,
    threads=True,
    open_sender=_open_sender,
    preview=_preview,
)
