"""Messages of an alert that a person is writing, as each channel would show them; nothing is stored or sent.

Rights, templates, severity and runbook count as in a message that is sent. Next: ``delivery/channels/previews.py``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

import orjson

from tocsin.alerts.request import parse_alert
from tocsin.delivery.dispatch import Route
from tocsin.delivery.templates.accounts import TemplateAccounts
from tocsin.delivery.templates.choice import with_route_settings, word_message
from tocsin.delivery.templates.message_text import MessagePlace
from tocsin.delivery.wording.changes import event_text
from tocsin.delivery.wording.event_formats import EVENT_FORMATS, render_event
from tocsin.errors import InvalidInput
from tocsin.flow.capture.operations import new_entity_id
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.message import Entry
from tocsin.model.notification import Reason, ReasonKind
from tocsin.model.phrases import suggestion_for
from tocsin.model.stored import Key
from tocsin.model.subscription import Category, Channel, Destination, EventSubscription
from tocsin.model.template import NOTIFICATION_TEMPLATE, Template
from tocsin.server.access.permissions import visible_document
from tocsin.server.alerts.template_previews import entry_of
from tocsin.server.alerts.trial import NOBODY, trial_dispatch
from tocsin.server.http.body_values import parse_id, value_in
from tocsin.server.request import Caller

M = TypeVar("M", Channel, Category)

PREVIEWED = (Channel.SLACK, Channel.MS_TEAMS, Channel.G_CHAT, Channel.EMAIL, Channel.ACTIVITY_FEED, Channel.WEBHOOK)
"""The channels that have previews."""

_SAID_BY_MESSAGES = ("name", "severity", "runbook")
"""The keys of an alert that its messages show, besides its template."""

_KINDS = {
    Category.OWNERS: ReasonKind.OWNER,
    Category.FOLLOWERS: ReasonKind.FOLLOWER,
    Category.ADMINS: ReasonKind.ADMIN,
    Category.ASSIGNEES: ReasonKind.ASSIGNEE,
    Category.MENTIONS: ReasonKind.MENTION,
    Category.USERS: ReasonKind.USER,
    Category.TEAMS: ReasonKind.USER,
    Category.EXTERNAL: ReasonKind.EXTERNAL,
}
_LARGEST_BYTES = 64 * 1024
_NEW, _TEMPLATE = "new alert", "notificationTemplate"
_IN_THE_APP: Document = {"category": "Owners", "type": "ActivityFeed"}
_ACCOUNTS = TemplateAccounts()


def message_preview(request: Document, caller: Caller) -> Document:
    """Return a message about an event as a channel shows it: a JSON value of that channel.

    ``alert`` holds the keys of an alert, ``channel`` a channel, ``category`` whom it tells (owners, unless given), and
    ``eventId`` or ``resource`` what it is about, as previews of templates have it.

    Raises
    ------
    InvalidInput : a key of the alert that messages show is wrong, or there is no such channel
    NotFound : there is no such event or template that the caller may see
    """
    channel = _member(PREVIEWED, request, "channel", Channel.SLACK)
    category = _member(tuple(_KINDS), request, "category", Category.OWNERS)
    written_alert = value_in(request, "alert", dict, "must be an alert, as an object")
    alert = _alert_of(written_alert)
    destination = Destination(id=NOBODY, category=category, type=channel)
    reason = Reason(
        kind=_KINDS[category], subscription_id=NOBODY, subscription_name=alert.name, destination_id=destination.id
    )
    entry = replace(entry_of(request, caller), reasons=(reason,))
    if channel is Channel.ACTIVITY_FEED:
        return _bell_message(entry, caller.zone)
    if channel is Channel.WEBHOOK:
        return _json_message(entry, request, caller)
    route = Route(
        destination,
        severity=alert.severity,
        runbook=alert.runbook,
        template=_template_of(written_alert.get(_TEMPLATE), caller),
        zone=alert.trigger.timezone or "UTC",
    )
    return _readable_message(entry, route, caller)


def _readable_message(entry: Entry, route: Route, caller: Caller) -> Document:
    """Return a message to be read, in the words of the alert's template or of a changed system template."""
    from tocsin.delivery.channels.previews import PREVIEWS  # loads the templates of mails, which no start needs

    base_url, channel = caller.parts.settings.base_url(), route.destination.type
    routes = {(NOBODY, route.destination.id): route}
    dispatch = trial_dispatch(route.destination, "", entry.event, caller.parts.clock.now_ms())
    routed_dispatch = with_route_settings(replace(dispatch, entries=(entry,)), route, routes, route.zone)
    system_templates = caller.parts.alert_stores.routes.system_templates()
    place = MessagePlace(channel.value, base_url, zone=route.zone)
    worded_dispatch, problem = word_message(routed_dispatch, routes, system_templates, place, _ACCOUNTS)
    message = PREVIEWS[channel](worded_dispatch, base_url)
    return {**message, "templateError": problem} if problem else message


def _bell_message(entry: Entry, zone: str) -> Document:
    """Return what the bell shows to a reader in an IANA ``zone``: title, changes and why."""
    text = event_text(entry.event, entry.reasons, zone=zone)
    return {"title": text.headline, "changes": [line.sentence for line in text.lines], "reason": text.why}


def _json_message(entry: Entry, request: Document, caller: Caller) -> Document:
    """Return the event as a webhook gets it, in a ``format``, without its entity where that is large."""
    payload_format = request.get("format", "")
    if payload_format and payload_format not in EVENT_FORMATS:
        message = f"unknown format {payload_format!r}; {suggestion_for(payload_format, tuple(EVENT_FORMATS))}"
        raise InvalidInput(message, field="format")
    base_url = caller.parts.settings.base_url()
    payload, _ = render_event(entry.event.to_wire(), payload_format, base_url, limit_bytes=_LARGEST_BYTES)
    document: Document = orjson.loads(payload)
    return document


def partial_alert(fields: Document) -> EventSubscription:
    """Return an alert with these keys, and with what else an alert needs made up.

    Raises
    ------
    InvalidInput : one of them is wrong
    """
    fixed_keys = {"alertType": "Notification", "resources": ["all"], "destinations": [_IN_THE_APP]}
    request = {"name": _NEW, **fields, **fixed_keys}
    return parse_alert(request, before=None, secrets=None, new_id=new_entity_id).subscription


def _alert_of(written_alert: Document) -> EventSubscription:
    """Return an alert with what messages show of one that is written, which need not be complete."""
    shown_keys = {key: written_alert[key] for key in _SAID_BY_MESSAGES if written_alert.get(key)}
    trigger = written_alert.get("trigger")
    timezone = trigger.get("timezone") if isinstance(trigger, dict) else None
    zoned_trigger = {"trigger": {"triggerType": "RealTime", "timezone": timezone}} if timezone else {}
    return partial_alert({**shown_keys, **zoned_trigger})


def _template_of(reference: object, caller: Caller) -> Template | None:
    if reference is None:
        return None
    template_id = reference.get("id") if isinstance(reference, dict) else None
    key = Key.by_id(parse_id(template_id, "must be a reference to a template, by its id", field=_TEMPLATE))
    document = visible_document(ENTITY_TYPES[NOTIFICATION_TEMPLATE], key, caller)
    return Template(document["name"], document["templateSubject"], document["templateBody"])


def _member(members: tuple[M, ...], request: Document, key: str, default: M) -> M:
    value = request.get(key, default)
    if value not in members:
        names = [member.value for member in members]
        raise InvalidInput(f"unknown {key} {value!r}; {suggestion_for(str(value), names)}", field=key)
    return next(member for member in members if member == value)
