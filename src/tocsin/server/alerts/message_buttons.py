"""What the buttons and links in messages do, with the rights of who clicks: acknowledge an incident, mute or unfollow.

Next: ``server/routes/notifications/acknowledge_links.py``, ``server/routes/notifications/mute_links.py``.
"""

from __future__ import annotations

from typing import NamedTuple

from tocsin.access.person_visibility import Visibility
from tocsin.alerts.incidents import Handling, handle
from tocsin.conditions.documents import tested_table
from tocsin.conditions.test_results import TEST_CASE
from tocsin.delivery.lines import moment_text
from tocsin.delivery.links.acknowledge import request_of
from tocsin.delivery.links.mute import MuteLink
from tocsin.delivery.wording.assets import asset_of
from tocsin.errors import NotFound
from tocsin.model.alert_incident import AlertIncident, IncidentStatus, StepKind, name_of
from tocsin.model.columns import path_below, relative_fqns_by_spelling
from tocsin.model.entity import Document
from tocsin.model.mute import Mute, MuteKind
from tocsin.model.notification import Notification, Reason, most_direct_follow
from tocsin.model.people import Actor, Person
from tocsin.model.stored import Key
from tocsin.server.alerts.incidents import found_incident, incident_to_change
from tocsin.server.build import Parts
from tocsin.server.request import Caller

GONE = "This link is invalid or expired, or its subject was deleted."


class IncidentButton(NamedTuple):
    """A button of a message: the notification in it, the incident that its failure belongs to, and who watches that."""

    notification: Notification
    incident: AlertIncident
    watchers: frozenset[str]


def button_of(token: str, parts: Parts) -> IncidentButton:
    """Return the button that a token is of.

    Raises
    ------
    NotFound : the token is forged or expired, or names what is not there
    """
    stores = parts.alert_stores
    request = request_of(token, stores.unsubscribe_key, parts.clock.now_ms())
    record = stores.records.by_id([request.notification_id]).get(request.notification_id) if request else None
    incident = stores.incidents.find(name_of(request.incident_number)) if request else None
    if record is None or incident is None:
        raise NotFound(GONE)
    watchers = frozenset(stores.incidents.watchers([incident.lead_id])[incident.lead_id])
    button = IncidentButton(record.notification, incident, watchers)
    if not _belongs(button, parts):
        raise NotFound(GONE)
    return button


def _belongs(button: IncidentButton, parts: Parts) -> bool:
    """Return whether a failure belongs to an incident: numbers may mean others in a store that was restored."""
    notification, incident = button.notification, button.incident
    logged = parts.log.find(notification.event_id)
    alerts = {reason.subscription_id for reason in notification.reasons}
    is_of_asset = logged is not None and logged.event.entity_id == incident.entity_id
    is_watched = not button.watchers.isdisjoint(alerts)
    return is_of_asset and is_watched and incident.opened_offset <= notification.log_offset


def person_of(user_id: str | None, parts: Parts) -> Actor | None:
    """Return the person with that id as who acts; None for nobody, for bots, and for those who are gone."""
    return actor_of(parts.people.by_id(user_id) if user_id else None)


def actor_of(person: Person | None) -> Actor | None:
    """Return a person as who acts; None as ``person_of``."""
    if person is None or person.deleted or person.is_bot:
        return None
    return Actor(person.id, person.name, is_admin=person.is_admin)


def incident_to_acknowledge(name: str, caller: Caller) -> AlertIncident:
    """Return the incident that a button of that name acknowledges for the caller.

    Raises
    ------
    NotFound : there is none that the caller may see
    Forbidden : the caller may not change it
    """
    return incident_to_change(found_incident(name, caller), caller)


def acknowledge(name: str, caller: Caller, about: str = "") -> str:
    """Acknowledge an incident as the caller; what is acknowledged or resolved stays as it is. Say how it is now.

    ``about`` says of what it is, after its name.

    Raises
    ------
    NotFound : there is none that the caller may see
    Forbidden : the caller may not change it
    """
    before = incident_to_acknowledge(name, caller)
    if before.status is not IncidentStatus.OPEN:
        return state_of(before, about)
    handling = Handling(StepKind.ACKNOWLEDGED)
    caller.parts.writes.within(lambda record: handle(record, before.id, handling), actor=caller.actor)
    after = found_incident(before.id, caller)
    return f"You have acknowledged {after.name}{about}." if after.is_open else state_of(after, about)


