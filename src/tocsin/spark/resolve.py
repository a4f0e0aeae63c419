"""Recipient resolution over DataFrames: ``flow/resolve/local.py`` for many events, as joins.

All inputs except the matches are small and looked up by key (``flow/resolve/audience.py``). It is SQL text to keep the
latency of a micro-batch low: one call to the JVM, and a constant text that Spark compiles once.
Next: ``spark/schedule.py``.
"""

from __future__ import annotations

from tocsin.flow.resolve.recipient_rules import BY_ASSET
from tocsin.model.subscription import Channel
from tocsin.spark.lookups import ResolveInput

_EVENT = "log_offset, event_id, now_ms"
_REASON = "kind, hops, subscription_name, subscription_id, destination_id, team, via"
"""A reason's parts in the order that reasons are sorted by; the same as ``flow/resolve/local.reason_order``."""

_BY_ASSET = ", ".join(f"'{relation}'" for relation in BY_ASSET)
_RECIPIENTS = f"""
WITH asked AS (
    SELECT /*+ BROADCAST(w), BROADCAST(r) */ m.*, w.subscription_name, w.destination_id, w.channel, w.relation AS kind,
        w.receiver, w.questions, r.hops, if(r.hops > 0, r.node_fqn, NULL) AS via,
        if(w.relation IN ({_BY_ASSET}), r.node_id, '') AS place
    FROM (SELECT inline(matches) FROM {{view}}) AS m
    JOIN (SELECT inline(wanted) FROM {{view}}) AS w ON w.subscription_id = m.subscription_id
    JOIN (SELECT inline(reach) FROM {{view}}) AS r ON r.root_id = m.entity_id AND r.hops <= w.downstream_depth
        AND m.log_offset BETWEEN r.since_offset AND r.until_offset
),
reached AS (
    SELECT /*+ BROADCAST(p), BROADCAST(t) */ a.*, t.team, t.user_id AS recipient_id,
        CASE a.channel
            WHEN '{Channel.ACTIVITY_FEED}' THEN t.user_id
            WHEN '{Channel.EMAIL}' THEN t.email
            ELSE if(t.user_id IS NULL, p.principal_id, NULL) -- people have no endpoint of their own
        END AS target
    FROM asked AS a
    JOIN (SELECT inline(principals) FROM {{view}}) AS p
        ON p.place = a.place AND p.relation = a.kind AND p.receiver = a.receiver
        AND a.log_offset BETWEEN p.since_offset AND p.until_offset
    JOIN (SELECT inline(members) FROM {{view}}) AS t
        ON t.principal_id = p.principal_id AND a.log_offset BETWEEN t.since_offset AND t.until_offset
    {{fact}}
    WHERE (t.user_id IS NULL OR NOT (a.user_id <=> t.user_id)) {{unmuted}}
),
unmuted AS (
    SELECT /*+ BROADCAST(q) */ m.*,
        if(m.channel IN ('{Channel.ACTIVITY_FEED}', '{Channel.EMAIL}'), target, concat(subscription_id, ':', target))
            AS key
    FROM reached AS m
    LEFT ANTI JOIN (SELECT inline(mutes) FROM {{view}}) AS q
        ON q.who = coalesce(m.recipient_id, m.target) AND q.about IN (m.subscription_id, m.entity_id, m.place)
        AND q.channel IN ('', m.channel) AND m.log_offset >= q.since_offset AND m.timestamp_ms < q.until_ms
    WHERE m.target IS NOT NULL
),
-- Each reason once, though several people may share an address. Not by collect_set: where its aggregation falls back
-- to sorting, from 128 keys on, it keeps equal structs twice (seen in Spark 4.3).
because AS (
    SELECT {_EVENT}, channel, key, {_REASON}, max(target) AS target, min(recipient_id) AS recipient_id
    FROM (SELECT {{together}} * FROM unmuted)
    GROUP BY {_EVENT}, channel, key, {_REASON}
)
SELECT {_EVENT}, channel, key, max(target) AS target, min(recipient_id) AS recipient_id,
    sort_array(collect_list(struct({_REASON}))) AS reasons
FROM because
GROUP BY {_EVENT}, channel, key
"""  # noqa: S608  our own constants; nothing of a user's gets into the text

_KNOWN = "array<struct<question:string,since_offset:bigint,until_offset:bigint>>"
_ANSWERS = f"""
    aggregate(transform(a.questions, (question, place) -> if(
        exists(
            concat(coalesce(here.known, cast(array() AS {_KNOWN})), coalesce(ever.known, cast(array() AS {_KNOWN}))),
            one -> one.question = question AND a.log_offset BETWEEN one.since_offset AND one.until_offset
        ), shiftleft(1, place), 0)), 0, (sum, bit) -> sum + bit)
"""
"""A person's answers to what an alert asks, as ``conditions/relations.answers_of`` gives them."""

_PERSON_FACT = """
    LEFT JOIN (SELECT inline(person_facts) FROM {view}) AS here ON here.place = a.entity_id AND here.user_id = t.user_id
    LEFT JOIN (SELECT inline(person_facts) FROM {view}) AS ever ON ever.place = '' AND ever.user_id = t.user_id
"""
_MEANT = f"""
    AND CASE WHEN t.user_id IS NULL THEN a.is_for_anybody ELSE shiftright(a.asked, {_ANSWERS}) & 1L = 1L END
"""


def recipients(batch: ResolveInput) -> str:
    """Return SQL for the recipients of each event, with the channel and every reason.

    One row per (event, channel, key): ``log_offset``, ``event_id``, ``now_ms``, ``channel``, ``key`` (deduplication
    key), ``target`` (where it goes), ``recipient_id`` (the user, if it is one) and ``reasons`` (sorted, distinct).
    Where alerts have conditions on the recipient, only those who meet them. Unordered. Shuffles once, by (event,
    channel, key), unless all is in one partition anyway. For one micro-batch, not for a stream.
    """
    together = "COALESCE(1)" if batch.partition_count == 1 else f"REPARTITION({_EVENT}, channel, key)"
    fact, unmuted = (_PERSON_FACT.format(view=batch.view), _MEANT) if batch.is_personal else ("", "")
    return _RECIPIENTS.format(view=batch.view, together=f"/*+ {together} */", fact=fact, unmuted=unmuted)
