"""Removal of reasons that concern an entity which the recipient may not see, and of drafts without reasons.

Next: ``flow/pipeline.py``, which applies it before notifications are stored.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from tocsin.access.decide import Permissions
from tocsin.access.permission_cache import PolicySnapshot
from tocsin.access.visibility import TypedDocument
from tocsin.model.access import Operation
from tocsin.model.notification import Reason, ReasonKind
from tocsin.model.notification_draft import NotificationDraft, reasons_of
from tocsin.model.own_address import own_address_of
from tocsin.model.subscription import TO_PEOPLE


class Addressee(NamedTuple):
    """Whom a notification is for: the person, if it is one, and where it goes."""

    id: str | None
    target: str


class Events(Protocol):
    """Finds what events are about, by their places in the log."""

    def subjects(self, offsets: Collection[int]) -> Mapping[int, Sequence[TypedDocument]]:
        """Return the subjects of each of these events: a recipient must be able to see all of them."""

    def entities(self, entity_ids: Collection[str]) -> Mapping[str, TypedDocument]:
        """Return these entities as they are now, or were last; what never was has no entry."""

    def parts_hidden(self, offsets: Collection[int], permissions: Permissions) -> Mapping[int, frozenset[str]]:
        """Return the parts of each of these events that refer to what a person may not view, as ``parts_read`` does."""

    def editors_of(self, subscription_ids: Collection[str]) -> Mapping[str, Sequence[str]]:
        """Return the creator and the editors of each of these alerts, by id; nobody for Tocsin's own."""


class RememberedEvents:
    """Events of a part of the log: their subjects, and the editors of alerts, are looked up once.

    ``default_editors`` are those of an alert that has none, such as one that is not stored yet.
    """

    def __init__(self, events: Events, default_editors: Sequence[str] = ()) -> None:
        self._events, self._default_editors = events, default_editors
        self.entities, self.parts_hidden = events.entities, events.parts_hidden
        self._subjects: dict[int, Sequence[TypedDocument]] = {}
        self._editors: dict[str, Sequence[str]] = {}

    def subjects(self, offsets: Collection[int]) -> Mapping[int, Sequence[TypedDocument]]:
        """Return the subjects of each of these events."""
        if unknown := set(offsets) - self._subjects.keys():
            self._subjects |= self._events.subjects(unknown)
        return {offset: self._subjects[offset] for offset in offsets}

    def editors_of(self, subscription_ids: Collection[str]) -> Mapping[str, Sequence[str]]:
        """Return the editors of each of these alerts."""
        if unknown := set(subscription_ids) - self._editors.keys():
            editors = self._events.editors_of(unknown)
            self._editors |= {alert: editors.get(alert) or self._default_editors for alert in unknown}
        return {alert: self._editors[alert] for alert in subscription_ids}


class Sight:
    """What people may view of some events; ``about`` holds the subjects of each, every decision is made once."""

    def __init__(self, policies: PolicySnapshot, about: Mapping[int, Sequence[TypedDocument]]) -> None:
        self._policies, self._about = policies, about
        self._known: dict[tuple[str, int], bool] = {}

    def may_view(self, viewer: str, offset: int) -> bool:
        """Return whether a person may view all that the event at ``offset`` is about."""
        is_visible = self._known.get((viewer, offset))
        if is_visible is None:
            permissions = self._policies.of(viewer)
            is_visible = all(permissions.may(Operation.VIEW_BASIC, *subject) for subject in self._about[offset])
            self._known[viewer, offset] = is_visible
        return is_visible


def only_visible(
    drafts: Iterable[NotificationDraft], policies: PolicySnapshot, events: Events
) -> list[NotificationDraft]:
    """Return the notifications that may be stored, each with the reasons whose viewers may see the subjects.

    Every reason is judged by itself (``viewers_of``), so that no alert takes away what another one sends. While
    everybody may view everything, nothing is looked up. Otherwise the cost depends on these recipients and events, not
    on the number of people and policies.
    """
    drafts = list(drafts)
    if policies.are_all_open():
        return drafts
    about = events.subjects({draft.event.offset for draft in drafts})
    restricted_offsets = {
        offset for offset, subjects in about.items() if not all(policies.is_open(kind) for kind, _ in subjects)
    }
    judged_drafts = [draft for draft in drafts if draft.event.offset in restricted_offsets]
    alert_ids = {reason.subscription_id for draft in judged_drafts for reason in _to_endpoints(draft)}
    editors = events.editors_of(alert_ids) if alert_ids else {}
    sight = Sight(policies, about)

    def narrow(draft: NotificationDraft) -> NotificationDraft | None:
        if draft.event.offset not in restricted_offsets:
            return draft
        visible_reasons = tuple(
            reason
            for reason in draft.reasons.in_order
            if all(sight.may_view(viewer, draft.event.offset) for viewer in _viewers(reason, draft, editors))
        )
        return with_reasons(draft, visible_reasons) if visible_reasons else None

    policies.of_many({draft.recipient_id for draft in judged_drafts if draft.recipient_id})
    return [narrowed for draft in drafts if (narrowed := narrow(draft)) is not None]


def is_to_endpoint(kind: str, channel: str) -> bool:
    """Return whether what is sent for a reason of this kind leads to an address, or uses credentials, of the alert.

    The person who set them can read what is sent to anyone: a bot of Slack reads what it says to a person.
    """
    return kind == ReasonKind.EXTERNAL or channel not in TO_PEOPLE


def viewers_of(
    kind: str, subscription_id: str, *, recipient: Addressee, channel: str, editors: Mapping[str, Sequence[str]]
) -> Sequence[str]:
    """Return the ids of those who must be able to see an event that is sent for a reason of this kind and alert.

    That is the person whom it concerns and, if it goes to an endpoint (``is_to_endpoint``), all editors of the alert:
    so redirecting an alert reveals no more than its editor may see. Nobody for what Tocsin's own alerts name. The own
    address of a person or team is read by who set it.
    """
    own_address = own_address_of(recipient.target)
    person = () if recipient.id is None or kind == ReasonKind.EXTERNAL else (recipient.id,)
    viewers = person if own_address is None else (*person, own_address.setter_id)
    return (*viewers, *editors.get(subscription_id, ())) if is_to_endpoint(kind, channel) else viewers


def _viewers(reason: Reason, draft: NotificationDraft, editors: Mapping[str, Sequence[str]]) -> Sequence[str]:
    recipient = Addressee(draft.recipient_id, draft.target)
    return viewers_of(reason.kind, reason.subscription_id, recipient=recipient, channel=draft.channel, editors=editors)


def _to_endpoints(draft: NotificationDraft) -> Iterator[Reason]:
    return (reason for reason in draft.reasons.in_order if is_to_endpoint(reason.kind, draft.channel))


def with_reasons(draft: NotificationDraft, reasons: tuple[Reason, ...]) -> NotificationDraft:
    """Return a draft with only these of its reasons."""
    if len(reasons) == len(draft.reasons.in_order):
        return draft
    recipient_id = draft.recipient_id if any(reason.is_personal for reason in reasons) else None
    return draft._replace(recipient_id=recipient_id, reasons=reasons_of(reasons))