def state_of(incident: AlertIncident, about: str = "") -> str:
    """Return how far an incident is that is no longer open; ``about`` says of what it is."""
    comma = "," if about.startswith(",") else ""
    return f"{incident.name}{about}{comma} is already {incident.status.value}."


def asset_name_of(notification: Notification, parts: Parts) -> str:
    """Return what people call the asset of a notification, a test with what it checks.

    Empty for a recipient who may not view it now, and where nobody knows it.
    """
    logged = parts.log.find(notification.event_id)
    if logged is None or notification.recipient_id is None:
        return ""
    permissions = parts.access.permission_cache.current_policies().of(notification.recipient_id)
    if not Visibility(permissions, parts.access.standing).sees_event(logged.event):
        return ""
    return asset_of(logged.event).title


class FollowedAsset(NamedTuple):
    """What the recipient of a notification follows: its type and id, what people call it, and the path of a column."""

    entity_type: str
    entity_id: str
    name: str
    column: str | None = None


def followed_asset_of(notification: Notification, parts: Parts) -> FollowedAsset | None:
    """Return what the person follows whom a notification is for: the asset, the table of a test, a schema, a column.

    None where it is for no follower, where that is gone, and for a recipient who may not view it now.
    """
    logged_event = parts.log.find(notification.event_id)
    reason = most_direct_follow(notification.reasons)
    if logged_event is None or reason is None or notification.recipient_id is None:
        return None
    changed_asset = asset_of(logged_event.event)
    asset = FollowedAsset(changed_asset.entity_type, changed_asset.entity_id, changed_asset.title)
    place: tuple[str, Key] | None = None
    if reason.through is not None:
        place = reason.through.type, Key.by_id(str(reason.through.id))
    elif logged_event.event.entity_type == TEST_CASE and reason.of_subject:
        place = "table", Key.by_name(tested_table(logged_event.event.entity or {}) or "")
    if place is not None:
        try:
            document = parts.catalogue.get(*place, "all")
        except NotFound:
            return None
        asset = FollowedAsset(place[0], document["id"], document.get("displayName") or document["name"])
        if reason.is_of_column:
            column = _column_of(reason, place[0], document)
            if column is None:
                return None
            asset = asset._replace(name=f"the column {column} of {asset.name}", column=column)
    permissions = parts.access.permission_cache.current_policies().of(notification.recipient_id)
    reference = {"id": asset.entity_id, "type": asset.entity_type}
    return asset if Visibility(permissions, parts.access.standing).sees([reference]) else None


def _column_of(reason: Reason, entity_type: str, document: Document) -> str | None:
    """Return the path of the column that a person follows; None where the asset has it no more."""
    name, asset_fqn = reason.through and reason.through.fully_qualified_name, document["fullyQualifiedName"]
    path = path_below(name, asset_fqn) if name else None
    return path if path in relative_fqns_by_spelling(entity_type, asset_fqn, document) else None


def mute_of(link: MuteLink, notification: Notification, parts: Parts) -> Mute:
    """Return the mute that a link asks for: of the asset of a notification, for its recipient.

    Raises
    ------
    NotFound : nobody knows what the notification is about, or it was sent to nobody in particular
    """
    logged = parts.log.find(notification.event_id)
    if logged is None or notification.recipient_id is None:
        raise NotFound(GONE)
    about, now_ms = asset_of(logged.event).entity_id, parts.clock.now_ms()
    return Mute(notification.recipient_id, MuteKind.ASSET, about, since_ms=now_ms, until_ms=link.until_ms)


def muted_text(link: MuteLink, notification: Notification, parts: Parts) -> str:
    """Return what a link mutes and how long, in the zone of the recipient: ``orders until 2026-01-02 04:04 CET``."""
    until = moment_text(link.until_ms, parts.alert_stores.preferences.of(str(notification.recipient_id)).timezone)
    return f"{asset_name_of(notification, parts) or 'the asset of this message'} until {until}"


def effect_of(link: MuteLink, notification: Notification, parts: Parts) -> str:
    """Return what the mute that a link asks for means to the recipient of a notification, in their zone."""
    return f"You will receive no notifications about {muted_text(link, notification, parts)}, on any channel."
