"""Who must hear of which event? ``flow/resolve/local.py`` over many events at once, as joins.

All inputs but the matches are small and looked up by key (``flow/resolve/audience.py``), so they are broadcast;
the one shuffle is the merge of reasons. Next: ``spark/schedule.py``.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from tocsin.model.notification import ReasonKind
from tocsin.model.subscription import Channel

_EVENT = ("log_offset", "event_id", "entity_id", "user_id")
_REASON = ("kind", "hops", "subscription_name", "subscription_id", "destination_id", "team", "via")
"""A reason's parts in the order that reasons are sorted by; the same as ``flow/resolve/local.reason_order``."""


@dataclass(frozen=True)
class AudienceFrames:
    """The directory's answers, with the columns of ``spark/schema.py`` that bear their names."""

    reach: DataFrame
    principals: DataFrame
    members: DataFrame
    people: DataFrame


def recipients(matches: DataFrame, wanted: DataFrame, audience: AudienceFrames) -> DataFrame:
    """Return who must hear of each event, over which channel, and every reason why.

    One row per (event, channel, key). Reads ``MATCHES`` and ``WANTED``; adds ``channel``, ``key`` (what is told
    once), ``target`` (where it goes), ``recipient_id`` (the user, if it is one) and ``reasons`` (sorted, distinct).
    Unordered. Shuffles once, by (event, channel, key); streaming-safe only inside one micro-batch.
    """
    asked = matches.join(F.broadcast(wanted), "subscription_id").withColumnRenamed("relation", "kind")
    told = _told_people(asked, audience).unionByName(_told_addresses(asked))
    reason = F.struct(*_REASON)
    return told.groupBy("log_offset", "event_id", "channel", "key").agg(
        F.max("target").alias("target"),
        F.min("recipient_id").alias("recipient_id"),
        F.sort_array(F.collect_set(reason)).alias("reasons"),
    )


def _told_people(asked: DataFrame, audience: AudienceFrames) -> DataFrame:
    """One row per (event, destination, person, way they were reached), whoever made the change left out."""
    principals = _principals(asked, audience)
    direct = principals.where(F.col("principal_type") == "user").select(
        "*", F.col("principal_id").alias("member_id"), F.lit(None).cast("string").alias("team")
    )
    members = F.broadcast(
        audience.members.select(
            F.col("team_id").alias("principal_id"),
            F.col("user_id").alias("member_id"),
            F.col("team_name").alias("team"),
        )
    )
    in_teams = principals.where(F.col("principal_type") == "team").join(members, "principal_id")
    people = F.broadcast(audience.people.withColumnRenamed("user_id", "member_id"))
    reached = direct.unionByName(in_teams).join(people, "member_id")
    others = reached.where(~F.col("user_id").eqNullSafe(F.col("member_id")))
    inbox = F.col("channel") == Channel.ACTIVITY_FEED.value
    return _told(
        others.where(inbox | F.col("email").isNotNull()),
        key=F.when(inbox, F.col("member_id")).otherwise(F.col("email")),
        target=F.when(inbox, F.col("member_id")).otherwise(F.col("email")),
        recipient_id=F.col("member_id"),
    )


def _principals(asked: DataFrame, audience: AudienceFrames) -> DataFrame:
    """One row per (event, destination, principal, node through which they are concerned)."""
    principals = audience.principals.withColumnRenamed("relation", "kind")
    by_asset = F.col("kind").isin(ReasonKind.OWNER.value, ReasonKind.FOLLOWER.value)
    reach = F.broadcast(audience.reach.withColumnRenamed("root_id", "entity_id"))
    concerned = (
        asked.where(by_asset)
        .join(reach, "entity_id")
        .where(F.col("hops") <= F.col("downstream_depth"))
        .join(F.broadcast(principals.drop("receiver")), ["node_id", "kind"])
        .where(F.col("since_ms") <= F.col("timestamp_ms"))
        .withColumn("via", F.when(F.col("hops") > 0, F.col("node_fqn")))
    )
    named = (
        asked.where(~by_asset)
        .join(F.broadcast(principals.drop("node_id", "since_ms")), ["kind", "receiver"])
        .withColumn("via", F.lit(None).cast("string"))
        .withColumn("hops", F.lit(0))
    )
    columns = [*_EVENT, "channel", "kind", "subscription_id", "subscription_name", "destination_id"]
    columns += ["via", "hops", "principal_id", "principal_type"]
    return concerned.select(*columns).unionByName(named.select(*columns))


def _told_addresses(asked: DataFrame) -> DataFrame:
    """One row per (event, destination, address or endpoint that it names)."""
    named = asked.where(F.col("kind") == ReasonKind.EXTERNAL.value)
    is_mail = F.col("channel") == Channel.EMAIL.value
    endpoint = F.concat_ws(":", "subscription_id", "receiver")
    return _told(
        named.withColumn("team", F.lit(None).cast("string"))
        .withColumn("via", F.lit(None).cast("string"))
        .withColumn("hops", F.lit(0)),
        key=F.when(is_mail, F.col("receiver")).otherwise(endpoint),
        target=F.col("receiver"),
        recipient_id=F.lit(None).cast("string"),
    )


def _told(rows: DataFrame, *, key: Column, target: Column, recipient_id: Column) -> DataFrame:
    return rows.select(
        "log_offset",
        "event_id",
        "channel",
        key.alias("key"),
        target.alias("target"),
        recipient_id.alias("recipient_id"),
        *_REASON,
    )
