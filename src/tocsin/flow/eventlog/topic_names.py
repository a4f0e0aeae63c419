"""Names of topics at a broker: of the events of the log, and of events of other systems that are refused."""

from __future__ import annotations

from tocsin.access.resources import RESOURCES
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.thread import THREAD
from tocsin.settings import IngestSettings

TOPIC_TYPES = tuple(dict.fromkeys((*ENTITY_TYPES, *RESOURCES, THREAD)))
"""The entity types that may have a topic of their own."""


def topic_names(topic: str, *, per_entity_type: bool) -> list[str]:
    """Return one name, or one per entity type."""
    return [f"{topic}.{name}" for name in TOPIC_TYPES] if per_entity_type else [topic]


def dead_letter_topic_of(settings: IngestSettings) -> str:
    """Return the name of the topic of those events of other systems that are refused."""
    return settings.ingest_dead_letter_topic or f"{settings.ingest_topic}-dead-letters"
