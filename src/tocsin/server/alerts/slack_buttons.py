"""Buttons in messages of a Slack bot: whose request it is, and what the button does for whom.

A request counts if a destination of the message's notification has the secret that it is signed with, and an
administrators' alert has that bot with that secret: who presses is whom the bot's workspace says
(``docs/decisions/0077-only-bots-of-administrators-say-who-somebody-is.md``).
Next: ``server/routes/notifications/slack_interactions.py``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from starlette.concurrency import run_in_threadpool

from tocsin.delivery.channels.slack.interactions import ButtonPress, Signed, is_genuine, is_recent
from tocsin.delivery.lines import exact_moment_text
from tocsin.delivery.links import acknowledge as acknowledge_links
from tocsin.delivery.links import mute as mute_links
from tocsin.delivery.links.acknowledge import AcknowledgeLink
from tocsin.delivery.links.answer import AnswerPress, press_of
from tocsin.delivery.links.mute import MuteLink
from tocsin.errors import Forbidden, NotFound, TocsinError, Unauthenticated
from tocsin.model.change_request import ChangeAnswer
from tocsin.model.notification import Notification
from tocsin.model.subscription import Channel, Destination, bot_key_of
from tocsin.server.alerts.hourly_counts import counted_answer
from tocsin.server.alerts.message_buttons import acknowledge, actor_of, button_of, effect_of, mute_of
from tocsin.server.alerts.read_elsewhere import note_read
from tocsin.server.build import Parts
from tocsin.server.changes.answer_page import answer_scope, press_answer
from tocsin.server.request import Caller

_NOT_SIGNED = "The request is not signed with the signing secret of a destination that this button was sent for."
_UNKNOWN_BOT = (
    "No alert of an administrator uses this bot, so its buttons change nothing. Ask an administrator to save an alert "
    "with its botToken and signingSecret."
)
_OF_ANOTHER = "This message was sent to another person, so nothing was changed."
_EXPIRED = "This button has expired."
_NOBODY = "Tocsin knows nobody with your e-mail address in Slack, so nothing was changed."


class SlackButton(NamedTuple):
    """A button that was pressed.

    ``notification`` is None once it is removed. ``destination`` is one of those whose secret signed the request, with
    its secrets; ``alerts`` are all of theirs.
    """

    token: str
    request: AcknowledgeLink | MuteLink | AnswerPress
    notification: Notification | None
    destination: Destination
    alerts: frozenset[str]


def pressed_button(press: ButtonPress, signed: Signed, parts: Parts) -> SlackButton:
    """Return the button that a request is about.

    Raises
    ------
    Unauthenticated : the token is not ours, or the request not Slack's, or not of this moment
    Forbidden : no administrators' alert has that bot with that secret: anybody could say who pressed it
    """
    key, stores = parts.alert_stores.unsubscribe_key, parts.alert_stores
    request = _request_of(press.token, key)
    if request is None:
        raise Unauthenticated(_NOT_SIGNED)
    record = stores.records.by_id([request.notification_id]).get(request.notification_id)
    notification, now_ms = record.notification if record else None, parts.clock.now_ms()
    signing = {
        alert: destination
        for alert, destination in _bots(_destination_keys(request, notification), parts)
        if is_genuine(signed, destination.config.signing_secret or "")
    }
    if not signing:
        raise Unauthenticated(_NOT_SIGNED)
    if not is_recent(signed, now_ms=now_ms):
        raise Unauthenticated(_refusal_of_time(signed, now_ms))
    trusted_signings = {alert: one for alert, one in signing.items() if _is_administrators(alert, one, parts)}
    if not trusted_signings:
        raise Forbidden(_UNKNOWN_BOT)
    return SlackButton(
        press.token, request, notification, next(iter(trusted_signings.values())), frozenset(trusted_signings)
    )


def _refusal_of_time(genuine: Signed, now_ms: int) -> str:
    """Return the words about a genuine request whose time is too far from ours."""
    sent_ms = int(genuine.timestamp) * 1_000
    side = "too old" if sent_ms < now_ms else "ahead of its time"
    return (
        f"The request is {side}: it is signed for {exact_moment_text(sent_ms)}, the server's clock says"
        f" {exact_moment_text(now_ms)}, and they may differ by 5 minutes. Nothing was changed: press the button again,"
        " and if that is refused as well, correct the clock."
    )


def _request_of(token: str, key: bytes) -> AcknowledgeLink | MuteLink | AnswerPress | None:
    """Return what a token asks for, also if that is over; None for what was not signed with ``key``."""
    return acknowledge_links.request_of(token, key, 0) or mute_links.request_of(token, key, 0) or press_of(token, key)


def _is_administrators(alert_id: str, destination: Destination, parts: Parts) -> bool:
    """Return whether an administrators' alert has the bot and the signing secret of an alert's destination."""
    alert = parts.subscriptions.find(alert_id)
    if alert is not None and alert.is_of_administrators:
        return True
    config = destination.config
    alerts = parts.subscriptions.administrator_alerts_of_bot(bot_key_of(config.bot_token or ""))
    routes = (route for other in alerts for route in parts.alert_stores.routes.of(other.id).values())
    configs = (one.destination.config for one in routes if one.waits_because is None)
    return any((one.bot_token, one.signing_secret) == (config.bot_token, config.signing_secret) for one in configs)


def _destination_keys(
    request: AcknowledgeLink | MuteLink | AnswerPress, notification: Notification | None
) -> set[tuple[str, str]]:
    """Return the ids of alerts and destinations by which the message of a button was sent, as far as that is known."""
    if notification is not None:
        return {reason.destination_key for reason in notification.reasons}
    named_key = request.destination_key if isinstance(request, AnswerPress) else None
    return set() if named_key is None else {named_key}


def _bots(destination_keys: Iterable[tuple[str, str]], parts: Parts) -> list[tuple[str, Destination]]:
    """Return those of these destinations that are interactive bots, each with its alert."""
    bots: list[tuple[str, Destination]] = []
    for alert, identity in sorted(destination_keys):
        route = parts.alert_stores.routes.of(alert).get(identity)
        if route is None or route.waits_because is not None or route.destination.type is not Channel.SLACK:
            continue
        if route.destination.config.bot_token and route.destination.config.signing_secret:
            bots.append((alert, route.destination))
    return bots


async def press_as(address: str | None, button: SlackButton, parts: Parts, root: str) -> str:
    """Do what a button asks for as the person with an e-mail address, and say what came of it."""
    person = await run_in_threadpool(parts.people.by_email, address) if address else None
    actor = actor_of(person)
    if actor is None:
        return _NOBODY
    try:
        with await parts.traffic.shares.place_for(actor) as place:
            return await run_in_threadpool(_carry_out, button, Caller(actor, parts, root, place))
    except TocsinError as refused:
        return refused.message


def _carry_out(button: SlackButton, caller: Caller) -> str:
    link, notification = button.request, button.notification
    if isinstance(link, AnswerPress):
        if _recipient_of(link, notification) not in (None, caller.actor.id):
            raise Forbidden(_OF_ANOTHER)
        scope, answer = answer_scope(link.request_id, caller), ChangeAnswer(answer=link.verdict)
        with counted_answer(answer, scope.own_consumers, caller):
            effect = press_answer(scope, answer, caller)
        if notification is not None:
            note_read(notification, caller.actor, caller.parts)
        return effect
    if notification is None or caller.parts.clock.now_ms() >= link.until_ms:
        raise NotFound(_EXPIRED)
    recipient = notification.recipient_id
    if recipient != caller.actor.id and (recipient is not None or isinstance(link, MuteLink)):
        raise Forbidden(_OF_ANOTHER)
    if isinstance(link, MuteLink):
        caller.parts.alert_stores.mutes.put(mute_of(link, notification, caller.parts))
        note_read(notification, caller.actor, caller.parts)
        return effect_of(link, notification, caller.parts)
    of_message = button_of(button.token, caller.parts)
    name = of_message.incident.name
    if of_message.watchers.isdisjoint(button.alerts):
        raise Forbidden(f"No alert that uses this bot watches {name}; open it in Tocsin.")
    effect = acknowledge(name, caller)
    note_read(notification, caller.actor, caller.parts)
    return effect


def _recipient_of(press: AnswerPress, notification: Notification | None) -> str | None:
    """Return who alone may press a button, None in a channel; of an older button the notification says it.

    Raises
    ------
    NotFound : it would say it, but is removed
    """
    if press.destination_key is not None:
        return press.recipient_id
    if notification is None:
        raise NotFound(_EXPIRED)
    return notification.recipient_id
