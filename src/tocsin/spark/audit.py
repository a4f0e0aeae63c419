"""Self-audit over DataFrames: expected rows joined with stored rows; each mismatch is a finding.

Next: ``jobs/audit.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import IntegerType, StructType

from tocsin.model.audit_finding import FindingKind
from tocsin.model.message import MessageStatus
from tocsin.model.subscription import Channel
from tocsin.spark.schema import NUMBER, TEXT, record_batch, struct_of

_COUNT = IntegerType()
MATCHED = struct_of(("log_offset", NUMBER), ("event_id", TEXT), ("subscription_id", TEXT))
VIEWS: Mapping[str, StructType] = {
    "audit_alerts": struct_of(
        *(("subscription_id", TEXT), ("changed_at", NUMBER), ("done_through", NUMBER), ("asks_of_streaks", _COUNT)),
        ("opens_incidents", _COUNT),
    ),
    "audit_match_results": struct_of(
        *(("log_offset", NUMBER), ("subscription_id", TEXT), ("notified_count", _COUNT), ("relation_count", _COUNT)),
        *(("missing_count", _COUNT), ("triggered_by", TEXT), ("resolved_at_ms", NUMBER)),
    ),
    "audit_notes": struct_of(
        *(("id", TEXT), ("log_offset", NUMBER), ("event_id", TEXT), ("channel", TEXT), ("recipient", TEXT)),
        *(("reasons", TEXT), ("message_id", TEXT), ("is_muted", _COUNT)),
    ),
    "audit_reports": struct_of(("log_offset", NUMBER), ("entity_id", TEXT), ("is_failure", _COUNT), ("at_ms", NUMBER)),
    "audit_incidents": struct_of(
        *(("entity_id", TEXT), ("subscription_id", TEXT), ("name", TEXT)),
        *(("opened_offset", NUMBER), ("ended_offset", NUMBER)),
    ),
    "audit_messages": struct_of(("id", TEXT), ("status", TEXT), ("due_at_ms", NUMBER), ("delivered_count", NUMBER)),
}
"""The compared rows, by view; ``audit_events`` and ``audit_matched`` are frames of Spark's own."""

_FINDINGS = """
WITH notes AS (
    SELECT n.*, from_json(reasons, 'array<struct<subscriptionId:string>>').subscriptionId AS alerts
    FROM audit_notes AS n
),
-- What a mute keeps back is stored, and counts for no alert.
counting AS (SELECT * FROM notes WHERE is_muted = 0),
held AS (
    SELECT log_offset, subscription_id, count(DISTINCT channel, recipient) AS found
    FROM (SELECT log_offset, channel, recipient, explode(array_distinct(alerts)) AS subscription_id FROM counting)
    GROUP BY log_offset, subscription_id
),
whole AS (SELECT log_offset, count(DISTINCT channel, recipient) AS found FROM counting GROUP BY log_offset),
-- What another query notified first may stand under another alert's reasons: of such events only the sum can be judged.
shared AS (
    SELECT DISTINCT t.log_offset FROM audit_match_results AS t JOIN audit_alerts AS a USING (subscription_id)
    WHERE a.asks_of_streaks = 1
),
judged AS (
    SELECT e.event_id, t.* FROM audit_match_results AS t
    JOIN audit_alerts AS a ON a.subscription_id = t.subscription_id
        AND t.log_offset > a.changed_at AND t.log_offset <= a.done_through
    JOIN audit_events AS e ON e.log_offset = t.log_offset
),
matched AS (
    SELECT DISTINCT m.log_offset, m.event_id, m.subscription_id
    FROM audit_matched AS m JOIN audit_alerts AS a USING (subscription_id)
    WHERE m.log_offset > a.changed_at AND m.log_offset <= a.done_through
),
notified AS (
    SELECT e.event_id, t.*,
        if(s.log_offset IS NULL, coalesce(h.found, 0), least(coalesce(w.found, 0), t.notified_count)) AS found
    FROM audit_match_results AS t
    JOIN audit_events AS e USING (log_offset)
    LEFT JOIN held AS h USING (log_offset, subscription_id)
    LEFT JOIN whole AS w USING (log_offset)
    LEFT JOIN shared AS s USING (log_offset)
),
carried AS (
    SELECT n.event_id, n.log_offset, n.alerts[0] AS subscription_id, n.id AS about, m.id AS message_id,
        m.delivered_count, m.status IN (:pending, :awaiting_retry) AND m.due_at_ms < :overdue_ms AS is_stuck
    FROM notes AS n LEFT JOIN audit_messages AS m ON m.id = n.message_id
    WHERE n.channel <> :activity_feed
)
SELECT :result_missing AS kind, event_id, log_offset, subscription_id, '' AS about, 1 AS expected, 0 AS found
FROM matched LEFT ANTI JOIN audit_match_results USING (log_offset, subscription_id)
UNION ALL
SELECT :not_matched, j.event_id, j.log_offset, j.subscription_id, '', 0, 1
FROM judged AS j LEFT ANTI JOIN matched AS m USING (log_offset, subscription_id)
LEFT ANTI JOIN audit_match_results AS r ON r.log_offset = j.log_offset AND r.subscription_id = j.triggered_by
UNION ALL
SELECT if(found < notified_count, :notification_missing, :notification_unexpected), event_id, log_offset,
    subscription_id, '', notified_count, found
FROM notified WHERE found <> notified_count
UNION ALL
SELECT :notification_unexpected, n.event_id, h.log_offset, h.subscription_id, '', 0, h.found
FROM held AS h JOIN (SELECT DISTINCT event_id, log_offset FROM notes) AS n USING (log_offset)
LEFT ANTI JOIN audit_match_results USING (log_offset, subscription_id)
UNION ALL
SELECT :relation_missing, e.event_id, t.log_offset, t.subscription_id, '', t.relation_count,
    t.relation_count - t.missing_count
FROM audit_match_results AS t JOIN audit_events AS e USING (log_offset) WHERE t.missing_count > 0
UNION ALL
SELECT :notified_twice, event_id, log_offset, min(alerts[0]), concat_ws(' ', channel, recipient), 1, count(*)
FROM notes GROUP BY event_id, log_offset, channel, recipient HAVING count(*) > 1
UNION ALL
SELECT :delivery_missing, event_id, log_offset, subscription_id, about, 1, 0 FROM carried
WHERE message_id IS NULL
UNION ALL
SELECT :delivered_twice, event_id, log_offset, subscription_id, about, 1, delivered_count FROM carried
WHERE delivered_count > 1
UNION ALL
SELECT :delivery_stuck, event_id, log_offset, subscription_id, about, 1, 0 FROM carried WHERE is_stuck
UNION ALL
SELECT :incident_missing, j.event_id, j.log_offset, j.subscription_id, '', 1, 0
FROM judged AS j
JOIN audit_alerts AS a ON a.subscription_id = j.subscription_id AND a.opens_incidents = 1
JOIN audit_reports AS r ON r.log_offset = j.log_offset AND r.is_failure = 1
    AND r.at_ms >= j.resolved_at_ms - :longest_age_ms
LEFT ANTI JOIN audit_incidents AS i ON i.entity_id = r.entity_id AND i.subscription_id = j.subscription_id
    AND i.opened_offset <= j.log_offset AND coalesce(i.ended_offset > j.log_offset, true)
WHERE j.triggered_by IS NULL
UNION ALL
SELECT :incident_unresolved, e.event_id, r.log_offset, min(i.subscription_id), i.name, 1, 0
FROM audit_reports AS r JOIN audit_events AS e USING (log_offset)
JOIN audit_incidents AS i ON i.entity_id = r.entity_id AND i.opened_offset < r.log_offset
    AND coalesce(i.ended_offset > r.log_offset, true)
WHERE r.is_failure = 0 GROUP BY e.event_id, r.log_offset, i.name
"""
"""Rows since an alert was last changed, and up to the progress of its query, are judged; names after colons are of
``_NAMES``."""

