"""Slack: one message per event or digest, to an incoming webhook or by a bot.

Anyone with the webhook's address or the bot's token can post, so both are secret. With a token people are written to at
their e-mail address. Next: ``delivery/channels/slack/sender.py``.
"""

from __future__ import annotations

import re

from tocsin.delivery.channels.channel_type import ChannelType
from tocsin.delivery.channels.webhook.authentication import check_posting
from tocsin.errors import InvalidInput
from tocsin.model.subscription import Category, Channel, Destination

_SECRET = re.compile(r"[!-~]{16,200}")
_TOKEN = re.compile(r"(xoxe\.)?xoxb-[A-Za-z0-9-]{4,250}")
_CHANNEL = re.compile(r"[CG][A-Z0-9]{2,20}|#?[^\s@#<>|A-Z]{1,80}")


def _check(destination: Destination, place: str) -> None:
    config = destination.config
    if not config.bot_token:
        _check_without_bot(destination, place)
        return
    if config.endpoint:
        raise InvalidInput("is for an incoming webhook: omit it, or botToken", field=f"{place}.endpoint")
    if config.auth_type not in (None, {"type": "none"}):
        raise InvalidInput("is for an incoming webhook: omit it, or botToken", field=f"{place}.authType")
    if destination.category is not Category.EXTERNAL:
        if config.channel:
            raise InvalidInput("is for category External: people are written to directly", field=f"{place}.channel")
    elif not config.channel:
        raise InvalidInput("External with a botToken needs the channel to post to", field=f"{place}.channel")
    elif not _CHANNEL.fullmatch(config.channel):
        raise InvalidInput(
            "must be the id or name of a channel, such as C012AB3CD or #alerts", field=f"{place}.channel"
        )


def _check_without_bot(destination: Destination, place: str) -> None:
    check_posting(destination, place)
    if destination.config.signing_secret:
        raise InvalidInput("needs a botToken: only a bot's buttons come back", field=f"{place}.signingSecret")
    if destination.config.channel:
        raise InvalidInput("needs a botToken: an incoming webhook has one channel", field=f"{place}.channel")


def check_bot_token(token: object, place: str) -> None:
    """Check a bot token: Slack's begin with ``xoxb-``, or ``xoxe.xoxb-`` where they are rotated.

    Raises
    ------
    InvalidInput : it is none
    """
    if not isinstance(token, str) or not _TOKEN.fullmatch(token):
        raise InvalidInput("is not a bot token of Slack (Bot User OAuth Token, xoxb-…)", field=place)


def check_signing_secret(secret: object, place: str) -> None:
    """Check the signing secret of an app.

    Raises
    ------
    InvalidInput : it is none
    """
    if not isinstance(secret, str) or not _SECRET.fullmatch(secret):
        raise InvalidInput("is not the Signing Secret of a Slack app (Basic Information)", field=place)


def _targets(destination: Destination) -> tuple[str, ...]:
    if destination.category is Category.EXTERNAL:
        return (destination.config.channel or destination.config.endpoint or "",)
    return tuple(receiver for receiver in destination.config.receivers if "@" in receiver)


SLACK = ChannelType(
    channel=Channel.SLACK,
    phrase="in Slack",
    categories=frozenset(Category),
    check=_check,
    targets=_targets,
    threads=True,
    changes_in_place=lambda destination: bool(destination.config.bot_token),
    interval_s=1.0,
    mentions=lambda destination: bool(destination.config.bot_token),
    config_keys=frozenset({"endpoint", "auth_type", "bot_token", "channel", "signing_secret"}),
    secret_texts=("botToken", "signingSecret"),
)
