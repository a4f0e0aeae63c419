"""Notification counts of a backtest per recipient, aggregated on Spark so that few rows leave it.

Next: ``jobs/backtest.py``.
"""

from __future__ import annotations

_KINDS = "transform(reasons, reason -> reason.kind)"
_COUNTED = f"""
SELECT channel, key, max(target) AS target, min(recipient_id) AS recipient_id, count(DISTINCT log_offset) AS notified,
    sum(size(reasons)) AS ways, array_sort(array_distinct(flatten(collect_set(kinds)))) AS kinds
FROM (SELECT *, array_distinct({_KINDS}) AS kinds FROM ({{recipients}}))
GROUP BY GROUPING SETS ((channel, key), ())
"""  # noqa: S608  our own constants; nothing of a user's gets into the text
_EACH = """
SELECT log_offset, channel, key, target, recipient_id,
    to_json(transform(reasons, one -> named_struct(
        'kind', one.kind, 'subscriptionId', one.subscription_id, 'destinationId', one.destination_id))) AS reasons
FROM ({recipients})
"""


def counted(recipients: str) -> str:
    """Return SQL for how often each recipient of ``recipients`` (SQL as well) is notified.

    One row per (channel, key): ``target``, ``recipient_id``, ``notified`` (number of events), ``ways`` (number of
    reasons in all) and ``kinds`` (of reasons, distinct). One more row, whose ``channel`` is null, has in ``notified``
    the number of events that notify anybody; there is none where nobody is. Unordered. Shuffles by
    (channel, key, event).
    """
    return _COUNTED.format(recipients=recipients)


def each(recipients: str) -> str:
    """Return SQL for the same with one row per (event, channel, key), for per-event checks; no shuffle."""
    return _EACH.format(recipients=recipients)