_JUDGED = """
SELECT count(a.subscription_id) AS judged, count(*) - count(a.subscription_id) AS unjudged
FROM audit_match_results AS t
LEFT JOIN audit_alerts AS a ON a.subscription_id = t.subscription_id
    AND t.log_offset > a.changed_at AND t.log_offset <= a.done_through
"""
_NAMES = {
    **{kind.name.lower(): kind.value for kind in FindingKind},
    "pending": MessageStatus.PENDING.value,
    "awaiting_retry": MessageStatus.AWAITING_RETRY.value,
    "activity_feed": Channel.ACTIVITY_FEED.value,
}


def lay_out(
    session: SparkSession, tuples_by_view: Mapping[str, Iterable[Sequence[Any]]]
) -> None:  # Any: a column's value
    """Create the views of ``VIEWS``, which later queries compare, from tuples in the order of their columns.

    One row per alert, match result, notification, message, report and watched incident.
    """
    for view, columns in VIEWS.items():
        table = pa.Table.from_batches([record_batch(tuples_by_view[view], columns)])
        session.createDataFrame(table).createOrReplaceTempView(view)


def judgement_counts(session: SparkSession) -> DataFrame:
    """Return one row in all: how many matches in the views were ``judgement_counts``, and how many ``unjudged``."""
    return session.sql(_JUDGED)


def findings(
    session: SparkSession, events: DataFrame, match_frame: DataFrame, *, overdue_ms: int, longest_age_ms: int
) -> DataFrame:
    """Return the findings for a part of the log whose rows have been laid out.

    One row per finding, columns as ``model/audit_finding.AuditFinding``. Needs of ``events``, one row per event of
    that part, ``log_offset`` and ``event_id``; of ``match_frame``, one row per (event, alert), those of ``MATCHED``.
    A message that was due before ``overdue_ms`` and is claimed by nobody since then is stuck. Failures that were older
    than ``longest_age_ms`` when they were processed open no incident. Unordered; shuffles by event.
    """
    events.createOrReplaceTempView("audit_events")
    match_frame.createOrReplaceTempView("audit_matched")
    return session.sql(_FINDINGS, args={**_NAMES, "overdue_ms": overdue_ms, "longest_age_ms": longest_age_ms})
