"""Scopes of the link in a mail that unsubscribes: its alerts, its asset, its kinds of change, or everything by mail.

The token says whose mail it was; the form of the page says of what, and a mail program that posts without a form means
the alerts. Next: ``server/routes/notifications/unsubscribe.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from html import escape
from typing import NamedTuple
from urllib.parse import parse_qsl

from tocsin.conditions.event_kinds import kinds_of
from tocsin.errors import InvalidInput
from tocsin.model.kind_words import subject_text
from tocsin.model.mute import EVERYTHING_ID, Mute, MuteKind, kind_key
from tocsin.model.notification import Notification, Reason
from tocsin.model.phrases import list_text
from tocsin.model.preferences import DefaultPreferences
from tocsin.model.roles import ROLE_WORDS
from tocsin.server.alerts.message_buttons import asset_name_of
from tocsin.server.build import Parts

FIELD = "from"
"""The field of the form that names the scope."""

_MOST_FIELDS = 10
_MOST_EVENTS = 100
"""Events of a mail that are read to find what they are all about."""


class UnsubscribeScope(StrEnum):
    """Of what a reader of a mail unsubscribes."""

    ALERTS = "alerts"
    ASSET = "asset"
    KIND = "kind"
    EVERYTHING = "everything"


class Offer(NamedTuple):
    """What a scope means in a mail: how the page calls it, and what it mutes."""

    text: str
    names: tuple[str, ...]
    subjects: tuple[tuple[MuteKind, str], ...]


@dataclass(frozen=True)
class UnsubscribeOffers:
    """What the reader of a mail may unsubscribe from, by scope; an address that an alert names, from alerts alone."""

    notifications: Sequence[Notification]
    by_scope: dict[UnsubscribeScope, Offer]
    mandatory: tuple[str, ...] = ()
    """What stays, in words: ``permanent deletions``, ``failed tests of owned assets``."""

    @classmethod
    def of(cls, notifications: Sequence[Notification], parts: Parts) -> UnsubscribeOffers:
        """Return the offers of the mail with these notifications."""
        names = {reason.subscription_id: reason.subscription_name for one in notifications for reason in one.reasons}
        alert_names = tuple(sorted(names.values()))
        text = f"the alert{'s' if len(names) > 1 else ''} {', '.join(alert_names)}"
        alerts = tuple((MuteKind.ALERT, alert_id) for alert_id in sorted(names))
        by_scope = {UnsubscribeScope.ALERTS: Offer(text, alert_names, alerts)}
        if not is_for_person(notifications):
            return cls(notifications, by_scope)
        defaults = parts.alert_stores.preferences.defaults()
        by_scope |= _offers_of_all(notifications, defaults, parts)
        everything = (MuteKind.EVERYTHING, EVERYTHING_ID)
        by_scope[UnsubscribeScope.EVERYTHING] = Offer("everything", ("everything",), (everything,))
        return cls(notifications, by_scope, tuple(_mandatory_texts(defaults)))

    def scope_in(self, body: bytes) -> UnsubscribeScope:
        """Return the scope that a form names; without one, the alerts.

        Raises
        ------
        InvalidInput : the mail has no such scope
        """
        try:
            fields = dict(parse_qsl(body.decode("ascii"), max_num_fields=_MOST_FIELDS))
            scope = UnsubscribeScope(fields.get(FIELD, UnsubscribeScope.ALERTS))
        except ValueError as error:
            raise InvalidInput("is no scope of this link", field=FIELD) from error
        if scope not in self.by_scope:
            raise InvalidInput("is no scope of this link", field=FIELD)
        return scope

    def mutes(self, scope: UnsubscribeScope, now_ms: int) -> Iterator[Mute]:
        """Yield what a scope mutes: mails to the person of each reason, or to the address that an alert names."""
        channel = self.notifications[0].channel
        pairs = [(reason.subscription_id, _who(one, reason)) for one in self.notifications for reason in one.reasons]
        for kind, about_id in self.by_scope[scope].subjects:
            for who in sorted({who for alert, who in pairs if kind is not MuteKind.ALERT or alert == about_id}):
                yield Mute(who, kind, about_id, channel, since_ms=now_ms, unsubscribed=True)

    def remaining_text(self, scope: UnsubscribeScope) -> str:
        """Return what continues after one has unsubscribed."""
        if scope is UnsubscribeScope.ALERTS:
            return "Mail from other alerts and notifications in the app continue."
        kept_text = "Notifications in the app continue."
        if scope is UnsubscribeScope.ASSET:
            return f"Mail about other assets continues. {kept_text}"
        mandatory = f" So do mails of {list_text(self.mandatory)}" if self.mandatory else ""
        critical = (
            f"{mandatory}, and of alerts tagged Critical" if mandatory else " So do mails of alerts tagged Critical"
        )
        return f"{kept_text}{critical}, which cannot be switched off."

    def fields_html(self) -> str:
        """Return the choice of scopes as HTML, none where there is one; all texts are escaped."""
        if len(self.by_scope) == 1:
            return ""
        return "".join(
            f'<label><input type="radio" name="{FIELD}" value="{scope.value}"'
            f"{' checked' if scope is UnsubscribeScope.ALERTS else ''}> {escape(offer.text)}</label>"
            for scope, offer in self.by_scope.items()
        )


def is_for_person(notifications: Sequence[Notification]) -> bool:
    """Return whether a mail went to a person for what they are, not to an address that an alert names."""
    reasons = (reason for one in notifications for reason in one.reasons)
    return notifications[0].recipient_id is not None and all(reason.is_personal for reason in reasons)


def _mandatory_texts(defaults: DefaultPreferences) -> Iterator[str]:
    yield from (subject_text(kind) for kind in defaults.mandatory)
    for role, kinds in defaults.mandatory_roles.items():
        yield from (f"{subject_text(kind)} {ROLE_WORDS[role]}" for kind in kinds if kind not in defaults.mandatory)


def _offers_of_all(
    notifications: Sequence[Notification], defaults: DefaultPreferences, parts: Parts
) -> dict[UnsubscribeScope, Offer]:
    """Return the asset and the kinds that all events of a mail are about; none where these differ, or are very many."""
    if len(notifications) > _MOST_EVENTS:
        return {}
    offers_of_all: dict[UnsubscribeScope, Offer] | None = None
    for notification in notifications:
        roles = {reason.role for reason in notification.reasons}
        offers = dict(_offers_of_event(notification, defaults.mandatory_in(roles), parts))
        before = offers if offers_of_all is None else offers_of_all
        offers_of_all = {
            scope: offer
            for scope, offer in offers.items()
            if scope in before and before[scope].subjects == offer.subjects
        }
        if not offers_of_all:
            return {}
    return offers_of_all or {}


def _offers_of_event(
    notification: Notification, mandatory: Collection[str], parts: Parts
) -> Iterator[tuple[UnsubscribeScope, Offer]]:
    logged, name = parts.log.find(notification.event_id), asset_name_of(notification, parts)
    if logged is None or not name:
        return
    yield UnsubscribeScope.ASSET, Offer(name, (name,), ((MuteKind.ASSET, logged.event.entity_id),))
    kinds = kinds_of(logged.event.event_type, logged.derived)
    names = tuple(one.kind for one in kinds if not one.crosses and one.kind not in mandatory)
    if names:
        text = list_text([subject_text(one) for one in names])
        yield UnsubscribeScope.KIND, Offer(text, names, tuple((MuteKind.KIND, kind_key(one)) for one in names))


def _who(notification: Notification, reason: Reason) -> str:
    """Return who no longer gets what a reason sends: the person it concerns, or the address that an alert names."""
    return (notification.recipient_id if reason.is_personal else None) or notification.recipient
