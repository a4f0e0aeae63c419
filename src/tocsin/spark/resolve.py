"""Who must hear of which event? ``flow/resolve/local.py`` over many events at once, as joins.

All inputs but the matches are small and looked up by key (``flow/resolve/audience.py``), so they are broadcast; the
one shuffle is the merge of reasons. It is SQL text because a micro-batch must begin at once: one call to the JVM,
and the same text every time, so that Spark compiles it once. Next: ``spark/schedule.py``.
"""

from __future__ import annotations

from pyspark.sql import DataFrame

from tocsin.model.notification import ReasonKind
from tocsin.model.subscription import Channel
from tocsin.spark.frames import Batch

_VIEW = "tocsin_batch"

_BY_ASSET = f"('{ReasonKind.OWNER}', '{ReasonKind.FOLLOWER}')"
_EVENT = "log_offset, event_id, now_ms"
_REASON = "kind, hops, subscription_name, subscription_id, destination_id, team, via"
"""A reason's parts in the order that reasons are sorted by; the same as ``flow/resolve/local.reason_order``."""

_RECIPIENTS = f"""
WITH
asked AS (
    SELECT /*+ BROADCAST(w) */ m.*, w.subscription_name, w.destination_id, w.channel, w.relation AS kind, w.receiver,
        w.downstream_depth
    FROM (SELECT inline(matches) FROM {{batch}}) AS m
    JOIN (SELECT inline(wanted) FROM {{batch}}) AS w ON w.subscription_id = m.subscription_id
),
principals AS (SELECT inline(principals) FROM {{batch}}),
concerned AS (
    SELECT /*+ BROADCAST(r, p) */ a.*, r.hops, if(r.hops > 0, r.node_fqn, NULL) AS via, p.principal_id, p.principal_type
    FROM asked AS a
    JOIN (SELECT inline(reach) FROM {{batch}}) AS r ON r.root_id = a.entity_id AND r.hops <= a.downstream_depth
    JOIN principals AS p ON p.node_id = r.node_id AND p.relation = a.kind AND p.since_ms <= a.timestamp_ms
    WHERE a.kind IN {_BY_ASSET}
    UNION ALL
    SELECT /*+ BROADCAST(p) */ a.*, 0, NULL, p.principal_id, p.principal_type
    FROM asked AS a
    JOIN principals AS p ON p.relation = a.kind AND p.receiver = a.receiver
    WHERE a.kind NOT IN {_BY_ASSET}
),
members AS (
    SELECT *, principal_id AS member_id, CAST(NULL AS string) AS team
    FROM concerned
    WHERE principal_type = 'user'
    UNION ALL
    SELECT /*+ BROADCAST(t) */ c.*, t.user_id, t.team_name
    FROM concerned AS c
    JOIN (SELECT inline(members) FROM {{batch}}) AS t ON t.team_id = c.principal_id
    WHERE c.principal_type = 'team'
),
people AS (
    SELECT /*+ BROADCAST(p) */ m.*, if(m.channel = '{Channel.ACTIVITY_FEED}', m.member_id, p.email) AS key
    FROM members AS m
    JOIN (SELECT inline(people) FROM {{batch}}) AS p ON p.user_id = m.member_id
    WHERE NOT (m.user_id <=> m.member_id)
),
told AS (
    SELECT {_EVENT}, channel, key, key AS target, member_id AS recipient_id, {_REASON}
    FROM people
    WHERE key IS NOT NULL
    UNION ALL
    SELECT {_EVENT}, channel, if(channel = '{Channel.EMAIL}', receiver, concat(subscription_id, ':', receiver)),
        receiver, NULL, kind, 0, subscription_name, subscription_id, destination_id, NULL, NULL
    FROM asked
    WHERE kind = '{ReasonKind.EXTERNAL}'
)
SELECT {_EVENT}, channel, key, max(target) AS target, min(recipient_id) AS recipient_id,
    sort_array(collect_set(struct({_REASON}))) AS reasons
FROM (SELECT {{hint}} * FROM told)
GROUP BY {_EVENT}, channel, key
"""  # noqa: S608  our own constants; nothing of a user's gets into the text


def recipients(batch: Batch) -> DataFrame:
    """Return who must hear of each event, over which channel, and every reason why.

    One row per (event, channel, key): ``log_offset``, ``event_id``, ``now_ms``, ``channel``, ``key`` (what is told
    once), ``target`` (where it goes), ``recipient_id`` (the user, if it is one) and ``reasons`` (sorted, distinct).
    Unordered. Shuffles once, by (event, channel, key), unless all is in one partition anyway. For one micro-batch,
    not for a stream.
    """
    batch.frame.createOrReplaceTempView(_VIEW)
    hint = "/*+ COALESCE(1) */" if batch.partition_count == 1 else ""
    return batch.frame.sparkSession.sql(_RECIPIENTS.format(batch=_VIEW, hint=hint))
