"""When is each recipient told, and under which id? ``flow/schedule/due.py`` over many recipients at once.

Ids are UUIDv5 of their causes, computed as native columns, so that writing a row again writes nothing.
Next: ``spark/sinks.py``.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from tocsin.model.notification import NAMESPACE
from tocsin.model.subscription import Channel

_WIRE_REASON = {
    "kind": "kind",
    "subscription_id": "subscriptionId",
    "subscription_name": "subscriptionName",
    "destination_id": "destinationId",
    "team": "team",
    "via": "via",
    "hops": "hops",
}


def notifications(recipients: DataFrame, now_ms: int) -> DataFrame:
    """Return the notifications of ``recipients``, with the delivery that carries each.

    One row per (event, channel, key), as in ``recipients``. Adds ``id``, ``delivery_id`` (null for the inbox, whose
    row is its own delivery), ``subscription_id`` and ``destination_id`` (which answer for the delivery: the first
    reason's), ``due_at_ms`` and ``created_at_ms`` (epoch milliseconds); ``reasons`` becomes JSON in wire form.
    Unordered, no shuffle, streaming-safe.
    """
    first = F.col("reasons")[0]
    identity = uuid5(F.concat_ws("|", F.lit("notification"), "event_id", "channel", "key"))
    leaves = F.col("channel") != Channel.ACTIVITY_FEED.value
    return recipients.withColumn("id", identity).select(
        "id",
        "event_id",
        "log_offset",
        "channel",
        "key",
        "target",
        "recipient_id",
        _to_wire(F.col("reasons")).alias("reasons"),
        F.lit(now_ms).cast("bigint").alias("due_at_ms"),
        F.lit(now_ms).cast("bigint").alias("created_at_ms"),
        F.when(leaves, uuid5(F.concat_ws("|", F.lit("delivery"), "id"))).alias("delivery_id"),
        first["subscription_id"].alias("subscription_id"),
        first["destination_id"].alias("destination_id"),
    )


def uuid5(name: Column) -> Column:
    """Return the UUIDv5 of ``name`` under Tocsin's namespace, as text. Source: RFC 9562, section 5.5."""
    hexed = F.sha1(F.concat(F.unhex(F.lit(NAMESPACE.hex)), F.encode(name, "UTF-8")))
    variant = F.translate(F.substring(hexed, 17, 1), "0123456789abcdef", "89ab89ab89ab89ab")
    return F.concat_ws(
        "-",
        F.substring(hexed, 1, 8),
        F.substring(hexed, 9, 4),
        F.concat(F.lit("5"), F.substring(hexed, 14, 3)),
        F.concat(variant, F.substring(hexed, 18, 3)),
        F.substring(hexed, 21, 12),
    )


def _to_wire(reasons: Column) -> Column:
    def renamed(reason: Column) -> Column:
        return F.struct(*(reason[name].alias(key) for name, key in _WIRE_REASON.items()))

    return F.to_json(F.transform(reasons, renamed))
