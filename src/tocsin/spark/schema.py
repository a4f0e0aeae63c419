"""Schemas of the pipeline's DataFrames: explicit, never inferred, and checked against the model by a test.

Next: ``spark/sources.py`` delivers ``EVENTS``.
"""

from __future__ import annotations

from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DecimalType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

_TEXT = StringType()
_TEXTS = ArrayType(_TEXT, containsNull=False)
_VERSION = DecimalType(10, 1)


def _struct(*columns: tuple[str, object]) -> StructType:
    return StructType([StructField(name, kind, nullable=True) for name, kind in columns])  # type: ignore[arg-type]


EVENTS = _struct(
    ("log_offset", LongType()),
    ("event_id", _TEXT),
    ("event_type", _TEXT),
    ("entity_type", _TEXT),
    ("entity_id", _TEXT),
    ("entity_fqn", _TEXT),
    ("user_name", _TEXT),
    ("user_id", _TEXT),
    ("is_bot", BooleanType()),
    ("timestamp_ms", LongType()),
    ("previous_version", _VERSION),
    ("current_version", _VERSION),
    ("fields_added", _TEXTS),
    ("fields_updated", _TEXTS),
    ("fields_deleted", _TEXTS),
    ("field_changed", _TEXTS),
    ("tags", _TEXTS),
    ("owners", _TEXTS),
    ("domains", _TEXTS),
    ("tier", _TEXT),
    ("service", _TEXT),
    ("test_status", _TEXT),
    ("pipeline_status", _TEXT),
    ("test_suites", _TEXTS),
    ("tested_entity_fqn", _TEXT),
    ("thread_type", _TEXT),
    ("mentions", _TEXTS),
    ("change_category", _TEXTS),
    ("change_operation", _TEXTS),
    ("change_target", _TEXTS),
    ("changes", _TEXTS),
    ("unchanged_for", LongType()),
    ("recorded", BooleanType()),
    ("reported_at", LongType()),
    ("previous_status", _TEXT),
    ("streak", LongType()),
    ("failures", LongType()),
    ("failures_before", LongType()),
    ("without_success", LongType()),
    ("without_success_before", LongType()),
    ("event", _TEXT),
)
"""One row per change event. ``event`` is its JSON; from ``fields_added`` on, what capture derived from it.

What depends on earlier reports (from ``previous_status`` on) is null until ``spark/streaks.py`` has worked it out.
"""

MATCHES = _struct(
    ("log_offset", LongType()),
    ("event_id", _TEXT),
    ("entity_id", _TEXT),
    ("user_id", _TEXT),
    ("timestamp_ms", LongType()),
    ("subscription_id", _TEXT),
    ("asked", LongType()),
    ("is_for_anybody", BooleanType()),
    ("now_ms", LongType()),
)
"""One row per (event, subscription) that match.

``asked`` holds the answers that count, as bits (``conditions/relations.py``), and ``is_for_anybody`` says whether there
is somebody who gives one: then it goes to what is no person, too.
``user_id`` is whoever made the change; ``now_ms`` the time at which the pipeline is at it, a column because a constant
would make Spark compile each micro-batch anew.
"""

RECIPIENT_RULES = _struct(
    ("subscription_id", _TEXT),
    ("subscription_name", _TEXT),
    ("destination_id", _TEXT),
    ("channel", _TEXT),
    ("relation", _TEXT),
    ("receiver", _TEXT),
    ("downstream_depth", IntegerType()),
    ("questions", _TEXTS),
)
"""One row per (destination, way of reaching people).

``relation`` is a ``ReasonKind``; ``receiver`` the name, address or endpoint asked for (empty for owners,
followers and administrators); ``downstream_depth`` how many hops downstream count (0: none); ``questions`` what the
alert asks of a person, in the order of the bits of their answers.
"""

REACH = _struct(("root_id", _TEXT), ("node_id", _TEXT), ("node_fqn", _TEXT), ("hops", IntegerType()))
"""One row per (changed entity, entity it reaches through lineage); the entity itself at 0 hops."""

PRINCIPALS = _struct(
    ("place", _TEXT),
    ("relation", _TEXT),
    ("receiver", _TEXT),
    ("principal_id", _TEXT),
    ("since_offset", LongType()),
    ("until_offset", LongType()),
)
"""One row per user, team or address that is in ``relation`` to a node (``place``) or that ``receiver`` names.

``place`` is empty for those named. ``since_offset`` is the first event that is for them, ``until_offset`` the last.
"""

MEMBERS = _struct(("principal_id", _TEXT), ("team", _TEXT), ("user_id", _TEXT), ("email", _TEXT))
"""One row per (principal, person): a user is one person, a team its members, an address nobody's.

``team`` is the name of the team, if it is one. Only people who may be notified at all are included.
"""

MUTES = _struct(
    ("who", _TEXT), ("about", _TEXT), ("channel", _TEXT), ("since_offset", LongType()), ("until_ms", LongType())
)
"""One row per mute of somebody in the audience: ``about`` is an alert, an asset or a thread; no ``channel``: all."""

_PERSON_FACT = _struct(("question", _TEXT), ("since_offset", LongType()), ("until_offset", LongType()))
PERSON_FACTS = _struct(("place", _TEXT), ("user_id", _TEXT), ("known", ArrayType(_PERSON_FACT, containsNull=False)))
"""One row per (entity, person) of whom something holds that alerts ask; ``place`` is empty for everywhere."""
