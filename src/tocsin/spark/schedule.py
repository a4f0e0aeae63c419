"""Recipients as rows to be scheduled: reasons as JSON, and the alerts that give them.

Next: ``spark/sinks.py``.
"""

from __future__ import annotations

_WIRE_REASON = {
    "kind": "kind",
    "subscriptionId": "subscription_id",
    "subscriptionName": "subscription_name",
    "destinationId": "destination_id",
    "team": "team",
    "via": "via",
    "hops": "hops",
}
_WIRED = ", ".join(f"'{key}', reason.{name}" for key, name in _WIRE_REASON.items())
_NOTIFICATIONS = f"""
SELECT event_id, log_offset, channel, key, target, recipient_id,
    to_json(transform(reasons, reason -> named_struct({_WIRED}))) AS reasons,
    reasons[0].subscription_id AS subscription_id,
    reasons[0].destination_id AS destination_id,
    array_distinct(transform(reasons, reason -> reason.subscription_id)) AS subscription_ids
FROM ({{recipients}})
"""  # noqa: S608  our own constants; nothing of a user's gets into the text


def notifications(recipients: str) -> str:
    """Return SQL for the notifications of ``recipients`` (SQL as well), without what scheduling adds.

    One row per (event, channel, key), as in ``recipients``. Adds ``subscription_id`` and ``destination_id`` (under
    which its message is claimed: the first reason's) and ``subscription_ids`` (whoever gives a reason, distinct);
    ``reasons`` becomes JSON in wire form. Unordered, no shuffle.
    """
    return _NOTIFICATIONS.format(recipients=recipients)
