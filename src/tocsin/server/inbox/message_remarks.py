"""Remarks on what keeps messages from people whatever they prefer: no mail server, and default alerts that are off.

Next: ``server/bootstrap.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from tocsin.alerts.events import MESSAGES_OF_ASSETS, MESSAGES_OF_CONVERSATIONS
from tocsin.delivery.channels.table import phrase_of
from tocsin.errors import NotFound
from tocsin.model.effective_preferences import EffectivePreferences
from tocsin.model.own_address import OWN_KEYS
from tocsin.model.preferences import PREFERRED_CHANNELS
from tocsin.model.stored import Key
from tocsin.model.subscription import Channel
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue

NO_MAIL_SERVER = "No mail server is set up, so no mails come."

_ABOUT = {
    MESSAGES_OF_ASSETS: "what you own and follow",
    MESSAGES_OF_CONVERSATIONS: "conversations and tasks",
}


def _message_remarks(catalogue: SqlCatalogue, *, has_mail_server: bool) -> Iterator[str]:
    """Yield a sentence for each reason why messages do not come as a person prefers."""
    if not has_mail_server:
        yield NO_MAIL_SERVER
    for name in _ABOUT:
        if not _is_enabled(name, catalogue):
            yield _disabled_text(name)


def remarks_on_follow(
    chosen_channels: Collection[Channel],
    verified_channels: Collection[Channel],
    catalogue: SqlCatalogue,
    *,
    has_mail_server: bool,
) -> Iterator[str]:
    """Yield a sentence for each reason why a follow does not tell over the channels that a person chose for it.

    None where they chose every channel alike, which singles none out. ``verified_channels`` are of own addresses.
    """
    if set(chosen_channels) == set(PREFERRED_CHANNELS):
        return
    if Channel.EMAIL in chosen_channels and not has_mail_server:
        yield NO_MAIL_SERVER
    yield from _remarks_on_addresses(chosen_channels, verified_channels)
    if set(chosen_channels) - {Channel.ACTIVITY_FEED} and not _is_enabled(MESSAGES_OF_ASSETS, catalogue):
        yield _disabled_text(MESSAGES_OF_ASSETS)


def unreached_channels(
    channels: Collection[Channel], reached_channels: Collection[Channel], *, has_mail_server: bool
) -> dict[Channel, str]:
    """Return over which of these channels nothing comes to a person, each with what is missing, in a few words.

    ``reached_channels`` are those of verified own addresses, and of pushes where the person has a browser for these.
    """
    missing = dict.fromkeys(OWN_KEYS, "no verified address") | {Channel.PUSH: "no browser"}
    if not has_mail_server:
        missing[Channel.EMAIL] = "no mail server"
    return {one: missing[one] for one in channels if one in missing and one not in reached_channels}


def remarks_on_table(
    preferences: EffectivePreferences,
    verified_channels: Collection[Channel],
    catalogue: SqlCatalogue,
    *,
    has_mail_server: bool,
) -> Iterator[str]:
    """Yield a sentence for each reason why messages do not come as a person's table of preferences says.

    An address is missed only over channels that the person or their teams chose, where they did not choose all alike.
    """
    yield from _message_remarks(catalogue, has_mail_server=has_mail_server)
    if not set(OWN_KEYS) <= preferences.chosen_channels:
        yield from _remarks_on_addresses(preferences.chosen_channels, verified_channels)


def _remarks_on_addresses(channels: Collection[Channel], verified_channels: Collection[Channel]) -> Iterator[str]:
    unverified_channels = (set(OWN_KEYS) & set(channels)) - set(verified_channels)
    for channel in sorted(unverified_channels, key=PREFERRED_CHANNELS.index):
        yield (
            f"No own address is verified for messages {phrase_of(channel)}, so none come. "
            "You can set and verify one in your settings, under Channels."
        )


def _disabled_text(name: str) -> str:
    return (
        f"Of {_ABOUT[name]} you hear in the app only; mails, chats and your webhook come where another alert sends "
        f"them. The alert {name} would send them all, and is off: an administrator can switch it on."
    )


def _is_enabled(name: str, catalogue: SqlCatalogue) -> bool:
    try:
        alert = catalogue.get("eventsubscription", Key.by_name(name))
    except NotFound:
        return False
    return bool(alert.get("enabled", True))
