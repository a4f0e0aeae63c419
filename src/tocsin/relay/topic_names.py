"""Names of the topics that a relay may write to."""

from __future__ import annotations

from tocsin.access.resources import RESOURCES
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.thread import THREAD


def topic_names(topic: str, *, per_entity_type: bool) -> list[str]:
    """Return one name, or one per entity type."""
    return [f"{topic}.{name}" for name in (*ENTITY_TYPES, *RESOURCES, THREAD)] if per_entity_type else [topic]
