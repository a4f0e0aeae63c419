"""Assets recommended to each person, with reasons, computed from follows, lineage, labels and teams.

Only joins and aggregations; whatever could grow with the square of a hub, a large container or a long list of follows
is bounded below. Next: ``jobs/recommendations.py``.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DoubleType

from tocsin.model.recommendation import FAMILIES, MOST_STORED, RECOMMENDED_TYPES, WEIGHTS, ReasonToFollow
from tocsin.spark.schema import NUMBER, TEXT, struct_of

RECOMMENDATIONS = struct_of(
    *(("user_id", TEXT), ("entity_id", TEXT), ("kind", TEXT), ("via_id", TEXT), ("through_id", TEXT)),
    *(("people_count", NUMBER), ("member_count", NUMBER), ("strength", DoubleType()), ("place", NUMBER)),
)
"""One row per (person, asset, kind of reason)."""

INPUTS = ("follow", "asset", "edge", "domain", "product", "tag", "owner", "member", "team_follow", "dismissed")
"""The names of ``spark/relations.RELATIONS`` that are read."""

_LIMITS = {
    "most_of_container": 200,
    "widest_middle": 50,
    "most_recent": 50,
    "most_together": 20,
    "most_of_team": 20,
}
"""The assets of a container that are considered, the most followed first; the neighbours of an asset in between; the
newest follows of a person that are compared with those of others; the assets followed together with one; those of a
team."""

_QUERY = """
WITH people_follow AS (
    SELECT f.* FROM in_follow AS f LEFT SEMI JOIN in_asset AS a ON a.entity_id = f.entity_id
),
popularity AS (SELECT entity_id, count(*) AS follower_count FROM people_follow GROUP BY entity_id),
candidate AS (
    SELECT a.entity_id, a.parent_id, coalesce(p.follower_count, 0) AS follower_count
    FROM in_asset AS a LEFT JOIN popularity AS p ON p.entity_id = a.entity_id
    WHERE array_contains(:types, a.entity_type)
),
place_of AS (
    SELECT entity_id, parent_id AS through_id, 'container' AS kind FROM in_asset WHERE parent_id IS NOT NULL
    UNION ALL SELECT entity_id, target_id, 'domain' FROM in_domain
    UNION ALL SELECT DISTINCT entity_id, target_id, 'tag' FROM in_tag
),
content AS (
    SELECT b.*, count(*) OVER (PARTITION BY b.kind, b.through_id) AS size,
        row_number() OVER (
            PARTITION BY b.kind, b.through_id ORDER BY c.follower_count DESC, c.entity_id
        ) AS place
    FROM place_of AS b JOIN candidate AS c ON c.entity_id = b.entity_id
),
share AS (
    SELECT f.user_id, b.kind, b.through_id, count(*) AS own_count, max_by(f.entity_id, f.since) AS via_id
    FROM people_follow AS f JOIN place_of AS b ON b.entity_id = f.entity_id
    GROUP BY f.user_id, b.kind, b.through_id
),
by_place AS (
    SELECT s.user_id, c.entity_id, s.kind, s.via_id, s.through_id, 0L AS people_count, 0L AS member_count,
        s.own_count / sqrt(c.size) AS strength
    FROM share AS s JOIN content AS c ON c.kind = s.kind AND c.through_id = s.through_id
    WHERE c.place <= :most_of_container
),
neighbour AS (
    SELECT from_id AS entity_id, to_id AS other_id, 'madeFrom' AS kind FROM in_edge WHERE from_id <> to_id
    UNION ALL SELECT to_id, from_id, 'feeds' FROM in_edge WHERE from_id <> to_id
),
middle AS (
    SELECT entity_id, other_id FROM (
        SELECT DISTINCT entity_id, other_id, count(*) OVER (PARTITION BY entity_id) AS degree FROM neighbour
    ) WHERE degree <= :widest_middle
),
link AS (
    SELECT entity_id, other_id, kind, '' AS through_id, 1.0D AS strength FROM neighbour
    UNION ALL
    SELECT n.entity_id, m.other_id, 'lineage', m.entity_id, 0.25D
    FROM (SELECT DISTINCT entity_id, other_id FROM neighbour) AS n
    LEFT SEMI JOIN popularity AS p ON p.entity_id = n.entity_id
    JOIN middle AS m ON m.entity_id = n.other_id AND m.other_id <> n.entity_id
),
by_lineage AS (
    SELECT user_id, entity_id, best.kind, best.via_id, best.through_id, 0L, 0L, strength FROM (
        SELECT f.user_id, l.other_id AS entity_id, sum(l.strength) AS strength,
            max_by(struct(l.kind, f.entity_id AS via_id, l.through_id), struct(l.strength, f.since, l.kind)) AS best
        FROM people_follow AS f JOIN link AS l ON l.entity_id = f.entity_id
        GROUP BY f.user_id, l.other_id
    )
),
recent AS (
    SELECT user_id, entity_id FROM (
        SELECT *, row_number() OVER (PARTITION BY user_id ORDER BY since DESC, entity_id) AS place FROM people_follow
    ) WHERE place <= :most_recent
),
pair AS (
    SELECT a.entity_id, b.entity_id AS other_id, count(*) AS people_count
    FROM recent AS a JOIN recent AS b ON b.user_id = a.user_id AND b.entity_id <> a.entity_id
    GROUP BY a.entity_id, b.entity_id
),
close_pair AS (
    SELECT * FROM (
        SELECT *, row_number() OVER (PARTITION BY entity_id ORDER BY strength DESC, other_id) AS place FROM (
            SELECT r.*, r.people_count / sqrt(a.follower_count * b.follower_count) AS strength
            FROM pair AS r JOIN popularity AS a ON a.entity_id = r.entity_id
            JOIN popularity AS b ON b.entity_id = r.other_id
        )
    ) WHERE place <= :most_together
),
by_pair AS (
    SELECT user_id, entity_id, 'together' AS kind, best.via_id, '' AS through_id, best.people_count, 0L, strength FROM (
        SELECT f.user_id, r.other_id AS entity_id, sum(r.strength) AS strength,
            max_by(struct(f.entity_id AS via_id, r.people_count), struct(r.strength, f.since)) AS best
        FROM people_follow AS f JOIN close_pair AS r ON r.entity_id = f.entity_id
        GROUP BY f.user_id, r.other_id
    )
),
team_follow AS (
    SELECT * FROM (
        SELECT *, row_number() OVER (PARTITION BY team_id ORDER BY people_count DESC, entity_id) AS place FROM (
            SELECT m.team_id, f.entity_id, count(*) AS people_count
            FROM in_member AS m JOIN people_follow AS f ON f.user_id = m.user_id
            GROUP BY m.team_id, f.entity_id
        ) WHERE people_count >= 2
    ) WHERE place <= :most_of_team
),
team AS (SELECT team_id, count(*) AS member_count FROM in_member GROUP BY team_id),
by_team AS (
    SELECT user_id, entity_id, 'team' AS kind, '' AS via_id, best.team_id, best.people_count, best.member_count,
        best.strength
    FROM (
        SELECT m.user_id, t.entity_id, max_by(
            struct(t.team_id, t.people_count, z.member_count, t.people_count / z.member_count AS strength),
            struct(t.people_count / z.member_count, t.team_id)
        ) AS best
        FROM in_member AS m JOIN team_follow AS t ON t.team_id = m.team_id JOIN team AS z ON z.team_id = m.team_id
        GROUP BY m.user_id, t.entity_id
    )
),
best_place AS (
    SELECT user_id, entity_id, kind, best.via_id, best.through_id, 0L AS people_count, 0L AS member_count, strength
    FROM (
        SELECT user_id, entity_id, kind, sum(strength) AS strength,
            max_by(struct(via_id, through_id), struct(strength, through_id)) AS best
        FROM by_place GROUP BY user_id, entity_id, kind
    )
),
reason AS (
    SELECT * FROM best_place UNION ALL SELECT * FROM by_lineage
    UNION ALL SELECT * FROM by_pair UNION ALL SELECT * FROM by_team
),
chain AS (
    SELECT entity_id, entity_id AS ancestor_id FROM in_asset
    UNION ALL SELECT entity_id, parent_id FROM in_asset WHERE parent_id IS NOT NULL
    UNION ALL SELECT a.entity_id, b.parent_id FROM in_asset AS a JOIN in_asset AS b ON b.entity_id = a.parent_id
        WHERE b.parent_id IS NOT NULL
    UNION ALL SELECT a.entity_id, c.parent_id FROM in_asset AS a JOIN in_asset AS b ON b.entity_id = a.parent_id
        JOIN in_asset AS c ON c.entity_id = b.parent_id WHERE c.parent_id IS NOT NULL
),
inherited AS (SELECT * FROM in_domain UNION ALL SELECT * FROM in_product UNION ALL SELECT * FROM in_owner),
above AS (
    SELECT entity_id, ancestor_id AS container_id FROM chain UNION ALL SELECT * FROM in_tag
    UNION ALL SELECT c.entity_id, i.target_id FROM chain AS c JOIN inherited AS i ON i.entity_id = c.ancestor_id
),
followed AS (SELECT user_id, entity_id FROM in_follow UNION SELECT * FROM in_team_follow),
covered AS (
    SELECT r.*, f.entity_id AS followed_id FROM reason AS r JOIN above AS a ON a.entity_id = r.entity_id
    LEFT JOIN followed AS f ON f.user_id = r.user_id AND f.entity_id = a.container_id
),
wanted AS (
    SELECT user_id, entity_id, kind, via_id, through_id, people_count, member_count, strength FROM covered
    GROUP BY user_id, entity_id, kind, via_id, through_id, people_count, member_count, strength
    HAVING count(followed_id) = 0
),
weighed AS (
    SELECT r.user_id, r.entity_id, r.kind, r.via_id, r.through_id, r.people_count, r.member_count, c.follower_count,
        coalesce(element_at(:weights, coalesce(element_at(:families, r.kind), r.kind)), 0.0D) * r.strength
        / max(r.strength) OVER (PARTITION BY r.user_id, coalesce(element_at(:families, r.kind), r.kind)) AS strength
    FROM wanted AS r JOIN candidate AS c ON c.entity_id = r.entity_id
    LEFT ANTI JOIN in_dismissed AS d ON d.user_id = r.user_id AND d.entity_id = r.entity_id
),
total AS (
    SELECT *, sum(strength) OVER (PARTITION BY user_id, entity_id) AS total FROM weighed WHERE strength > 0
),
ranked AS (
    SELECT *, dense_rank() OVER (PARTITION BY user_id ORDER BY total DESC, follower_count DESC, entity_id) AS place
    FROM total
)
SELECT user_id, entity_id, kind, via_id, through_id, people_count, member_count, strength,
    CAST(place AS BIGINT) AS place
