"""Scheduling over DataFrames: due time and id of each notification, as in ``flow/schedule/due.py``.

Ids are UUIDv5 of their causes, computed as native columns, so writing a row twice has no effect.
Next: ``spark/sinks.py``.
"""

from __future__ import annotations

from tocsin.model.notification import NAMESPACE
from tocsin.model.subscription import Channel

_WIRE_REASON = {
    "kind": "kind",
    "subscriptionId": "subscription_id",
    "subscriptionName": "subscription_name",
    "destinationId": "destination_id",
    "team": "team",
    "via": "via",
    "hops": "hops",
}


def uuid5(name: str) -> str:
    """Return SQL for the UUIDv5, under Tocsin's namespace, of what the SQL ``name`` gives. Source: RFC 9562, 5.5."""
    hexed = f"sha1(concat(unhex('{NAMESPACE.hex}'), encode({name}, 'UTF-8')))"
    variant = "translate(substring(hexed, 17, 1), '0123456789abcdef', '89ab89ab89ab89ab')"
    parts = (
        "substring(hexed, 1, 8)",
        "substring(hexed, 9, 4)",
        "concat('5', substring(hexed, 14, 3))",
        f"concat({variant}, substring(hexed, 18, 3))",
        "substring(hexed, 21, 12)",
    )
    # A lambda names what is used five times, so that it is worked out once.
    return f"transform(array({hexed}), hexed -> concat_ws('-', {', '.join(parts)}))[0]"


_WIRED = ", ".join(f"'{key}', reason.{name}" for key, name in _WIRE_REASON.items())
_NOTIFICATIONS = f"""
SELECT id, event_id, log_offset, channel, key, target, recipient_id,
    to_json(transform(reasons, reason -> named_struct({_WIRED}))) AS reasons,
    now_ms AS due_at_ms,
    now_ms AS created_at_ms,
    if(channel <> '{Channel.ACTIVITY_FEED}', {uuid5("concat_ws('|', 'delivery', id)")}, NULL) AS message_id,
    reasons[0].subscription_id AS subscription_id,
    reasons[0].destination_id AS destination_id,
    array_distinct(transform(reasons, reason -> reason.subscription_id)) AS subscription_ids
FROM (SELECT *, {uuid5("concat_ws('|', 'notification', event_id, channel, key)")} AS id FROM ({{recipients}}))
"""  # noqa: S608  our own constants; nothing of a user's gets into the text


def notifications(recipients: str) -> str:
    """Return SQL for the notifications of ``recipients`` (SQL as well), with the message that carries each.

    One row per (event, channel, key), as in ``recipients``. Adds ``id``, ``message_id`` (null for the inbox, whose
    row is its own message), ``subscription_id`` and ``destination_id`` (which answer for the message: the first
    reason's), ``due_at_ms`` and ``created_at_ms`` (epoch milliseconds), ``subscription_ids`` (whoever gives a
    reason, distinct); ``reasons`` becomes JSON in wire form. Unordered, no shuffle.
    """
    return _NOTIFICATIONS.format(recipients=recipients)
