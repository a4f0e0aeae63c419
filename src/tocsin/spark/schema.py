"""Schemas of the pipeline's DataFrames: explicit, never inferred; that of events follows from the table of fields.

Next: ``spark/sources.py`` delivers ``EVENTS``.
"""

from __future__ import annotations

from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    DecimalType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from tocsin.conditions.fields import STORED, Field
from tocsin.conditions.nodes import Kind

_TEXT = StringType()
_TEXTS = ArrayType(_TEXT, containsNull=False)


def _struct(*columns: tuple[str, DataType]) -> StructType:
    return StructType([StructField(name, kind, nullable=True) for name, kind in columns])


_TYPES = {
    Kind.TEXT: _TEXT,
    Kind.STATUS: _TEXT,
    Kind.TEXTS: _TEXTS,
    Kind.NUMBER: LongType(),
    Kind.BOOLEAN: BooleanType(),
}


def _type_of(field: Field) -> DataType:
    return DecimalType(10, field.scale) if field.scale else _TYPES[field.kind]


COLUMNS: dict[str, str] = {name: field.column for name, field in STORED.items()}
"""The column of each field of ``conditions/fields.py`` that has one."""

EVENTS = _struct(
    ("log_offset", LongType()),
    ("event_id", _TEXT),
    *((field.column, _type_of(field)) for field in STORED.values()),
    ("event", _TEXT),
)
"""One row per change event: the fields of ``conditions/fields.py``, and the event as JSON in ``event``.

What depends on earlier reports is null until ``spark/streaks.py`` has worked it out.
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

REACH = _struct(
    ("root_id", _TEXT),
    ("node_id", _TEXT),
    ("node_fqn", _TEXT),
    ("hops", IntegerType()),
    ("since_offset", LongType()),
    ("until_offset", LongType()),
)
"""One row per (changed entity, entity it reaches through lineage, span of offsets); the entity itself at 0 hops."""

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

MEMBERS = _struct(
    ("principal_id", _TEXT),
    ("team", _TEXT),
    ("user_id", _TEXT),
    ("email", _TEXT),
    ("since_offset", LongType()),
    ("until_offset", LongType()),
)
"""One row per (principal, person, span of offsets): a user is one person, a team its members, an address nobody's.

``team`` is the name of the team, if it is one. Only people who may be notified at all are included.
"""

MUTES = _struct(
    ("who", _TEXT), ("about", _TEXT), ("channel", _TEXT), ("since_offset", LongType()), ("until_ms", LongType())
)
"""One row per mute of somebody in the audience: ``about`` is an alert, an asset or a thread; no ``channel``: all."""

_PERSON_FACT = _struct(("question", _TEXT), ("since_offset", LongType()), ("until_offset", LongType()))
PERSON_FACTS = _struct(("place", _TEXT), ("user_id", _TEXT), ("known", ArrayType(_PERSON_FACT, containsNull=False)))
"""One row per (entity, person) of whom something holds that alerts ask; ``place`` is empty for everywhere."""