FROM ranked WHERE place <= :most_stored
"""


def recommendations(
    relations: Mapping[str, DataFrame], weights: Mapping[str, float] = WEIGHTS, *, most_stored: int = MOST_STORED
) -> DataFrame:
    """Return what is recommended to each person: rows of ``RECOMMENDATIONS``.

    Parameters
    ----------
    relations : for each of ``INPUTS`` a frame of one session, columns as in ``spark/relations.RELATIONS``; each is read
        several times, so it should be kept
    weights : by family of reasons; those without one are left out
    most_stored : assets for each person at most

    One row per person, asset and kind of reason. Unordered; shuffles by asset and by person.

    What a person follows, directly or by what contains, labels or owns it,
    and what they have dismissed, is not in it.
    """
    for name in INPUTS:
        relations[name].createOrReplaceTempView(f"in_{name}")
    types = F.array(*map(F.lit, RECOMMENDED_TYPES))
    constants = {"types": types, "weights": _map_of(weights), "families": _map_of(FAMILIES)}
    session = relations[INPUTS[0]].sparkSession
    return session.sql(_QUERY, args={**_LIMITS, **constants, "most_stored": most_stored})


def _map_of(values: Mapping[str, float] | Mapping[ReasonToFollow, str]) -> Column:
    return F.create_map(
        *(F.lit(str(one)) if isinstance(one, str) else F.lit(one) for pair in values.items() for one in pair)
    )
