"""Names of the topics at a broker that hold the events of the log."""

from __future__ import annotations

from tocsin.access.resources import RESOURCES
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.thread import THREAD

TOPIC_TYPES = tuple(dict.fromkeys((*ENTITY_TYPES, *RESOURCES, THREAD)))
"""The entity types that may have a topic of their own."""


def topic_names(topic: str, *, per_entity_type: bool) -> list[str]:
    """Return one name, or one per entity type."""
    return [f"{topic}.{name}" for name in TOPIC_TYPES] if per_entity_type else [topic]
